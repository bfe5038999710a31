"""What `import opscope` offers: profile a model, capture it, explain a number, list the names."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from opscope import tracers
from opscope._load import native
from opscope.engine import abstract_run
from opscope.engine.recipe.recipe import Recipe
from opscope.engine.training import Training
from opscope.errors import Error, error
from opscope.inputs import Inputs, as_device, as_dtype, as_inputs, cast_inputs
from opscope.inputs.config import positions_of
from opscope.inputs.plan import InputPlan, plan_inputs
from opscope.options import Options, takes_options
from opscope.questions.costs import cost_settings, on_hardware
from opscope.results.profile import Profile, Row, counted
from opscope.sources import Source, find_source, known_models, matches
from opscope.sources.hf_known import config_file
from opscope.tracers.graph_modules import graph_module_inputs

Status = Callable[[str], None]


class Graph:
    """A captured model: every op, edge and module, and no weights. Profile it, or save it for later.

    Where one of PyTorch's tracers was asked, its nodes are here too, as another grouping of the ops.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def profile(
        self,
        *,
        convention: str = "opscope",
        ridge: float | None = None,
        partition: str = "fused",
        fast_memory: int = 0,
        hardware: str | os.PathLike[str] | None = None,
        float32: str | None = None,
        routing: str | int | None = None,
        mode: str | None = None,
        host: str | float | None = None,
    ) -> Profile:
        """`partition` is how ops are put into subgraphs: 'none', 'layer' or 'fused'; `fast_memory` limits their bytes.

        `hardware` is a device that `opscope.devices()` lists, your own .toml file, or 'this': rows then have
        `predicted_seconds`, `roofline_seconds` and `bound`, and the ridge is the device's, else 10. `mode` and `host` are
        how it runs there: see `opscope.predict`. `float32` says where it multiplies float32: 'torch', as
        PyTorch does (convolutions in TF32), 'tf32' or 'ieee'. `routing` says how many experts of a layer the tokens of a
        mixture of experts reach, so whose weights are read: 'balanced', the expected number, 'worst', or a number.
        """
        given = cost_settings(
            convention=convention, ridge=ridge, hardware=hardware, float32=float32, routing=routing, mode=mode, host=host
        )
        return Profile(self._graph.profile(partition=partition, fast_memory=fast_memory, **given))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `opscope profile FILE` reads without Python; the whole of it or nothing."""
        self._graph.save(os.fspath(path))

    def to_json(self) -> str:
        """The text that `save` writes."""
        return str(self._graph.to_json())

    @property
    def tracer(self) -> str:
        """How it was captured: 'static', without data, 'eager', in a real run, or the tracer whose graph it is."""
        return str(self._graph.tracer)

    @property
    def nodes(self) -> list[Row]:
        """A tracer's nodes: what they are, and what they cost. The engine's own graph has none: see profile().layers.

        index, part, kind, name (the tracer's), label (a person's), target, module, calls, inputs (indices of nodes),
        outputs (shape, dtype, kind), macs, flops, memory_bytes, ... and source. Nodes and parts count from 1.
        """
        return [Row({**row, "source": row.get("source", "")}) for row in self._report("nodes")]

    @property
    def parts(self) -> list[Row]:
        """The graphs that a tracer made, with their totals: one, or Dynamo's between its breaks. The first is 1."""
        return _rows(self._report("parts"))

    @property
    def breaks(self) -> list[Row]:
        """Where Dynamo left the code to Python, and why: reason, source, after (the part that ends there), detail."""
        return _rows(self._report("breaks"))

    @property
    def rungs(self) -> list[Row]:
        """How each tracer of the hybrid ladder ended."""
        return [Row({name: getattr(rung, name) for name in _RUNG}) for rung in self._graph.rungs]

    def part(self, number: int) -> Graph:
        """One of a tracer's graphs as a separate Graph; the first is 1."""
        count = len(self._graph.parts)
        if not 1 <= number <= count:
            raise error(f"no graph {number}: there {'is' if count == 1 else 'are'} {count}", "part", "count from 1")
        return Graph(self._graph.part(number - 1))

    def memory_timeline(self) -> list[tuple[int, str, int]]:
        """(index, name, bytes) of each node: what activations and inputs hold after it, views counted once."""
        return list(self._graph.memory_timeline())

    @functools.cached_property
    def _profile(self) -> Profile:
        return self.profile()

    def _report(self, part: str) -> list[dict[str, Any]]:
        return self._profile._part(part) or []

    def __repr__(self) -> str:
        nodes, parts, breaks = (len(self._report(part)) for part in ("nodes", "parts", "breaks"))
        text = f"<opscope.Graph of {self._profile.model}: {self.tracer}"
        text += f", {counted(nodes, 'node')} in {counted(parts, 'graph')}, {counted(breaks, 'break')}" if nodes else ""
        return f"{text}, {counted(len(self._graph), 'op')}>"


