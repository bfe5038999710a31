"""A model at many sizes: built once, captured at each. Which sizes, and what follows from them, C++ decides."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from opscope._load import native
from opscope.api import Status, _read_file, _source_of, capture_source
from opscope.engine.nested import replace, tensors_in
from opscope.engine.surroundings import held
from opscope.errors import Error, error
from opscope.inputs import Inputs, as_inputs
from opscope.inputs.facts import remembered
from opscope.options import Options, takes_options
from opscope.questions.costs import cost_settings, on_hardware
from opscope.questions.diff import spec_of
from opscope.results.profile import Row
from opscope.results.report import Report
from opscope.sources import Source


@contextmanager
def _in_a_row() -> Iterator[None]:
    """What many captures need is set, and found out about the model, once; what was there before is no garbage."""
    with held(), remembered(), _frozen():
        yield


@contextmanager
def _frozen() -> Iterator[None]:
    """The collector leaves PyTorch, the model and all else there is alone: going over it costs a quarter of a capture."""
    if gc.get_freeze_count() > 0:  # the caller's own, which is not ours to end
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class Points:
    """Captures of one model at one size after the other."""

    def __init__(self, source: Source, options: Options, inputs: Inputs | None = None) -> None:
        self._source, self._options, self._inputs = source, options, inputs

    def capture(self, sizes: Mapping[str, Any], status: Status = lambda _: None) -> Any:
        """The native graph at these sizes: names of Options, and what they are here."""
        if self._inputs is None:
            return capture_source(self._source, None, self._options.replace(**sizes), status)
        batch = sizes.get("batch")
        others = {name: value for name, value in sizes.items() if name != "batch"}
        inputs = self._inputs if batch is None else with_batch(self._inputs, batch)
        return capture_source(self._source, inputs, self._options.replace(**others), status)


def with_batch(inputs: Inputs, batch: int) -> Inputs:
    """The same inputs with another number of rows: the size that the first dimensions of all tensors share."""
    tensors = list(tensors_in((inputs.args, inputs.kwargs)))
    rows = {tensor.shape[0] for tensor in tensors if tensor.dim() > 0}
    if len(rows) != 1:
        found = ", ".join(str(tuple(tensor.shape)) for tensor in tensors) or "no tensor"
        raise error(f"no batch to vary: the inputs do not share a first dimension ({found})", "batch", "leave inputs out, or vary no batch")

    def grown(tensor: Any, _: str) -> Any:
        if tensor.dim() == 0:
            return tensor
        if tensor.is_floating_point() and tensor.layout is torch.strided:  # data that a capture does not look at
            return torch.empty((batch, *tensor.shape[1:]), dtype=tensor.dtype, device="meta")
        return tensor[:1].expand(batch, *tensor.shape[1:]).contiguous()  # all its rows are held

    args, kwargs = replace((inputs.args, inputs.kwargs), "inputs", grown)
    return Inputs(*args, **kwargs)


def serve(source: Source, options: Options, lines: Iterable[str], output: str, send: Callable[[str, Any], None], status: Status,
          describe: Callable[[BaseException], dict[str, Any]], kept: Sequence[str] = ()) -> None:  # fmt: skip
    """The command line's side: lists of sizes come in a line each, captures go to files, one a point.

    `kept` are the files that a capture depends on, where it may be used again.
    """
    points = Points(source, options)
    with _in_a_row():
        for line in lines:
            for sizes in json.loads(line):
                index = sizes.pop("index")
                try:
                    graph = points.capture(sizes, status)
                    for path in kept:
                        graph.add_dependency(path)
                    with open(f"{output}.{index}", "w", encoding="utf-8") as file:
                        file.write(graph.to_json())
                    send("finished", {"index": index, "cacheable": bool(kept)})
                except (Exception, SystemExit) as problem:
                    send("finished", {"index": index, "error": describe(problem)})


class Sweep(Report):
    """What `opscope.sweep` found: a row for each point, in every format that the command line has."""

    @property
    def rows(self) -> list[Row]:
        """One a point: its sizes, `state` ('captured', 'fitted', 'failed'), then its metrics, or the `problem`."""
        return [Row(point) for point in self._data["points"]]

    @property
    def turning_points(self) -> list[Row]:
        """Crossovers: where intensity passes the ridge point, attention overtakes the linear layers, memory exceeds the limit."""
        return [Row(turn) for turn in self._data["turning_points"]]

    @property
    def remarks(self) -> list[str]:
        """The crossovers in words."""
        return list(self._data["remarks"])

    def to_pandas(self) -> Any:
        """The rows as a DataFrame."""
        import pandas

        return pandas.DataFrame(self._data["points"])

    def __repr__(self) -> str:
        return f"<opscope.Sweep of {self._data['model']}: {len(self._data['points'])} points>"


class Fit(Report):
    """What `opscope.fit` found: the largest size that fits, the parts of its peak memory, and the peak of one more."""

    @property
    def largest(self) -> int | None:
        """The largest value that fits; None where not even the smallest does."""
        value: int | None = self._data["largest"]
        return value

    @property
    def limited_by(self) -> str:
        """'memory', 'time', 'model' (it takes no more), 'nothing' (nothing fits) or 'unlimited'."""
        return str(self._data["limited_by"])

    @property
    def best(self) -> Row | None:
        """The largest that fits: value, peak_memory_bytes, needed_bytes, ..., with hardware predicted_seconds. None: none does."""
        found = self._data["best"]
        return None if found is None else Row(found)

    @property
    def next(self) -> Row | None:
        """The same of the first that does not fit; None where the model does not take it."""
        found = self._data["next"]
        return None if found is None else Row(found)

    @property
    def second_limit(self) -> Row:
        """What would end it next, were the first limit lifted: kind ('memory', 'time', 'positions', 'unknown') and at."""
        return Row(self._data["second_limit"])

    def __repr__(self) -> str:
        return f"<opscope.Fit of {self._data['model']}: {self._data['verdict']}>"


@takes_options
def sweep(
    model: Any,
    inputs: Any = None,
    *,
    batch: Any = None,
    seq_len: Any = None,
    image_size: Any = None,
    past_len: Any = None,
    dtype: Any = None,
    quantize: Any = None,
    optimizer: Any = None,
    autocast: Any = None,
    checkpoint: Any = None,
    dims: Mapping[str, Any] | None = None,
    metric: str = "",
    memory: str | int | None = None,
    polynomial: bool | None = None,
    convention: str = "opscope",
    ridge: float | None = None,
    hardware: str | os.PathLike[str] | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
    **options: Any,
) -> Sweep:
    """A model's costs at every combination of sizes, and the crossovers between them.

    `batch`, `seq_len`, `image_size`, `past_len`, `dtype`, `quantize`, and in training `optimizer`, `autocast` and `checkpoint`,
    are lists, or text as on the command line ('1,2,4,..,256', '128:4096:x2'). The model is built once and captured at each point;
    above 40 points, or with `polynomial=True`, most are worked out by exact polynomials that captures confirm. `memory` is a
    limit to mark ('24GiB'). `hardware` is a device, or several ('h200,l4'): points then have the time that is predicted there, in
    the `mode` and with the `host` of `opscope.predict`. `dims` are the dynamic dimensions of a .pt2 or ONNX file. With `inputs` of
    your own, `batch` varies the first dimension that they share.
    """
    choices = {"optimizer": optimizer, "autocast": autocast, "checkpoint": checkpoint}
    lists = {name: _listed(value) for name, value in choices.items() if value is not None}
    options |= {name: text for name, text in lists.items() if "," not in text}
    axes = [(name, text, False) for name, text in lists.items() if "," in text]
    values = {"dtype": dtype, "quantize": quantize, "batch": batch, "seq_len": seq_len, "past_len": past_len, "image_size": image_size}
    axes += [(name, _listed(value), False) for name, value in values.items() if value is not None]
    axes += [(name, _listed(value), True) for name, value in (dims or {}).items()]
    asked = Options(**on_hardware(options, hardware, model))
    settings = cost_settings(
        convention=convention, ridge=ridge, hardware=hardware, float32=float32, routing=routing, mode=mode, host=host
    )
    with _in_a_row():
        capture = _capture_at(model, inputs, asked)
        return Sweep(
            native.sweep(
                asked.request, spec_of(model), axes, capture, metric=metric, memory=_text(memory), polynomial=polynomial, **settings
            )
        )


@takes_options
def fit(
    model: Any,
    inputs: Any = None,
    *,
    memory: str | int | None = None,
    max_time: str | None = None,
    variable: str = "batch",
    reserve: str | int | None = None,
    step: int | None = None,
    convention: str = "opscope",
    hardware: str | os.PathLike[str] | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
    **options: Any,
) -> Fit:
    """The largest `variable` ('batch', 'seq_len', 'image_size', 'past_len') whose peak memory fits `memory`.

    `memory` is '24GiB' or bytes; without it, what `hardware` has. `reserve` is kept free of it: '1GiB', '10%'. `max_time` ('20ms')
    is a limit of the time that is predicted on `hardware`, in the `mode` and with the `host` of `opscope.predict`. `training=True`
    and `optimizer='adam'` count gradients and the optimizer's state.
    """
    asked = Options(**on_hardware(options, hardware, model, as_gpu=True))
    settings = cost_settings(convention=convention, hardware=hardware, float32=float32, routing=routing, mode=mode, host=host)
    with _in_a_row():
        capture = _capture_at(model, inputs, asked)
        return Fit(
            native.fit(
                asked.request, spec_of(model), variable, _text(memory), _text(reserve), step, capture, _text(max_time), **settings
            )
        )


def _listed(value: Any) -> str:
    """As the command line has it: one value, a list of them, or its own text."""
    if isinstance(value, (str, int)):
        return str(value)
    try:
        items = list(value)
    except TypeError:
        items = [value]
    return ",".join("x".join(map(str, item)) if isinstance(item, (tuple, list)) else str(item) for item in items)


def _text(value: str | int | None) -> str:
    return "" if value is None else str(value)


def _capture_at(model: Any, inputs: Any, options: Options) -> Callable[[dict[str, Any]], Any]:
    """What C++ calls for a point: a graph, or an Error whose words become the point's."""
    made: list[Points] = []

    def capture(sizes: dict[str, Any]) -> Any:
        spec = spec_of(model)
        if spec and (read := _read_file(spec, inputs, options.replace(**sizes))) is not None:
            return read._graph
        if not made:
            given = None if inputs is None else as_inputs(inputs)
            made.append(Points(_source_of(model, options), options, given))
        return made[0].capture(sizes)

    def told(sizes: dict[str, Any]) -> Any:
        try:
            return capture(sizes)
        except Error as problem:
            return problem
        except Exception as problem:
            lines = str(problem).strip().splitlines() or [""]
            return error(f"{type(problem).__name__}: {lines[0]}", "", "")

    return told
