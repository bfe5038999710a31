"""Runs a model under the capture engine: hands it its inputs, follows its outputs, and puts everything back.

What is set for the time of a capture is set in one place, surroundings.py, and undone however the model ends.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

from opscope._load import native
from opscope.engine import custom_ops, distributed, either_way, structural_copy
from opscope.engine.either_way import Site
from opscope.engine.explained import explained
from opscope.engine.forwards import argument_names, drained, own_copy
from opscope.engine.nested import is_wrapper, named_tensors, replace, tensors_in, unflattened, with_attributes_of
from opscope.engine.recipe import precision
from opscope.engine.source_lines import OWN_FOLDER, TORCH_FOLDER
from opscope.engine.structural_copy import first_tensor, model_tensors, root_module
from opscope.engine.surroundings import Surroundings
from opscope.engine.training import Training, with_stand_ins
from opscope.errors import Error, error

_FakeTensor = torch._subclasses.fake_tensor.FakeTensor
_NO_GRADIENTS = ("does not require grad", "doesn't require gradient")  # autograd's words, in a forward that differentiates
Through = Callable[[Any], Callable[..., Any]]  # from a session to what is called in the model's place
_FLIPS = 8  # conditions on data that are tried the other way before a static capture gives up


def capture(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    tracer: str = "auto",
    name: str = "",
    source: str = "",
    device: Any = None,
    source_lines: bool = False,
    limits: dict[str, int] | None = None,
    assume: dict[str, bool] | None = None,
    max_ops: int | None = None,
    gpu: str | None = None,
    through: Through | None = None,
    training: Training | None = None,
    autocast: str | None = None,
) -> Any:
    """The model's graph. `auto` is a static capture and, where that cannot go on and data is there, a real run.

    `limits` are sizes to take where they depend on data, by name: {"nms": 100, "nonzero": 5000}.
    `assume` says how conditions on data turn out, by their line: {"model.py:42": False}. `max_ops` stops what does not end.
    `through` gives what is called in the model's place: a graph that a tracer made of it.
    `training` adds backward and an optimiser's step, with an autocast of its own; `autocast` is that of a forward run.
    """
    asked = Asked(dict(limits or {}), dict(assume or {}), max_ops, source_lines, gpu)
    run = Run(model, args, kwargs, name, source, device, asked, through, training, autocast)
    if tracer == "eager":
        run.need_data()
        return run.capture(eager=True)
    try:
        return run.capture_statically()
    except native.Error as problem:
        if tracer == "static" or getattr(problem, "is_final", True) or not run.has_data():
            raise
        stopped = problem
    graph = run.capture(eager=True)
    place = f" at {stopped.where}" if stopped.where else ""
    graph.add_diagnostic(
        "fallback", stopped.op, stopped.module, f"the static capture stopped{place} ({stopped}), so the model was run for real"
    )
    return graph


def run_abstract(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Callable[..., Any] | None = None) -> Any:
    """What a model, or a method of it, gives for these inputs by shapes alone; nothing is recorded for long.

    Tensors whose values the run does not know come back on the meta device, the others with their values.
    """
    run = Run(model, args, kwargs, type(model).__name__)
    session = run._session(model, False, ())
    if session.is_lazy:
        model = run._initialised(False, ())
        session = run._session(model, False, ())
    given, named = run._inputs(session)
    known: dict[int, Any] = {}
    with without_dispatch_modes(), Surroundings(run.device), running(session), torch.no_grad():
        try:
            outputs = (call or model)(*given, **named)
            known = {id(t): t.tolist() for t in tensors_in(outputs) if native.is_abstract(t) and not native.is_unknown(t)}
            unknown = {id(t) for t in tensors_in(outputs) if native.is_unknown(t)}
        except native.Error:
            raise
        except Exception as problem:
            raise run._explained(problem, session) from problem

    def plain(tensor: torch.Tensor, path: str) -> torch.Tensor:
        if is_wrapper(tensor):
            return unflattened(tensor, path, plain)
        if id(tensor) in known:
            return torch.tensor(known[id(tensor)], dtype=tensor.dtype)
        if id(tensor) not in unknown:
            return tensor
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")

    return replace(outputs, "", plain)


def initialised(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A copy of a model after its first call, which was abstract where that works and real where data is there."""
    run = Run(model, args, kwargs, type(model).__name__)
    try:
        return run._initialised(False, ())
    except native.Error as problem:
        if getattr(problem, "is_final", True) or not run.has_data():
            raise
    return run._initialised(True, ())


def run_unrecorded(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Callable[..., Any]) -> None:
    """Makes a real call in the same surroundings as a capture's, the thread's dispatch keys included; nothing is recorded."""
    run = Run(model, args, kwargs, type(model).__name__)
    session = run._session(model, True, ())
    session.mute(True)
    run.explains = False
    run._call(session, call)


@dataclass(frozen=True)
class Asked:
    """What a user may ask of the engine: see `capture`."""

    limits: dict[str, int] = field(default_factory=dict)
    assume: dict[str, bool] = field(default_factory=dict)
    max_ops: int | None = None
    source_lines: bool = False
    gpu: str | None = None  # "8.0x108"


