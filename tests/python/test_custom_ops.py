"""Costs that users declare for their own operators."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula

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
    custom_ops.DECLARED.pop("aten::linear", None)
    flop_registry.pop(torch.ops.opscope_test.mix, None)


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
        ("a::b", {"fvcore_handle": 3}, TypeError),
        ("a::b", {"fvcore_handle": max, "macs": 1}, ValueError),
    ],
)
def test_wrong_declarations(name: str, costs: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        opscope.register_op(name, **costs)


def test_declared_cost() -> None:
    opscope.register_op("opscope_test::mix", macs=5)
    assert custom_ops.declared_cost("opscope_test::mix", (), ()) == (5, None, None, "")
    assert custom_ops.declared_cost("opscope_test::other", (), ()) is None


# --- every convention


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ({"macs": 100}, {"opscope": 200, "macs": 100, "torch": 200, "fvcore": 100}),
        ({"flops": 50}, {"opscope": 50, "macs": 0, "torch": 50, "fvcore": 50}),
        ({"macs": 100, "flops": 230}, {"opscope": 230, "macs": 100, "torch": 230, "fvcore": 130}),
    ],
)
def test_every_convention_counts_it(costs: dict[str, int], expected: dict[str, int]) -> None:
    opscope.register_op("opscope_test::mix", **costs)
    graph = opscope.capture(Mixer(), torch.rand(3, 8))
    assert {name: graph.profile(convention=name).totals.flops for name in expected} == expected


@pytest.mark.parametrize(
    ("costs", "macs", "flops", "moved"),
    [
        ({"flops": 1000}, 3 * 8 * 5, 1000, None),
        ({"bytes": 7}, 3 * 8 * 5, 2 * 3 * 8 * 5 + 15, 7),
        ({"macs": 9}, 9, 2 * 9 + 15, None),
    ],
)
def test_what_is_left_out_stays_as_the_table_has_it(costs: dict[str, int], macs: int, flops: int, moved: int | None) -> None:
    plain = opscope.profile(nn.Linear(8, 5), torch.rand(3, 8))
    opscope.register_op("aten::linear", **costs)
    result = opscope.profile(nn.Linear(8, 5), torch.rand(3, 8))
    assert (result.totals.macs, result.totals.flops) == (macs, flops)
    assert result.totals.memory_bytes == (plain.totals.memory_bytes if moved is None else moved)
    assert result.coverage.unknown == 0 and result.ops[0].category == "matmul"


# --- other counters' formulas


def test_pytorchs_own_formulas_are_used() -> None:
    @register_flop_formula(torch.ops.opscope_test.mix)
    def flops(x_shape: Any, w_shape: Any, gain: float, out_shape: Any = None, **_: Any) -> int:
        return int(2 * x_shape[0] * x_shape[1] * out_shape[1])

    model, x = Mixer(), torch.rand(3, 8)
    graph = opscope.capture(model, x)
    with FlopCounterMode(display=False) as counter:
        model(x)
    assert counter.get_total_flops() == 2 * 3 * 8 * 5
    for convention, count in {"opscope": 240, "torch": 240, "macs": 120, "fvcore": 120}.items():
        assert graph.profile(convention=convention).totals.flops == count
    profile = graph.profile()
    assert profile.coverage.unknown == 0
    assert [note.op for note in profile.diagnostics if "register_flop_formula" in note.message] == ["opscope_test::mix"]
    assert "register_flop_formula" in profile.explain("mix")
    opscope.register_op("opscope_test::mix", macs=7)
    assert opscope.profile(model, x).totals.macs == 7


def test_a_formula_that_fails_leaves_the_op_unknown() -> None:
    @register_flop_formula(torch.ops.opscope_test.mix)
    def flops(*_: Any, **__: Any) -> int:
        raise ValueError("not today")

    result = opscope.profile(Mixer(), torch.rand(3, 8))
    assert result.coverage.unknown == 1
    assert any("not today" in note.message for note in result.diagnostics)


def handle(inputs: list[Any], outputs: list[Any]) -> Any:
    """As those of fvcore: sizes of complete tensors, and counts by name."""
    x, w = (value.type().sizes() for value in inputs[:2])
    assert inputs[0].isCompleteTensor() and inputs[2].toIValue() == 2.0
    return Counter({"mix": x[0] * x[1] * w[1]}) if outputs[0].type().sizes() == [3, 5] else 0


def test_handles_of_fvcore() -> None:
    opscope.register_op("opscope_test::mix", fvcore_handle=handle)
    graph = opscope.capture(Mixer(), torch.rand(3, 8))
    assert graph.profile(convention="fvcore").totals.flops == graph.profile().totals.macs == 120
    assert graph.profile().coverage.estimated == 1
    assert "handle of fvcore" in graph.profile().explain("mix")


def test_handles_that_fvcore_itself_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    flop_count = importlib.import_module("fvcore.nn.flop_count")  # fvcore.nn has a function of that name
    monkeypatch.setitem(flop_count._DEFAULT_SUPPORTED_OPS, "opscope_test::mix", handle)
    result = opscope.profile(Mixer(), torch.rand(3, 8))
    assert result.totals.macs == 120
    assert any("fvcore's handle" in note.message for note in result.diagnostics)


def test_reconcile_tells_that_a_tool_does_not_know_it() -> None:
    opscope.register_op("opscope_test::mix", macs=120)
    answer = opscope.reconcile(Mixer(), torch.rand(3, 8), with_="torch")
    assert [(cause.kind, cause.flops) for cause in answer.causes("torch") if not cause.is_unit] == [("declared_cost", 240)]
