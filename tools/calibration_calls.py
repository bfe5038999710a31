"""Chooses the calls that `opscope calibrate` times: a few thousand that cover what real models do.

    python tools/calibration_calls.py candidates --to build/candidates.txt [--seconds 1500]
    python tools/calibration_calls.py choose build/candidates.txt --to data/calls/cuda.txt --count 6000
    python tools/calibration_calls.py candidates --device cpu --only published --to build/cpu_published.txt --seconds 400
    python tools/calibration_calls.py candidates --device cpu --only drawn --to build/cpu_drawn.txt --seconds 400
    python tools/calibration_calls.py choose build/cpu_published.txt build/cpu_drawn.txt --device cpu --to data/calls/cpu.txt

`candidates` captures models, those for a GPU without one, at sizes drawn from a seed: published ones of torchvision and
timm at several batches and dtypes, and layers of any width of all kinds; a third of them training. Those for a CPU are
smaller, mostly float32, and few are training. `choose` orders the calls so that each is the one most unlike all before
it, family by family: a part of the list, from its begin, covers the same space more thinly. Of several files it takes
turns; for a CPU, which has less time, a third are calls of the first file as they come.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

MOST_TEXT = 700  # characters of a call: lists of many tensors are long
MOST_BYTES = {"cuda": 6 << 30, "cpu": 64e6}  # of what a call moves
MOST_FLOPS = {"cuda": 6e12, "cpu": 4e9}  # some 50 ms of one core
SHARES = {
    "matmul": 0.27,
    "conv": 0.27,
    "attention": 0.08,
    "pointwise": 0.11,
    "copy": 0.06,
    "norm": 0.07,
    "reduction": 0.04,
    "softmax": 0.02,
}
OTHER_SHARE = 0.02  # of each other family
DTYPES = (torch.float32, torch.bfloat16, torch.bfloat16, torch.float32, torch.float16)

Case = tuple[nn.Module, tuple[Any, ...]]
MADE_BY_OTHERS = ("mkldnn_rnn_layer_backward", "_cudnn_rnn_backward")  # they read what only a forward pass can have left
CPU_DTYPES = (torch.float32, torch.float32, torch.float32, torch.float32, torch.bfloat16)
draw = random.Random(0)
device = "cuda"  # that calls are for


def width() -> int:
    """Mostly multiples of 8, as people choose them; a fourth of any size."""
    size = int(2 ** draw.uniform(3.5, 12.5 if device == "cuda" else 11.6))
    return max(8, size // 8 * 8) if draw.random() < 0.75 else size


def some(*sizes: int) -> int:
    return draw.choice(sizes)


def length() -> int:
    if device == "cpu":
        return draw.choice([1, 7, 16, 32, 49, 64, 77, 100, 128, 128, 128, 196, 197, 256, 333, 384, 512])
    return draw.choice([1, 7, 16, 17, 49, 50, 64, 77, 100, 128, 196, 197, 256, 333, 512, 577, 777, 1024, 1500, 2048, 4096])


def batch() -> int:
    if device == "cpu":
        return draw.choice([1, 1, 1, 1, 1, 1, 2, 3, 4, 8])
    return draw.choice([1, 1, 2, 3, 4, 5, 8, 8, 12, 16, 24, 32, 48, 64])


class Attention(nn.Module):
    """Queries, keys and values, their product, and what follows: with a mask or without, causal or not, grouped heads."""

    def __init__(self, heads: int, key_heads: int, head: int, mask: str) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head, self.mask = heads, key_heads, head, mask
        self.query = nn.Linear(heads * head, heads * head, bias=draw.random() < 0.5)
        self.key = nn.Linear(heads * head, key_heads * head)
        self.value = nn.Linear(heads * head, key_heads * head)
        self.output = nn.Linear(heads * head, heads * head)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, places, _ = x.shape
        q = self.query(x).view(rows, places, self.heads, self.head).transpose(1, 2)
        k = self.key(x).view(rows, places, self.key_heads, self.head).transpose(1, 2)
        v = self.value(x).view(rows, places, self.key_heads, self.head).transpose(1, 2)
        if self.key_heads != self.heads:
            k, v = (t.repeat_interleave(self.heads // self.key_heads, 1) for t in (k, v))
        if self.mask == "written out":
            scores = q @ k.transpose(-2, -1) / self.head**0.5
            mixed = scores.softmax(-1) @ v
        else:
            mask = torch.zeros(rows, 1, places, places, dtype=x.dtype, device=x.device) if self.mask == "mask" else None
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.mask == "causal")
        return self.output(mixed.transpose(1, 2).reshape(rows, places, -1))


class Rotary(nn.Module):
    def __init__(self, heads: int, head: int) -> None:
        super().__init__()
        self.heads, self.head = heads, head

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        x = x.view(x.shape[0], x.shape[1], self.heads, self.head).transpose(1, 2)
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
        return x * cosine + turned * sine


class Root(nn.Module):
    """A norm by the root of the mean square, as language models write it out."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class Mixed(nn.Module):
    """Elements one by one, added, scaled, joined and cut apart."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))
        self.acts = nn.ModuleList(
            draw.sample(
                [
                    nn.GELU(),
                    nn.SiLU(),
                    nn.ReLU(),
                    nn.Sigmoid(),
                    nn.Tanh(),
                    nn.Hardswish(),
                    nn.LeakyReLU(),
                    nn.ELU(),
                    nn.Softplus(),
                    nn.GELU("tanh"),
                    nn.ReLU6(),
                    nn.Hardsigmoid(),
                ],
                4,
            )
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.scale + self.shift
        for act in self.acts:
            y = act(y) + x
        a, b = (torch.cat((y, x), -1)).chunk(2, -1)
        z = torch.stack((a * 2.0, b - 1.0), 1).mean(1)
        z = torch.where(z > 0, z, x).clamp(-3.0, 3.0) / (x.abs() + 1.0)
        z = z.exp().sqrt() * torch.rsqrt(y * y + 1.0) - z.sin() * z.cos()
        z = z.masked_fill(z > 2.0, 0.0) ** 2
        return z.transpose(-1, -2).contiguous().sum(-1) + z.amax(-2) + z.float().to(x.dtype).std(-2)


class Residual(nn.Module):
    def __init__(self, channels: int, kernel: int, groups: int, norm: str, act: nn.Module) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, kernel, padding=kernel // 2, groups=groups, bias=draw.random() < 0.4)
        self.norm: nn.Module = (
            nn.BatchNorm2d(channels) if norm == "batch" else nn.GroupNorm(some(*[g for g in (1, 2, 4, 8) if channels % g == 0]), channels)
        )
        self.act = act
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, max(8, channels // 4), 1),
            nn.SiLU(),
            nn.Conv2d(max(8, channels // 4), channels, 1),
            nn.Sigmoid(),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.act(self.norm(self.conv(x)))
        return x + y * self.gate(y)


class Net(nn.Module):
    """A layer, so that its weights are weights; several inputs by place."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, *x: Any) -> Any:
        y = self.net(*x)
        return y[0] if isinstance(y, tuple) else y


