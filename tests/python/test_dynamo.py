"""opscope.dynamo: the extractor as a backend and as a trace, metadata, memory, files, and errors that say what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx.passes.shape_prop import ShapeProp, TensorMetadata

import opscope
import tracer_models
from opscope import dynamo
from opscope.dynamo import DynamoGraphExtractor, analyze_memory_timeline, save_graph_to_file, trace_model_with_dynamo
from tracer_models import Breaks, Keywords, Nested, Twice


class Branches(nn.Module):
    """Results that are tuples, views and numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        left, right = self.linear(self.norm(x)).chunk(2, dim=1)
        return left * x.shape[0], right.max(dim=1)[0]


X = torch.ones(2, 4)


def quietly(model: Any, inputs: Any, **options: Any) -> DynamoGraphExtractor:
    return trace_model_with_dynamo(model, inputs, verbose=False, **options)


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()


# --- graphs -----------------------------------------------------------------------------------------------------


def test_a_backend_keeps_the_graphs_and_the_results() -> None:
    model, extractor = Breaks().eval(), DynamoGraphExtractor()
    compiled = torch.compile(model, backend=extractor)
    assert torch.equal(compiled(X), model(X)) and torch.equal(compiled(X), model(X))
    assert len(extractor.graph_modules) == len(extractor.graphs) == 3
    assert [found.reason for found in extractor.breaks] == ["the model branches on a tensor's value", "the model prints"]
    assert [found.after for found in extractor.breaks] == [1, 2]
    assert [extractor.partition(number).profile().totals.macs for number in (1, 2, 3)] == [2 * 4 * 4, 2 * 4 * 6, 2 * 6 * 2]
    assert repr(extractor) == "<opscope.DynamoGraphExtractor: 18 nodes in 3 graphs, 2 breaks>"
    with pytest.raises(opscope.Error, match="no partition 4: there are 3"):
        extractor.partition(4)
    extractor.reset()
    assert extractor.graph_modules == [] and "no graphs yet" in repr(extractor)


def test_a_trace_gives_the_same_graphs_as_a_backend() -> None:
    model, backend = Breaks().eval(), DynamoGraphExtractor()
    traced = quietly(model, X)
    torch.compile(model, backend=backend)(X)
    assert traced.graphs == backend.graphs and traced.statistics == backend.statistics
    assert traced.memory_timelines == backend.memory_timelines
    assert traced.graph is not None and traced.graph.profile().totals.macs == opscope.profile(model, X).totals.macs


def test_statistics_count_kinds_and_targets() -> None:
    extractor = quietly(Twice().eval(), X)
    (counts,) = extractor.graphs
    assert counts.by_kind == {"placeholder": 3, "call_function": 2, "output": 1}
    assert counts.by_target == {"torch._C._nn.linear": 2} and counts.nodes == 6
    assert extractor.statistics.by_target == counts.by_target


@pytest.mark.parametrize("name", ["resnet18", "bert", "breaks", "no_grad"])
def test_every_node_that_gives_tensors_has_tensor_meta(name: str) -> None:
    model, inputs = tracer_models.make(name)
    extractor = quietly(model, inputs, analyze_memory=False)
    for module in extractor.graph_modules:
        for node in module.graph.nodes:
            example = node.meta.get("example_value")
            if isinstance(example, Tensor):
                meta = node.meta["tensor_meta"]
                assert isinstance(meta, TensorMetadata)
                assert (meta.shape, meta.dtype, meta.stride) == (example.shape, example.dtype, example.stride())
            if node.op == "output":
                assert "tensor_metas" in node.meta


@pytest.mark.parametrize("name", ["resnet18", "bert", "breaks"])
def test_the_seeds_loop_over_metadata_runs_line_by_line(name: str) -> None:
    model, inputs = tracer_models.make(name)
    for module in quietly(model, inputs, analyze_memory=False).graph_modules:
        graph, seen = module.graph, []
        for node in graph.nodes:
            if "tensor_meta" in node.meta:
                shape = node.meta["tensor_meta"].shape
                dtype = node.meta["tensor_meta"].dtype
                seen.append((shape, dtype))
        assert seen and all(isinstance(shape, torch.Size) and isinstance(dtype, torch.dtype) for shape, dtype in seen)


