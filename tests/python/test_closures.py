"""Callables that are no modules: what they reach is found, counted, trained, and left as it was."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import opscope
from test_untouched import fingerprint

X = torch.rand(5, 4)
NET = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))  # 58 parameters, 48 MACs a row


def of_a_global(x: Tensor) -> Tensor:
    return NET(x).sum()  # type: ignore[no-any-return]


def of_an_argument(model: Callable[..., Tensor], x: Tensor, other: Any = None) -> Tensor:
    return (model(x) if other is None else other(model(x))).sum()


class Trainer:
    """No module, and yet it holds some."""

    def __init__(self) -> None:
        self.model, self.parts, self.seen, self.last = NET, {"head": nn.Linear(2, 2)}, [], None  # type: ignore[var-annotated]

    def step(self, x: Tensor) -> Tensor:
        self.last = self.model(x)
        self.seen.append(self.last)
        return self.parts["head"](self.last).mean()  # type: ignore[no-any-return]

    __call__ = step


def closure() -> Callable[[Tensor], Tensor]:
    net, weight = NET, nn.Parameter(torch.rand(2, 3))
    return lambda x: (net(x) @ weight).sum()


def nested() -> Callable[[Tensor], Tensor]:
    parts = [NET, nn.Linear(2, 2)]

    def inner(x: Tensor) -> Tensor:
        for part in parts:
            x = part(x)
        return x.sum()

    return lambda x: inner(x)


CASES: dict[str, tuple[Callable[[], Any], int, int]] = {  # made, parameters, MACs of a row
    "closure": (closure, 58 + 6, 48 + 6),
    "global": (lambda: of_a_global, 58, 48),
    "partial": (lambda: functools.partial(of_an_argument, NET), 58, 48),
    "partial of two": (lambda: functools.partial(of_an_argument, NET, other=nn.Linear(2, 2)), 58 + 6, 48 + 4),
    "nested": (nested, 58 + 6, 48 + 4),
    "method": (lambda: Trainer().step, 58 + 6, 48 + 4),
    "object": (Trainer, 58 + 6, 48 + 4),
}


@pytest.fixture(autouse=True)
def gradients() -> Any:
    NET[0].weight.grad = torch.ones_like(NET[0].weight)
    yield
    NET.zero_grad()


@pytest.mark.parametrize("tracer", ["static", "eager"])
@pytest.mark.parametrize("case", CASES)
def test_found_trained_and_left(case: str, tracer: str) -> None:
    make, params, macs = CASES[case]
    function, before = make(), fingerprint(NET)
    profile = opscope.profile(function, X, tracer=tracer)
    assert (profile.totals.params, profile.totals.macs) == (params, 5 * macs)
    step = opscope.capture(function, X, training=True, optimizer="adam", tracer=tracer)
    found = json.loads(step.to_json())
    assert [phase["name"] for phase in found["phases"]] == ["forward", "backward", "optimizer"]
    assert len({v["name"] for v in found["values"] if v["kind"] == "gradient" and v.get("name")}) >= 4
    assert step.profile().totals.macs > 2 * 5 * macs
    assert fingerprint(NET) == before
    owner = getattr(function, "__self__", function)
    if isinstance(owner, Trainer):
        assert owner.last is None and owner.seen == [] and owner.parts["head"].weight.grad is None


def test_modules_have_the_names_that_the_code_gives_them() -> None:
    profile = opscope.profile(closure(), X)
    assert list(profile.by_module()) == ["", "net", "net.0", "net.1", "net.2"]
    assert profile.by_module()[""].type == "<lambda>" and profile.by_module()["net.2"].macs == 5 * 16


def test_functions_of_libraries_reach_nothing() -> None:
    assert opscope.profile(nn.functional.relu, X).totals.params == 0
    assert opscope.profile(torch.relu, X).totals.params == 0


def test_a_lazy_module_stays_lazy() -> None:
    net = nn.LazyLinear(3)
    profile = opscope.profile(lambda x: net(x), X)
    assert profile.totals.params == 15 and isinstance(net.weight, nn.UninitializedParameter)


def test_weights_without_memory_are_trained() -> None:
    with torch.device("meta"):
        net = nn.Linear(4, 2)
    step = opscope.profile(lambda x: net(x).sum(), X, training=True)
    assert step.totals.macs == 2 * 5 * 8 and net.weight.is_meta and net.weight.grad is None


def test_modules_in_a_list_keep_no_gradients() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.listed, self.own = [nn.Linear(4, 4)], nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            return self.own(self.listed[0](x))  # type: ignore[no-any-return]

    model = Hidden()
    opscope.profile(model, X, training=True)
    assert model.listed[0].weight.grad is None
    model(X).sum().backward()
    assert model.listed[0].weight.grad is not None and model.listed[0].weight.grad.shape == (4, 4)
