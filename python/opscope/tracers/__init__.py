"""PyTorch's own tracers: each makes its graphs of a model, and the engine runs them, so that costs are the engine's."""

from __future__ import annotations

import importlib
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch

from opscope._load import native
from opscope.engine import abstract_run, structural_copy
from opscope.engine.nested import replace, tensors_in
from opscope.engine.source_lines import OWN_FOLDER, frames_of
from opscope.engine.surroundings import alone
from opscope.errors import Error, error
from opscope.tracers import dynamo, export, fx
from opscope.tracers.fx import traced_module
from opscope.tracers.node_runs import through
from opscope.tracers.silence import quiet
from opscope.tracers.traced import Traced, TracedBreak, TracedPart
from opscope.tracers.warm_up import Status, has_data, own_copy, warm_up, with_memory

#: What `--tracer` takes, beside the engine's own.
TRACERS = ("fx", "dynamo", "export", "hybrid")

#: The seeds' ladder: what is tried, in this order, and how its stage is called.
LADDER = (("fx", "symbolic_trace"), ("dynamo_export", "Dynamo export"), ("export", "export"))

_MAKERS: dict[str, Callable[[Any, tuple[Any, ...], dict[str, Any]], Traced]] = {
    "fx": fx.trace,
    "dynamo_export": export.trace_with_dynamo,
    "export": export.trace,
}


# PyTorch's tracers change things for the whole process while they work.
_one_at_a_time = threading.RLock()


class TracedModel:
    """A model made ready for tracers, with what it is called with; the caller's own is left as it was.

    `settings` are for the engine: name, source, device, source_lines, limits.
    """

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], **settings: Any) -> None:
        self.settings, self._name = settings, str(settings.get("name", ""))
        self._device = torch.device("cpu") if settings.get("device") is None else torch.device(settings["device"])
        self.args, self.kwargs = with_memory((args, kwargs), self._device)
        if isinstance(model, torch.jit.ScriptModule):
            raise error("TorchScript is compiled already, and tracers read Python", self._name, "use --tracer static")
        with _one_at_a_time, quiet():
            try:
                self._warm, self._runs = warm_up(getattr(model, "_orig_mod", model), args, kwargs)  # behind a torch.compile
                self.computes = has_data(self._warm)  # its weights
            except Error:
                raise
            except Exception as problem:
                raise failure_of("warm-up", problem, self._name) from problem
        self._copy: Any = None

    @property
    def model(self) -> Any:
        """A copy for the tracer that works now, to run and mark as it likes."""
        if self._copy is None:
            self._copy = own_copy(self._warm, self._device)
        return self._copy

    def trace(self, tracer: str) -> tuple[Any, Traced]:
        """The engine's graph with the tracer's nodes, and what the tracer gave. Throws Error with why not."""
        with _one_at_a_time:
            self._copy = None  # what another tracer left on it is none of this one's
            return self._trace(tracer)

    def _trace(self, tracer: str) -> tuple[Any, Traced]:
        began = time.perf_counter()
        try:
            if tracer == "dynamo":
                graph, traced = self._run_compiled()
            else:
                traced = self._made(_MAKERS[tracer])
                graph = self._record(traced)
        except Error:
            raise
        except Exception as problem:
            raise failure_of(tracer, problem, self._name) from problem
        traced.has_data = self.computes
        graph.tracer = tracer
        graph.seconds = time.perf_counter() - began
        return graph, traced

    def _made(self, make: Callable[..., Traced]) -> Traced:
        if self.settings.get("source_lines"):
            importlib.import_module("torch._dynamo")  # fx notes lines with its help
        before = structural_copy.attributes_of(self.model)
        try:
            with quiet(), alone(), abstract_run.without_dispatch_modes(), torch.random.fork_rng():
                return make(self.model, self.args, self.kwargs)
        finally:  # export leaves its fake tensors where forward keeps something
            structural_copy.forget(self.model, before, lambda value: any(map(_is_fake, tensors_in(value))))

    def _record(self, traced: Traced) -> Any:
        return self._capture(self.model, "auto" if self.computes else "static", through(traced))

    def _capture(self, model: Any, tracer: str, call: Any) -> Any:
        try:
            return abstract_run.capture(model, self.args, self.kwargs, tracer=tracer, through=call, **self.settings)
        except Error as problem:
            if self._runs:
                problem.hint = "its graph does not run as the model does: use another tracer"
            raise

    def _run_compiled(self) -> tuple[Any, Traced]:
        with quiet(), dynamo.compiled(self.model, self.computes) as (call, collector):
            traced = Traced("dynamo", self.model, self.args, self.kwargs, collector.parts, collector.breaks)
            given = self._compile(call)
            collector.finish()
            for part in collector.parts:
                part.args = replace(part.args, "", lambda tensor, _: given.get(id(tensor), tensor))
            if not collector.parts:
                raise _no_graph(collector.breaks, self._name)
            if collector.is_whole:
                return self._record(traced), traced
            if not self.computes:
                raise _needs_data(collector, self._name)
            return self._capture(self.model, "eager", collector.through(call)), traced

    def _compile(self, call: Callable[..., Any]) -> dict[int, torch.Tensor]:
        """Dynamo compiles in the first call. The inputs, by the identity of those that the call was given for them.

        Results without data lead some models astray between the graphs: that is told as a need for data.
        """
        given: list[torch.Tensor] = []

        def noted(*args: Any, **kwargs: Any) -> Any:
            given.extend(tensors_in((args, kwargs)))
            return call(*args, **kwargs)

        try:
            abstract_run.run_unrecorded(self.model, self.args, self.kwargs, noted)
            return dict(zip(map(id, given), tensors_in((self.args, self.kwargs)), strict=True))
        except Exception as problem:
            made = problem if isinstance(problem, Error) else failure_of("dynamo", problem, self._name)
            made.needs_values = not self.computes
            raise made from problem


