"""Ops replayed alone: all of them or a reason, on made-up data, with the model and the random numbers left as they were."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import opscope
from opscope._load import native
from opscope.engine import torchvision_ops
from opscope.engine.abstract_run import capture
from opscope.engine.training import Training
from opscope.measurement.repeated_ops import repeat_ops

torchvision_ops.prepare()
CPU = torch.device("cpu")


def graph_of(model: Any, *args: Any, training: Training | None = None, **kwargs: Any) -> Any:
    return capture(model, args, kwargs, tracer="eager", training=training)


def quickly(graph: Any, store: Path | str = "") -> dict[str, Any]:
    """Once or a few times: no test looks at a time."""
    counts: dict[str, Any] = native.repeat_ops(graph, store=str(store), cache_bytes=1 << 20, min_seconds=0.0)
    return counts


def resnet18() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    from torchvision.models import resnet18 as make

    return make(weights=None).eval(), (torch.rand(2, 3, 64, 64),), {}


def bert() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100}
    return BertModel(BertConfig(**sizes)).eval(), (), {"input_ids": torch.randint(0, 100, (2, 16))}


def gpt2() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 100, "n_positions": 64}
    return GPT2LMHeadModel(GPT2Config(**sizes)).eval(), (), {"input_ids": torch.randint(0, 100, (2, 16))}


def llama() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 100}
    return LlamaForCausalLM(LlamaConfig(**sizes)).eval(), (), {"input_ids": torch.randint(0, 100, (2, 16))}


def yolov8n() -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    from ultralytics import YOLO

    return YOLO("yolov8n.yaml", verbose=False).model.eval(), (torch.rand(1, 3, 64, 64),), {}


@pytest.mark.parametrize("make", [resnet18, bert, gpt2, llama, yolov8n], ids=lambda make: make.__name__)
def test_every_op_is_replayed_or_listed(make: Callable[[], Any]) -> None:
    model, args, kwargs = make()
    graph = graph_of(model, *args, **kwargs)
    check_all_told(graph, quickly(graph))


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_every_op_of_a_training_step_is_replayed_or_listed(optimizer: str) -> None:
    model, args, _ = resnet18()
    graph = graph_of(model, *args, training=Training(optimizer))
    check_all_told(graph, quickly(graph))


def check_all_told(graph: Any, counts: dict[str, Any]) -> None:
    times = native.repeated_times(graph)
    replayed = sum(time is not None for time in times)
    assert len(times) == len(graph) == replayed + counts["idle"] + sum(calls for _, _, calls in counts["not_replayed"])
    assert counts["signatures"] == counts["measured"] + counts["stored"] + counts["failed"]
    # These models' ops can all be replayed, but for those that look at data.
    assert {op for op, _, _ in counts["not_replayed"]} <= {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero"}
    assert counts["failed"] == 0


class Changes(nn.Module):
    """Writes to its own tensors in every way."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(x)
        self.seen.add_(x.mean(0)).mul_(0.5)
        self.seen[1:] = 3
        return F.dropout(x, 0.5).relu_() + torch.rand(4)


def test_neither_model_nor_random_numbers_change() -> None:
    model = Changes().train()
    graph = graph_of(model, torch.rand(8, 4))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    random = torch.get_rng_state()
    counts = quickly(graph)
    assert not counts["not_replayed"]
    assert torch.equal(torch.get_rng_state(), random)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


