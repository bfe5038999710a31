"""PyTorch's tracers under the engine: same work, same parameters, same layers; the model as it was; not a word printed."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import opscope
import tracer_models
from opscope.engine import torch_version
from tracer_models import Breaks, Tied, Twice

TRACERS = ("fx", "dynamo", "export", "hybrid")
NAMES = (*tracer_models.LIBRARIES, *tracer_models.HAND_WRITTEN)

# What a tracer cannot follow, and a part of the reason it must give.
REFUSED = {
    ("timm", "fx"): "branches on a tensor's shape or value",
    ("bert", "fx"): "**kwargs",
    ("gpt2", "fx"): "decorator",
    ("whisper", "fx"): "decorator",
    ("yolov8n", "fx"): "loops over or unpacks",
    ("nested", "fx"): "loops over or unpacks",
    ("breaks", "fx"): "branches on a tensor's shape or value",
    ("breaks", "export"): "a decision on a tensor's value",
}

_MASKS = "transformers makes its masks in another way while it is traced"
_ANCHORS = "YOLO keeps its anchors from the warm-up, and they are constants of the graph"
_CHECKS = "export notes each cast's dtypes with an op that checks them"

# Where the layers are not the engine's, and why. None of the layers that differ has a MAC.
OTHER_LAYERS = {
    ("timm", "export"): _CHECKS,
    ("bert", "dynamo"): _MASKS,
    ("bert", "export"): _MASKS,
    ("bert", "hybrid"): _MASKS,
    ("gpt2", "export"): _MASKS,
    ("gpt2", "hybrid"): _MASKS,
    ("whisper", "export"): _MASKS,
    ("whisper", "hybrid"): _MASKS,
    ("yolov8n", "dynamo"): _ANCHORS,
    ("yolov8n", "export"): _ANCHORS,
    ("yolov8n", "hybrid"): _ANCHORS,
}
# Dynamo breaks the graph before the mask there, with a cache as it is while traced.
if torch_version.RELEASE < (2, 12):
    OTHER_LAYERS[("gpt2", "dynamo")] = _MASKS
if torch_version.RELEASE < (2, 10):
    OTHER_LAYERS[("whisper", "dynamo")] = _MASKS

# Nodes of each tracer's graph, for those that do not depend on a library's way of making masks.
NODES = {
    "resnet18": (71, 173, 193),
    "mobilenet_v2": (155, 417, 469),
    "twice": (4, 6, 6),
    "reused_block": (8, 6, 10),
}


def totals(profile: opscope.Profile) -> tuple[int, int, int]:
    return profile.totals.macs, profile.totals.params, profile.totals.buffers


def modules(profile: opscope.Profile) -> list[tuple[Any, ...]]:
    return [(row.path, row.type, row.macs, row.params) for row in profile.modules]


def layers(profile: opscope.Profile, at_least: int = 0) -> list[tuple[str, int]]:
    return [(row.name, row.macs) for row in profile.layers if row.macs >= at_least]


@contextmanager
def untouched(model: nn.Module) -> Iterator[None]:
    """Its tensors, attributes and modes are the same objects with the same contents afterwards."""

    def seen() -> Any:
        tensors = {name: id(tensor) for name, tensor in model.state_dict(keep_vars=True).items()}
        return tensors, {path: (id(each), _attributes(each)) for path, each in model.named_modules()}

    before, values = seen(), {name: t.clone() for name, t in model.state_dict().items() if not _is_lazy(t)}
    yield
    assert seen() == before
    assert not nn.modules.module._global_buffer_registration_hooks  # torch.export has one
    assert all(torch.equal(model.state_dict()[name], value) for name, value in values.items())


def _attributes(module: nn.Module) -> dict[str, Any]:
    return {name: id(value) for name, value in vars(module).items() if not isinstance(value, bool)} | {
        name: value for name, value in vars(module).items() if isinstance(value, bool)
    }


def _is_lazy(tensor: Any) -> bool:
    return isinstance(tensor, nn.parameter.UninitializedTensorMixin)


@contextmanager
def silent(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Nothing on stdout or stderr, no warning, no log record."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    capfd.readouterr()
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
    finally:
        logging.getLogger().removeHandler(handler)
    assert capfd.readouterr() == ("", "")
    assert [str(each.message) for each in warned] == [] and [each.getMessage() for each in records] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_tracer_gives_the_engines_numbers(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    model, inputs = tracer_models.make(name)
    engine = opscope.profile(model, inputs)
    assert engine.totals.macs > 0
    for tracer in TRACERS:
        with untouched(model), silent(capfd):
            found = _traced(name, tracer, model, inputs)
        if found is not None:
            _compare(name, tracer, engine, found)


def _traced(name: str, tracer: str, model: nn.Module, inputs: Any) -> opscope.Graph | None:
    if (name, tracer) not in REFUSED:
        return opscope.trace(model, inputs, tracer=tracer)
    with pytest.raises(opscope.Error) as refused:
        opscope.trace(model, inputs, tracer=tracer)
    assert REFUSED[name, tracer] in str(refused.value) and "--tracer" in refused.value.hint
    return None


def _compare(name: str, tracer: str, engine: opscope.Profile, graph: opscope.Graph) -> None:
    profile = graph.profile()
    assert totals(profile) == totals(engine), tracer
    assert modules(profile) == modules(engine), tracer
    assert layers(profile, 1) == layers(engine, 1), tracer
    assert (layers(profile) != layers(engine)) == ((name, tracer) in OTHER_LAYERS), tracer
    if name in NODES and tracer != "hybrid":
        assert len(graph.nodes) == NODES[name][TRACERS.index(tracer)]


# --- Dynamo's parts ---------------------------------------------------------------------------------------------


def test_three_partitions_two_reasons_and_the_right_totals() -> None:
    model, inputs = tracer_models.make("breaks")
    graph = opscope.trace(model, inputs, tracer="dynamo")
    assert [part.calls for part in graph.parts] == [1, 1, 1]
    assert [found.after for found in graph.breaks] == [1, 2]
    assert [found.reason for found in graph.breaks] == ["the model branches on a tensor's value", "the model prints"]
    assert all("tracer_models.py:" in found.source for found in graph.breaks)
    assert [graph.part(number).profile().totals.macs for number in (1, 2, 3)] == [2 * 4 * 4, 2 * 4 * 6, 2 * 6 * 2]
    assert graph.profile().totals.macs == 2 * (4 * 4 + 4 * 6 + 6 * 2) == sum(part.macs for part in graph.parts)
    assert [part.part for part in graph.parts] == [1, 2, 3] == sorted({node.part for node in graph.nodes})
    assert repr(graph).startswith("<opscope.Graph of Breaks: dynamo, 18 nodes in 3 graphs, 2 breaks, ")


def test_nodes_and_parts_are_the_reports() -> None:
    model, inputs = tracer_models.make("breaks")
    graph = opscope.trace(model, inputs, tracer="dynamo")
    rows = graph.profile().to_dict()
    assert [node.index for node in graph.nodes] == list(range(1, len(graph.nodes) + 1))
    assert [node.label for node in graph.nodes] == [row["label"] for row in rows["nodes"]]
    assert [{**part} for part in graph.parts] == rows["parts"] and [{**each} for each in graph.breaks] == rows["breaks"]
    for part in graph.parts:
        own = [node for node in graph.nodes if node.part == part.part]
        for key in ("macs", "flops", "memory_bytes", "ops"):
            assert sum(node[key] for node in own) == part[key]


def test_a_part_that_runs_three_times_has_its_nodes_once_and_its_work_three_times() -> None:
    model, inputs = tracer_models.make("reused_block")
    graph = opscope.trace(model, inputs, tracer="dynamo")
    assert [part.calls for part in graph.parts] == [3]
    assert graph.profile().totals.macs == 3 * 2 * 4 * 4 and graph.profile().totals.params == 4 * 4 + 4
    assert len([node for node in graph.nodes if node.kind.startswith("call_")]) == 2


def test_what_the_user_has_compiled_stays_compiled() -> None:
    compiles = []

    def backend(module: torch.fx.GraphModule, _: list[Any]) -> Any:
        compiles.append(module)
        return module.forward

    torch._dynamo.reset()
    model, x = Twice().eval(), torch.randn(2, 4)
    compiled = torch.compile(model, backend=backend)
    expected = compiled(x)
    opscope.trace(model, x, tracer="dynamo")
    opscope.trace(Twice().eval(), x, tracer="hybrid")
    assert torch.equal(compiled(x), expected) and len(compiles) == 1


def test_a_trace_leaves_nothing_in_dynamos_caches() -> None:
    torch._dynamo.reset()
    opscope.trace(Breaks().eval(), torch.randn(2, 4), tracer="dynamo")
    entries = torch._dynamo.eval_frame._debug_get_cache_entry_list(Breaks.forward.__code__)
    assert entries == []


# --- names, ladder, weights -------------------------------------------------------------------------------------


def test_the_ladder_says_how_each_rung_ended() -> None:
    model, inputs = tracer_models.make("nested")
    rungs = opscope.trace(model, inputs, tracer="hybrid").rungs
    assert [(rung.tracer, rung.outcome) for rung in rungs] == [
        ("fx", "failed"), ("dynamo_export", "used"), ("export", "not tried"), ("static", "not tried"),
    ]  # fmt: skip
    assert "loops" in rungs[0].reason and rungs[0].hint


def test_the_last_rung_is_the_engine() -> None:
    model, inputs = tracer_models.make("breaks")
    graph = opscope.trace(model, inputs)
    assert graph.tracer == "eager" and graph.nodes == []
    assert [rung.outcome for rung in graph.rungs] == ["failed", "failed", "failed", "used"]
    with pytest.raises(opscope.Error, match="none of PyTorch's tracers"):
        opscope.trace_model_hybrid(model, inputs, "breaks")


@pytest.mark.parametrize(("name", "method"), [("resnet18", "symbolic_trace"), ("nested", "dynamo_export"), ("gpt2", "export")])
def test_trace_model_hybrid_gives_the_module_and_the_method(name: str, method: str) -> None:
    model, inputs = tracer_models.make(name)
    module, found = opscope.trace_model_hybrid(model, inputs, name)
    assert isinstance(module, torch.fx.GraphModule) and found == method


@pytest.mark.parametrize("tracer", TRACERS[:3])
def test_nodes_know_their_module(tracer: str) -> None:
    model, inputs = tracer_models.make("resnet18")
    graph = opscope.trace(model, inputs, tracer=tracer)
    convolutions = [n.module for n in graph.nodes if n.kind.startswith("call_") and n.module.endswith("conv1")]
    assert convolutions == ["conv1", *(f"layer{i}.{j}.conv1" for i in range(1, 5) for j in range(2))]


@pytest.mark.parametrize("tracer", TRACERS[:3])
def test_models_without_data_are_traced_too(tracer: str) -> None:
    model, inputs = tracer_models.make("vit")
    profile = opscope.trace(model.to("meta"), inputs.to("meta"), tracer=tracer).profile()
    assert totals(profile) == totals(opscope.profile(model, inputs.to("meta")))


def test_any_graph_module_becomes_a_graph() -> None:
    model, ids = Tied().eval(), tracer_models.tokens(6, 20)
    module = torch.fx.symbolic_trace(model)
    graph = opscope.from_graph_module(module, ids)
    assert totals(graph.profile()) == totals(opscope.profile(model, ids))
    assert [node.name for node in graph.nodes] == [node.name for node in module.graph.nodes]


@pytest.mark.parametrize(
    ("make", "inputs", "what", "hint"),
    [
        (lambda model, _: model, (1,), "Twice is not a torch.fx.GraphModule", "symbolic_trace"),
        (lambda _, program: program, (1,), "ExportedProgram is not a torch.fx.GraphModule", ".module()"),
        (lambda _, program: program.graph_module, (1,), "missing a required argument", ".module()"),
        (lambda _, program: program.graph_module, None, "takes its weights as inputs", ".module()"),
        (lambda model, _: torch.fx.symbolic_trace(model), None, "nothing says which tensor", "give the inputs"),
        (lambda model, _: torch.fx.symbolic_trace(model), (1, 2), "too many positional arguments", "it takes x"),
    ],
)
def test_what_is_no_graph_module_or_does_not_fit_it(make: Any, inputs: Any, what: str, hint: str) -> None:
    model, x = Twice().eval(), torch.ones(2, 4)
    program = torch.export.export(model, (x,))
    with pytest.raises(opscope.Error, match=what) as refused:
        opscope.from_graph_module(make(model, program), inputs)
    assert hint in refused.value.hint
    assert totals(opscope.from_graph_module(program.module(), x).profile()) == totals(opscope.profile(model, x))


def test_training_mode_is_kept() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5)).train()
    for tracer in TRACERS:
        with untouched(model):
            assert opscope.trace(model, torch.randn(3, 4), tracer=tracer).profile().totals.macs == 3 * 4 * 4
    assert all(module.training for module in model.modules())


class Sliced(nn.Module):
    """Runs a slice of its layers, as RT-DETR does."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:-1]:
            x = layer(x)
        return self.layers[-1](x)