def _at_hand(device: str) -> str:
    """The CUDA device of a capture that names none, where there is one."""
    if not device.startswith("cuda") or not torch.cuda.is_available():
        return ""
    found = torch.cuda.get_device_properties(device)
    return f"{found.major}.{found.minor}x{found.multi_processor_count}"


_NOTHING = Asked()


class Run:
    """One model with its inputs, ready to be captured one way or the other."""

    def __init__(
        self,
        model: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str,
        source: str = "",
        device: Any = None,
        asked: Asked = _NOTHING,
        through: Through | None = None,
        training: Training | None = None,
        autocast: str | None = None,
    ) -> None:
        self.model, self.args, self.kwargs, self.name, self.source = model, args, kwargs, name, source
        self.asked, self.through, self.training, self.autocast = asked, through, training, autocast
        self.tried: dict[str, bool] = {}  # conditions on data, answered the other way
        self.sites: list[Site] = []  # those of the last capture
        self.costed: list[str] = []  # ops whose cost is not the table's, in the last capture
        self.raised: list[Exception] = []  # before it, by conditions that were then assumed the other way
        self.differentiates = False  # its forward, which then runs with gradients on
        self.explains = True  # what a model raises becomes an error that says where
        seen = [*first_tensor(model), *tensors_in([*args, *kwargs.values()])]
        if any(isinstance(tensor, _FakeTensor) for tensor in seen):
            raise error("fake tensors hold neither data nor memory to follow", name, "build it on the meta device instead")
        self.device = str(_shown_device(seen, device))

    def _explained(self, problem: Exception, session: Any) -> Error:
        """The model's own error with the module and the line of its code; or why a static capture stops here."""
        return explained(problem, session, self.name, self.training is not None)

    def has_data(self) -> bool:
        return not any(t.is_meta for t in itertools.chain(model_tensors(self.model), tensors_in((self.args, self.kwargs))))

    def need_data(self) -> None:
        if self.has_data():
            return
        without = max((t for t in tensors_in((self.args, self.kwargs)) if t.is_meta), key=lambda t: t.nbytes, default=None)
        if without is None or any(t.is_meta for t in model_tensors(self.model)):
            what = "a real run needs weights and inputs with data, and some are on the meta device"
            raise error(what, self.name, 'build the model on a real device, or use tracer="static"')
        size = f"{'x'.join(map(str, without.shape))}, {native.format_bytes(without.nbytes)}"
        hint = 'take a smaller batch, or use tracer="static", which needs no data'
        raise error(f"a real run needs inputs with data, and one has none ({size})", self.name, hint)

    def capture_statically(self) -> Any:
        """Conditions on data are tried both ways, and the run that costs most is taken: an upper bound."""
        return either_way.costliest(self, self._capture_statically)

    def _capture_statically(self) -> Any:
        """Conditions on data are assumed. Where one makes the model raise, it is assumed the other way."""
        flipped: list[int] = []
        self.raised = []
        while True:
            try:
                return self.capture(eager=False, flipped=flipped)
            except native.Error as problem:
                last = getattr(problem, "decisions", 0) - 1
                if last < 0 or last in flipped or len(flipped) == _FLIPS:
                    raise
                self.raised.append(problem)
                flipped.append(last)

    def capture(self, eager: bool, flipped: Sequence[int] = ()) -> Any:
        """In a forward that turns out to differentiate, with gradients on."""
        try:
            return self._captured(eager, flipped)
        except native.Error as problem:
            if self.differentiates or not any(words in str(problem.__cause__) for words in _NO_GRADIENTS):
                raise
        self.differentiates = True
        return self._captured(eager, flipped)

    def _captured(self, eager: bool, flipped: Sequence[int]) -> Any:
        began = time.perf_counter()
        if not distributed.is_distributed(self.model):
            return self._captured_alone(began, eager, flipped)
        together = self.model
        self.model, notes = distributed.alone(together, self.device, eager)
        try:
            graph = self._captured_alone(began, eager, flipped)
        finally:
            self.model = together
        for note in notes:
            graph.add_diagnostic("assumption", "", "", note)
        return graph

    def _captured_alone(self, began: float, eager: bool, flipped: Sequence[int]) -> Any:
        model = self.model if self.training is None or eager else with_stand_ins(self.model, self.device)
        session = self._session(model, eager, flipped)
        grew = False if session.is_lazy else self._call(session, model)
        if session.is_lazy or grew:
            initialised = self._initialised(eager, flipped)
            if self.training is not None and not eager:
                initialised = with_stand_ins(initialised, self.device)
            session = self._session(initialised, eager, flipped)
            self._call(session, initialised)
        return self._taken(session, began)

    def _taken(self, session: Any, began: float) -> Any:
        self.sites = [Site(*site) for site in session.sites]
        graph = session.take()
        custom_ops.declare_costs(graph, self.costed)
        if self.training is not None and not session.is_eager:
            self.training.finish(graph)
        graph.set_info(
            model=self.name, source=self.source, torch=torch.__version__, seconds=time.perf_counter() - began
        )
        return graph

    def _session(self, model: Any, eager: bool, flipped: Sequence[int]) -> Any:
        asked = self.asked
        self.costed = custom_ops.costed_ops()
        session = native.Session(
            self.device,
            eager,
            self.costed,
            asked.limits,
            flipped=list(flipped),
            assume=asked.assume,
            tried=self.tried,
            max_ops=asked.max_ops,
            cuda=asked.gpu or _at_hand(self.device),
        )
        session.find_lines(TORCH_FOLDER, OWN_FOLDER, asked.source_lines)
        root = root_module(model)
        session.add_model(model if root is None else root)
        return session

    def _call(self, session: Any, model: Any, keep_changes: bool = False) -> bool:
        """Calls the model under the session. Whether it made modules, parameters or buffers of its own."""
        try:
            args, kwargs = self._inputs(session)
        except native.Error:
            raise
        except RuntimeError as problem:
            raise self._explained(problem, session) from problem
        with without_dispatch_modes(), Surroundings(self.device), running(session), self._gradients(session):
            try:
                called = drained(self.through(session) if self.through else model)
                if self.training is not None and not keep_changes:
                    outputs = self.training.run(session, model, lambda: called(*args, **kwargs), self.named(args, kwargs), self.device)
                else:
                    with precision.autocast(self.device, self.autocast):
                        outputs = called(*args, **kwargs)
                    for path, tensor in named_tensors(outputs):
                        session.add_output(tensor, path)
                if session.failed_in_thread:
                    raise RuntimeError("in a thread that the model started")
            except native.Error:  # from a capture inside this one
                raise
            except Exception as problem:
                if not self.explains:
                    raise
                raise self._explained(problem, session) from problem
            grew = bool(session.grew)
            if keep_changes:
                session.keep_changes()
        return grew

    def _gradients(self, session: Any) -> Any:
        """On, where forward needs them: a capture otherwise has none."""
        if not self.differentiates:
            return nullcontext()
        native.note("gradients", "", "forward differentiates, so it was captured with gradients on")
        if self.training is None:
            session.follow_autograd()
        return torch.enable_grad()

    def _initialised(self, eager: bool, flipped: Sequence[int]) -> Any:
        """A copy of a lazy model after its first call. The tensors it has are shared, and as they were."""
        made = structural_copy.structural_copy(self.model, without_data=not eager)
        before = structural_copy.attributes_of(made)
        with nullcontext() if eager else structural_copy.materialised_without_data():
            self._call(self._session(made, eager, flipped), made, keep_changes=True)
        structural_copy.forget(made, before, lambda value: any(map(native.is_abstract, tensors_in(value))))
        return made

    def _inputs(self, session: Any) -> tuple[Any, dict[str, Any]]:
        """The model's inputs with unknown data taken away; the caller's own objects are left as they are."""
        memo: dict[int, torch.Tensor] = {}

        def replaced(tensor: torch.Tensor, path: str) -> torch.Tensor:
            if id(tensor) not in memo:
                memo[id(tensor)] = (
                    unflattened(tensor, path, replaced)
                    if is_wrapper(tensor) and not session.is_eager
                    else with_attributes_of(tensor, session.add_input(tensor, path))
                )
            return memo[id(tensor)]

        names = argument_names(self.model, len(self.args))
        args = tuple(own_copy(replace(value, name, replaced)) for name, value in zip(names, self.args, strict=True))
        kwargs = {name: own_copy(replace(value, name, replaced)) for name, value in self.kwargs.items()}
        memo.clear()  # what the model takes out of a KV cache goes
        return args, kwargs

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
        """Every tensor of a call by its argument's name."""
        return named_tensors(dict(zip(argument_names(self.model, len(args)), args, strict=True)) | kwargs)


