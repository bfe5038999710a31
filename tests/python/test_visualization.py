"""generate_visualization: real models in every format, from whatever can be drawn."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
import torch
from torch import nn

import opscope

X = torch.zeros(1, 3, 16, 16)
MAGIC = {"png": b"\x89PNG", "pdf": b"%PDF-", "svg": b"<", "dot": b"digraph", "html": b"<!doctype html>"}


class TwoInputs(nn.Module):
    """What the seeds' drawing failed on: several inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 8)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU()) for _ in range(6))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids) * mask.unsqueeze(-1)
        for block in self.blocks:
            x = x + block(x)
        return x


def conv_net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3)).eval()


@pytest.mark.parametrize("extension", MAGIC)
def test_every_format(extension: str, tmp_path: Path) -> None:
    path = tmp_path / f"net.{extension}"
    line = opscope.generate_visualization(conv_net(), X, path, "net")
    data = path.read_bytes()
    assert data.startswith(MAGIC[extension]) and len(data) > 500
    assert re.fullmatch(rf"{re.escape(str(path))}  {extension.upper()}, 6 nodes, 5 edges in \d+ boxes", line)


def test_png_has_a_sane_size(tmp_path: Path) -> None:
    opscope.generate_visualization(conv_net(), X, tmp_path / "net.png")
    width, height = struct.unpack(">II", (tmp_path / "net.png").read_bytes()[16:24])
    assert 500 < width < 5000 and 500 < height < 5000


def test_several_inputs_and_equal_blocks(tmp_path: Path) -> None:
    inputs = (torch.zeros(1, 12, dtype=torch.int64), torch.ones(1, 12))
    opscope.generate_visualization(TwoInputs().eval(), inputs, tmp_path / "two.svg", "two")
    svg = (tmp_path / "two.svg").read_text()
    assert all(name in svg for name in ("ids", "mask", "embed", "\u00d76", "viewBox"))


def test_whatever_was_traced(tmp_path: Path) -> None:
    module = conv_net()
    traced = torch.fx.symbolic_trace(module)
    opscope.generate_visualization(traced, X, tmp_path / "fx.svg", "net", "symbolic_trace")
    opscope.generate_visualization(opscope.capture(module, X), None, tmp_path / "graph.svg")
    opscope.generate_visualization(module, X, tmp_path / "method.svg", "net", "symbolic_trace")
    for name in ("fx.svg", "graph.svg", "method.svg"):
        assert "Conv2d" in (tmp_path / name).read_text(), name


def test_options(tmp_path: Path) -> None:
    path = tmp_path / "two.dot"
    inputs = (torch.zeros(1, 12, dtype=torch.int64), torch.ones(1, 12))
    opscope.generate_visualization(TwoInputs().eval(), inputs, path, fold=False, level="op", color="bound")
    whole = path.read_text()
    opscope.generate_visualization(TwoInputs().eval(), inputs, path, focus="blocks.3")
    assert 0 < path.read_text().count("fillcolor") < whole.count("fillcolor")


@pytest.mark.parametrize(
    ("path", "options", "says"),
    [
        ("net.bmp", {}, "no picture format for '.bmp'"),
        ("no/such/folder/net.png", {}, "folder"),
        ("net.svg", {"focus": "nowhere"}, "no module called 'nowhere'"),
        ("net.svg", {"level": "floor"}, "floor"),
        ("net.svg", {"color": "mood"}, "mood"),
    ],
)
def test_clear_errors(path: str, options: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(opscope.Error) as caught:
        opscope.generate_visualization(conv_net(), X, tmp_path / path, **options)
    assert says in f"{caught.value} {caught.value.where} {caught.value.hint}"
    assert not list(tmp_path.iterdir())
