"""Conditions on data: never exact, priced as an upper bound, decided by the user; and loops that do not end."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch
from torch import nn

import opscope

X = torch.randn(2, 8)


def confidence(profile: opscope.Profile) -> str:
    return str(profile.totals["confidence"])


def notes(profile: opscope.Profile) -> str:
    return "\n".join(note["message"] for note in profile.diagnostics)


def line_of(function: Any, text: str) -> str:
    """'test_assumptions.py:42' of the line with this text in a function's code."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return f"test_assumptions.py:{first + next(i for i, line in enumerate(lines) if text in line)}"


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.small, self.large = nn.Linear(8, 8), nn.Linear(8, 8)


class Cond(Two):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: self.small(x), lambda x: self.large(self.large(x)), (x,))


class If(Two):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.small(x)
        if (x > 0).any():
            return x
        return self.large(x)


class Break(Two):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(2)
        for _ in range(5):
            x = self.small(x)
            total = total + x.sigmoid().mean(1)
            if not (total < 1).any():
                break
        return x


@pytest.mark.parametrize(("model", "linears"), [(Cond(), 2), (If(), 2), (Break(), 5)])
def test_the_costlier_way_is_an_upper_bound(model: nn.Module, linears: int) -> None:
    profile = opscope.profile(model, X, tracer="static")
    assert profile.totals["macs"] == linears * 2 * 8 * 8
    assert confidence(profile) == "upper_bound"
    assert re.search(r"test_assumptions\.py:\d+", notes(profile))


def test_what_both_ways_run_is_exact() -> None:
    profile = opscope.profile(If(), X, tracer="static")
    words = {row.name: row.confidence for row in profile.layers}
    assert words["small"] == "exact" and words["large"] == "upper_bound"


def test_a_check_changes_nothing() -> None:
    class Checked(Two):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if torch.isnan(x).any():
                raise ValueError("NaN")
            return self.small(x)

    assert confidence(opscope.profile(Checked(), X, tracer="static")) == "exact"


def test_a_condition_without_consequences_changes_nothing() -> None:
    class Same(Two):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen = "some" if (x > 0).any() else "none"
            return self.small(x)

    assert confidence(opscope.profile(Same(), X, tracer="static")) == "exact"


@pytest.mark.parametrize(("model", "text", "answer", "linears"), [
    (Cond(), "torch.cond", True, 1),
    (Cond(), "torch.cond", False, 2),
    (If(), "if (x > 0)", True, 1),
    (If(), "if (x > 0)", False, 2),
    (Break(), "if not (total", False, 1),
])  # fmt: skip
def test_the_user_decides(model: nn.Module, text: str, answer: bool, linears: int) -> None:
    line = line_of(type(model).forward, text)
    profile = opscope.profile(model, X, tracer="static", assume={line: answer})
    assert profile.totals["macs"] == linears * 2 * 8 * 8
    assert confidence(profile) == "estimated"
    assert "--assume" in notes(profile)


def test_the_user_decides_what_cannot_be_assumed() -> None:
    class Sum(Two):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.small(x) if x.sum() > 0 else x

    with pytest.raises(opscope.Error, match="needs values") as problem:
        opscope.profile(Sum(), X, tracer="static")
    line = line_of(Sum.forward, "x.sum() > 0")
    assert f"--assume {line}=true" in problem.value.hint
    assert opscope.profile(Sum(), X, tracer="static", assume={line: True}).totals["macs"] == 2 * 8 * 8


def test_mistakes_are_told() -> None:
    with pytest.raises(opscope.Error, match="no line of a file"):
        opscope.profile(If(), X, assume={"model.py": True})
    with pytest.raises(opscope.Error, match="neither True nor False"):
        opscope.profile(If(), X, assume={"model.py:3": 1})
    with pytest.raises(opscope.Error, match="max_ops"):
        opscope.profile(If(), X, max_ops=0)


class Ponder(Two):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(2)
        while torch.nonzero(total < 1).numel() > 0:
            total = total + self.small(x).sigmoid().mean(1)
        return x


class Grows(Two):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [x]
        while torch.nonzero(parts[-1]).numel() > 0:
            parts.append(torch.stack(parts).sum(0))
        return x


class While(Two):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(2)
        while (total < 1).any():
            total = total + self.small(x).sigmoid().mean(1)
        return x


@pytest.mark.parametrize("model", [Ponder(), While()])
def test_a_loop_that_does_not_end(model: nn.Module) -> None:
    with pytest.raises(opscope.Error, match="does not end") as problem:
        opscope.profile(model, X, tracer="static", max_ops=20_000)
    assert line_of(type(model).forward, "while ") in problem.value.where
    profile = opscope.profile(model, X, max_ops=20_000)
    assert json.loads(profile.to_json())["capture"]["tracer"] == "eager"
    assert "does not end" in notes(profile) and "test_assumptions.py:" in notes(profile)  # the loop's line


def test_the_recording_is_bounded_in_memory() -> None:
    with pytest.raises(opscope.Error, match="more memory"):
        opscope.profile(Grows(), X, tracer="static", max_ops=30_000)


def test_a_real_run_is_bounded_too() -> None:
    class Long(Two):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(100):
                x = x + 1
            return x

    with pytest.raises(opscope.Error, match="has 50 ops and does not end") as problem:
        opscope.profile(Long(), X, tracer="eager", max_ops=50)
    assert line_of(Long.forward, "for _") in problem.value.where
    assert len(opscope.capture(Long(), X, max_ops=100)._graph) == 100
