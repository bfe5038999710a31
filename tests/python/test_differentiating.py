"""Forwards that differentiate, and training of inputs alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

import opscope


class Pinn(nn.Module):
    """A network whose loss is made of derivatives by its input."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x: Tensor) -> Tensor:
        x.requires_grad_(True)
        u = self.net(x)
        (first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)
        return second.sum(1) - u[:, 0]


class Penalty(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        (slope,) = torch.autograd.grad(super().forward(x).sum(), x, create_graph=True)
        return ((slope.norm(2, 1) - 1) ** 2).mean()


class InnerLoop(nn.Module):
    """MAML: two steps of its own before the answer."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        weight: Tensor = self.weight
        for _ in range(2):
            (slope,) = torch.autograd.grad((x @ weight).pow(2).mean(), weight, create_graph=True)
            weight = weight - 0.1 * slope
        return x @ weight


class Backward(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        super().forward(x).sum().backward()
        assert self.weight.grad is not None
        return self.weight.grad.clone()


class Energy(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            (force,) = torch.autograd.grad(super().forward(x).pow(2).sum(), x)
        return force


class Functional(nn.Linear):
    def forward(self, x: Tensor) -> Any:
        plain = super().forward
        _, pull = torch.func.vjp(plain, x)
        return torch.func.grad(lambda t: plain(t).sum())(x), torch.func.jacrev(plain)(x[0]), pull(torch.ones_like(x))


def made(kind: type[nn.Module]) -> tuple[nn.Module, Tensor]:
    wide = {Pinn: 2, InnerLoop: 4}.get(kind, 4)
    model = kind() if kind in (Pinn, InnerLoop) else kind(4, 4)
    return model, torch.rand(3, wide, requires_grad=kind is Penalty)


class Products(TorchDispatchMode):
    """FlopCounterMode without its modules, whose hooks fail in autograd.grad."""

    flops = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if formula := flop_registry.get(func._overloadpacket):
            self.flops += formula(*args, **(kwargs or {}), out_val=out)
        return out


KINDS = [Pinn, Penalty, InnerLoop, Backward, Energy, Functional]


def state_of(model: nn.Module, x: Tensor) -> list[Any]:
    of_weights = [(p.requires_grad, p._version, None if p.grad is None else (id(p.grad), p.grad.tolist())) for p in model.parameters()]
    return [x.requires_grad, x.grad, x._version, torch.is_grad_enabled(), *of_weights]


@pytest.mark.parametrize("tracer", ["static", "eager"])
@pytest.mark.parametrize("kind", KINDS)
def test_captured_and_left_as_it_was(kind: type[nn.Module], tracer: str) -> None:
    model, x = made(kind)
    next(model.parameters()).grad = torch.ones_like(next(model.parameters()))
    before = state_of(model, x)
    profile = opscope.profile(model, x, tracer=tracer)
    assert state_of(model, x) == before
    assert profile.coverage.unknown == 0
    said = any("forward differentiates" in note.message for note in profile.diagnostics)
    assert said == (kind not in (Energy, Functional))


@pytest.mark.parametrize("kind", KINDS)
def test_static_and_eager_agree(kind: type[nn.Module]) -> None:
    model, x = made(kind)
    static, eager = (opscope.profile(model, x, tracer=tracer) for tracer in ("static", "eager"))
    assert static.totals.macs == eager.totals.macs > 0
    assert [op.op for op in static.ops] == [op.op for op in eager.ops]


@pytest.mark.parametrize("kind", [Pinn, Penalty, InnerLoop, Backward, Energy])
def test_products_are_those_that_pytorch_counts(kind: type[nn.Module]) -> None:
    model, x = made(kind)
    with Products() as counter:
        model(x.detach().clone().requires_grad_(x.requires_grad))
    assert opscope.profile(model, x, convention="torch").totals.flops == counter.flops > 0


def test_ops_of_the_backward_are_of_the_module_that_they_undo() -> None:
    model, x = made(Pinn)
    products = [op.module for op in opscope.profile(model, x).ops if op.op.endswith("::mm")]
    assert {"net.0", "net.2"} <= set(products)


def test_training_a_forward_that_differentiates() -> None:
    model, x = made(Pinn)
    before = state_of(model, x)
    plain, step = opscope.profile(model, x), opscope.profile(model, x, training=True)
    assert step.totals.macs > plain.totals.macs
    assert state_of(model, x) == before


def test_a_plain_forward_has_no_gradients() -> None:
    class Asks(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            assert not torch.is_grad_enabled()
            return super().forward(x)

    assert opscope.profile(Asks(2, 2), torch.rand(1, 2, requires_grad=True)).totals.ops == 1


def test_the_models_own_mistake_is_still_told() -> None:
    class Forgets(nn.Linear):
        def forward(self, x: Tensor) -> Any:
            return torch.autograd.grad(super().forward(x).sum(), x)

    with pytest.raises(opscope.Error, match="not require grad"):
        opscope.profile(Forgets(2, 2), torch.rand(1, 2))


# --- training of inputs alone


def gradients_in(found: dict[str, Any]) -> set[str]:
    return {v["name"] for v in found["values"] if v["kind"] == "gradient" and v.get("name")}


def frozen() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).requires_grad_(False)


@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_gradients_of_inputs_alone(tracer: str) -> None:
    model, x = frozen(), torch.rand(3, 4, requires_grad=True)
    graph = opscope.capture(model, x, training=True, tracer=tracer)
    found = json.loads(graph.to_json())
    assert [phase["name"] for phase in found["phases"]] == ["forward", "backward"]
    assert gradients_in(found) == {"input.grad"}
    assert graph.profile().totals.macs == 2 * 3 * (4 * 8 + 8 * 2)
    assert any("only inputs require gradients" in note["message"] for note in found["diagnostics"])
    assert x.grad is None and x.requires_grad and all(not p.requires_grad and p.grad is None for p in model.parameters())


def test_a_function_of_inputs_alone() -> None:
    x, style = torch.rand(3, 4, requires_grad=True), torch.rand(4, 4)
    profile = opscope.profile(lambda image: (image @ style).pow(2).sum(), x, training=True)
    assert profile.totals.macs == 2 * 3 * 4 * 4 and x.grad is None


def test_parameters_and_inputs_together() -> None:
    x = torch.rand(3, 4, requires_grad=True)
    found = json.loads(opscope.capture(nn.Linear(4, 2), x, training=True).to_json())
    assert gradients_in(found) == {"weight.grad", "bias.grad", "input.grad"}


def test_nothing_to_differentiate_says_what_to_do() -> None:
    with pytest.raises(opscope.Error, match="requires a gradient") as problem:
        opscope.profile(frozen(), torch.rand(3, 4), training=True)
    assert "requires_grad_()" in problem.value.hint
