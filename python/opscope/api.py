"""What `import opscope` offers: profile a model, capture it, explain a number, list the names."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable
from typing import Any

import torch

from opscope import _engine
from opscope._load import native
from opscope.errors import Error, error
from opscope.inputs import Inputs, as_device, as_dtype, as_inputs, cast_inputs
from opscope.inputs.plan import InputPlan, plan_inputs
from opscope.options import Options, takes_options
from opscope.result import Profile
from opscope.sources import Source, find_source, known_models
from opscope.sources.hf_known import config_file

TRACERS = ("auto", "static", "eager")


class Capture:
    """A captured model: every op, edge and module, and no weights. Profile it, or save it for later."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph

    def profile(self, *, convention: str = "opscope", ridge: float = 10.0) -> Profile:
        return Profile(self._graph.profile(convention=convention, ridge=ridge))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file that `opscope profile FILE` reads without Python; the whole of it or nothing."""
        self._graph.save(os.fspath(path))

    def to_json(self) -> str:
        return str(self._graph.to_json())

    @property
    def tracer(self) -> str:
        """How it was captured: 'static', without data, or 'eager', in a real run."""
        return str(self._graph.tracer)


@takes_options
def profile(
    model: Any, inputs: Any = None, *, convention: str = "opscope", ridge: float = 10.0, **options: Any
) -> Profile:
    """What a model costs, without running it.

    `model` is an nn.Module, any callable, or what `opscope profile` takes: a name ('resnet18', 'timm:vit_tiny_patch16_224',
    'gpt2', 'yolov8n'), a file ('model.onnx', 'model.pt2'), 'models.py:make', 'package.module:Class'.
    `inputs` is a tensor, a tuple of positional arguments, a dict of keyword arguments or opscope.Inputs; without it they are
    worked out from the model, and `input_shape`, `batch`, `seq_len`, `image_size`, `named_inputs`, `phase` and `past_len`
    change a part of them. The model is left as it was.
    """
    return capture(model, inputs, **options).profile(convention=convention, ridge=ridge)


@takes_options
def capture(model: Any, inputs: Any = None, **options: Any) -> Capture:
    """The model's ops as a Capture; takes what `profile` takes. `source_lines` notes each op's line of code."""
    asked = Options(**options)
    if isinstance(model, (str, os.PathLike)) and (read := _read_file(os.fspath(model), inputs, asked)):
        return read
    return Capture(capture_source(_source_of(model, asked), inputs, asked))


def inputs_for(model: Any, **options: Any) -> InputPlan:
    """What `profile` would call the model with: `.make()` makes it, `.rows` say what it is and why."""
    asked = Options(**options)
    source = _source_of(model, asked)
    return plan_for(source, asked)


def _read_file(path: str, inputs: Any, options: Options) -> Capture | None:
    """Files that C++ reads: saved captures, .pt2 and ONNX; None for anything else."""
    kind = native.file_kind(path) if hasattr(native, "file_kind") else "other"
    if path.endswith(".json") and config_file(path) is None:
        kind = "capture"  # what is wrong with it is then said by its reader
    if kind not in ("capture", "pt2", "onnx"):
        return None
    usable = {"name", "registry", "trust", "download", *(("dims",) if kind != "capture" else ())}
    refused = [name for name in options.given() if name not in usable]
    if inputs is not None or refused:
        what = "a saved capture" if kind == "capture" else "a graph in a file"
        raise error(f"{what} cannot be changed", ", ".join(refused) or "inputs", "capture the model again with this")
    return load(path) if kind == "capture" else Capture(native.read_model_file(path, dict(options.dims)))


def _source_of(model: Any, options: Options) -> Source:
    if options.dims:
        raise error("dynamic dimensions are those of a .pt2 or ONNX file", "dims", "batch, seq_len and input_shape are for others")
    if isinstance(model, (str, os.PathLike)):
        source = find_source(os.fspath(model), options.source())
    elif callable(model):
        source = Source(model, _name_of(model), "")
    else:
        raise error(f"{model!r} is not a model", "", "give an nn.Module, a callable, or a name such as 'resnet18'")
    if options.name is not None:
        source.name = options.name
    return source


def capture_source(
    source: Source, inputs: Any, options: Options, status: Callable[[str], None] = lambda _: None
) -> Any:
    """The native graph of a source. A model built without data is built again where a real run is needed."""
    if options.tracer not in TRACERS:
        raise error(f"no tracer called '{options.tracer}'", "tracer", ", ".join(TRACERS))
    if source.with_data is None or options.tracer != "auto":
        return _capture_once(source, inputs, options, options.tracer)
    try:
        return _capture_once(source, inputs, options, "static")
    except Error as problem:
        if not getattr(problem, "needs_values", False):
            raise
        status(f"building {source.name} with weights")
        source.model = source.with_data()
        status(f"running {source.name} for real, because it looks at values")
        return _capture_once(source, inputs, options, "auto")


def _capture_once(source: Source, inputs: Any, options: Options, tracer: str) -> Any:
    plan = None
    if inputs is None:
        plan = plan_for(source, options)
        arguments = plan.make()
    else:
        arguments = _given(source, inputs, options)
    try:
        graph = _engine.capture(
            source.model,
            arguments.args,
            arguments.kwargs,
            tracer=tracer,
            name=source.name,
            source=source.text,
            device=as_device(options.device),
            source_lines=options.source_lines,
            limits=dict(options.limits),
        )
    except Error as problem:
        if plan is not None and plan.notes and not getattr(problem, "needs_values", False):
            problem.hint = f"{plan.notes[0]}: give --input-shape or --input, or return the inputs beside the model"
        raise
    for note in [*source.notes, *(plan.notes if plan else [])]:
        graph.add_diagnostic("assumed", "", "", note)
    return graph


def plan_for(source: Source, options: Options) -> InputPlan:
    """What a source's model is called with where the caller gave nothing."""
    return plan_inputs(source, options.inputs(), _in_dtype(source, options))


