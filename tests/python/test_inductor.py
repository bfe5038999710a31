"""The kernels that Inductor makes: found without generating any, and told by Dynamo's nodes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import opscope
from opscope.api import _source_of
from opscope.options import Options
from opscope.tracers.inductor import SETTINGS, find_kernels, write_kernels

PROGRAM = str(Path(sys.executable).parent / "opscope")


def conv_net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8), nn.LayerNorm(8), nn.Softmax(-1)).eval()


class Joined(nn.Module):
    """Its concatenation is written in place, by a library's call and by a loop."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([torch.relu(x) @ y, torch.tanh(x + y)])


class Broken(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(x) * 2
        torch._dynamo.graph_break()
        return torch.exp(x).sum(-1)


def kernels(model: Any, inputs: Any, setting: str = "inductor") -> list[tuple[str, list[str]]]:
    """Each kernel's kind with the targets of its nodes; those that only lay memory out are left away."""
    graph, answer = find_kernels(_source_of(model, Options()), inputs, Options(), setting, lambda _: None)
    targets = [node["target"].rpartition(".")[2] for node in json.loads(graph.to_json())["nodes"]]
    return [(row["kind"], [targets[node] for node in row["nodes"]]) for row in answer["kernels"] if row["nodes"]]


def test_a_library_call_stands_alone() -> None:
    found = kernels(conv_net(), torch.zeros(1, 3, 8, 8))
    assert found == [("extern", ["conv2d"]), ("fused", ["batch_norm", "relu"])]


def test_with_frozen_weights_the_call_takes_all() -> None:
    found = kernels(conv_net(), torch.zeros(1, 3, 8, 8), "inductor-max")
    assert len(found) == 1 and found[0][0] == "extern"


def test_decomposed_ops_come_back_as_one() -> None:
    found = kernels(mlp(), torch.zeros(4, 8))
    assert found == [
        ("extern", ["linear"]),
        ("fused", ["gelu"]),
        ("extern", ["linear"]),
        ("fused", ["layer_norm", "softmax"]),
    ]


def test_a_concatenation_is_in_the_kernels_that_write_it() -> None:
    found = kernels(Joined(), (torch.zeros(4, 4), torch.zeros(4, 4)))
    assert found == [("fused", ["relu", "add", "tanh"]), ("extern", ["matmul", "cat"])]


def test_graphs_are_scheduled_one_by_one() -> None:
    source = _source_of(Broken(), Options())
    graph, answer = find_kernels(source, torch.zeros(4, 8), Options(), "inductor", lambda _: None)
    assert len(graph.parts) == 2
    assert [row["graph"] for row in answer["kernels"]] == [0, 1]
    parts = [node.get("part", 0) for node in json.loads(graph.to_json())["nodes"]]
    assert all(parts[node] == row["graph"] for row in answer["kernels"] for node in row["nodes"])


def test_nothing_is_compiled_and_nothing_stays_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import codecache, config, scheduler

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("compiled")

    monkeypatch.setattr(codecache.PyCodeCache, "load_by_key_path", refuse)
    monkeypatch.setattr(codecache.CppCodeCache, "load_async", refuse)
    before, freezing, model = scheduler.Scheduler.codegen, config.freezing, conv_net()
    weight = model[0].weight.detach().clone()
    for setting in SETTINGS:
        kernels(model, torch.zeros(1, 3, 8, 8), setting)
    assert scheduler.Scheduler.codegen is before and config.freezing == freezing
    assert torch.equal(model[0].weight, weight)


def test_wrong_questions_are_refused(tmp_path: Path) -> None:
    source = _source_of(mlp(), Options())
    with pytest.raises(opscope.Error, match="nothing called 'tvm'"):
        find_kernels(source, torch.zeros(4, 8), Options(), "tvm", lambda _: None)
    if not torch.cuda.is_available():
        with pytest.raises(opscope.Error, match="no GPU"):
            write_kernels(source, Options(device="cuda"), "inductor", str(tmp_path), lambda _: None)


def compare(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OPSCOPE_PYTHON": sys.executable}
    return subprocess.run([PROGRAM, "fuse", *arguments], capture_output=True, text=True, env=environment)


def test_the_program_compares(tmp_path: Path) -> None:
    path = tmp_path / "own_model.py"
    path.write_text(
        "import torch\nfrom torch import nn\ndef make():\n"
        "    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())\n"
        "    return model.eval(), torch.zeros(1, 3, 8, 8)\n"
    )
    done = compare(f"{path}:make", "--against", "inductor", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["against"] == "inductor" and found["totals"]["extern_kernels"] == 1
    assert found["pairs"]["both"] == 1 and found["pairs"]["ours_only"] == 1
    assert found["pairs"]["recall"] == 1.0 and found["pairs"]["precision"] == 0.5
    assert "frozen" in found["differences"][0]["why"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("resnet18", "--against", "inductr"), "did you mean inductor"),
        (("resnet18", "--against", "inductor", "--tracer", "fx"), "Dynamo"),
    ],
)
def test_the_program_refuses(arguments: tuple[str, ...], says: str) -> None:
    done = compare(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert says in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("name", "recall"), [("resnet18", 0.95), ("mobilenet_v3_small", 0.95), ("efficientnet_b0", 0.95)])
def test_all_that_inductor_can_fuse_is_fused_here(name: str, recall: float) -> None:
    done = compare(name, "--against", "inductor-max", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["pairs"]["recall"] >= recall
