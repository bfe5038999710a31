"""Profiler: a model wrapped so that a forward pass gives its graph with times. It is called as the model was.

A Profiler and its model share their attributes, parameters, buffers, children and hooks, so that a model around it keeps
the keys of its state_dict and finds everything where it was.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from opscope._load import native
from opscope.api import Graph
from opscope.engine import torchvision_ops
from opscope.engine.nested import tensors_in
from opscope.engine.structural_copy import model_tensors
from opscope.engine.surroundings import is_measuring
from opscope.errors import error, three_nearest
from opscope.measurement import real_run
from opscope.measurement.environment import environment_of
from opscope.results.profile import Row

torchvision_ops.prepare()  # the models to come may be torchvision's, or import it


class ProfilerGraph:
    """The nodes of one pass with what each took, and every tensor that goes from one to another."""

    def __init__(self, made: Any) -> None:
        self._native = made

    @property
    def granularity(self) -> str:
        """'module', 'layer' or, for the detail graph, 'op'."""
        return str(self._native.granularity)

    @property
    def nodes(self) -> list[Row]:
        """id, name, type, is_module, parameters, parameter_bytes, ops, time_seconds, call_seconds, shape, dtype."""
        return [Row(row) for row in self._native.nodes]

    @property
    def edges(self) -> list[Row]:
        """from_id, to_id, from_name, to_name, shape, dtype."""
        return [Row(row) for row in self._native.edges]

    @property
    def inputs(self) -> list[Row]:
        """The model's inputs: name, nodes that take it, shape, dtype."""
        return [Row(row) for row in self._native.inputs]

    @property
    def outputs(self) -> list[Row]:
        """What the model returned: name, nodes that made it, shape, dtype."""
        return [Row(row) for row in self._native.outputs]

    @functools.cached_property
    def captured(self) -> Graph:
        """The run behind it, for every other report: `.profile()`, `.save(path)`."""
        return Graph(self._native.captured)

    def stats(self) -> dict[str, Any]:
        """Prints the totals and returns them: nodes, edges, ops, parameters and forward times in seconds."""
        print(self._native.stats_text(), end="")
        return dict(self._native.stats())

    def to_text(self, *, include_edges: bool = True, include_stats: bool = True) -> str:
        """The text that `export` writes: nodes, edges and statistics."""
        return str(self._native.to_text(include_edges=include_edges, include_stats=include_stats))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        totals = self._native.stats()
        return f"<opscope.ProfilerGraph by {self.granularity}: {totals['nodes']} nodes, {totals['edges']} edges>"


@dataclass
class _State:
    """What a Profiler has for itself; all else is the model's."""

    model: torch.nn.Module
    granularity: str
    token_kwarg: str | None
    auto_profile: bool
    capture_ops: bool
    due: bool  # the next call is profiled
    graph: ProfilerGraph | None = None
    detail_graph: ProfilerGraph | None = None
    lock: Any = field(default_factory=threading.Lock)


