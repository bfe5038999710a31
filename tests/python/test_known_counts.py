"""Counts that other tools hold themselves to, as facts: small calls and models with the number each tool gives.

PyTorch's flop counter counts two for a MAC and nothing else (`--convention torch`), fvcore one for a MAC and some for
norms and the like (`--convention fvcore`), torchinfo MACs and the adds of biases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import opscope
from engine_helpers import called


def t(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def flops(model: Any, inputs: tuple[torch.Tensor, ...], convention: str, **options: Any) -> int:
    result = opscope.profile(model, inputs, convention=convention, **options)
    assert result.coverage.unknown == 0, result.coverage.unknown_ops
    return result.totals.flops


# --- PyTorch's flop counter

CALLS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], int]] = {
    "mm": (torch.mm, (t(4, 5), t(5, 6)), 240),
    "bmm": (torch.bmm, (t(3, 4, 5), t(3, 5, 6)), 720),
    "addmm of a matrix": (torch.addmm, (t(4, 6), t(4, 5), t(5, 6)), 240),
    "addmm of a column": (torch.addmm, (t(4, 1), t(4, 5), t(5, 6)), 240),
    "addmm of a row": (torch.addmm, (t(6), t(4, 5), t(5, 6)), 240),
    "addmm, scaled": (lambda a, b, c: torch.addmm(a, b, c, beta=0.5, alpha=0.5), (t(4, 6), t(4, 5), t(5, 6)), 240),
    "baddbmm": (torch.baddbmm, (t(3, 4, 6), t(3, 4, 5), t(3, 5, 6)), 720),
    "matmul": (torch.matmul, (t(5, 6), t(6, 7)), 420),
    "einsum": (lambda a, b: torch.einsum("ab,bc->ac", a, b), (t(6, 7), t(7, 8)), 672),
    "conv2d": (lambda x, w: torch.conv2d(x, w, padding=1), (t(2, 3, 6, 6), t(6, 3, 4, 4)), 28800),
    "conv1d": (lambda x, w: torch.conv1d(x, w, padding=1), (t(2, 3, 6), t(6, 3, 4)), 1440),
    "cos": (torch.cos, (t(4, 5),), 0),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (t(4, 8, 128, 64), t(4, 8, 128, 64), t(4, 8, 128, 64)),
        134217728,
    ),
    "attention over more keys": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        (t(4, 8, 128, 64), t(4, 8, 256, 64), t(4, 8, 256, 64)),
        268435456,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_flop_counters_calls(name: str) -> None:
    function, inputs, expected = CALLS[name]
    assert flops(called(function), inputs, "torch") == expected


def test_the_flop_counters_linear() -> None:
    assert flops(nn.Linear(9, 10), (t(8, 9),), "torch") == 1440


def test_the_flop_counters_script() -> None:
    @torch.jit.script
    def square(x: torch.Tensor) -> torch.Tensor:
        return torch.mm(x, x)

    assert flops(called(square), (t(5, 5),), "torch") == 250


def test_the_flop_counters_backward() -> None:
    class Chain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Parameter(t(4, 5))

        def forward(self, second: torch.Tensor, third: torch.Tensor) -> torch.Tensor:
            return torch.bmm(torch.mm(self.first, second).unsqueeze(0).expand(7, 4, 6), third)

    assert flops(Chain(), (t(5, 6), t(7, 6, 7)), "torch", training=True) == 5184


def test_the_flop_counters_own_gradient() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return torch.mm(x, x)

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return torch.mm(gradient, gradient) + torch.mm(gradient, gradient)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(t(5, 5))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Twice.apply(self.weight) + x

    assert flops(Model(), (t(5, 5),), "torch", training=True) == 750


def test_the_flop_counters_resnet18() -> None:
    """The counter's 10,884,440,064 also has the gradient of the image, which a training step does not compute."""
    image_gradient = 2 * 112 * 112 * 64 * 3 * 7 * 7
    result = opscope.profile("resnet18", convention="torch", training=True)
    assert result.totals.flops == 10_884_440_064 - image_gradient


# --- fvcore

CONVOLUTIONS = [
    # layer, input: MACs are the outputs times what each is a sum of
    (nn.Conv2d(10, 4, 3, padding=1), (5, 10, 8, 8), 5 * 8 * 8 * 4 * 10 * 9),
    (nn.Conv2d(10, 4, 3, stride=2, padding=1), (5, 10, 8, 8), 5 * 4 * 4 * 4 * 10 * 9),
    (nn.Conv2d(8, 16, 3, padding=1, groups=4), (2, 8, 6, 6), 2 * 6 * 6 * 16 * 2 * 9),
    (nn.Conv1d(10, 3, 5, padding=1), (4, 10, 12), 4 * 10 * 3 * 10 * 5),
    (nn.Conv3d(10, 3, 3, padding=1), (2, 10, 5, 5, 5), 2 * 125 * 3 * 10 * 27),
    (nn.ConvTranspose1d(10, 3, 5, padding=1), (4, 10, 12), 4 * 12 * 10 * 3 * 5),
    (nn.ConvTranspose2d(10, 4, 3, stride=2, padding=1), (5, 10, 8, 8), 5 * 8 * 8 * 10 * 4 * 9),
]


