"""Example inputs as text: few values as they are, many by their shape and range."""

from __future__ import annotations

from typing import Any

import torch

from opscope.tracers.saved_code.text import Text
from opscope.tracers.saved_code.tree import written_out


def inputs_text(inputs: list[Any], text: Text) -> list[str]:
    """One expression for each input, nested ones included."""


    def written(value: Any) -> str | None:
        return _tensor(value, text) if isinstance(value, torch.Tensor) else None

    return [text.value(value, written) for value in inputs]


def has_data(tensor: torch.Tensor) -> bool:
    is_fake = tensor.device.type == "meta" or isinstance(tensor, torch._subclasses.FakeTensor)
    return not is_fake and tensor.layout is torch.strided


def _tensor(tensor: torch.Tensor, text: Text) -> str:
    if (written := written_out(tensor) if not tensor.is_floating_point() else None) is not None:
        return f"{written}{_on_device(tensor, text)}"
    return _strided(tensor, _random(tensor)) + _on_device(tensor, text)


def _on_device(tensor: torch.Tensor, text: Text) -> str:
    return ".to(DEVICE)" if tensor.device.type in ("meta", text.device.type) else ""


def _random(tensor: torch.Tensor) -> str:
    shape = list(map(int, tensor.shape))
    if tensor.dtype == torch.bool:
        return f"torch.ones({shape}, dtype=torch.bool)"
    if tensor.is_complex():
        return f"torch.randn({shape}, dtype={tensor.dtype})"
    if tensor.is_floating_point():
        return f"torch.rand({shape})" + (f".to({tensor.dtype})" if tensor.dtype != torch.float32 else "")
    low, high = (int(tensor.min()), int(tensor.max())) if has_data(tensor) and tensor.numel() else (0, 0)
    return f"torch.randint({low}, {high + 1}, {shape}, dtype={tensor.dtype})"


def _strided(tensor: torch.Tensor, made: str) -> str:
    """The layout of the original, where it is one that a person would name."""
    if tensor.is_contiguous():
        return made
    for dims, format in ((4, torch.channels_last), (5, torch.channels_last_3d)):
        if tensor.dim() == dims and tensor.is_contiguous(memory_format=format):
            return f"{made}.to(memory_format={format})"
    order = sorted(range(tensor.dim()), key=lambda dim: -tensor.stride()[dim])
    if torch._debug_has_internal_overlap(tensor) == 0 and tensor.permute(order).is_contiguous():
        back = [order.index(dim) for dim in range(tensor.dim())]
        return f"{made}.permute({order}).contiguous().permute({back})"
    return made
