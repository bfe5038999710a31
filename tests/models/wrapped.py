"""Models inside something: compiled, scripted, exported, hooked, parametrised, bound to arguments."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize

from models import Case, case

X = torch.randn(3, 8)


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()


MACS = 3 * 8 * 16 + 3 * 16 * 4
OPS = ("linear", "relu", "linear")


@case
def compiled() -> Case:
    return Case(torch.compile(net()), (X,), macs=MACS, ops=OPS)


class CompilesInside(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = net()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.compile(self.net)(x)


@case
def compiled_in_forward() -> Case:
    return Case(CompilesInside(), (X,), macs=MACS, ops=OPS)


@case
def scripted() -> Case:
    return Case(torch.jit.script(net()), (X,), macs=MACS, ops=OPS)


@case
def traced() -> Case:
    return Case(torch.jit.trace(net(), X), (X,), macs=MACS, ops=OPS)


@case
def frozen() -> Case:
    return Case(torch.jit.freeze(torch.jit.script(net())), (X,), macs=MACS, ops=OPS)


@case
def exported() -> Case:
    return Case(torch.export.export(net(), (X,)).module(), (X,), macs=MACS, ops=OPS)


@case
def symbolic_trace() -> Case:
    return Case(torch.fx.symbolic_trace(net()), (X,), macs=MACS, ops=OPS)


def scaled(model: nn.Module, x: torch.Tensor, *, factor: float) -> torch.Tensor:
    return model(x) * factor


@case
def partial() -> Case:
    return Case(functools.partial(scaled, net(), factor=2.0), (X,), macs=MACS, ops=(*OPS, "mul"))


@case
def partial_of_a_module() -> Case:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
            return self.net(x) * factor

    return Case(functools.partial(Scaled(), factor=2.0), (X,), macs=MACS, ops=(*OPS, "mul"))


@case
def bound_method() -> Case:
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net()

        def encode(self, x: torch.Tensor) -> torch.Tensor:
            return self.net(x)

    return Case(Encoder().encode, (X,), macs=MACS, ops=OPS)


@case
def hooks() -> Case:
    model, kept = net(), []
    model[0].register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    model[0].register_forward_hook(lambda module, args, out: kept.append(out))
    model[2].register_forward_hook(lambda module, args, out: out + 1)
    model.register_full_backward_hook(lambda *_: None)
    return Case(model, (X,), macs=MACS, ops=("mul", *OPS, "add"))


@case
def weight_norm() -> Case:
    return Case(parametrizations.weight_norm(nn.Linear(8, 4)), (X,), macs=3 * 8 * 4, ops=("_weight_norm", "linear"))


@case
def old_weight_norm() -> Case:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Case(
            torch.nn.utils.weight_norm(nn.Conv1d(3, 4, 3)), (torch.randn(1, 3, 10),),
            macs=8 * 9 * 4,
            ops=("_weight_norm", "conv1d"),
        )


@case
def spectral_norm() -> Case:
    # Training mode: a step of power iteration (two products) updates its buffers, then u . W v.
    model = parametrizations.spectral_norm(nn.Linear(8, 4)).train()
    return Case(model, (X,), macs=3 * 8 * 4 + 3 * 32 + 4, ops=("linear",), repeatable=False)


@case
def orthogonal() -> Case:
    return Case(parametrizations.orthogonal(nn.Linear(8, 8)), (X,), ops=("linear",))


class Symmetric(nn.Module):
    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        return weight.triu() + weight.triu(1).mT


@case
def own_parametrisation() -> Case:
    model = nn.Linear(8, 8)
    parametrize.register_parametrization(model, "weight", Symmetric())
    return Case(model, (X,), macs=3 * 64, ops=("triu", "triu", "add", "linear"))


class PerSample(nn.Module):
    """vmap over samples, and the gradient of a function, inside forward."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> Any:
        each = torch.vmap(lambda row: self.layer(row).relu())(x)
        slope = torch.func.grad(lambda row: (row * row).sum())(x[0])
        return each, slope


@case
def vmap_and_grad() -> Case:
    return Case(PerSample(), (X,), macs=3 * 8 * 4, ops=("relu",))


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        doubled = {name: p * 2 for name, p in self.layer.named_parameters()}
        return torch.func.functional_call(self.layer, doubled, (x,))


@case
def functional_call() -> Case:
    return Case(Functional(), (X,), macs=3 * 8 * 4, ops=("mul", "mul", "linear"))
