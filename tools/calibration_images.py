"""Layers over pictures, sounds and videos whose calls `tools/calibration_calls.py` takes: each draws its own sizes."""

from __future__ import annotations

import torch
from torch import nn

from calibration_layers import Case, Net, batch, draw, even, near, some, width


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


def convolution() -> Case:
    side = near(4, 7, 8, 14, 16, 20, 28, 32, 40, 56, 64, 80, 96, 112, 128, 160, 224, 256)
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
    side, out = near(32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 384, 448, 512), near(16, 24, 32, 40, 64, 96, 128, 192, 384, 768, 1024)
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
    channels, side = even(min(width(), 1024)), near(7, 10, 14, 20, 28, 40, 56, 80, 112, 128)
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
    channels, side = even(max(16, min(width(), 1024))), near(7, 14, 20, 28, 56, 64)
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


def in_one() -> Case:
    channels, out, kernel = min(width(), 1024), min(width(), 1024), some(1, 3, 5, 7, 10, 15)
    places, rows = near(100, 400, 1000, 3000, 8000, 16000), near(1, 2, 4, 8, 16)
    rows = max(1, min(rows, 2**25 // (places * max(channels, out))))
    group = draw.choice([1, 1, 1, channels])
    layers = [nn.Conv1d(channels, channels if group > 1 else out, kernel, some(1, 1, 2, 5), padding=kernel // 2, groups=group), nn.GELU()]
    return nn.Sequential(*layers), (torch.empty(rows, channels, places),)


def in_three() -> Case:
    channels, out, side, frames = (
        near(3, 16, 32, 64, 128, 256),
        near(16, 32, 64, 128, 256),
        near(7, 14, 28, 56, 64, 112),
        near(4, 8, 16, 32),
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


def transposed() -> Case:
    channels, out, kernel = min(width(), 768), min(width(), 768), some(2, 2, 3, 4, 4, 5)
    dimensions = some(1, 2, 2, 2, 2, 3)
    side = near(4, 7, 8, 14, 16, 28, 32, 56, 64) if dimensions == 2 else near(100, 500, 2000) if dimensions == 1 else near(4, 7, 14)
    kind = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}[dimensions]
    rows = max(1, min(batch(), 2**24 // (side**dimensions * max(channels, out))))
    made = kind(channels, out, kernel, some(1, 2, 2, 2), padding=some(0, 1) if kernel > 2 else 0, bias=draw.random() < 0.5)
    return Net(made), (torch.empty(rows, channels, *[side] * dimensions),)


def grouped() -> Case:
    group, side = near(2, 4, 8, 16, 32), near(7, 14, 28, 56, 56, 112)
    each, out = near(4, 8, 16, 24, 32, 64), near(1, 1, 1, 2)
    channels = group * each
    rows = max(1, min(batch(), 2**25 // (side * side * channels)))
    kernel = some(1, 3, 3, 3, 5)
    layers = [
        nn.Conv2d(channels, out * channels, kernel, some(1, 1, 2), kernel // 2, groups=group, bias=False),
        nn.BatchNorm2d(out * channels),
        nn.ReLU(),
    ]
    return nn.Sequential(*layers), (torch.empty(rows, channels, side, side),)


def groups_of_channels() -> Case:
    group, side = near(1, 4, 8, 12, 32), near(7, 14, 16, 28, 32, 44, 64)
    channels = group * near(4, 8, 10, 16, 27)
    rows = max(1, min(batch(), 2**24 // (side * side * channels)))
    norm = draw.choice(
        [nn.GroupNorm(group, channels), nn.GroupNorm(group, channels), nn.InstanceNorm2d(channels, affine=draw.random() < 0.5)]
    )
    layers = [norm, nn.SiLU(), nn.Conv2d(channels, even(min(width(), 512)), 3, padding=1)]
    return nn.Sequential(*layers), (torch.empty(rows, channels, side, side),)


class Resize(nn.Module):
    def __init__(self, size: tuple[int, int], mode: str) -> None:
        super().__init__()
        self.size, self.mode = size, mode

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        corners = None if self.mode == "nearest" else False
        y = nn.functional.interpolate(x, self.size, mode=self.mode, align_corners=corners)
        return nn.functional.adaptive_avg_pool2d(y, 7) + nn.functional.adaptive_max_pool2d(y, 7)


def resized() -> Case:
    side, channels = near(7, 14, 16, 28, 32, 56, 64, 128), near(3, 16, 64, 128, 256, 384, 768)
    rows = max(1, min(batch(), 2**23 // (side * side * channels)))
    to = (max(1, round(side * draw.uniform(0.5, 3))), max(1, round(side * draw.uniform(0.5, 3))))
    return Resize(to, draw.choice(["nearest", "bilinear", "bilinear", "bicubic"])), (torch.empty(rows, channels, side, side),)


def inverted() -> Case:
    """Wide, by channel, gated, narrow: nets for small devices."""
    channels, side = even(near(16, 24, 40, 80, 112, 160)), near(7, 14, 15, 28, 30, 56, 60, 112)
    wide, out, kernel = channels * some(2, 3, 4, 6), draw.choice([channels, even(near(24, 40, 80, 192))]), some(3, 3, 5)
    rows = max(1, min(batch(), 2**25 // (side * side * wide)))

    def act() -> nn.Module:
        return draw.choice([nn.ReLU(True), nn.ReLU6(True), nn.Hardswish(True), nn.SiLU(True), nn.SiLU()])

    layers = [
        *(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), act()),
        *(nn.Conv2d(wide, wide, kernel, some(1, 1, 2), kernel // 2, groups=wide, bias=False), nn.BatchNorm2d(wide), act()),
        *(nn.Conv2d(wide, out, 1, bias=False), nn.BatchNorm2d(out)),
    ]
    return nn.Sequential(*layers), (torch.empty(rows, channels, side, side),)


class Dense(nn.Module):
    """Each layer reads all before it."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(channels + i * growth), nn.ReLU(True), nn.Conv2d(channels + i * growth, growth, 3, padding=1))
            for i in range(3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.cat((x, layer(x)), 1)
        first, second = x.chunk(2, 1)[:2]
        return torch.cat((first * 2, second), 1)


def dense() -> Case:
    channels, growth, side = even(near(16, 64, 128, 256, 512)), even(near(8, 12, 32, 48)), near(7, 14, 28, 56)
    rows = max(1, min(batch(), 2**24 // (side * side * (channels + 3 * growth))))
    return Dense(channels, growth), (torch.empty(rows, channels, side, side),)


class TurnedResize(nn.Module):
    """Of a table or a picture whose channels come last, as transformers resize their positions."""

    def __init__(self, size: tuple[int, int], mode: str, smooth: bool) -> None:
        super().__init__()
        self.size, self.mode, self.smooth = size, mode, smooth

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        corners = None if self.mode == "nearest" else False
        return nn.functional.interpolate(x.permute(0, 3, 1, 2), self.size, mode=self.mode, align_corners=corners, antialias=self.smooth)


def turned_resize() -> Case:
    side, channels = near(7, 14, 16, 24, 37, 56), even(near(32, 64, 128, 192, 384, 768, 1024))
    rows = max(1, min(some(1, 1, 1, 2, 4, 8), 2**22 // (side * side * channels)))
    to = (max(1, round(side * draw.uniform(0.4, 2.5))), max(1, round(side * draw.uniform(0.4, 2.5))))
    mode = draw.choice(["nearest", "bilinear", "bilinear", "bicubic", "bicubic"])
    return TurnedResize(to, mode, mode != "nearest" and draw.random() < 0.2), (torch.empty(rows, side, side, channels),)


def sound() -> Case:
    """Groups of channels normalised over a line or a volume."""
    group, dimensions = near(1, 4, 8, 16), some(1, 1, 3)
    channels = group * near(4, 8, 10, 16)
    side = near(100, 1000, 6000, 25000) if dimensions == 1 else near(8, 16, 32, 48)
    rows = max(1, min(near(1, 2, 4, 8), 2**24 // (side**dimensions * channels)))
    conv = nn.Conv1d if dimensions == 1 else nn.Conv3d
    layers = [conv(channels, channels, 3, some(1, 2), padding=1), nn.GroupNorm(group, channels), draw.choice([nn.GELU(), nn.SiLU()])]
    return nn.Sequential(*layers), (torch.empty(rows, channels, *[side] * dimensions),)
