"""Programs that `opscope.plan` emits, run in 2 and 4 processes: what they give is what the model gives, bit for bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import opscope


class Branches(nn.Module):
    """Two branches, a tied weight, a buffer, a change in place, and views that cross."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.left, self.right, self.head = (nn.Linear(64, 64) for _ in range(4))
        self.head.weight = self.stem.weight
        self.scale: torch.Tensor
        self.register_buffer("scale", torch.rand(64), persistent=False)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.stem(x)
        left = torch.relu_(self.left(x) * self.scale)
        right = torch.tanh(self.right(x)).t().reshape(64, -1).t()
        both = left + right
        return self.head(both), both.sum(1)


def resnet() -> tuple[nn.Module, dict[str, Any]]:
    torchvision = pytest.importorskip("torchvision")
    return torchvision.models.resnet18(weights=None), {"x": torch.rand(2, 3, 64, 64)}


def bert() -> tuple[nn.Module, dict[str, Any]]:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128, vocab_size=200)
    return transformers.BertModel(config), {"input_ids": torch.arange(24).reshape(2, 12), "attention_mask": torch.ones(2, 12, dtype=torch.long)}


def gpt2() -> tuple[nn.Module, dict[str, Any]]:
    transformers = pytest.importorskip("transformers")
    config = transformers.GPT2Config(n_embd=64, n_layer=4, n_head=4, vocab_size=200)
    return transformers.GPT2LMHeadModel(config), {"input_ids": torch.arange(24).reshape(2, 12), "use_cache": False}


def llama() -> tuple[nn.Module, dict[str, Any]]:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=64, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, intermediate_size=128, vocab_size=200
    )
    return transformers.LlamaForCausalLM(config), {"input_ids": torch.arange(24).reshape(2, 12), "use_cache": False}


def branches() -> tuple[nn.Module, dict[str, Any]]:
    return Branches(), {"x": torch.rand(8, 64)}


def tensors_of(result: Any) -> list[torch.Tensor]:
    if isinstance(result, torch.Tensor):
        return [result]
    items = result.values() if hasattr(result, "values") else result if isinstance(result, (list, tuple)) else []
    return [tensor for item in items for tensor in tensors_of(item)]


def run_program(folder: Path, processes: int, model: nn.Module, inputs: dict[str, Any]) -> list[torch.Tensor]:
    held = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    given = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    torch.save({"weights": held, "inputs": given}, folder / "tensors.pt")
    words = ["--tensors", "tensors.pt", "--save", "outputs.pt", "--times", "times", "--runs", "2", "--init", f"file://{folder}/group"]
    running = [
        subprocess.Popen(
            [sys.executable, "run.py", *words],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(processes), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        )
        for rank in range(processes)
    ]
    for process in running:
        _, said = process.communicate(timeout=300)
        assert process.returncode == 0, said
    for rank in range(processes):
        assert len(json.loads((folder / f"times.{rank}.json").read_text())["compute_seconds"]) == 2
    outputs: list[torch.Tensor] = torch.load(folder / "outputs.pt")
    return outputs


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("make", [branches, resnet, bert, gpt2, llama])
def test_the_outputs_are_the_models(tmp_path: Path, make: Any, processes: int) -> None:
    torch.manual_seed(0)
    model, inputs = make()
    model.eval()
    plan = opscope.plan(model, inputs, devices=f"{processes}xl4", links="100GB/s,100ns", device="cpu")
    assert len(plan.stages) == processes
    plan.emit(tmp_path / "run.py")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            expected = tensors_of(model(**inputs))
    finally:
        torch.set_num_threads(threads)
    found = run_program(tmp_path, processes, model, inputs)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape and torch.equal(one, other)


def test_a_device_map_covers_every_weight(tmp_path: Path) -> None:
    model, inputs = gpt2()
    opscope.plan(model, inputs, devices="3xl4", links="100GB/s,100ns").emit(tmp_path / "map.json", "accelerate")
    device_map = json.loads((tmp_path / "map.json").read_text())
    assert set(device_map.values()) == {0, 1, 2}
    for name in dict(model.named_parameters()):
        assert [path for path in device_map if path in ("", name) or name.startswith(path + ".")], name


def test_errors(tmp_path: Path) -> None:
    model, inputs = branches()
    plan = opscope.plan(model, inputs, devices="2xl4", links="1GB/s,1us")
    with pytest.raises(opscope.Error, match="no form of a plan called 'slurm'"):
        plan.emit(tmp_path / "run.py", "slurm")

    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = [torch.rand(4)]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.hidden[0]

    with pytest.raises(opscope.Error, match="no weight, buffer or input"):
        opscope.plan(Constant(), torch.rand(4), devices="l4").emit(tmp_path / "run.py")
