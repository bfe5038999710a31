"""What `import opscope` offers: profile a model, capture it, explain a number, list the names."""

from __future__ import annotations

import fnmatch
import functools
import os
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

from opscope import _engine
from opscope._load import native
from opscope.errors import Error, error
from opscope.inputs import (
    Inputs,
    InputSpec,
    as_device,
    as_dtype,
    as_inputs,
    as_shapes,
    describe,
    input_device,
    input_dtype,
    make_inputs,
    takes_tokens,
)
from opscope.result import Profile
from opscope.sources import Source, find_source, known_models

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


def profile(
    model: Any,
    inputs: Any = None,
    *,
    input_shape: Any = None,
    batch: int | None = None,
    dtype: torch.dtype | str | None = None,
    device: torch.device | str | None = None,
    tracer: str = "auto",
    name: str | None = None,
    convention: str = "opscope",
    ridge: float = 10.0,
) -> Profile:
    """What a model costs, without running it.

    `model` is an nn.Module, any callable, or a name ('resnet18', 'models.py:make', 'package.module:Class').
    `inputs` is a tensor, a tuple of positional arguments, a dict of keyword arguments or opscope.Inputs;
    `input_shape` makes them instead, from one shape or several. The model is left as it was.
    """
    captured = capture(
        model, inputs, input_shape=input_shape, batch=batch, dtype=dtype, device=device, tracer=tracer, name=name
    )
    return captured.profile(convention=convention, ridge=ridge)


def capture(
    model: Any,
    inputs: Any = None,
    *,
    input_shape: Any = None,
    batch: int | None = None,
    dtype: torch.dtype | str | None = None,
    device: torch.device | str | None = None,
    tracer: str = "auto",
    name: str | None = None,
    source_lines: bool = False,
) -> Capture:
    """The model's ops as a Capture; takes what `profile` takes. `source_lines` notes each op's line of code."""
    if isinstance(model, (str, os.PathLike)):
        spec = os.fspath(model)
        if spec.endswith(".json"):
            if any(given is not None for given in (inputs, input_shape, batch, dtype, device)):
                raise error("a saved capture cannot be changed", spec, "capture the model again with these")
            return load(spec)
        source = find_source(spec, with_data=tracer == "eager")
    elif callable(model):
        source = Source(model, name or _name_of(model), "")
    else:
        raise error(f"{model!r} is not a model", "", "give an nn.Module, a callable, or a name such as 'resnet18'")
    if name is not None:
        source.name = name
    graph = capture_source(
        source,
        inputs,
        input_shape=input_shape,
        batch=batch,
        dtype=dtype,
        device=device,
        tracer=tracer,
        source_lines=source_lines,
    )
    return Capture(graph)


def capture_source(
    source: Source,
    inputs: Any = None,
    *,
    input_shape: Any = None,
    batch: int | None = None,
    dtype: Any = None,
    device: Any = None,
    tracer: str = "auto",
    source_lines: bool = False,
    status: Callable[[str], None] = lambda _: None,
) -> Any:
    """The native graph of a source. A model built without data is built again where a real run is needed."""
    if tracer not in TRACERS:
        raise error(f"no tracer called '{tracer}'", "tracer", ", ".join(TRACERS))
    run = functools.partial(
        _capture_once, source, inputs, input_shape, batch, as_dtype(dtype), as_device(device), source_lines=source_lines
    )
    if source.with_data is None or tracer != "auto":
        return run(tracer)
    try:
        return run("static")
    except Error as problem:
        if not getattr(problem, "needs_values", False):
            raise
        status(f"building {source.name} with weights")
        source.model = source.with_data()
        status(f"running {source.name} for real, because it looks at values")
        return run("auto")


def _capture_once(
    source: Source,
    inputs: Any,
    input_shape: Any,
    batch: int | None,
    dtype: torch.dtype | None,
    device: Any,
    tracer: str,
    *,
    source_lines: bool,
) -> Any:
    if source.owned and dtype is not None and dtype.is_floating_point:
        source.model = source.model.to(dtype)
    arguments = _arguments(source, inputs, input_shape, batch, dtype)
    guess = None
    if inputs is None and input_shape is None and _usual_inputs(source) is not None:
        guess = f"no inputs were given, so {describe(arguments.args[0])} was tried"
    try:
        graph = _engine.capture(
            source.model,
            arguments.args,
            arguments.kwargs,
            tracer=tracer,
            name=source.name,
            source=source.text,
            device=device,
            source_lines=source_lines,
        )
    except Error as problem:
        if guess and not getattr(problem, "needs_values", False):
            problem.hint = f"{guess}: give --input-shape, or return the inputs beside the model"
        raise
    if guess:
        graph.add_diagnostic("assumed", "", "", guess)
    return graph


def _usual_inputs(source: Source) -> InputSpec | None:
    """What to try for a model that was named and says nothing of its inputs: an image, or tokens."""
    if not source.owned or source.inputs is not None or source.default_inputs is not None:
        return None
    return InputSpec(shapes=((1, 128),) if takes_tokens(source.model) else ((1, 3, 224, 224),))


def _arguments(source: Source, inputs: Any, input_shape: Any, batch: int | None, dtype: torch.dtype | None) -> Inputs:
    """What the caller gave, else shapes the caller gave, else the factory's own, else the kind's default."""
    if inputs is not None:
        if input_shape is not None or batch is not None:
            raise error("inputs and input_shape or batch do not go together", "inputs", "give one of them")
        return _in_dtype(as_inputs(inputs), source, dtype)
    if input_shape is not None:
        spec = _spec_from_shapes(source, as_shapes(input_shape))
    elif source.inputs is not None:
        if batch is not None:
            raise error(f"{source.name} brings its own inputs, so batch does not apply", "batch", "give input_shape")
        return _in_dtype(source.inputs, source, dtype)
    elif usual := source.default_inputs or _usual_inputs(source):
        spec = usual
    else:
        raise error(
            f"{source.name} needs inputs",
            "",
            "give a shape, input_shape=(1, 3, 224, 224), or the inputs themselves",
        )
    return make_inputs(spec, batch, input_dtype(source.model, dtype), input_device(source.model))


def _in_dtype(given: Inputs, source: Source, dtype: torch.dtype | None) -> Inputs:
    """Given inputs follow the weights that were cast; a model that is the caller's own is never cast."""
    if dtype is None:
        return given
    if not source.owned:
        raise error("dtype does not change a model or inputs that you made", "dtype", "cast them: model.to(dtype)")

    def cast(value: Any) -> Any:
        return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    args, kwargs = tree_map(cast, tuple(given)) if dtype.is_floating_point else given
    return Inputs(*args, **kwargs)


def _spec_from_shapes(source: Source, shapes: list[tuple[int, ...]]) -> InputSpec:
    """Detectors take a list of images: a shape given for one is an image's, with or without a batch of one."""
    kind = source.default_inputs
    if kind is not None and kind.arrange is not None:
        images = [image for shape in shapes for image in ([shape[1:]] * shape[0] if len(shape) == 4 else [shape])]
        return InputSpec(tuple(images), kind.arrange)
    if kind is not None and len(kind.shapes) > 1 and len(shapes) == 1:
        return InputSpec(tuple(shapes) * len(kind.shapes))
    return InputSpec(tuple(shapes))


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
    """Names that `profile` knows: torchvision's and the registered ones. 'resnet' and 'resnet*' both match."""
    names = sorted(name for name, _ in known_models(registry)[0])
    return [name for name in names if matches(name, pattern)]


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
    if input_shape is None and "inputs" not in options and not isinstance(model, str):
        input_shape = (1, 3, 224, 224)
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