Capture = Graph  #: the older name

_RUNG = ("tracer", "outcome", "reason", "hint", "detail", "seconds")


def _rows(rows: list[dict[str, Any]]) -> list[Row]:
    return [Row(row) for row in rows]


@takes_options
def profile(
    model: Any,
    inputs: Any = None,
    *,
    convention: str = "opscope",
    ridge: float | None = None,
    hardware: str | os.PathLike[str] | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
    **options: Any,
) -> Profile:
    """What a model costs, without running it.

    `model` is an nn.Module, any callable, or what `opscope profile` takes: a name ('resnet18', 'timm:vit_tiny_patch16_224',
    'gpt2', 'yolov8n'), a file ('model.onnx', 'model.pt2'), 'models.py:make', 'package.module:Class'.
    `inputs` is a tensor, a tuple of positional arguments, a dict of keyword arguments or opscope.Inputs; without it they are
    worked out from the model, and `input_shape`, `batch`, `seq_len`, `image_size`, `named_inputs`, `phase` and `past_len`
    change a part of them. `training` adds backward and a step of `optimizer` (sgd, sgd-momentum, adam, adamw, adagrad,
    rmsprop, none). `hardware` adds how long it takes on a device, and what the device could do at best: see `Graph.profile`,
    which `mode`, `host` and `routing` are for too. The model is left as it was.
    """
    graph = capture(model, inputs, **on_hardware(options, hardware, model))
    return graph.profile(convention=convention, ridge=ridge, hardware=hardware, float32=float32, routing=routing, mode=mode, host=host)


@takes_options
def predict(
    model: Any,
    inputs: Any = None,
    *,
    hardware: str | os.PathLike[str],
    mode: str = "eager",
    host: str | float | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    **options: Any,
) -> Profile:
    """How long a model takes on a device that need not be there: a Profile with `totals.predicted_seconds`.

    Every row has it, with `predicted_p10_seconds` and `predicted_p90_seconds`. `hardware` is a device that
    `opscope.devices()` lists, the file of a device or of a calibration, or 'this'. What a GPU is asked about is captured as
    on a GPU, unless `device` says otherwise. `mode` is 'eager' (op by op), 'graph' (as a CUDA graph is replayed) or
    'compiled'; `host` is the speed of the host that calls the ops, '1.5x' that of the calibrated one. Other options are
    those of `profile`: `training=True`, `batch=32`, `dtype="bfloat16"`.
    """
    options = on_hardware(options, hardware, model, as_gpu=True)
    return profile(model, inputs, hardware=hardware, mode=mode, host=host, float32=float32, routing=routing, **options)


def devices() -> list[Row]:
    """The devices that `hardware=` takes by name: peaks, bandwidths and memory, each figure with where it is from."""
    return _rows(json.loads(native.devices())["devices"])


@takes_options
def capture(model: Any, inputs: Any = None, **options: Any) -> Graph:
    """The model's ops as a Graph; takes what `profile` takes. `source_lines` notes each op's line of code."""
    asked = Options(**options)
    read = _read_file(os.fspath(model), inputs, asked) if isinstance(model, (str, os.PathLike)) else None
    graph = read or Graph(capture_source(_source_of(model, asked), inputs, asked))
    native.apply_edits(graph._graph, asked.request)
    return graph


