"""A model's modules anew with the same tensors: what a first call changes then stays with the copy.

Lazy modules take their shape from the first call, and some models make their layers in it. That call is made
on a copy, so that the user's model stays as lazy as it was; uninitialised parameters are the copy's own.
"""

from __future__ import annotations

import copy
import functools
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.parameter import UninitializedTensorMixin, is_lazy  # type: ignore[attr-defined]

from opscope.engine.closures import deep_copied, holder_of
from opscope.engine.nested import tensors_in
from opscope.errors import error


def modules_of(model: Any) -> Iterator[torch.nn.Module]:
    root = root_module(model)
    return root.modules() if root is not None else iter(())


def root_module(model: Any) -> torch.nn.Module | None:
    """The module behind a callable: itself, what a partial or a bound method calls, a module among its arguments.

    A function that reaches modules in other ways, as in its closure, gets one that has them as children.
    """
    if isinstance(model, torch.nn.Module):
        return model
    if isinstance(model, functools.partial):
        given = (model.func, *model.args, *model.keywords.values())
        modules = {id(part): part for value in given if (part := _own_module(value)) is not None}
        return next(iter(modules.values())) if len(modules) == 1 else holder_of(model)
    return _own_module(model) or holder_of(model)


def _own_module(value: Any) -> torch.nn.Module | None:
    """A module, or the one whose method it is."""
    owner = value if isinstance(value, torch.nn.Module) else getattr(value, "__self__", None)
    return owner if isinstance(owner, torch.nn.Module) else None


def model_tensors(model: Any) -> Iterator[torch.Tensor]:
    root = root_module(model)
    if root is not None:
        yield from root.parameters()
        yield from root.buffers()


def first_tensor(model: Any) -> Iterator[torch.Tensor]:
    """The first of a model's parameters or, where it has none, of its buffers; without listing them all by name."""
    for module in modules_of(model):
        for parameter in module._parameters.values():
            if parameter is not None:
                yield parameter
                return
    yield from itertools.islice(model_tensors(model), 1)


def structural_copy(model: Any, without_data: bool) -> Any:
    """New modules, containers and objects; the same tensors, but for those that have no shape yet."""
    return copy_with(model, lambda tensor: _uninitialised(tensor, without_data) if is_lazy(tensor) else tensor)


def copy_with(
    model: Any,
    tensor_for: Callable[[torch.Tensor], Any],
    shells: dict[int, Any] | None = None,
    attributes: Callable[[torch.nn.Module], dict[Any, Any]] = vars,
) -> Any:
    """New modules, containers and objects, with the tensors that the function gives for theirs.

    `shells` are empty objects for modules that cannot be copied, by id: they are given copies of `attributes`.
    """
    shells = shells or {}
    memo: dict[int, Any] = dict(shells)
    modules = list(modules_of(model))
    for module in modules:
        for value in (attributes if id(module) in shells else vars)(module).values():
            _place_tensors(value, memo, tensor_for)
    try:
        for module in modules:
            if id(module) in shells:
                shells[id(module)].__dict__.update(copy.deepcopy(attributes(module), memo))
        return deep_copied(model, memo)
    except Exception as problem:
        raise error(
            f"the model has to be copied, so that its first call leaves it as it is, and it cannot be: {problem}",
            type(model).__name__,
            "call it once on a real input before profiling it",
        ) from problem


def _place_tensors(value: Any, memo: dict[int, Any], tensor_for: Callable[[torch.Tensor], Any]) -> None:
    if isinstance(value, torch.Tensor):
        if id(value) not in memo:
            memo[id(value)] = tensor_for(value)
    elif isinstance(value, dict):
        for part in value.values():
            _place_tensors(part, memo, tensor_for)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _place_tensors(part, memo, tensor_for)
    else:
        for tensor in tensors_in(value):
            _place_tensors(tensor, memo, tensor_for)


def _uninitialised(like: Any, without_data: bool) -> Any:
    device = torch.device("meta") if without_data else like.data.device
    return type(like)(like.requires_grad, device=device, dtype=like.data.dtype)


_lock = threading.Lock()
_threads: set[int] = set()  # that materialise without data
_undo: Callable[[], None] | None = None


@contextmanager
def materialised_without_data() -> Iterator[None]:
    """Lazy tensors get their shape and no memory, in this thread."""
    global _undo
    with _lock:
        _undo = _undo or _replace_materialize()
        _threads.add(threading.get_ident())
    try:
        yield
    finally:
        with _lock:
            _threads.remove(threading.get_ident())
            if not _threads and _undo is not None:
                _undo()
                _undo = None


def _replace_materialize() -> Callable[[], None]:
    materialize: Callable[..., None] = UninitializedTensorMixin.materialize
    mode = torch._C._dispatch_key_parse("TESTING_ONLY_GenericMode")

    def without_data(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        if threading.get_ident() not in _threads:
            return materialize(self, shape, device=device, dtype=dtype)
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(mode)):  # a parameter, not an op of the model
            materialize(self, shape, device=torch.device("meta"), dtype=dtype)

    UninitializedTensorMixin.materialize = without_data
    return lambda: setattr(UninitializedTensorMixin, "materialize", materialize)


def forget(model: Any, before: dict[int, dict[str, Any]], is_made_up: Callable[[Any], bool]) -> None:
    """Takes from a copy what its first call left there without data, such as cached activations.

    A module that has any goes back to all the attributes it had: another of them may say what the lost ones are for.
    """
    for module in modules_of(model):
        attributes, old = vars(module), before.get(id(module), {})
        if any(is_made_up(value) for name, value in attributes.items() if name not in _TABLES):
            _put_back(attributes, old, lambda name, _: name not in _TABLES)
        _put_back(module._buffers, old.get("_buffers", {}), lambda _, value: value is not None and is_made_up(value))


_TABLES = ("_parameters", "_buffers", "_modules")  # what a module owns


def _put_back(table: dict[str, Any], old: dict[str, Any], is_wrong: Callable[[str, Any], bool]) -> None:
    for name in [name for name, value in table.items() if is_wrong(name, value)]:
        if name in old:
            table[name] = old[name]
        else:
            del table[name]


def attributes_of(model: Any) -> dict[int, dict[str, Any]]:
    """Every module's attributes as they are; containers, which a call may fill, as copies."""
    return {id(module): {name: _kept(value) for name, value in vars(module).items()} for module in modules_of(model)}


def _kept(value: Any) -> Any:
    return copy.copy(value) if type(value) in (dict, list, set) else value
