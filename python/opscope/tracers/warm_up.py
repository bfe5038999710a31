"""Makes a model ready for a tracer: a copy that has been called once, with memory for its weights.

Models that make layers, anchors or caches in their first call look the same to a tracer from the second on. The call is
abstract where that works. Weights without data get memory that nothing has touched, so that a tracer finds them on the
device where they will be, and even a large model takes no room.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from opscope._load import native
from opscope.engine import abstract_run, structural_copy
from opscope.engine.nested import replace, tensors_in
from opscope.errors import error
from opscope.inputs import describe


def warm_up(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool]:
    """A copy of the model after a first call, and whether the call went well.

    The copy's tensors are the model's, and as they were; lazy ones are without data.
    """
    if structural_copy.root_module(model) is None:
        return model, True
    try:
        return abstract_run.initialised(model, args, kwargs), True
    except native.Error:
        return model, False  # the tracer's own failure says more


def own_copy(model: Any, device: torch.device) -> Any:
    """A copy that a tracer may run and mark as it likes."""
    if structural_copy.root_module(model) is None:
        return model
    return structural_copy.copy_with(model, lambda tensor: _own(tensor, device))


def _own(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Weights share their memory with the model's, other tensors are copied: a real run may write to them."""
    if is_lazy(tensor):
        return tensor
    if tensor.is_meta or native.is_abstract(tensor):  # the latter in an object that the warm-up filled
        return _untouched_like(tensor, device)
    if type(tensor) is torch.nn.Parameter:
        return torch.nn.Parameter(tensor.detach(), tensor.requires_grad)
    return tensor if isinstance(tensor, torch.nn.Parameter) else tensor.detach().clone()


def has_data(model: Any) -> bool:
    return not any(tensor.is_meta for tensor in structural_copy.model_tensors(model))


def with_memory(value: Any, device: torch.device) -> Any:
    """Inputs likewise."""
    if not any(tensor.is_meta for tensor in tensors_in(value)):
        return value
    return replace(value, "", lambda tensor, _: _untouched_like(tensor, device) if tensor.is_meta else tensor)


def untouched(like: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Memory of a tensor's size and strides that nobody has written: pages that are not there until used."""
    try:
        return torch.empty_strided(tuple(like.size()), tuple(like.stride()), dtype=like.dtype, device=device)
    except RuntimeError as problem:
        what = f"a tensor of {describe(like)} takes {native.format_bytes(like.nbytes)}, which {device} does not have"
        raise error(what, "", "take a smaller batch, or use --tracer static, which needs no data") from problem


def _untouched_like(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    made = untouched(tensor, device)
    return torch.nn.Parameter(made, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else made


Status = Callable[[str], None]