def _is_fake(tensor: torch.Tensor) -> bool:
    return isinstance(tensor, torch._subclasses.FakeTensor)


def _no_graph(breaks: list[TracedBreak], name: str) -> Error:
    if not breaks:
        return error("Dynamo made no graph of it: it left all its code to Python", name, "use --tracer export, or hybrid")
    reason, hint = native.explain_tracer_failure("dynamo", "Unsupported", breaks[0].text)
    place = f", at {breaks[0].source.rpartition('/')[2]}" if breaks[0].source and ", at " not in reason else ""
    made = error(f"Dynamo made no graph of it: {reason}{place}", name, hint)
    made.detail = "\n\n".join(found.text for found in breaks)
    return made


def _needs_data(collector: dynamo.Collector, name: str) -> Error:
    made = error(
        f"Dynamo breaks it into {len(collector.parts)} graphs, and what runs between them needs weights with data",
        name,
        "build it on a real device, or use --tracer export",
    )
    made.needs_values = True
    return made


def failure_of(tracer: str, problem: BaseException, name: str) -> Error:
    """A tracer's failure in words: what the model does that it cannot follow, where, and what to do instead."""
    text = "".join(traceback.format_exception_only(problem)).strip()
    stack = "".join(traceback.format_list([frame for frame in frames_of(problem) if not frame.filename.startswith(OWN_FOLDER)]))
    reason, hint = native.explain_tracer_failure(tracer, type(problem).__name__, f"{text}\n{stack}")
    made = error(reason, name, hint)
    made.detail = text
    return made


def trace_hybrid(ready: Callable[[], TracedModel], status: Status, engine: Callable[[], Any]) -> tuple[Any, Traced | None]:
    """The first of the ladder's tracers that works, else the engine's own graph; every rung's end is in the graph."""
    rungs = []
    found: tuple[Any, Traced | None] | None = None
    for number, (tracer, shown) in enumerate(LADDER, 2):
        if found is not None:
            rungs.append(native.Rung(tracer, "not tried"))
            continue
        status(f"[{number}/4] {shown}")
        began = time.perf_counter()
        try:
            found = ready().trace(tracer)
            rungs.append(native.Rung(tracer, "used", seconds=time.perf_counter() - began))
        except Error as problem:
            detail = getattr(problem, "detail", "") or str(problem)
            seconds = time.perf_counter() - began
            rungs.append(native.Rung(tracer, "failed", str(problem), problem.hint, detail, seconds))
    if found is None:
        status("no tracer follows it: the engine's own graph")
        graph = engine()
        rungs.append(native.Rung(graph.tracer, "used", seconds=graph.seconds))
        found = graph, None
    else:
        rungs.append(native.Rung("static", "not tried"))
    for rung in rungs:
        found[0].add_rung(rung)
    return found


__all__ = [
    "LADDER",
    "TRACERS",
    "Traced",
    "TracedBreak",
    "TracedModel",
    "TracedPart",
    "failure_of",
    "quiet",
    "through",
    "trace_hybrid",
    "traced_module",
]
