"""Modules that take their shape from the first input they see."""

from __future__ import annotations

import torch
from torch import nn

from models import Case, case

X = torch.randn(3, 8)


@case
def lazy_linear() -> Case:
    return Case(
        nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2)), (X,),
        macs=3 * 8 * 4 + 3 * 4 * 2,
        ops=("linear", "relu", "linear"),
    )


@case
def lazy_conv_and_norm() -> Case:
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(5))
    return Case(
        model, (torch.randn(2, 3, 6, 6),),
        macs=2 * 4 * 16 * 27 + 2 * 64 * 5,
        ops=("conv2d", "batch_norm", "flatten", "linear"),
    )


class MadeInForward(nn.Module):
    """Makes its layer on the first call, as many a script does."""

    def __init__(self) -> None:
        super().__init__()
        self.layer: nn.Module | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.layer is None:
            self.layer = nn.Linear(x.shape[1], 4)
        return self.layer(x)


@case
def layer_made_in_forward() -> Case:
    return Case(MadeInForward(), (X,), macs=3 * 8 * 4, ops=("linear",), repeatable=False)


class Anchors(nn.Module):
    """Keeps the anchors of the last image size, as YOLO's head does."""

    shape = None

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 1)
        self.anchors = torch.empty(0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x)
        if self.shape != x.shape:
            self.anchors = torch.arange(x.shape[-1], dtype=x.dtype, device=x.device) + 0.5
            self.shape = x.shape
        return x * self.anchors


@case
def anchors_of_the_last_size() -> Case:
    return Case(Anchors(), (torch.randn(1, 3, 6, 6),), macs=36 * 3 * 4, ops=("conv2d", "arange", "mul"))
