"""Real runs of a model with the engine's op timers: many of them for opscope.measure, one for opscope.Profiler."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from opscope._load import native
from opscope.engine.abstract_run import Asked, Run, running, without_dispatch_modes
from opscope.engine.forwards import drained, own_copy
from opscope.engine.nested import named_tensors, replace, tensors_in
from opscope.engine.recipe import precision
from opscope.engine.structural_copy import model_tensors
from opscope.engine.surroundings import among_others, measured
from opscope.engine.training import Step, Training

After = Callable[[Callable[[], Any], Iterator[torch.Tensor]], None]  # one more run, and the tensors that it finds


def measure(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    warmup: int,
    runs: int,
    most_runs: int,
    seconds: float,
    name: str = "",
    source: str = "",
    device: Any = None,
    source_lines: bool = False,
    limits: dict[str, int] | None = None,
    assume: dict[str, bool] | None = None,
    max_ops: int | None = None,
    gpu: str | None = None,
    training: Training | None = None,
    autocast: str | None = None,
    progress: Callable[[int, int], None] | None = None,
    after: After | None = None,
) -> Any:
    """The graph of a real run with the times of others in it: `runs` of them and more until `seconds` have passed.

    As many runs without timers are between them. `progress` hears how many are done, of how many (0: unknown);
    `after` may make one more run, of which nothing is kept, and hears which tensors were there before it.
    """
    asked = Asked(dict(limits or {}), dict(assume or {}), max_ops, source_lines, gpu)
    run = RealRun(model, args, kwargs, name, source, device, asked, None, training, autocast)
    run.need_data()
    plan = {"warmup": warmup, "runs": runs, "most_runs": most_runs, "seconds": seconds}
    return run.measure(plan, progress, after)


def profile_run(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, name: str = "", lasting: bool = False) -> tuple[Any, Any]:
    """What one real run of a model gives, and its graph with the time of each op of that same run.

    `lasting` runs are the caller's own: what they change stays, and gradients are theirs to ask for.
    """
    run = RealRun(model, args, kwargs, name or type(model).__name__)
    run.need_data()
    return run.profile_run(lasting)


class RealRun(Run):
    """A model with its inputs, ready to be run for real."""

    step: Step | None = None  # of a training that is measured

    def measure(self, plan: dict[str, Any], progress: Callable[[int, int], None] | None, after: After | None) -> Any:
        began = time.perf_counter()
        raised: list[Exception] = []  # by the caller's own code, and theirs to hear of as it is

        def told(done: int, total: int) -> None:
            try:
                progress(done, total)  # type: ignore[misc]
            except Exception as problem:
                raised.append(problem)
                raise

        model, session = self._ready_session()
        args, kwargs = self._inputs(session)
        with without_dispatch_modes(), measured(), running(session):
            try:
                call = self._recorded(session, model, args, kwargs)
                session.measure(lambda: _fresh(args, kwargs), call, **plan, progress=progress and told)
                if after is not None:
                    session.before_run()
                    after(lambda: call(_fresh(args, kwargs)), self._there(model, args, kwargs))
            except native.Error:
                raise
            except Exception as problem:
                if problem in raised:
                    raise
                raise self._explained(problem, session) from problem
        return self._taken(session, began)

    def _recorded(self, session: Any, model: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        """Makes the recorded call; gives what makes the next ones."""
        given, named = _fresh(args, kwargs)
        model, called = drained(model), model
        if self.training is not None:
            self.step = step = Step(self.training, session, called, self.named(given, named), self.device)
            step.first(lambda: model(*given, **named))
            return lambda inputs: step.again(lambda: model(*inputs[0], **inputs[1]))

        def call(inputs: Any) -> Any:
            with precision.autocast(self.device, self.autocast):
                return model(*inputs[0], **inputs[1])

        for path, tensor in named_tensors(call((given, named))):
            session.add_output(tensor, path)
        return call

    def _there(self, model: Any, args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
        """What a run finds: weights, inputs and an optimiser's state. The last step's gradients are let go of first."""
        yield from itertools.chain(model_tensors(model), tensors_in((args, kwargs)))
        if self.step is not None:
            self.step.root.zero_grad()
            yield from self.step.state()

    def profile_run(self, lasting: bool) -> tuple[Any, Any]:
        began = time.perf_counter()
        model, session = (self.model, self._session(self.model, True, ())) if lasting else self._ready_session()
        if lasting:
            session.set_lasting()
        given = self._inputs(session)
        args, kwargs = (self.args, self.kwargs) if lasting else given  # in the caller's own containers, or in copies
        with without_dispatch_modes(), among_others() if lasting else measured(), running(session):
            session.begin_timed_run()
            outputs = model(*args, **kwargs)
            session.end_timed_run()
            for path, tensor in named_tensors(outputs):
                session.add_output(tensor, path)
        return outputs, self._taken(session, began)

    def _ready_session(self) -> tuple[Any, Any]:
        """The model, or a copy of a lazy one after its first call; a session for a real run of it."""
        session = self._session(self.model, True, ())
        if not session.is_lazy:
            return self.model, session
        model = self._initialised(True, ())
        return model, self._session(model, True, ())


def _fresh(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The same tensors in containers of their own: a model may add to a cache that it is given."""
    same = lambda tensor, _: tensor  # noqa: E731
    given = tuple(own_copy(replace(value, "", same)) for value in args)
    return given, {name: own_copy(replace(value, "", same)) for name, value in kwargs.items()}
