"""What a model's forward is called with, and what it gives: names of arguments, copies of containers, generators."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Sequence
from typing import Any

import torch

from opscope.engine.nested import tensors_in
from opscope.errors import error


def drained(called: Callable[..., Any]) -> Callable[..., Any]:
    """A forward that yields runs to its end, for what it gives in all; a coroutine needs a loop of its own."""

    def call(*args: Any, **kwargs: Any) -> Any:
        outputs = called(*args, **kwargs)
        if isinstance(outputs, torch.Tensor) or not isinstance(outputs, (Generator, Coroutine, AsyncGenerator)):
            return outputs
        if isinstance(outputs, Generator):
            return list(outputs)
        if isinstance(outputs, Coroutine):
            outputs.close()
        name = type(getattr(called, "__self__", called)).__name__
        raise error(
            "its forward is asynchronous, and nothing of it runs until it is awaited",
            name,
            "profile a function that runs it: lambda x: asyncio.run(model(x))",
        )

    return call


def own_copy(value: Any) -> Any:
    """What a model changes though it holds no tensor, an empty cache or a generator, as a copy; else the value itself."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, torch.Generator):
        return value.clone_state()
    if callable(value) or not (isinstance(value, (list, dict, set)) or hasattr(value, "__dict__")):
        return value
    if next(tensors_in(value), None) is not None:
        return value
    try:
        return copy.deepcopy(value)
    except Exception:  # what cannot be copied is passed as it is
        return value


def argument_names(model: Any, count: int) -> list[str]:
    """The names of forward's positional parameters: 'x', or 'args[1]' where they are a *args."""
    names, rest = _parameter_names(getattr(model, "forward", model))
    return [*names[:count], *(f"{rest}[{index}]" for index in range(count - len(names)))]


def _parameter_names(forward: Any) -> tuple[Sequence[str], str]:
    """Those that can be given by position, and what a *args is called."""
    code = getattr(forward, "__code__", None)
    is_plain = inspect.ismethod(forward) and not getattr(forward.__func__, "__dict__", True)  # no __wrapped__, no __signature__
    if is_plain and code and code.co_argcount:  # ten times as fast as the signature
        names = code.co_varnames
        rest = code.co_argcount + code.co_kwonlyargcount
        return names[1 : code.co_argcount], names[rest] if code.co_flags & inspect.CO_VARARGS else "args"
    try:
        parameters = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):
        return [], "args"
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)], rest
