"""Tensors inside the nested structures that models take and return: found with their paths, and replaced."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch

from opscope.errors import error

_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.dtype, torch.device, torch.nn.Module, type)


def _parts(value: Any) -> list[tuple[str, Any, Any]]:
    """(path suffix, key, part) of a container, or of an object by its attributes; nothing for the rest."""
    if isinstance(value, _PLAIN) or callable(value):
        return []
    if isinstance(value, dict):
        return [(f".{key}" if isinstance(key, str) else f"[{key!r}]", key, part) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{index}]", index, part) for index, part in enumerate(value)]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return [(f".{field.name}", field.name, getattr(value, field.name, None)) for field in fields]
    attributes = getattr(value, "__dict__", None)
    return [(f".{key}", key, part) for key, part in attributes.items()] if isinstance(attributes, dict) else []


def named_tensors(value: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in a nested structure with its path; each object is entered once."""
    seen = set() if seen is None else seen
    if isinstance(value, torch.Tensor):
        if not is_wrapper(value):
            yield path.removeprefix("."), value
            return
        for name in value.__tensor_flatten__()[0]:  # type: ignore[attr-defined]
            yield from named_tensors(getattr(value, name), f"{path}.{name.strip('_')}", seen)
        return
    parts = _parts(value)
    if not parts or id(value) in seen:
        return
    seen.add(id(value))
    for suffix, _, part in parts:
        yield from named_tensors(part, path + suffix, seen)


def is_wrapper(tensor: torch.Tensor) -> bool:
    """A __torch_dispatch__ subclass that says which tensors it is made of: jagged nested ones, torchao's."""
    return type(tensor) is not torch.Tensor and torch.utils._python_dispatch.is_traceable_wrapper_subclass(tensor)


def unflattened(tensor: Any, path: str, replaced: Callable[[torch.Tensor, str], torch.Tensor]) -> torch.Tensor:
    """The wrapper with the tensors inside it replaced."""
    names, context = tensor.__tensor_flatten__()
    inner = {name: replaced(getattr(tensor, name), path + name) for name in names}
    made: torch.Tensor = type(tensor).__tensor_unflatten__(inner, context, tensor.size(), tensor.stride())
    return with_attributes_of(tensor, made)


def with_attributes_of(tensor: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    """What stands in for a tensor as one of its class, with the attributes that somebody gave it."""
    if type(made) is not type(tensor) and not is_wrapper(tensor):
        made.__class__ = type(tensor)  # as_subclass would call an op
    for name, value in getattr(tensor, "__dict__", {}).items():
        vars(made).setdefault(name, value)
    return made


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    return (tensor for _, tensor in named_tensors(value))


def replace(
    value: Any, path: str, replaced: Callable[[torch.Tensor, str], torch.Tensor], inside: tuple[int, ...] = ()
) -> Any:
    """A copy of a nested structure with its tensors replaced; what holds no tensor is passed as it is."""
    if isinstance(value, torch.Tensor):
        return replaced(value, path)
    if next(tensors_in(value), None) is None:
        return value
    if id(value) in inside:
        raise error(f"the input {path} contains itself", path, "give inputs without cycles")
    inside = (*inside, id(value))
    parts = [(key, replace(part, path + suffix, replaced, inside)) for suffix, key, part in _parts(value)]
    if isinstance(value, tuple):
        items = [part for _, part in parts]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    made = copy.copy(value)
    for key, part in parts:
        if isinstance(value, (dict, list)):
            made[key] = part
        elif part is not getattr(value, key, None):
            object.__setattr__(made, key, part)
    return made
