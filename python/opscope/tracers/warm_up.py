"""Makes a model ready for a tracer: a copy that has been called once, with memory for its weights.

Models that make layers, anchors or caches in their first call look the same to a tracer from the second on. The call is
abstract where that works. Weights without data get memory that nothing has touched, so that a tracer finds them on the
device where they will be, and even a large model takes no room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opscope import _engine, structural_copy
from opscope._load import native
from opscope.errors import Error
from opscope.nested import replace, tensors_in


def warm_copy(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A copy of the model after a first call; its tensors are the model's own, and as they were."""
    if structural_copy.root_module(model) is None:
        return model
    try:
        return _engine.initialised(model, args, kwargs)
    except (Error, native.Error):
        return structural_copy.structural_copy(model, without_data=False)


def has_data(model: Any) -> bool:
    return not any(tensor.is_meta for tensor in _engine.model_tensors(model))


def give_memory(model: Any, device: torch.device) -> None:
    """Parameters and buffers of a copy that have no data get untouched memory; tied ones stay tied."""
    made: dict[int, Any] = {}
    for module in structural_copy.modules_of(model):
        for table in (module._parameters, module._buffers):
            for name, tensor in table.items():
                if tensor is not None and tensor.is_meta:
                    table[name] = made.setdefault(id(tensor), _untouched_like(tensor, device))


def with_memory(value: Any, device: torch.device) -> Any:
    """Inputs likewise."""
    if not any(tensor.is_meta for tensor in tensors_in(value)):
        return value
    return replace(value, "", lambda tensor, _: _untouched_like(tensor, device) if tensor.is_meta else tensor)


def untouched(like: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Memory of a tensor's size and strides that nobody has written: pages that are not there until used."""
    return torch.empty_strided(tuple(like.size()), tuple(like.stride()), dtype=like.dtype, device=device)


def _untouched_like(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    made = untouched(tensor, device)
    return torch.nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else made


Status = Callable[[str], None]
