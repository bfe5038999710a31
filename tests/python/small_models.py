"""Small modules for the tests, each with one property that a profiler may get wrong."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.fc = nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.relu(self.bn(self.conv(x))).mean((2, 3)))


class SharedBranches(nn.Module):
    """One Linear called twice: its parameters count once, its work twice."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Linear(10, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.shared(x) + self.shared(x * 2)


class TiedWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.embed(ids))


class Keywords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(6, 5), nn.Linear(7, 5)

    def forward(self, a: Tensor, *, b: Tensor, scale: float = 1.0) -> dict[str, Tensor]:
        return {"sum": self.left(a) + scale * self.right(b)}


class Raises(nn.Module):
    """Fails inside a submodule, after it has changed a buffer."""

    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros((), dtype=torch.long))

        def forward(self, x: Tensor) -> Tensor:
            self.calls += 1
            raise ValueError("the model's own complaint")

    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner = nn.Linear(4, 4), self.Inner()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(self.first(x))


class Stateful(nn.Module):
    """Writes its buffers, draws random numbers and drops out: all of it must be undone."""

    def __init__(self) -> None:
        super().__init__()
        self.bn, self.drop, self.fc = nn.BatchNorm1d(6), nn.Dropout(0.5), nn.Linear(6, 6)
        self.register_buffer("steps", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        self.steps += torch.rand(3)
        return self.fc(self.drop(self.bn(x)))