def without_dispatch_modes() -> Any:
    """A FlopCounterMode or FakeTensorMode around a capture would get between the model and the engine."""
    if torch._C._len_torch_dispatch_stack() == 0:
        return nullcontext()
    return torch.utils._python_dispatch._disable_current_modes()


@contextmanager
def running(session: Any) -> Iterator[None]:
    try:
        session.start()
    except native.Error as problem:
        problem.is_final, problem.needs_values = True, False
        raise
    try:
        yield
    finally:
        session.stop()


def _shown_device(tensors: Sequence[torch.Tensor], device: Any) -> torch.device:
    """The device that the capture's tensors show: the caller's choice, else that of the first tensor with data."""
    if device is not None:
        asked = torch.device(device)
        return torch.device(asked.type, 0) if asked.type == "cuda" and asked.index is None else asked
    return next((tensor.device for tensor in tensors if not tensor.is_meta), torch.device("cpu"))


# --- for tests of the shape rules -----------------------------------------------------------------------------


@contextmanager
def abstract_calls(device: str = "cpu") -> Iterator[Any]:
    """Abstract tensors to call single ops on: the session's `abstract`, `storage_id`, `slow_path`, `rule_hits`."""
    session = native.Session(device, False)
    session.add_model(lambda: None)
    with Surroundings(device), running(session):
        yield session