def test_several_tensors_have_the_form_of_the_result() -> None:
    (module,) = quietly(Branches().eval(), X).graph_modules
    metas = {node.name: node.meta.get("tensor_metas") for node in module.graph.nodes}
    assert [meta.shape for meta in metas["chunk"]] == [(2, 2), (2, 2)]
    assert [meta.dtype for meta in metas["max_1"]] == [torch.float32, torch.int64]
    assert [meta.shape for meta in metas["output"]] == [(2, 2), (2,)]


def test_tensor_meta_is_found_by_shapes_where_no_example_is_left() -> None:
    (module,) = quietly(Branches().eval(), X).graph_modules
    from opscope.tracers.tensor_meta import fill_tensor_meta, tensor_metas

    expected = {node.name: tensor_metas(node) for node in module.graph.nodes}
    for node in module.graph.nodes:
        node.meta.pop("tensor_meta", None)
        node.meta.pop("tensor_metas", None)
        if node.op.startswith("call_"):
            node.meta.pop("example_value", None)
    fill_tensor_meta(module)
    found = {node.name: tensor_metas(node) for node in module.graph.nodes}
    assert [m.shape for m in found["chunk"]] == [m.shape for m in expected["chunk"]]
    assert {name for name, meta in found.items() if meta} == {name for name, meta in expected.items() if meta}


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (Twice(), X),
        (Twice(), (X,)),
        (Twice(), {"x": X}),
        (Keywords(), opscope.Inputs(X, right=torch.ones(2, 5))),
        (Nested(), ([X, X], {"bias": torch.ones(3)})),
    ],
)
def test_inputs_are_tensors_tuples_dicts_and_what_lies_in_them(model: nn.Module, inputs: Any) -> None:
    extractor = quietly(model.eval(), inputs)
    assert extractor.graph is not None
    assert extractor.graph.profile().totals.macs == opscope.profile(model, inputs).totals.macs


def test_shapes_that_change_are_graphs_of_their_own() -> None:
    extractor = DynamoGraphExtractor()
    compiled = torch.compile(Twice().eval(), backend=extractor)
    for batch in (2, 3, 5):
        compiled(torch.ones(batch, 4))
    assert len(extractor.graph_modules) == 2  # the second has a symbol for the batch, and serves the third too
    assert extractor.partition(2).profile().totals.macs == 2 * 3 * 4 * 4


# --- what is printed and written --------------------------------------------------------------------------------


def test_partitions_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    trace_model_with_dynamo(Breaks().eval(), X)
    text = capsys.readouterr().out
    for number in (1, 2, 3):
        assert f"Graph Partition {number}\n=================\nforward" in text
    assert text.count("\n\nGraph Partition") == 2 and "\n\n\n" not in text
    assert "forward, from line " in text and "torch_dynamo_resume" not in text and "l_x_" not in text
    assert "the model prints" in text and "tracer_models.py:" in text
    assert "In use after" in text and "32 bytes" in text and "most memory in use: " in text
    assert "2x4 float32" in text and "torch._C._nn.linear   1" in text


def test_long_partitions_are_cut(capsys: pytest.CaptureFixture[str]) -> None:
    extractor = trace_model_with_dynamo(Branches().eval(), X, max_nodes=2)
    assert "more nodes: max_nodes=None shows them" in capsys.readouterr().out
    assert "more nodes" not in dynamo.describe(extractor, None)


@pytest.mark.parametrize("as_backend", [True, False])
def test_a_saved_graph_runs_by_itself(as_backend: bool, tmp_path: Path) -> None:
    extractor = DynamoGraphExtractor()
    if as_backend:
        torch.compile(Twice().eval(), backend=extractor)(X)
    else:
        extractor = quietly(Twice().eval(), X)
    path = tmp_path / "output" / "graph.py"  # the folder is made
    save_graph_to_file(extractor, path)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_nothing_is_saved_before_the_model_ran(tmp_path: Path) -> None:
    with pytest.raises(opscope.Error, match="no graphs yet"):
        save_graph_to_file(DynamoGraphExtractor(), tmp_path / "output" / "graph.py")
    assert not (tmp_path / "output").exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(opscope.Error, match="cannot make the folder"):
        save_graph_to_file(quietly(Twice().eval(), X), tmp_path / "file" / "deeper" / "graph.py")


# --- memory -----------------------------------------------------------------------------------------------------