class Profiler(torch.nn.Module):
    """Wraps a model, or a module inside one, and shows its graph with forward times.

    `granularity` is 'module' (the model's parts) or 'layer' (its leaf layers); `token_kwarg` names the argument that
    carries the tokens, and a single positional argument is passed by that name; with `auto_profile` the first call is
    profiled; with `capture_ops` a module pass gives the graph of ops too.
    """

    __slots__ = ("_profiler",)
    _profiler: _State

    def __init__(
        self,
        model: torch.nn.Module,
        granularity: str = "module",
        token_kwarg: str | None = None,
        auto_profile: bool = True,
        capture_ops: bool = False,
    ) -> None:
        if not isinstance(model, torch.nn.Module):
            raise error(f"{type(model).__name__} is not a model", "Profiler", "give an nn.Module")
        native.check_granularity(granularity)
        _check_token_kwarg(model, token_kwarg)
        state = _State(model, granularity, token_kwarg, auto_profile, capture_ops, due=auto_profile)
        object.__setattr__(self, "_profiler", state)
        object.__setattr__(self, "__dict__", model.__dict__)

    # --- profiling

    def profile_once(self, *args: Any, **kwargs: Any) -> ProfilerGraph:
        """Builds the module graph with a single forward, which leaves the model as it was."""
        self._profile(*self._with_tokens(args, kwargs), detail=self._profiler.capture_ops)
        return self._made("graph")

    def profile_detail(self, *args: Any, **kwargs: Any) -> ProfilerGraph:
        """Builds the graph of ops with a single forward; the module graph stays the one of its own pass, if there is one."""
        given = self._with_tokens(args, kwargs)
        self._profile(*given, module=self._profiler.graph is None, detail=True)
        return self._made("detail_graph")

    @property
    def graph(self) -> ProfilerGraph | None:
        """The module graph of the last pass that made one."""
        return self._profiler.graph

    @property
    def detail_graph(self) -> ProfilerGraph | None:
        """The graph of ops, where a pass made one."""
        return self._profiler.detail_graph

    def get_graphs(self) -> dict[str, ProfilerGraph | None]:
        """Both graphs as {"module_graph": ..., "detail_graph": ...}; None for one that no pass has made."""
        return {"module_graph": self._profiler.graph, "detail_graph": self._profiler.detail_graph}

    def export(
        self,
        base_path: str | os.PathLike[str],
        module_include_edges: bool = True,
        detail_include_edges: bool = True,
        include_stats: bool = True,
        overwrite_module: bool = False,
    ) -> list[str]:
        """Writes <base_path>_module.txt and, where there is a detail graph, <base_path>_detail.txt; the paths it wrote.

        A module file that is there already is kept unless `overwrite_module` says otherwise.
        """
        state = self._profiler
        if state.graph is None:
            raise error("nothing was profiled yet", "export", "call profile_once first, or the model itself")
        files = [(state.graph, "module", module_include_edges, overwrite_module)]
        if state.detail_graph is not None:
            files.append((state.detail_graph, "detail", detail_include_edges, True))
        written = []
        for graph, kind, edges, overwrite in files:
            path = f"{os.fspath(base_path)}_{kind}.txt"
            options = {"include_edges": edges, "include_stats": include_stats, "tokens": state.token_kwarg or ""}
            if graph._native.write(path, overwrite=overwrite, **options):
                written.append(path)
        return written

    def unwrap(self) -> torch.nn.Module:
        """The model itself: `model.model = model.model.unwrap()` ends profiling."""
        return self._profiler.model

    def _profile(self, args: Any, kwargs: Any, *, module: bool = True, detail: bool = False, lasting: bool = False) -> Any:
        state = self._profiler
        outputs, run = real_run.profile_run(state.model, args, kwargs, lasting=lasting)
        run.set_environment(environment_of(_device_of(state.model, (args, kwargs)), state.model))
        if module:
            state.graph = ProfilerGraph(native.profiler_graph(run, state.granularity))
        if detail:
            state.detail_graph = ProfilerGraph(native.profiler_detail_graph(run))
        state.due = False
        return outputs

    def _made(self, name: str) -> ProfilerGraph:
        graph: ProfilerGraph = getattr(self._profiler, name)
        return graph

    def _with_tokens(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        name = self._profiler.token_kwarg
        return ((), {name: args[0], **kwargs}) if name and len(args) == 1 and name not in kwargs else (args, kwargs)

    # --- the model

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        state = self._profiler
        args, kwargs = self._with_tokens(args, kwargs)
        if torch.compiler.is_compiling():
            return state.model(*args, **kwargs)
        if native.capturing() or is_measuring():  # a model around this one, which knows this object by its path
            return super().__call__(*args, **kwargs)
        if state.due and _is_real((args, kwargs)) and state.lock.acquire(blocking=False):
            try:
                return self._profile(args, kwargs, detail=state.capture_ops, lasting=True)
            finally:
                state.lock.release()
        return state.model(*args, **kwargs)

    @property
    def forward(self) -> Callable[..., Any]:  # type: ignore[override]
        return self._profiler.model.forward

    def __getattr__(self, name: str) -> Any:
        if name == "_profiler":  # asked for before there is one, by copies and unpickling
            raise AttributeError(name)
        return getattr(self._profiler.model, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._profiler.model, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._profiler.model, name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *dir(self._profiler.model)})

    def __repr__(self) -> str:
        return f"Profiler({self._profiler.model!r})"

    def __getitem__(self, key: Any) -> Any:
        return self._profiler.model[key]  # type: ignore[index]

    def __len__(self) -> int:
        return len(self._profiler.model)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return bool(self._profiler.model)

    def __reduce_ex__(self, _: Any) -> Any:
        """A copy wraps a copy of the model; graphs stay with the one that was profiled."""
        state = self._profiler
        settings = (state.model, state.granularity, state.token_kwarg, state.auto_profile, state.capture_ops)
        return type(self), settings, {"due": state.due}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._profiler.due = state["due"]


def _passed_on(name: str) -> Callable[..., Any]:
    """A method of nn.Module, as the model has it; what returns the model returns the Profiler."""

    @functools.wraps(getattr(torch.nn.Module, name))
    def call(self: Profiler, *args: Any, **kwargs: Any) -> Any:
        model = self._profiler.model
        result = getattr(model, name)(*args, **kwargs)
        return self if result is model else result

    return call


# A walk over modules meets the Profiler, in the place of the model that it stands for.
_OWN = ("forward", "modules", "named_modules")
for _name, _member in vars(torch.nn.Module).items():
    if inspect.isfunction(_member) and not _name.startswith("__") and _name not in _OWN:
        setattr(Profiler, _name, _passed_on(_name))


def _check_token_kwarg(model: torch.nn.Module, name: str | None) -> None:
    if name is None:
        return
    try:
        parameters = inspect.signature(model.forward).parameters
    except (TypeError, ValueError):
        return
    if name not in parameters and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        near = three_nearest(name, list(parameters))
        raise error(f"forward has no argument called '{name}'", "token_kwarg", "", near)


def _device_of(model: torch.nn.Module, inputs: Any) -> torch.device:
    first = next(itertools.chain(model_tensors(model), tensors_in(inputs)), None)
    return torch.device("cpu") if first is None else first.device


def _is_real(inputs: Any) -> bool:
    """A call that computes: not one that a tracer or a CUDA graph only looks at."""
    if torch.jit.is_tracing():
        return False
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return False
    fake = torch._subclasses.fake_tensor.FakeTensor
    return not any(t.is_meta or isinstance(t, fake) for t in tensors_in(inputs))
