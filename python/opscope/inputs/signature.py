"""What a model's forward is called with, as its signature says: names, annotations, which are required."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from opscope.engine.torch_version import parts_of
from opscope.inputs.facts import fact


@dataclass(frozen=True)
class Argument:
    name: str
    annotation: str  # as text: "torch.LongTensor | None", "" where there is none
    required: bool
    keyword_only: bool = False


@dataclass(frozen=True)
class Signature:
    arguments: tuple[Argument, ...]
    more_positional: bool = False  # *args
    more_keywords: bool = False  # **kwargs

    @property
    def names(self) -> list[str]:
        return [argument.name for argument in self.arguments]

    @property
    def required(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.required]

    def get(self, name: str) -> Argument | None:
        return next((argument for argument in self.arguments if argument.name == name), None)


def has_forward(model: Any) -> bool:
    return not isinstance(model, torch.nn.Module) or getattr(model.forward, "__name__", "") != "_forward_unimplemented"


@fact
def signature_of(model: Any) -> Signature:
    """Of the forward that a call reaches: behind partials, compiled wrappers, and wrappers with only *args."""
    if isinstance(model, functools.partial):
        return _without(signature_of(model.func), len(model.args), set(model.keywords))
    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return _scripted(model)
    inner = getattr(model, "_orig_mod", None)
    if isinstance(inner, torch.nn.Module):
        return signature_of(inner)
    if isinstance(model, torch.nn.Sequential) and len(model):
        return _sequential(model)
    found = _inspected(forward_of(model))
    if isinstance(model, torch.fx.GraphModule):
        return _exported(model, found)
    wrapped = _wrapped(model) if not found.arguments and found.more_positional else None
    return signature_of(wrapped) if wrapped is not None else found


def module_of(model: Any) -> Any:
    """The module behind a partial or torch.compile."""
    while isinstance(model, functools.partial) or isinstance(getattr(model, "_orig_mod", None), torch.nn.Module):
        model = model.func if isinstance(model, functools.partial) else model._orig_mod
    return getattr(model, "__self__", model) if not isinstance(model, torch.nn.Module) else model


def forward_of(model: Any) -> Any:
    return model.forward if isinstance(model, torch.nn.Module) else model


def _inspected(function: Callable[..., Any]) -> Signature:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return Signature((), more_positional=True, more_keywords=True)
    arguments = tuple(
        Argument(p.name, _text(p.annotation), p.default is p.empty, p.kind is p.KEYWORD_ONLY)
        for p in parameters
        if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    )
    kinds = {p.kind for p in parameters}
    return Signature(arguments, inspect.Parameter.VAR_POSITIONAL in kinds, inspect.Parameter.VAR_KEYWORD in kinds)


def _text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    if isinstance(annotation, str):
        return annotation
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    return str(annotation)


def _scripted(model: Any) -> Signature:
    is_function = isinstance(model, torch.jit.ScriptFunction)
    arguments = model.schema.arguments if is_function else model.forward.schema.arguments[1:]  # without self
    return Signature(tuple(Argument(a.name, str(a.type), not a.has_default_value()) for a in arguments))


def _sequential(model: torch.nn.Sequential) -> Signature:
    """One argument; its name is the Sequential's own, its annotation the first layer's."""
    first = signature_of(model[0]).required
    return Signature((Argument("input", first[0].annotation if first else "", True),))


def _exported(model: Any, found: Signature) -> Signature:
    """An exported module takes by keyword what it was exported with by keyword, whatever its forward says."""
    spec: Any = getattr(getattr(model.graph._codegen, "pytree_info", None), "in_spec", None)
    try:
        positional = parts_of(spec)[0].num_children
    except (AttributeError, IndexError):
        return found
    arguments = [replace(a, keyword_only=i >= positional) for i, a in enumerate(found.arguments)]
    return replace(found, arguments=tuple(arguments))


def _wrapped(model: Any) -> torch.nn.Module | None:
    """The only child of a module whose forward(*args, **kwargs) passes its arguments on."""
    children = list(model.children()) if isinstance(model, torch.nn.Module) else []
    return children[0] if len(children) == 1 else None


def _without(signature: Signature, positional: int, keywords: set[str]) -> Signature:
    left = [a for a in signature.arguments[positional:] if a.name not in keywords]
    return Signature(tuple(left), signature.more_positional, signature.more_keywords)