@pytest.mark.parametrize("tracer", ["fx", "dynamo", "export"])
def test_slices_of_layers_keep_their_paths(tracer: str) -> None:
    graph = opscope.trace(Sliced().eval(), torch.rand(2, 8), tracer=tracer)
    assert [layer.name for layer in graph.profile().layers] == ["layers.0", "layers.1", "layers.2"]


class Remembers(nn.Module):
    """Keeps a large result for the shape it saw, and nothing when it was empty, as YOLO keeps its anchors."""

    def __init__(self) -> None:
        super().__init__()
        self.shape, self.kept = None, torch.empty(0)
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.shape != x.shape:
            self.shape, self.kept = x.shape, self.layer(x) * 2
        return x + self.kept


@pytest.mark.parametrize("tracer", ["fx", "dynamo", "export"])
def test_a_cache_without_data_is_forgotten_with_what_it_is_for(tracer: str) -> None:
    model = Remembers().eval()
    try:
        graph = opscope.trace(model, torch.rand(2, 8), tracer=tracer)
    except opscope.Error as problem:
        assert "dimension of length 0" not in str(problem)
    else:
        assert graph.profile().totals.macs == 2 * 8 * 8
    assert model.shape is None and model.kept.numel() == 0


def test_what_dynamo_once_left_alone_is_looked_at_again() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    torch._dynamo.reset()
    with torch.no_grad(), FlopCounterMode(display=False):
        torch.compile(model)(torch.ones(1, 4))  # which Dynamo does not follow, and marks PyTorch's wrapper of it so
    assert len(opscope.trace(model, torch.ones(1, 4), tracer="dynamo").parts) == 1