def _given(source: Source, inputs: Any, options: Options) -> Inputs:
    """Inputs that the caller made: nothing else is said about them."""
    clash = next((name for name in ("input_shape", "batch", "seq_len", "image_size", "named_inputs", "phase", "past_len")
                  if name in options.given()), None)  # fmt: skip
    if clash:
        raise error(f"inputs and {clash} do not go together", "inputs", "give one of them")
    return cast_inputs(as_inputs(inputs), source.owned, _in_dtype(source, options))


def _in_dtype(source: Source, options: Options) -> torch.dtype | None:
    """The dtype asked for; weights that were made here take it."""
    dtype = as_dtype(options.dtype)
    if dtype is not None and dtype.is_floating_point and source.owned:
        source.model = source.model.to(dtype)
    return dtype


def load(path: str | os.PathLike[str]) -> Capture:
    """A capture that `Capture.save` or `opscope capture` wrote."""
    reader: Callable[[str], Any] | None = getattr(native, "read_capture", None)
    if reader is None:
        raise error("this build of opscope cannot read captures", os.fspath(path), "rebuild it with OPSCOPE_CLI=ON")
    return Capture(reader(os.fspath(path)))


def explain(model: Any, node: str, inputs: Any = None, **options: Any) -> str:
    """The formula behind a layer's or an op's numbers, with the values put in."""
    return profile(model, inputs, **options).explain(node)


def list_models(pattern: str | None = None, *, registry: str | None = None) -> list[str]:
    """Names that `profile` knows, of every library that is installed. 'resnet' and 'resnet*' both match."""
    return [known.name for known in known_models(registry)[0] if matches(known.name, pattern)]


def matches(name: str, pattern: str | None) -> bool:
    if not pattern:
        return True
    if any(mark in pattern for mark in "*?["):
        return fnmatch.fnmatchcase(name, pattern)
    return pattern.lower() in name.lower()


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