class Indexes(nn.Module):
    """Integers that have to be inside of something, most of it small, so that a wrong one is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(3, 8)
        self.bag = nn.EmbeddingBag(2, 8)

    def forward(self, ids: torch.Tensor) -> list[torch.Tensor]:
        rows = self.embedding(ids)
        wide = torch.zeros(5, 2)
        return [
            rows,
            self.bag(ids.reshape(-1) % 2, torch.tensor([0, 3, 4])),
            torch.gather(wide, 1, torch.ones(5, 7, dtype=torch.long)),
            wide.scatter_add(0, torch.ones(3, 2, dtype=torch.long), torch.ones(3, 2)),
            wide.index_select(-1, torch.tensor([0, 1, 1])),
            wide[:, torch.tensor([1, 0, 1])],
            wide.clone().index_put_((torch.tensor([4]), torch.tensor([1])), torch.tensor(2.0)),
            wide.index_add(1, torch.tensor([1]), torch.ones(5, 1)),
            wide.take(torch.tensor([9])),
            F.nll_loss(wide, torch.tensor([0, 1, 0, 1, 1])),
            F.cross_entropy(wide, torch.tensor([0, 1, 0, 1, 1])),
            F.binary_cross_entropy(wide.sigmoid(), torch.rand(5, 2)),
            torch.multinomial(torch.rand(5, 2), 1),
            ids // 2 % 3,
        ]


def test_made_up_indices_are_valid() -> None:
    graph = graph_of(Indexes(), torch.tensor([[0, 1, 2], [2, 1, 0]]))
    counts = quickly(graph)
    assert not counts["not_replayed"]


class LooksAtData(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x[x > 0.5]
        return kept.sum() * x.nonzero().shape[0] * float(x.max())


def test_ops_that_depend_on_data_are_listed() -> None:
    counts = quickly(graph_of(LooksAtData(), torch.rand(8)))
    reasons = {op: reason for op, reason, _ in counts["not_replayed"]}
    assert reasons["aten::index"] == reasons["aten::nonzero"] == "its size depends on data"
    assert any("Python" in reason for reason in reasons.values())


def test_layouts_are_kept() -> None:
    model, x = nn.Conv2d(4, 8, 3).to(memory_format=torch.channels_last), torch.rand(1, 4, 9, 9)
    rows = [graph_of(model, each) for each in (x, x.to(memory_format=torch.channels_last))]
    first, second = ([signature for signature, _ in native.op_signatures(graph)] for graph in rows)
    assert first != second
    assert "strides [324,1,36,4]" in second[0]
    for graph in rows:
        assert quickly(graph)["failed"] == 0


class Smaller(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu())


class Larger(nn.Module):
    """The same ops, under other names and more often."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Smaller() for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def test_another_model_reuses_the_times(tmp_path: Path) -> None:
    store = tmp_path / "times.sqlite"
    small, large = graph_of(Smaller(), torch.rand(2, 16)), graph_of(Larger(), torch.rand(2, 16))
    first = quickly(small, store)
    assert (first["signatures"], first["measured"], first["stored"]) == (3, 3, 0)
    second = quickly(large, store)
    assert (second["signatures"], second["measured"], second["stored"]) == (3, 0, 3)
    assert native.repeated_times(large) == native.repeated_times(small) * 3


def test_measure_repeats_ops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCOPE_CACHE_DIR", str(tmp_path))
    quick = {"warmup": 1, "runs": 2, "repeat_ops": True}
    first = json.loads(opscope.measure(Smaller(), torch.rand(2, 16), **quick).to_json())
    second = json.loads(opscope.measure(Larger(), torch.rand(2, 16), **quick).to_json())
    for found, calls in ((first, 3), (second, 9)):
        repeated = found["measurement"]["repeated_ops"]
        assert (repeated["calls"], len(repeated["rows"]), repeated["other_calls"]) == (calls, 3, 0)
    assert "3 measured alone, 0 from stored times" in note_of(first)
    assert "0 measured alone, 3 from stored times" in note_of(second)


def note_of(profile: dict[str, Any]) -> str:
    (note,) = (row["message"] for row in profile["diagnostics"] if row["kind"] == "repeated")
    return str(note)


def test_another_process_reuses_the_times(tmp_path: Path) -> None:
    store = tmp_path / "times.sqlite"
    quickly(graph_of(Smaller(), torch.rand(2, 16)), store)
    code = (
        "import sys, torch, test_repeat as t\n"
        "counts = t.quickly(t.graph_of(t.Larger(), torch.rand(2, 16)), sys.argv[1])\n"
        "assert (counts['measured'], counts['stored']) == (0, 3), counts\n"
    )
    subprocess.run([sys.executable, "-c", code, str(store)], cwd=Path(__file__).parent, check=True)


def test_a_damaged_store_is_told_of_and_left_alone(tmp_path: Path) -> None:
    store = tmp_path / "times.sqlite"
    store.write_bytes(b"not a database" * 100)
    graph = graph_of(Smaller(), torch.rand(2, 16))
    counts = quickly(graph, store)
    assert counts["measured"] == 3
    assert store.read_bytes() == b"not a database" * 100
    assert "the stored times of ops cannot be used" in graph.to_json()


def test_the_store_is_in_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPSCOPE_CACHE_DIR", str(tmp_path))
    repeat_ops(graph_of(Smaller(), torch.rand(2, 16)), CPU)
    assert (tmp_path / "op_times.sqlite").exists()


def test_what_was_measured_before_an_interruption_is_kept(tmp_path: Path) -> None:
    store = tmp_path / "times.sqlite"

    def interrupt(done: int, total: int, text: str) -> None:
        assert (total, text) == (3, "repeating ops")
        if done == 2:
            raise KeyboardInterrupt

    graph = graph_of(Smaller(), torch.rand(2, 16))
    with pytest.raises(KeyboardInterrupt):
        repeat_ops(graph, CPU, interrupt, store)
    counts = quickly(graph, store)
    assert (counts["measured"], counts["stored"]) == (1, 2)


def test_autocast_around_it_changes_nothing() -> None:
    graph = graph_of(Smaller(), torch.rand(2, 16))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert quickly(graph)["failed"] == 0


def test_what_does_not_fit_is_listed() -> None:
    """A graph may be of a larger machine's."""
    graph = capture(nn.ReLU(), (torch.empty(1 << 44, device="meta"),), {}, tracer="static", device="cpu")
    ((op, reason, calls),) = quickly(graph)["not_replayed"]
    assert (op, calls) == ("aten::relu", 1)
    assert "more than there is" in reason