@takes_options
def trace(model: Any, inputs: Any = None, *, tracer: str = "hybrid", **options: Any) -> Graph:
    """The graph that one of PyTorch's tracers makes of a model, with opscope's costs; takes what `profile` takes.

    `tracer` is 'fx' (symbolic_trace), 'dynamo' (torch.compile, with its graph breaks), 'export' (torch.export), or
    'hybrid': the first that works, else the engine's own graph.
    """
    return capture(model, inputs, tracer=tracer, **options)


def trace_model_hybrid(model: Any, example_inputs: Any, model_name: str = "model") -> tuple[torch.fx.GraphModule, str]:
    """The model as an fx GraphModule, and how it was made: 'symbolic_trace', 'dynamo_export' or 'export'."""
    source = _source_of(model, Options(name=model_name))
    graph, traced = Tracing(source, example_inputs, Options(), lambda _: None).graph("hybrid")
    if traced is None:
        failed = [f"{rung.tracer}: {rung.reason}" for rung in graph.rungs if rung.outcome == "failed"]
        raise error("none of PyTorch's tracers can trace it", model_name, "\n".join(failed))
    return traced.parts[0].module, {"fx": "symbolic_trace"}.get(traced.tracer, traced.tracer)


def from_graph_module(module: torch.fx.GraphModule, inputs: Any = None, *, name: str | None = None) -> Graph:
    """Any fx GraphModule as it is, run on these inputs without data: its nodes with their ops, shapes and costs.

    Without inputs they are what the metadata of its placeholders describes.
    """
    shown = name or type(module).__name__
    arguments = graph_module_inputs(module, inputs, shown)
    with tracers.quiet():
        traced = tracers.traced_module(module, arguments.args, arguments.kwargs)
    graph = abstract_run.capture(module, arguments.args, arguments.kwargs, name=shown, through=tracers.through(traced))
    graph.tracer = "fx"
    return Graph(graph)


def inputs_for(model: Any, **options: Any) -> InputPlan:
    """What `profile` would call the model with: `.make()` makes it, `.rows` say what it is and why."""
    asked = Options(**options)
    source = _source_of(model, asked)
    return plan_for(source, asked)


def _read_file(path: str, inputs: Any, options: Options) -> Graph | None:
    """Files that C++ reads: saved captures, .pt2 and ONNX; None for anything else."""
    kind = native.file_kind(path) if hasattr(native, "file_kind") else "other"
    if path.endswith(".json") and config_file(path) is None:
        kind = "capture"  # what is wrong with it is then said by its reader
    if kind not in ("capture", "pt2", "onnx"):
        return None
    usable = {"name", "registry", "trust", "download", *native.edits(), *(("dims",) if kind != "capture" else ())}
    refused = [name for name in options.given() if name not in usable]
    if (inputs is not None or refused) and os.path.exists(path):
        what = "a saved capture" if kind == "capture" else "a graph in a file"
        raise error(f"{what} cannot be changed", ", ".join(refused) or "inputs", "capture the model again with this")
    return load(path) if kind == "capture" else Graph(native.read_model_file(path, dict(options.dims)))


def _source_of(model: Any, options: Options) -> Source:
    if options.dims:
        raise error("dynamic dimensions are those of a .pt2 or ONNX file", "dims", "batch, seq_len and input_shape are for others")
    if isinstance(model, (str, os.PathLike)):
        source = find_source(os.fspath(model), options)
    elif callable(model):
        source = Source(model, _name_of(model), "")
    else:
        raise error(f"{model!r} is not a model", "", "give an nn.Module, a callable, or a name such as 'resnet18'")
    if options.name is not None:
        source.name = options.name
    return source


def capture_source(source: Source, inputs: Any, options: Options, status: Status = lambda _: None) -> Any:
    """The native graph of a source, by the tracer that the options name."""
    graph, _ = Tracing(source, inputs, options, status).graph(options.tracer)
    return graph


