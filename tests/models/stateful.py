"""Models that change themselves, or what is around them, when they are called."""

from __future__ import annotations

import collections
import random
from typing import Any

import torch
from torch import nn

from models import Case, case

X = torch.randn(3, 8)


class Bag:
    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.inner = {"deep": {"list": [1]}, "set": {1}}


class ChangesItself(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)
        self.calls = 0
        self.nested = {"a": {"b": [1, 2]}, "queue": collections.deque([1], maxlen=3)}
        self.names = {"x"}
        self.bag = Bag()
        self.pairs = [[1, 2], {"k": 1}]
        self.register_buffer("total", torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x)
        self.calls += 1
        self.last = x
        self.nested["a"]["b"].append(x)
        self.nested["a"]["c"] = x
        self.nested["queue"].append(x)
        self.names.add("y")
        self.bag.seen.append(x)
        self.bag.inner["deep"]["list"].append(x)
        self.bag.inner["set"].add(2)
        self.bag.fresh = x
        self.pairs[0].append(x)
        self.pairs[1]["k"] = x
        self.total += x.detach().sum(0)
        self.register_buffer("made", x[0])
        return x + self.total


@case
def changes_itself() -> Case:
    return Case(ChangesItself(), (X,), macs=3 * 64, ops=("linear", "add_", "add"), repeatable=False)


CACHE: dict[str, Any] = {}
COUNT = 0


class GlobalState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        global COUNT
        COUNT += 1
        if "scale" not in CACHE:
            CACHE["scale"] = torch.ones(8) * 2
        return self.layer(x) * CACHE["scale"]


@case
def global_state() -> Case:
    return Case(GlobalState(), (X,), macs=3 * 64, ops=("linear", "mul"))


class Draws(nn.Module):
    """Draws from every generator there is."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        import numpy

        x = self.layers[random.randrange(3)](x) * float(numpy.random.rand())
        return nn.functional.dropout(x, 0.5, training=True) + torch.rand(8)


@case
def random_numbers() -> Case:
    return Case(Draws(), (X,), macs=3 * 64, ops=("linear", "mul", "dropout", "add"), repeatable=False)


class Grows(nn.Module):
    """Writes results into tensors that are too small for them, or swaps their memory."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("room", torch.zeros(0))
        self.register_buffer("other", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.add(x, 1, out=self.room)
        self.other.set_(x * 2)
        return self.room @ self.other.t()


@case
def grown_and_swapped_buffers() -> Case:
    return Case(Grows(), (X,), macs=3 * 8 * 3, ops=("add", "mul", "set_", "matmul"), repeatable=False)
