"""Optimisers with 8-bit state, as bitsandbytes has them, which need not be there: what they hold, and what a step moves.

Each block of 256 numbers of a state is a byte a number and one float32, its largest. A parameter of fewer than 4096
numbers keeps its state in float32. Its step is one kernel, without temporaries; what it computes is estimated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from opscope._load import native
from opscope.engine import custom_ops

_BLOCK, _LEAST = 256, 4096
_STEP = "opscope::step_8bit_"
_FLOPS = {1: 14, 2: 26}  # for each number: the update, and every state from its byte to float32 and back

_LIBRARY = torch.library.Library("opscope", "FRAGMENT")
_LIBRARY.define(
    "step_8bit_(Tensor(a!) weight, Tensor grad, Tensor(b!)[] states, Tensor(c!)[] scales, float lr, float decay) -> ()"
)


def _step(weight: Any, grad: Any, states: list[Any], scales: list[Any], lr: float, decay: float) -> None:
    """The same arithmetic in PyTorch's ops, with evenly spaced codes, for a real run."""
    numbers, means = grad.float().flatten(), []
    for power, (state, scale) in enumerate(zip(states, scales, strict=True), 1):
        beta = 0.9 if power == 1 else 0.999
        mean = (beta * _decoded(state, scale, power)).add_((1 - beta) * numbers**power)
        means.append(mean)
        _encode(mean, state, scale, power)
    update = means[0] / (means[1].sqrt() + 1e-8) if len(means) == 2 else means[0]
    weight.mul_(1 - lr * decay).sub_((lr * update).view_as(weight).to(weight.dtype))


def _decoded(state: Any, scale: Any, power: int) -> Any:
    if scale.numel() == 0:
        return state.flatten()
    codes = state.flatten().float()
    return ((codes - 127) / 127 if power == 1 else codes / 255) * scale.repeat_interleave(_BLOCK)[: codes.numel()]


def _encode(mean: Any, state: Any, scale: Any, power: int) -> None:
    if scale.numel() == 0:
        state.copy_(mean.view_as(state))
        return
    padded = torch.nn.functional.pad(mean, (0, -mean.numel() % _BLOCK)).view(-1, _BLOCK)
    scale.copy_(padded.abs().amax(1))
    parts = mean / scale.repeat_interleave(_BLOCK)[: mean.numel()].clamp(min=1e-30)
    state.copy_((parts * 127 + 127 if power == 1 else parts * 255).round().view_as(state))


_LIBRARY.impl("step_8bit_", _step, "CompositeExplicitAutograd")
_LIBRARY.impl("step_8bit_", lambda *_: None, "Meta")


def _flops(weight: Any, grad: Any, states: list[Any], *_: Any) -> int:
    return _FLOPS[len(states)] * int(weight.numel())


def _bytes(weight: Any, grad: Any, states: list[Any], scales: list[Any], *_: Any) -> int:
    """The gradient is read; the rest is read and written."""
    return int(grad.nbytes) + 2 * sum(int(tensor.nbytes) for tensor in (weight, *states, *scales))


def declare() -> None:
    """Before a capture, which then knows what the step costs."""
    custom_ops.DECLARED[_STEP] = custom_ops.DeclaredOp(flops=_flops, bytes=_bytes, source="bitsandbytes")


class EightBit(torch.optim.Optimizer):
    """`name` is bitsandbytes' class, `states` how many numbers it keeps for each of a parameter's."""

    def __init__(self, name: str, states: int, parameters: Any) -> None:
        self.name, self._states = name, states
        super().__init__(parameters, {"lr": 1e-3, "decay": 0.01})
        native.note("estimate", _STEP, f"{name}: bitsandbytes' block-wise 8-bit state, worked out without it")

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for parameter, group in self._stepped():
            state = self.state[parameter]
            names = [f"state{number}" for number in range(1, self._states + 1)]
            for name in names if not state else ():
                state[name], state[f"{name}_absmax"] = self._begun(parameter)
            with torch.no_grad():
                torch.ops.opscope.step_8bit_(
                    parameter,
                    parameter.grad,
                    [state[name] for name in names],
                    [state[f"{name}_absmax"] for name in names],
                    group["lr"],
                    group["decay"],
                )

    def _stepped(self) -> Iterator[tuple[Any, dict[str, Any]]]:
        for group in self.param_groups:
            yield from ((parameter, group) for parameter in group["params"] if parameter.grad is not None)

    def _begun(self, parameter: Any) -> tuple[Any, Any]:
        count = parameter.numel()
        if count < _LEAST:
            return torch.zeros_like(parameter, dtype=torch.float32), parameter.new_zeros(0, dtype=torch.float32)
        scales = parameter.new_zeros(-(-count // _BLOCK), dtype=torch.float32)
        return torch.zeros_like(parameter, dtype=torch.uint8), scales
