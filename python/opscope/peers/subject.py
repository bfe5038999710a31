"""The model that a peer is given: a copy of its own, and the call in the form that the peer can take."""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from opscope.engine.nested import replace, tensors_in

_COPIED_BYTES = 2 << 30  # larger models are not copied for each tool: they would not fit twice

ADAPTED = "called through a wrapper that takes the tensors one after the other and gives tensors back, without a cache"


class Positional(nn.Module):
    """Takes the call's tensors one after the other and returns tensors alone: what tracers and older tools need."""

    def __init__(self, model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.model = model
        self._call = (args, kwargs)

    def forward(self, *tensors: torch.Tensor) -> Any:
        left = iter(tensors)
        args, kwargs = replace(self._call, "", lambda *_: next(left))
        found = tuple(tensors_in(self.model(*args, **kwargs)))
        return found[0] if len(found) == 1 else found


@dataclass
class Subject:
    """A model with what it is called with. Tools may leave hooks and buffers on it."""

    model: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    notes: list[str] = field(default_factory=list)

    def fresh(self) -> Subject:
        weights = [*self.model.parameters(), *self.model.buffers()]
        small = sum(tensor.nbytes for tensor in weights) <= _COPIED_BYTES
        return Subject(copy.deepcopy(self.model) if small else self.model, self.args, self.kwargs)

    def positional(self) -> tuple[nn.Module, tuple[torch.Tensor, ...], str]:
        """The model, its tensors in order, and what its modules' names begin with."""
        plain = not self.kwargs and all(isinstance(value, torch.Tensor) for value in self.args)
        if plain and not _caches(self.model):
            return self.model, self.args, ""
        self.notes.append(ADAPTED)
        kwargs = {**self.kwargs, "use_cache": False} if _caches(self.model) else self.kwargs
        adapted = Positional(self.model, self.args, kwargs).eval()
        return adapted, tuple(tensors_in((self.args, kwargs))), "model"


def _caches(model: nn.Module) -> bool:
    """transformers' models return what they keep for the next token, which is no tensor."""
    return "use_cache" in inspect.signature(model.forward).parameters


def inner_name(name: str, prefix: str) -> str | None:
    """A module's name in the model itself; None for the wrapper."""
    if not prefix:
        return name
    return None if name == "" else name.removeprefix(prefix).removeprefix(".")