class Tracing:
    """A source, captured by one tracer or by several. A model built without data is built again once a real run needs it."""

    def __init__(self, source: Source, inputs: Any, options: Options, status: Status) -> None:
        self.source, self.inputs, self.options, self.status = source, inputs, options, status
        self._call: Call | None = None
        self._ready: tracers.TracedModel | None = None

    def graph(self, tracer: str) -> tuple[Any, tracers.Traced | None]:
        """The graph, and what the tracer made where it is one of PyTorch's."""
        if tracer != self.options.tracer:
            self.options.replace(tracer=tracer)  # says what does not go together
        may_build = self.source.with_data is not None and tracer not in ("static", "eager")
        try:
            return self._once("static" if may_build and tracer == "auto" else tracer)
        except Error as problem:
            if not may_build or not getattr(problem, "needs_values", False):
                raise
        self.build_with_data()
        self.status(f"running {self.source.name} for real, because it looks at values")
        return self._once(tracer)

    def build_with_data(self) -> None:
        """From here on the model has weights that hold numbers."""
        if self.source.with_data is None:
            return
        self.status(f"building {self.source.name} with weights")
        self.source.model, self.source.with_data = self.source.with_data(), None
        self._call = self._ready = None

    def call(self) -> Call:
        self._call = self._call or call_of(self.source, self.inputs, self.options)
        return self._call

    def ready(self) -> tracers.TracedModel:
        call = self.call()
        args, kwargs = call.arguments.args, call.arguments.kwargs
        self._ready = self._ready or tracers.TracedModel(call.source.model, args, kwargs, **call.settings())
        return self._ready

    def _once(self, tracer: str) -> tuple[Any, tracers.Traced | None]:
        call = self.call()
        try:
            graph, traced = self._traced(tracer) if tracer in tracers.TRACERS else (call.capture(tracer), None)
        except Error as problem:
            call.explain(problem)
            raise
        call.add_notes(graph)
        call.add_facts(graph)
        return graph, traced

    def _traced(self, tracer: str) -> tuple[Any, tracers.Traced | None]:
        if tracer != "hybrid":
            return self.ready().trace(tracer)
        self.status("[1/4] warming up")
        return tracers.trace_hybrid(self.ready, self.status, lambda: self.call().capture("auto"))


@dataclass
class Call:
    """A source's model with what it is called with, ready for the engine or a tracer."""

    source: Source
    arguments: Inputs
    plan: InputPlan | None  # where the inputs were worked out
    options: Options

    def settings(self) -> dict[str, Any]:
        return {
            "name": self.source.name,
            "source": self.source.text,
            "device": as_device(self.options.device),
            "source_lines": self.options.source_lines,
            "limits": dict(self.options.limits),
            "assume": dict(self.options.assume),
            "max_ops": self.options.max_ops,
            "gpu": self.options.gpu,
        }

    def capture(self, tracer: str) -> Any:
        args, kwargs = self.arguments.args, self.arguments.kwargs
        training = training_of(self.options)
        autocast = self.options.autocast if training is None else None
        return abstract_run.capture(
            self.source.model, args, kwargs, tracer=tracer, training=training, autocast=autocast, **self.settings()
        )

    def explain(self, problem: Error) -> None:
        """Inputs that were guessed may be what is wrong."""
        if self.plan is not None and self.plan.notes and not getattr(problem, "needs_values", False):
            problem.hint = f"{self.plan.notes[0]}: give --input-shape or --input, or return the inputs beside the model"

    def add_notes(self, graph: Any) -> None:
        for note in [*self.source.notes_for(self.arguments), *(self.plan.notes if self.plan else [])]:
            graph.add_diagnostic("assumed", "", "", note)
        if stored := self.source.published:
            graph.set_published(stored.method, stored.scheme, stored.only, stored.without)
        if self.plan is not None and self.plan.kv_cache is not None:
            graph.set_kv_cache(self.plan.kv_cache)

    def add_facts(self, graph: Any) -> None:
        graph.set_facts(positions=positions_of(self.source.model) or 0, published_dtype=self.source.published_dtype or "")


