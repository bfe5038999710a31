"""Python's own control flow: none of it is data, so all of it is simply followed."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn

from models import Case, case

X = torch.randn(3, 8)


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = nn.Linear(8, 16), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor, wide: bool = False) -> torch.Tensor:
        return self.wide(x) if wide and x.shape[0] > 2 else self.narrow(x)


@case
def python_values() -> Case:
    return Case(Branches(), (X,), macs=3 * 8 * 16, ops=("linear",), kwargs={"wide": True})


class Loops(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(5):
            x = self.layer(x)
            if x.shape[-1] > 100:
                break
        return x


@case
def loops() -> Case:
    return Case(Loops(), (X,), macs=5 * 3 * 64, ops=("linear",) * 5)


class Recursion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, depth: int = 3) -> torch.Tensor:
        return self.layer(x) if depth == 0 else self.layer(self(x, depth - 1))


@case
def recursion() -> Case:
    return Case(Recursion(), (X,), macs=4 * 3 * 64, ops=("linear",) * 4)


class Generators(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def outputs(self, x: torch.Tensor) -> Iterator[torch.Tensor]:
        for layer in self.layers:
            x = layer(x)
            yield x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs = self.outputs(x)
        return next(outputs) + next(outputs) + sum(list(outputs)[:1])


@case
def generators() -> Case:
    return Case(Generators(), (X,), macs=4 * 3 * 64, ops=("linear", "linear", "add", "linear", "linear"))


class Done(Exception):
    pass


class Exceptions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.other = nn.Linear(8, 8), nn.Linear(4, 8)

    def run(self, x: torch.Tensor) -> None:
        while True:
            x = self.layer(x)
            if x.shape[0] == 3:
                raise Done(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        try:
            x = self.other(x)
        except RuntimeError:
            pass
        try:
            self.run(x)
        except Done as done:
            return done.args[0] * 2
        raise AssertionError


@case
def exceptions() -> Case:
    return Case(Exceptions(), (X,), macs=3 * 64, ops=("linear", "mul"))


class ManyOfOneType(nn.Module):
    """Modules made anew in each call: each its own, though none has a name."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = nn.ReLU()(x)
        return x


@case
def modules_made_in_forward() -> Case:
    return Case(ManyOfOneType(), (X,), macs=0, ops=("relu",) * 3)