class Loss(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.head = nn.Linear(64, classes)

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(self.head(x).flatten(0, -2), target.flatten())


def fits(count: int, most: float = 2**27) -> bool:
    return count <= most


# --- cases: each draws its own sizes


def mlp() -> Case:
    rows, sizes = batch() * some(1, 1, length()), [width() for _ in range(some(2, 3, 4))]
    layers: list[nn.Module] = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b, bias=draw.random() < 0.7), draw.choice([nn.ReLU(), nn.GELU(), nn.SiLU()])]
    return nn.Sequential(*layers), (torch.empty(rows, sizes[0]),)


def vocabulary() -> Case:
    classes = some(1000, 8192, 30522, 32000, 50257, 51200, 65537, 128256, 151936)
    return Net(Loss(classes)), (torch.empty(some(1, 2, 4), some(64, 128, 512), 64), torch.empty(0, dtype=torch.int64))


def attention() -> Case:
    head = some(32, 40, 48, 64, 64, 64, 72, 80, 96, 128, 128, 256)
    heads = some(2, 3, 4, 6, 8, 12, 16, 20, 24, 32)
    key_heads = draw.choice([h for h in (1, 2, 4, 8, heads) if heads % h == 0])
    places = length()
    rows = max(1, min(batch(), 2**16 // (places * max(1, heads // 8))))
    return Attention(heads, key_heads, head, draw.choice(["none", "causal", "mask", "written out"])), (
        torch.empty(rows, places, heads * head),
    )


def decode() -> Case:
    """One token against a cache."""
    head, heads = some(64, 64, 96, 128, 128), some(4, 8, 12, 16, 32)
    key_heads = draw.choice([h for h in (1, 2, 4, 8, heads) if heads % h == 0])
    past, rows = some(128, 500, 640, 1024, 2048, 4096, 8192), some(1, 2, 4, 8, 16, 32)

    class Step(nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
            k, v = torch.cat((k, new), 2), torch.cat((v, new), 2)
            return nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=key_heads != heads).transpose(1, 2).reshape(rows, 1, -1)

    shape = (rows, key_heads, past, head)
    return Step(), (torch.empty(rows, heads, 1, head), torch.empty(shape), torch.empty(shape), torch.empty(rows, key_heads, 1, head))


def block() -> Case:
    head = some(32, 48, 64, 64, 80, 128)
    heads = some(2, 4, 6, 8, 12, 16, 20)
    size, places = head * heads, length()
    rows = max(1, min(batch(), 2**16 // places))
    norm = draw.choice([nn.LayerNorm, Root])
    inner = draw.choice([4 * size, int(2.7 * size) // 8 * 8, width()])
    layers = [
        norm(size),
        Attention(heads, heads, head, draw.choice(["none", "causal"])),
        nn.Dropout(0.1),
        norm(size),
        nn.Linear(size, inner),
        draw.choice([nn.GELU(), nn.SiLU()]),
        nn.Linear(inner, size),
    ]
    return nn.Sequential(*layers), (torch.empty(rows, places, size),)


def rotary() -> Case:
    heads, head, places = some(4, 8, 16, 32), some(64, 80, 96, 128), length()
    return Rotary(heads, head), (
        torch.empty(some(1, 2, 8), places, heads * head),
        torch.empty(1, 1, places, head),
        torch.empty(1, 1, places, head),
    )


def mixed() -> Case:
    size, places = width(), length()
    rows = max(1, min(batch(), 2**25 // (size * places)))
    return Mixed(size), (torch.empty(rows, places, size),)


def norms() -> Case:
    size, places = width(), length()
    rows = max(1, min(batch(), 2**26 // (size * places)))
    return nn.Sequential(nn.LayerNorm(size), Root(size), nn.Softmax(-1), nn.RMSNorm(size), nn.LogSoftmax(-1)), (
        torch.empty(rows, places, size),
    )


def convolution() -> Case:
    side = some(4, 7, 8, 14, 16, 20, 28, 32, 40, 56, 64, 80, 96, 112, 128, 160, 224, 256)
    channels, out = min(width(), 2048), min(width(), 2048)
    kernel, stride = some(1, 1, 1, 3, 3, 3, 5, 7), some(1, 1, 1, 2)
    rows = max(1, min(batch(), 2**27 // (side * side * max(channels, out))))
    dilation = some(1, 1, 1, 1, 2) if kernel > 1 else 1
    group = 1
    way = draw.random()
    if way < 0.2:
        group, out = channels, channels
    elif way < 0.3:
        group = some(2, 4, 8, 32)
        channels, out = max(group, channels // group * group), max(group, out // group * group)
    kind = nn.ConvTranspose2d if group == 1 and draw.random() < 0.06 and kernel > 1 else nn.Conv2d
    made = kind(channels, out, kernel, stride, padding=dilation * (kernel // 2), groups=group, dilation=dilation, bias=draw.random() < 0.4)
    return Net(made), (torch.empty(rows, channels, side, side),)


def first_convolution() -> Case:
    side, out = some(32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 448, 512), some(16, 24, 32, 40, 64, 96, 128, 192, 384, 768, 1024)
    kernel, stride = draw.choice([(3, 1), (3, 2), (7, 2), (4, 4), (8, 8), (14, 14), (16, 16), (32, 32)])
    rows = max(1, min(batch(), 2**26 // (side * side * out // stride**2)))
    layers = [
        nn.Conv2d(some(1, 3, 3, 3, 4), out, kernel, stride, padding=kernel // 2 if kernel < 8 else 0, bias=draw.random() < 0.5),
        nn.BatchNorm2d(out),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    return nn.Sequential(*layers), (torch.empty(rows, layers[0].in_channels, side, side),)  # type: ignore[arg-type]


def residual() -> Case:
    channels, side = max(8, min(width(), 1024) // 8 * 8), some(7, 10, 14, 20, 28, 40, 56, 80, 112, 128)
    rows = max(1, min(batch(), 2**26 // (side * side * channels)))
    groups = draw.choice([1, 1, channels])
    made = Residual(
        channels,
        some(1, 3, 3, 5, 7),
        groups,
        draw.choice(["batch", "batch", "group"]),
        draw.choice([nn.ReLU(inplace=True), nn.SiLU(inplace=True), nn.GELU(), nn.Hardswish(inplace=True), nn.LeakyReLU(0.1)]),
    )
    resize = draw.choice(
        [
            nn.Identity(),
            nn.AvgPool2d(2),
            nn.MaxPool2d(2),
            nn.Upsample(scale_factor=2),
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.AdaptiveAvgPool2d(1),
            nn.PixelShuffle(2),
            nn.ZeroPad2d(1),
        ]
    )
    return nn.Sequential(made, resize), (torch.empty(rows, channels, side, side),)


def next_block() -> Case:
    """Convolution by channel, then linear layers over channels that come last."""
    channels, side = max(16, min(width(), 1024) // 8 * 8), some(7, 14, 20, 28, 56, 64)
    rows = max(1, min(batch(), 2**25 // (side * side * channels)))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
            self.norm, self.up, self.down = nn.LayerNorm(channels), nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
            self.scale = nn.Parameter(torch.ones(channels))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.norm(self.wide(x).permute(0, 2, 3, 1))
            y = self.scale * self.down(nn.functional.gelu(self.up(y)))
            return x + y.permute(0, 3, 1, 2)

    return Block(), (torch.empty(rows, channels, side, side),)


def windows() -> Case:
    """Windows of an image, cut out and put back, as Swin has them."""
    window, heads, head = some(4, 7, 8, 12), some(2, 3, 4, 6, 12), 32
    side, size = window * some(1, 2, 4, 8), heads * head
    rows = max(1, min(batch(), 2**24 // (side * side * size)))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attend = Attention(heads, heads, head, draw.choice(["written out", "mask"]))
            self.roll = draw.random() < 0.5

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.roll:
                x = torch.roll(x, (-window // 2, -window // 2), (1, 2))
            n = side // window
            y = x.view(rows, n, window, n, window, size).transpose(2, 3).reshape(rows * n * n, window * window, size)
            y = self.attend(y)
            y = y.view(rows, n, n, window, window, size).permute(0, 1, 3, 2, 4, 5).contiguous().view(rows, side, side, size)
            return x + torch.cat((y[:, 0::2], y[:, 1::2]), 1)

    return Block(), (torch.empty(rows, side, side, size),)


def in_one() -> Case:
    channels, out, kernel = min(width(), 1024), min(width(), 1024), some(1, 3, 5, 7, 10, 15)
    places, rows = some(100, 400, 1000, 3000, 8000, 16000), some(1, 2, 4, 8, 16)
    rows = max(1, min(rows, 2**25 // (places * max(channels, out))))
    group = draw.choice([1, 1, 1, channels])
    layers = [nn.Conv1d(channels, channels if group > 1 else out, kernel, some(1, 1, 2, 5), padding=kernel // 2, groups=group), nn.GELU()]
    return nn.Sequential(*layers), (torch.empty(rows, channels, places),)


def in_three() -> Case:
    channels, out, side, frames = (
        some(3, 16, 32, 64, 128, 256),
        some(16, 32, 64, 128, 256),
        some(7, 14, 28, 56, 64, 112),
        some(4, 8, 16, 32),
    )
    rows = max(1, min(some(1, 2, 4, 8), 2**26 // (frames * side * side * max(channels, out))))
    kernel = draw.choice([(3, 3, 3), (1, 3, 3), (3, 1, 1), (1, 1, 1), (3, 7, 7)])
    layers = [
        nn.Conv3d(channels, out, kernel, some(1, 1, 2), padding=tuple(k // 2 for k in kernel), bias=False),
        nn.BatchNorm3d(out),
        nn.ReLU(inplace=True),
        nn.MaxPool3d(2),
    ]
    return nn.Sequential(*layers), (torch.empty(rows, channels, frames, side, side),)


def recurrent() -> Case:
    size, hidden, steps = min(width(), 1024), min(width(), 1024), some(1, 10, 35, 64, 100, 200)
    kind = draw.choice([nn.LSTM, nn.LSTM, nn.GRU, nn.RNN])
    return Net(kind(size, hidden, some(1, 1, 2), batch_first=draw.random() < 0.6, bidirectional=draw.random() < 0.3)), (
        torch.empty(some(1, 4, 16, 32), steps, size),
    )


def lookup() -> Case:
    rows, size = some(512, 1000, 30522, 32000, 50257, 128256, 1_000_000), min(width(), 2048)
    if rows * size > 2**28:
        size = 64
    places = (some(1, 2, 8, 32), length())
    if draw.random() < 0.3:
        return Net(nn.EmbeddingBag(rows, min(size, 256), mode="sum")), (
            torch.empty(some(64, 256, 1024, 4096), some(1, 4, 20), dtype=torch.int64),
        )
    return Net(nn.Embedding(rows, size)), (torch.empty(*places, dtype=torch.int64),)


def gathers() -> Case:
    rows, size, picked = some(64, 512, 4096, 32768), min(width(), 2048), some(16, 256, 4096)

    class Gather(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
            y = x[i] + x.index_select(0, i)
            z = torch.zeros_like(x).index_add_(0, i, y)
            best, at = z.topk(4, -1)
            order = x.argsort(-1)
            return (
                best.sum()
                + at.float().sum()
                + y.cumsum(-1).sum()
                + order.float().sum()
                + x.gather(1, order).sum()
                + z.argmax(-1).float().sum()
            )

    return Gather(), (torch.empty(rows, size), torch.empty(picked, dtype=torch.int64))


def batched() -> Case:
    count, m, n, k = some(1, 4, 8, 16, 48, 64, 128, 256, 512), min(width(), 2048), min(width(), 2048), min(width(), 2048)
    while count * max(m * n, m * k, n * k) > 2**27:
        count = max(1, count // 2)
        m = max(8, m // 2)
        n = max(8, n // 2)

    class Products(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.bmm(a, b) if draw.random() < 0.5 else torch.einsum("bmk,bkn->bmn", a, b)

    return Products(), (torch.empty(count, m, k), torch.empty(count, k, n))


def masks() -> Case:
    """What language models make before their layers: positions, angles, masks."""
    rows, places, head = some(1, 2, 4, 16), length(), some(64, 128)

    class Before(nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            at = torch.arange(places, device=ids.device)
            angles = at[None, :, None].float() * torch.arange(0, head, 2, device=ids.device).float()[None, None, :]
            both = torch.cat((angles, angles), -1)
            mask = torch.full((places, places), -1e9, device=ids.device).triu(1)
            keep = (ids != 0)[:, None, None, :].float()
            return both.cos().sum() + both.sin().sum() + ((1.0 - keep) * -1e4 + mask).sum() + (at[None, :] <= at[:, None]).float().sum()

    return Before(), (torch.empty(rows, places, dtype=torch.int64),)


CASES: list[tuple[Callable[[], Case], float]] = [
    (mlp, 10), (vocabulary, 1), (attention, 10), (decode, 4), (block, 8), (rotary, 2), (mixed, 6), (norms, 4), (convolution, 18),
    (first_convolution, 4), (residual, 9), (next_block, 3), (windows, 4), (in_one, 3), (in_three, 2), (recurrent, 2), (lookup, 2), (gathers, 1), (batched, 4), (masks, 1),  # noqa: E501
]  # fmt: skip

TORCHVISION = [
    "alexnet", "convnext_tiny", "convnext_base", "densenet121", "efficientnet_b0", "efficientnet_b3", "efficientnet_v2_s", "googlenet", "inception_v3", "maxvit_t",  # noqa: E501
    "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large", "regnet_x_1_6gf", "regnet_y_8gf", "resnet18", "resnet50", "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1",  # noqa: E501
    "swin_t", "swin_v2_t", "vgg16", "vit_b_16", "vit_l_16", "wide_resnet50_2", "r3d_18", "mvit_v1_b",
]  # fmt: skip
TRANSFORMERS: list[tuple[str, str, dict[str, Any]]] = [
    ("BertModel", "BertConfig", {}), ("GPT2LMHeadModel", "GPT2Config", {}), ("RobertaModel", "RobertaConfig", {}), ("DistilBertModel", "DistilBertConfig", {}),  # noqa: E501
    ("LlamaForCausalLM", "LlamaConfig", dict(hidden_size=2048, intermediate_size=5632, num_attention_heads=32, num_key_value_heads=4, num_hidden_layers=2, vocab_size=32000)),  # noqa: E501
    ("LlamaForCausalLM", "LlamaConfig", dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=1, vocab_size=128256)),  # noqa: E501
    ("Qwen2ForCausalLM", "Qwen2Config", dict(hidden_size=896, intermediate_size=4864, num_attention_heads=14, num_key_value_heads=2, num_hidden_layers=2, vocab_size=151936)),  # noqa: E501
    ("OPTForCausalLM", "OPTConfig", dict(num_hidden_layers=2)), ("GPTNeoXForCausalLM", "GPTNeoXConfig", dict(hidden_size=1024, intermediate_size=4096, num_attention_heads=16, num_hidden_layers=2)),  # noqa: E501
    ("AlbertModel", "AlbertConfig", {}), ("ElectraModel", "ElectraConfig", {}), ("T5EncoderModel", "T5Config", dict(num_layers=2)), ("MixtralForCausalLM", "MixtralConfig", dict(hidden_size=1024, intermediate_size=2048, num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=1, num_local_experts=8)),  # noqa: E501
    ("MambaForCausalLM", "MambaConfig", dict(num_hidden_layers=1)), ("MistralForCausalLM", "MistralConfig", dict(hidden_size=1024, intermediate_size=3584, num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=2)),  # noqa: E501
]  # fmt: skip


def published() -> tuple[str, Case]:
    way = draw.random()
    if way < 0.35:
        from torchvision import models

        name = draw.choice(TORCHVISION)
        side = (
            draw.choice([224, 224, 224, 192, 256, 288])
            if not name.startswith(("swin", "vit", "maxvit", "mvit", "inception", "r3d"))
            else 299
            if name == "inception_v3"
            else 224
        )
        settings: dict[str, Any] = {
            "weights": None,
            **({"init_weights": False, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}),
        }
        if name in ("r3d_18", "mvit_v1_b"):
            return name, (
                getattr(models.video, name)(weights=None),
                (torch.empty(some(1, 2, 4), 3, 16, 112 if name == "r3d_18" else 224, 112 if name == "r3d_18" else 224),),
            )
        return name, (getattr(models, name)(**settings), (torch.empty(batch(), 3, side, side),))
    if way < (0.75 if device == "cuda" else 0.7):
        import timm

        name = draw.choice(
            timm.list_models(
                exclude_filters=["*giant*", "*huge*", "*gigantic*", "*enormous*", "*_xxl*", "*large*", "*7b*", "*so400m*", "*1b*"]
            )
        )
        model = timm.create_model(name, pretrained=False)
        return name, (model, (torch.empty(batch(), *model.default_cfg.get("input_size", (3, 224, 224))),))
    import transformers

    kind, config, given = draw.choice(TRANSFORMERS)
    model = getattr(transformers, kind)(getattr(transformers, config)(**given, **({"use_cache": False} if "LM" in kind else {})))
    places = min(length(), 512) if kind in ("BertModel", "RobertaModel", "ElectraModel", "AlbertModel", "DistilBertModel") else length()
    return kind, (model, (torch.empty(max(1, min(batch(), 2**14 // places)), places, dtype=torch.int64),))


def targets(case: Case) -> Case:
    model, inputs = case
    if isinstance(model, Net) and isinstance(model.net, Loss):
        return model, (inputs[0], torch.empty(*inputs[0].shape[:-1], dtype=torch.int64))
    return case


def calls_of(native: Any, capture: Any, case: Case, training: bool, autocast: bool, dtype: torch.dtype) -> list[str]:
    model, inputs = targets(case)
    options: dict[str, Any] = {"tracer": "static", **({"device": "cuda"} if device == "cuda" else {})}
    if training:
        options |= {"training": True, "optimizer": draw.choice(["sgd", "adamw", "adamw"])}
    if autocast:
        options["autocast"] = "bfloat16"
    else:
        model = model.to(dtype)
        inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    model.train(training)
    return [text for text, _ in native.call_texts(capture(model, inputs, **options)._graph)]


def without_data(make: Callable[[], tuple[str, Case]]) -> tuple[str, Case]:
    state = draw.getstate()
    try:
        with torch.device("meta"):
            return make()
    except NotImplementedError:  # it initialises its weights by their values
        draw.setstate(state)
        return make()


def candidates(to: Path, seconds: float, only: str) -> None:
    import opscope
    from opscope._load import native
    from opscope.engine import torchvision_ops

    torchvision_ops.prepare()
    begin, seen, failed = time.monotonic(), set(), 0
    makers, weights = zip(*CASES, strict=True)
    with to.open("a") as file:
        while time.monotonic() - begin < seconds:
            draw_published = only == "published" or (not only and draw.random() < 0.25)
            name = ""
            try:
                if draw_published:
                    name, case = without_data(published)
                else:
                    maker = draw.choices(makers, weights)[0]
                    name, case = without_data(lambda maker=maker: (maker.__name__, maker()))
                training = draw.random() < (0.33 if device == "cuda" else 0.08) and any(True for _ in case[0].parameters())
                texts = calls_of(
                    native,
                    opscope.capture,
                    case,
                    training,
                    draw.random() < (0.15 if device == "cuda" else 0.03),
                    draw.choice(DTYPES if device == "cuda" else CPU_DTYPES),
                )
            except Exception as problem:
                failed += 1
                print(f"{name}: {type(problem).__name__} {str(problem)[:100]}", file=sys.stderr)
                continue
            for text in texts:
                if text not in seen and len(text) < 2500:
                    seen.add(text)
                    file.write(text + "\n")
    print(len(seen), "calls,", failed, "cases failed")


def cover(features: list[dict[str, Any]]) -> Iterator[int]:
    """All of them, each the one farthest from those before it: sizes in doublings, another op or kind a few more."""
    sizes = np.zeros((len(features), 16), np.float32)
    for row, each in zip(sizes, features, strict=True):
        row[: len(each["sizes"])] = each["sizes"]
    ops = np.unique([each["op"] + each["dtype"] for each in features], return_inverse=True)[1]
    kinds = np.array([each["kind"] for each in features], np.uint32)
    nearest = np.full(len(features), np.inf, np.float32)
    at = int(np.argsort([each["bytes"] for each in features])[len(features) // 2])
    for _ in features:
        yield at
        apart = ((sizes - sizes[at]) ** 2).sum(1) + 9.0 * (ops != ops[at])
        apart += np.array([2.0], np.float32) * np.bitwise_count(kinds ^ kinds[at])
        nearest = np.minimum(nearest, apart)
        nearest[at] = -1
        at = int(nearest.argmax())


def any_order(features: list[dict[str, Any]]) -> Iterator[int]:
    """As often as models have them."""
    yield from draw.sample(range(len(features)), len(features))


def choose(texts: list[str], count: int, order: Callable[[list[dict[str, Any]]], Iterator[int]]) -> list[str]:
    from opscope._load import native

    features = native.op_features(native.graph_of_calls(texts))
    families: dict[str, list[int]] = defaultdict(list)
    for i, each in enumerate(features):
        if (
            len(texts[i]) <= MOST_TEXT
            and each["bytes"] <= MOST_BYTES[device]
            and each["products"] <= MOST_FLOPS[device]
            and not each["idle"]
        ):
            families[each["family"]].append(i)
    ranked: list[tuple[float, int]] = []
    for family, members in families.items():
        most = min(len(members), int(count * SHARES.get(family, OTHER_SHARE)))
        for rank, at in enumerate(order([features[i] for i in members])):
            if rank == most:
                break
            ranked.append((rank / most, members[at]))
        print(family, len(members), "candidates,", most, "chosen", file=sys.stderr)
    return [texts[i] for _, i in sorted(ranked)]


def in_turns(lists: list[list[str]]) -> list[str]:
    """Each once."""
    found = {text: None for row in itertools.zip_longest(*lists) for text in row if text}
    return list(found)


def main(arguments: list[str]) -> None:
    global device
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["candidates", "choose"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, default=1500)
    parser.add_argument("--only", default="", choices=["", "published", "drawn"])
    parser.add_argument("--count", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    device = asked.device
    draw.seed(asked.seed)
    if asked.what == "candidates":
        return candidates(asked.to, asked.seconds, asked.only)
    from opscope._load import native

    texts = [[line for line in file.read_text().splitlines() if not any(name in line for name in MADE_BY_OTHERS)] for file in asked.files]
    orders = [(each, cover) for each in texts] + ([(texts[0], any_order)] if device == "cpu" else [])
    lists = [choose(each, asked.count // len(orders), order) for each, order in orders]
    asked.to.write_text(native.write_call_list(in_turns(lists)))


if __name__ == "__main__":
    main(sys.argv[1:])