class Chain(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        doubled = torch.cat([x, x])  # 2 x 4 floats live beside x's 4
        return doubled.view(-1).sum() + 1


def test_memory_by_node_is_counted_in_storages() -> None:
    extractor = quietly(Chain(), torch.ones(1, 4))
    (timeline,) = extractor.memory_timelines
    used = {name: size for _, name, size in timeline}
    assert [index for index, _, _ in timeline] == list(range(len(timeline)))
    assert used["l_x_"] == 16 and used["doubled"] == 32 and used["view"] == 32  # x is freed, a view takes nothing
    assert used["output"] == 4
    assert analyze_memory_timeline(extractor.graph_modules[0].graph) == timeline


def test_weights_are_no_part_of_the_timeline() -> None:
    extractor = quietly(nn.Linear(1000, 1000, bias=False), torch.ones(1, 1000))
    assert max(size for _, _, size in extractor.memory_timelines[0]) == 4000
    program = torch.export.export(nn.Linear(1000, 1000), (torch.ones(1, 1000),))
    assert max(size for _, _, size in analyze_memory_timeline(program.graph)) == 4000


def test_a_timeline_of_an_fx_graph_needs_shapes() -> None:
    module = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 5), nn.ReLU()))
    with pytest.raises(opscope.Error, match="input_1") as refused:
        analyze_memory_timeline(module.graph)
    assert "ShapeProp" in refused.value.hint
    expected = [("input_1", 32), ("_0", 40), ("_1", 40), ("output", 40)]
    assert [row[1:] for row in analyze_memory_timeline(module.graph, (X,))] == expected
    ShapeProp(module).propagate(X)
    assert [row[1:] for row in analyze_memory_timeline(module.graph)] == expected


def test_no_memory_is_analysed_unless_asked() -> None:
    extractor = quietly(Twice().eval(), X, analyze_memory=False)
    assert extractor.memory_timelines == [] and extractor.graph is None and len(extractor.graph_modules) == 1


# --- errors -----------------------------------------------------------------------------------------------------


def test_breaks_with_fullgraph_name_the_place_and_the_way_out() -> None:
    with pytest.raises(opscope.Error, match="branches on a tensor's value, and 1 more") as traced:
        quietly(Breaks().eval(), X, fullgraph=True)
    assert "tracer_models.py:" in traced.value.where and "fullgraph=False" in traced.value.hint
    compiled = torch.compile(Breaks().eval(), backend=DynamoGraphExtractor(fullgraph=True))
    with pytest.raises(opscope.Error, match="graph breaks with fullgraph=True") as run:
        compiled(X)
    assert "fullgraph=False" in run.value.hint
    assert len(quietly(Twice().eval(), X, fullgraph=True).graph_modules) == 1


class PrintsFirst(nn.Module):
    """Breaks before there is anything to put in a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        print("here")
        return self.linear(x)


@pytest.mark.parametrize("analyze_memory", [True, False])
def test_a_break_before_the_first_op_is_one_too(analyze_memory: bool) -> None:
    with pytest.raises(opscope.Error, match="graph breaks with fullgraph=True: the model prints") as traced:
        quietly(PrintsFirst(), X, fullgraph=True, analyze_memory=analyze_memory)
    assert "test_dynamo.py:" in traced.value.where and "fullgraph=False" in traced.value.hint
    compiled = torch.compile(PrintsFirst(), backend=DynamoGraphExtractor(fullgraph=True))
    with pytest.raises(opscope.Error, match="before any tensor op, and the graph is of forward, from line") as run:
        compiled(X)
    assert "fullgraph=True" in run.value.hint


def test_a_torch_without_compile_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "compile")
    with pytest.raises(opscope.Error, match="no torch.compile") as refused:
        DynamoGraphExtractor()
    assert "upgrade" in refused.value.hint and torch.__version__ in refused.value.where


@pytest.mark.parametrize(
    "problem",
    [
        MemoryError(),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes."),
    ],
)
def test_out_of_memory_names_what_takes_less(problem: Exception) -> None:
    with pytest.raises(opscope.Error, match="out of memory") as refused, dynamo._memory_explained("greedy"):
        raise problem
    assert "analyze_memory=False" in refused.value.hint and "batch" in refused.value.hint


def test_an_allocation_that_no_machine_has_room_for() -> None:
    class Greedy(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.expand(1 << 40, 4).clone()

    with pytest.raises(opscope.Error, match="out of memory") as refused:
        quietly(Greedy(), torch.ones(1, 4))
    assert "analyze_memory=False" in refused.value.hint


def test_transformers_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from opscope.sources import hf_models

    monkeypatch.setattr(hf_models, "installed", lambda: False)
    with pytest.raises(opscope.Error, match="transformers is not installed") as refused:
        opscope.load_transformer_model("bert-base-uncased")
    assert "pip install transformers" in refused.value.hint
