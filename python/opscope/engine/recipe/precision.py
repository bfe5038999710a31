"""Mixed precision as PyTorch has it: autocast, the scaler of a loss in float16, and float32 copies of weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from opscope.errors import error

_HALF = (torch.float16, torch.bfloat16)


@contextmanager
def autocast(device: str, dtype: str | None) -> Iterator[None]:
    """torch.autocast of the capture's device, which need not be there; nothing without a dtype."""
    if dtype is None:
        yield
        return
    kind = torch.device(device).type
    before = torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind), torch.is_autocast_cache_enabled()
    torch.set_autocast_enabled(kind, True)
    torch.set_autocast_dtype(kind, getattr(torch, dtype))
    torch.set_autocast_cache_enabled(True)
    torch.autocast_increment_nesting()
    try:
        yield
    finally:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(kind, before[0])
        torch.set_autocast_dtype(kind, before[1])
        torch.set_autocast_cache_enabled(before[2])


class Scaler(torch.amp.GradScaler):
    """PyTorch's own, for a device that need not be there."""

    def __init__(self, device: str) -> None:
        super().__init__("cpu")
        self._device = torch.device(device).type

    def begin(self, device: str) -> list[torch.Tensor]:
        """Its state, which is made by the first loss that it scales."""
        self._lazy_init_scale_growth_tracker(torch.device(device))
        return [tensor for tensor in (self._scale, self._growth_tracker) if tensor is not None]


def check_scaled(parameters: list[torch.nn.Parameter], with_masters: bool) -> None:
    if not with_masters and any(parameter.dtype == torch.float16 for parameter in parameters):
        what = "a GradScaler cannot unscale gradients in float16, and the weights are in float16"
        raise error(what, "autocast", "leave the weights in float32, or add --master-weights")


class MasterWeights:
    """An optimiser of float32 copies of weights in half precision: it takes their gradients in float32, and the weights
    are cast from the copies, as Megatron and Apex do it."""

    def __init__(self, make: Callable[[Any], Any], parameters: list[torch.nn.Parameter]) -> None:
        if not any(parameter.dtype in _HALF for parameter in parameters):
            what = "no weight that is trained is in bfloat16 or float16, so none has a float32 copy"
            raise error(what, "master_weights", "add --dtype bfloat16, or leave --master-weights out")
        self._masters = {p: torch.nn.Parameter(p.detach().float()) for p in parameters if p.dtype in _HALF}
        self._inner = make([self._masters.get(p, p) for p in parameters])
        self.param_groups: list[dict[str, Any]] = self._inner.param_groups

    @property
    def name(self) -> str:
        return name_of(self._inner)

    @property
    def state(self) -> dict[Any, dict[str, Any]]:
        kept = {p: {"master": master, **self._inner.state.get(master, {})} for p, master in self._masters.items()}
        return {**self._inner.state, **kept}

    def take_gradients(self) -> None:
        for parameter, master in self._masters.items():
            if parameter.grad is not None:
                master.grad = parameter.grad.float()

    def step(self) -> None:
        if all(master.grad is None for master in self._masters.values()):
            self.take_gradients()
        self._inner.step()
        with torch.no_grad():
            for parameter, master in self._masters.items():
                parameter.copy_(master)
                master.grad = None


def name_of(optimizer: Any) -> str:
    """What its step is called in reports."""
    return str(getattr(optimizer, "name", None) or type(optimizer).__name__)
