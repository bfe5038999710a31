"""Costs that users declare for their own operators."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import opscope
from opscope.engine import custom_ops


@torch.library.custom_op("opscope_test::mix", mutates_args=())
def mix(x: Tensor, w: Tensor, gain: float) -> Tensor:
    return (x @ w) * gain


@mix.register_fake
def _(x: Tensor, w: Tensor, gain: float) -> Tensor:
    return x.new_empty(x.shape[0], w.shape[1])


class Mixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(8, 5))

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.opscope_test.mix(x, self.weight, 2.0)


@pytest.fixture(autouse=True)
def forget() -> object:
    yield
    custom_ops.DECLARED.pop("opscope_test::mix", None)


def test_unknown_until_declared() -> None:
    result = opscope.profile(Mixer(), input_shape=(3, 8))
    assert result.coverage.unknown == 1
    assert result.coverage.unknown_ops == [{"op": "opscope_test::mix", "count": 1}]
    assert "unknown_op" in [row.kind for row in result.diagnostics]


def test_declared_by_formula() -> None:
    opscope.register_op(
        "opscope_test::mix",
        macs=lambda x, w, gain: x.shape[0] * x.shape[1] * w.shape[1],
        flops=lambda x, w, gain, outputs: 2 * x.shape[1] * outputs[0].numel() + outputs[0].numel(),
        bytes=1000,
    )
    result = opscope.profile(Mixer(), input_shape=(3, 8))
    assert (result.totals.macs, result.totals.other_flops) == (3 * 8 * 5, 3 * 5)
    assert result.totals.memory_bytes == 1000 and result.coverage.unknown == 0


def test_a_formula_that_fails_says_which() -> None:
    opscope.register_op("opscope_test::mix", macs=lambda x: x.shape[9])
    with pytest.raises(opscope.Error, match="macs declared for opscope_test::mix"):
        opscope.profile(Mixer(), input_shape=(3, 8))


@pytest.mark.parametrize(
    ("name", "costs", "error"),
    [
        ("mix", {"macs": 1}, ValueError),
        ("a::b", {}, ValueError),
        ("a::b", {"macs": -1}, TypeError),
        ("a::b", {"flops": "x*y"}, TypeError),
        ("a::b", {"bytes": True}, TypeError),
    ],
)
def test_wrong_declarations(name: str, costs: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        opscope.register_op(name, **costs)


def test_declared_cost() -> None:
    opscope.register_op("opscope_test::mix", macs=5)
    assert custom_ops.declared_cost("opscope_test::mix", (), ()) == (5, None, None)
    assert custom_ops.declared_cost("opscope_test::other", (), ()) is None
