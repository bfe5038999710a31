"""`opscope.measure`: real runs of a model, with a timer around every op.

Puts a model that was made here where it is to run, refuses what cannot be measured and says why, and adds to the
engine's samples what is known of the machine. The runs themselves are the engine's.
"""

from __future__ import annotations

import math
import operator
import os
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from opscope.api import Call, Graph, _read_file, _source_of, as_trained, call_of, plan_for, training_of
from opscope.engine.nested import replace as replace_tensors
from opscope.errors import Error, error
from opscope.inputs import Inputs
from opscope.inputs.plan import InputPlan
from opscope.measurement import real_run
from opscope.measurement.environment import clocks_of, environment_of
from opscope.measurement.peak_memory import peak_of
from opscope.measurement.placement import RanOut, check_available, check_one_device, out_of_memory, ran_out
from opscope.measurement.repeated_ops import repeat_ops
from opscope.options import Options, takes_options
from opscope.results.profile import Profile
from opscope.sources import Source

#: Unless the user says otherwise: enough runs for a median and a spread, and no longer than a person waits.
WARMUP, LEAST_RUNS, MOST_RUNS, SECONDS = 3, 10, 200, 1.0
_RUNS_IN_TIME = 10_000  # where the user says for how long
_MOST = 1_000_000  # runs, and warm-up runs

Progress = Callable[[int, int, str], None]  # runs done, runs in all or 0, what is done


@dataclass(frozen=True)
class Runs:
    """How a model is measured; None is left to the constants above."""

    warmup: int | None = None
    runs: int | None = None
    min_time: float | None = None  # seconds
    on: Any = None  # a device
    repeat_ops: bool = False
    keep_times: bool = True  # of repeated ops, for other models

    def __post_init__(self) -> None:
        _check_whole(self.warmup, "warmup", 0, "runs before any is timed: 0 or more")
        _check_whole(self.runs, "runs", 1, "a median needs at least one run")
        if self.min_time is not None and not _is_duration(self.min_time):
            raise error(f"{self.min_time!r} is not a duration", "min_time", "seconds, 0 or more: 2.5")

    def plan(self) -> dict[str, Any]:
        """The engine's settings: at least this many runs, then more until the time is over or there are enough."""
        warmup = WARMUP if self.warmup is None else self.warmup
        if self.runs is not None and self.min_time is None:
            return {"warmup": warmup, "runs": self.runs, "most_runs": self.runs, "seconds": 0.0}
        most = MOST_RUNS if self.min_time is None else _RUNS_IN_TIME
        least = LEAST_RUNS if self.runs is None else self.runs
        seconds = SECONDS if self.min_time is None else float(self.min_time)
        return {"warmup": warmup, "runs": least, "most_runs": max(most, least), "seconds": seconds}


def _check_whole(number: Any, name: str, least: int, hint: str) -> None:
    try:
        good = number is None or (not isinstance(number, bool) and operator.index(number) >= least)
    except TypeError:
        good = False
    if good and number is not None and number > _MOST:
        raise error(f"{number} runs would not end", name, f"up to {_MOST}")
    if not good:
        raise error(f"{number!r} is not a number of {'runs' if name == 'runs' else 'warm-up runs'}", name, hint)


def _is_duration(number: Any) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number) and number >= 0