@pytest.mark.parametrize(("layer", "shape", "expected"), CONVOLUTIONS, ids=lambda part: str(part)[:40])
def test_fvcores_convolutions(layer: nn.Module, shape: tuple[int, ...], expected: int) -> None:
    assert flops(layer, (t(*shape),), "fvcore") == expected


MATRICES: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], int]] = {
    "matmul": (torch.matmul, (t(20, 10), t(10, 100)), 20 * 10 * 100),
    "one batch": (torch.matmul, (t(1, 20, 10), t(1, 10, 100)), 20 * 10 * 100),
    "two dimensions of batches": (torch.matmul, (t(2, 2, 20, 10), t(2, 2, 10, 100)), 4 * 20 * 10 * 100),
    "broadcast": (torch.matmul, (t(2, 20, 10), t(10, 100)), 2 * 20 * 10 * 100),
    "bmm": (torch.bmm, (t(2, 5, 2), t(2, 2, 3)), 2 * 5 * 2 * 3),
    "mm": (torch.mm, (t(3, 4), t(4, 5)), 3 * 4 * 5),
    "einsum": (lambda a, b: torch.einsum("nct,ncp->ntp", a, b), (t(1, 5, 2), t(1, 5, 3)), 1 * 2 * 3 * 5),
    "einsum of another order": (lambda a, b: torch.einsum("ntg,ncg->nct", a, b), (t(1, 2, 6), t(1, 5, 6)), 2 * 6 * 5),
}


@pytest.mark.parametrize("name", MATRICES)
def test_fvcores_matrices(name: str) -> None:
    function, inputs, expected = MATRICES[name]
    assert flops(called(function), inputs, "fvcore") == expected


def test_fvcores_linear_layers() -> None:
    assert flops(nn.Linear(10, 20), (t(5, 10),), "fvcore") == 5 * 10 * 20
    assert flops(nn.Linear(10, 20), (t(5, 5, 10),), "fvcore") == 5 * 5 * 10 * 20


def test_fvcores_three_layers() -> None:
    """A convolution of 1x1, a mean over the image, which fvcore counts by its input, and two linear layers."""
    model = nn.Sequential(nn.Conv2d(2, 5, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 3), nn.Linear(3, 1))
    conv, pool, linear = 5 * 2 * 100, 5 * 100, 5 * 3 + 3 * 1
    assert flops(model, (t(1, 2, 10, 10),), "fvcore") == conv + pool + linear


def test_fvcores_batch_norm() -> None:
    """In evaluation one for each element without an affine part, two with it."""
    assert flops(nn.BatchNorm1d(10, affine=False).eval(), (t(10, 10),), "fvcore") == 100
    assert flops(nn.BatchNorm1d(10).eval(), (t(10, 10),), "fvcore") == 200


# --- torchinfo


class Digits(nn.Module):
    """Two convolutions with pooling, two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 10, 5), nn.Conv2d(10, 20, 5)
        self.hidden, self.classes = nn.Linear(320, 50), nn.Linear(50, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(F.max_pool2d(self.first(x), 2))
        x = F.relu(F.max_pool2d(F.dropout2d(self.second(x), 0.3, self.training), 2))
        return F.log_softmax(self.classes(F.relu(self.hidden(x.view(-1, 320)))), dim=1)


def test_torchinfos_digits() -> None:
    """Its 975,200 mult-adds are the MACs and one add for each result that has a bias."""
    totals = opscope.profile(Digits(), t(2, 1, 28, 28)).totals
    biases = 2 * (10 * 24 * 24 + 20 * 8 * 8 + 50 + 10)
    assert (totals.params, totals.macs + biases) == (21_840, 975_200)


def test_torchinfos_layer_that_runs_six_times() -> None:
    """Its parameters count once, its 173.71 M mult-adds six times."""

    class Again(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(64, 64, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(6):
                x = self.conv(x)
            return x

    totals = opscope.profile(Again(), t(1, 64, 28, 28)).totals
    assert totals.params == 36_928
    assert totals.macs + 6 * 64 * 28 * 28 == 36_928 * 28 * 28 * 6 == 173_709_312


def test_torchinfos_lstm() -> None:
    class Words(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding, self.encoder = nn.Embedding(20, 300), nn.LSTM(300, 512, num_layers=2)
            self.decoder = nn.Linear(512, 20)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.decoder(self.encoder(self.embedding(x))[0])

    totals = opscope.profile(Words(), torch.zeros(1, 100, dtype=torch.long)).totals
    gates = 4 * 512 * (300 + 512) + 4 * 512 * (512 + 512)
    assert totals.params == 3_784_580
    assert totals.macs == 100 * (gates + 512 * 20)