def call_of(source: Source, inputs: Any, options: Options) -> Call:
    if inputs is not None:
        return as_trained(source, _given(source, inputs, options), None, options)
    plan = plan_for(source, options)
    return as_trained(source, plan.make(), plan, options)


def training_of(options: Options) -> Training | None:
    if not options.training:
        return None
    return Training(options.optimizer or "sgd", options.autocast, options.accumulate or 1, options.master_weights)


def as_trained(source: Source, arguments: Inputs, plan: InputPlan | None, options: Options) -> Call:
    """The call of the model as the options have it: with adapters, checkpoints, in another layout."""
    recipe = Recipe(options.checkpoint, options.freeze, options.lora, options.channels_last)
    model, notes = recipe.adapted(source.model)
    if model is not source.model:
        source = dataclasses.replace(source, model=model, notes=[*source.notes, *notes])
    args, kwargs = (recipe.inputs(part) for part in (arguments.args, arguments.kwargs))
    return Call(source, Inputs(*args, **kwargs), plan, options)


def plan_for(source: Source, options: Options) -> InputPlan:
    """What a source's model is called with where the caller gave nothing."""
    return plan_inputs(source, options, _in_dtype(source, options))


_PARTS_OF_INPUTS = ("input_shape", "batch", "seq_len", "image_size", "named_inputs", "phase", "past_len")


def _given(source: Source, inputs: Any, options: Options) -> Inputs:
    """Inputs that the caller made: nothing else is said about them."""
    given = options.given()
    clash = next((name for name in _PARTS_OF_INPUTS if name in given), None)
    if clash:
        raise error(f"inputs and {clash} do not go together", "inputs", "give one of them")
    return cast_inputs(as_inputs(inputs), source.owned, _in_dtype(source, options))


def _in_dtype(source: Source, options: Options) -> torch.dtype | None:
    """The dtype asked for; weights that were made here take it."""
    asked = options.dtype if options.dtype != "published" else source.published_dtype
    dtype = as_dtype(asked)
    if dtype is not None and dtype.is_floating_point and source.owned:
        source.model = source.model.to(dtype)
    return dtype


def load(path: str | os.PathLike[str]) -> Graph:
    """A capture that `Capture.save` or `opscope capture` wrote."""
    reader: Callable[[str], Any] | None = getattr(native, "read_capture", None)
    if reader is None:
        raise error("this build of opscope cannot read captures", os.fspath(path), "rebuild it with OPSCOPE_CLI=ON")
    return Graph(reader(os.fspath(path)))


def explain(model: Any, node: str, inputs: Any = None, **options: Any) -> str:
    """The formula behind a layer's or an op's numbers, with the values put in."""
    return profile(model, inputs, **options).explain(node)


def list_models(pattern: str | None = None, *, registry: str | None = None) -> list[str]:
    """Names that `profile` knows, of every library that is installed. 'resnet' and 'resnet*' both match; case does not matter."""
    return [known.name for known in known_models(registry)[0] if matches(known.name, pattern)]


def profile_model(
    model: Any,
    input_shape: Any = None,
    model_name: str | None = None,
    show_shapes: bool = False,
    **options: Any,
) -> Profile:
    """Prints the hierarchical profile, the model summary and the bottleneck analysis; returns the Profile."""
    result = profile(model, input_shape=input_shape, name=model_name, **options)
    print(result._native.to_text(show_shapes=show_shapes, sections_000=True), end="")
    return result


def show_table(name: Any, show_shapes: bool = False, **options: Any) -> Profile:
    """The older name of profile_model."""
    return profile_model(name, show_shapes=show_shapes, **options)


def _name_of(model: Any) -> str:
    if isinstance(model, torch.nn.Module):
        return type(model).__name__
    return str(getattr(model, "__name__", type(model).__name__))