@takes_options
def measure(
    model: Any,
    inputs: Any = None,
    *,
    warmup: int | None = None,
    runs: int | None = None,
    min_time: float | None = None,
    on: Any = None,
    repeat_ops: bool = False,
    hardware: str | None = None,
    convention: str = "opscope",
    ridge: float | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Profile:
    """Runs a model and times every op: a Profile with times in its rows; `measurement` says how they were measured.

    `model`, `inputs` and the other options are those of `profile`. A model given by name is built on the device `on`
    ('cpu', 'cuda', 'cuda:1') with random weights and inputs; your own module runs where its weights are. After `warmup`
    runs (3) there are `runs` with every op timed, each beside one without; where you do not say how many, 10 to 200, until
    `min_time` (1 second) is over. `repeat_ops` times each distinct op alone too. `training` measures whole steps.
    `progress(done, total, text)` is called after each run; a total of 0 is not known yet. The model, its gradients and the random
    number generators are left as they were. A file that `save` wrote after a measurement is read, and nothing is run.
    """
    asked = Runs(warmup, runs, min_time, on, repeat_ops)
    chosen = _options_of(options)
    graph = _from_file(model, inputs, asked, chosen)
    if graph is None:
        graph = Graph(measure_source(_source_of(model, chosen), inputs, chosen, asked, progress=progress))
    settings: dict[str, Any] = {"convention": convention, "ridge": ridge, "hardware": hardware}
    return graph.profile(**{name: value for name, value in settings.items() if value is not None})


def _options_of(options: dict[str, Any]) -> Options:
    """A measurement is a real run of the model itself."""
    tracer = options.get("tracer", "auto")
    if tracer not in ("auto", "eager"):
        raise error("a measurement is of real runs of the model itself", "tracer", "leave it out")
    if options.get("device") is not None:
        raise error("a model is measured where it runs", "device", "say on='cuda'")
    chosen = Options(**options | {"tracer": "eager"})
    chosen.refuse_edits("a measurement")
    return chosen


def _from_file(model: Any, inputs: Any, asked: Runs, options: Options) -> Graph | None:
    if not isinstance(model, (str, os.PathLike)):
        return None
    graph = _read_file(os.fspath(model), inputs, options.replace(tracer="auto"))
    if graph is None:
        return None
    if not graph._graph.measured:
        raise error(
            "there are no times in it, and a graph without its model cannot be run",
            os.fspath(model),
            "name the model itself, and save what is measured; opscope.profile shows costs",
        )
    if asked != Runs():
        raise error("the times in this file are of runs that were made", os.fspath(model), "name the model itself to run it again")
    return graph


def measure_source(
    source: Source,
    inputs: Any,
    options: Options,
    asked: Runs,
    status: Callable[[str], None] = lambda _: None,
    progress: Progress | None = None,
) -> Any:
    """The native graph of a source's model, measured."""
    device = None if asked.on is None else check_available(_device(asked.on))
    if source.with_data is not None:
        status(f"building {source.name} with weights")
        source.model, source.with_data = source.with_data(), None
    left, call = RanOut("", source.name, device or torch.device("cpu")), None
    try:
        call, left.device = _placed(source, inputs, options, device)
        status(f"running {source.name} on {left.device}")
        return _measured(call, left.device, asked, progress)
    except Exception as problem:
        if not ran_out(problem):
            raise
        left.op, left.where = getattr(problem, "op", ""), getattr(problem, "where", "") or left.where
        traceback.clear_frames(problem.__traceback__)
        for cause in _causes(problem):
            traceback.clear_frames(cause.__traceback__)
    # Outside of the handler: what was raised holds the model's frames, and these its activations.
    raise out_of_memory(left, lambda: _predicted_peak(call or call_of(source, inputs, options)))


def _device(on: Any) -> torch.device:
    try:
        return torch.device(on)
    except (RuntimeError, TypeError):
        raise error(f"no device called '{on}'", "on", "cpu, cuda, cuda:1, ...") from None


def _causes(problem: BaseException) -> Iterator[BaseException]:
    while (cause := problem.__cause__ or problem.__context__) is not None:
        yield cause
        problem = cause


def _placed(source: Source, inputs: Any, options: Options, device: torch.device | None) -> tuple[Call, torch.device]:
    """The model with its inputs on one device. One that was made here is put there; the caller's own stays where it is."""
    if source.owned and device is not None:
        source.model = source.model.to(device)
    call = _call(source, inputs, options)
    if source.owned and device is not None:
        call.arguments = _moved(call.arguments, device)
    return call, check_one_device(source.model, call.arguments, device, source.name)


def _call(source: Source, inputs: Any, options: Options) -> Call:
    if inputs is not None:
        return call_of(source, inputs, options)
    plan = plan_for(source, options)
    _fill(plan)
    return as_trained(source, plan.make(), plan, options)


def _moved(inputs: Inputs, device: torch.device) -> Inputs:
    def moved(tensor: torch.Tensor, _: str) -> torch.Tensor:
        return tensor.to(device)

    args = [replace_tensors(value, "", moved) for value in inputs.args]
    return Inputs(*args, **{name: replace_tensors(value, "", moved) for name, value in inputs.kwargs.items()})


def _fill(plan: InputPlan) -> None:
    """Random numbers in the place of zeros: a device computes faster with zeros than with anything that a user has."""
    for part in plan.parts:
        floats = part.dtype is None or part.dtype.is_floating_point
        if part.shape is not None and part.value is None and not part.given and floats:
            part.value, part.words = _random(part.shape, part.dtype), "random"


def _random(shape: tuple[int, ...], own: torch.dtype | None) -> Callable[[torch.dtype, torch.device], torch.Tensor]:
    def make(floats: torch.dtype, device: torch.device) -> torch.Tensor:
        generator = torch.Generator().manual_seed(0)
        return torch.rand(shape, generator=generator).to(device, own or floats)

    return make


def _measured(call: Call, device: torch.device, asked: Runs, progress: Progress | None) -> Any:
    plan, memory = asked.plan(), None

    def one_more(run: Callable[[], Any], there: Iterator[torch.Tensor]) -> None:
        nonlocal memory
        memory = peak_of(run, there, device)

    environment = environment_of(device, call.source.model)
    clocks = clocks_of(device, "before")
    try:
        graph = real_run.measure(
            call.source.model,
            call.arguments.args,
            call.arguments.kwargs,
            training=training_of(call.options),
            autocast=call.options.autocast if not call.options.training else None,
            progress=_named(call.source.name, progress),
            after=one_more,
            **plan,
            **call.settings() | {"source_lines": True},  # waits and transfers are told with their lines
        )
    except Error as problem:
        if not ran_out(problem):
            call.explain(problem)
        raise
    graph.set_environment(environment | {"clocks_mhz": clocks | clocks_of(device, "after")})
    if memory is not None:
        graph.set_memory(*memory)
    if asked.repeat_ops:
        store = None if asked.keep_times else ""
        repeat_ops(graph, device, progress, store)  # by the environment, which is known by now
    call.add_notes(graph)
    return graph


def _named(name: str, progress: Progress | None) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(done, total, f"{'measuring' if done else 'warming up'} {name}")


def _predicted_peak(call: Call) -> int:
    """Of the same run, worked out without data."""
    return int(Graph(call.capture("static")).profile().memory.peak_memory_bytes)
