"""torch.compile with a backend of our own, which keeps every graph that Dynamo makes and runs it as it is.

Where Dynamo breaks the model into several graphs, Python runs what lies between them. So the compiled model itself is run
under the engine: graphs node by node, the rest as it comes. Dynamo looks at the dispatch keys of a thread before it takes a
graph from its cache, so it compiles under the engine's mode, with the recording muted.
"""

from __future__ import annotations

import functools
import inspect
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, MethodType
from typing import Any

import torch

import opscope
from opscope._load import native
from opscope.engine import attention_path, torch_version
from opscope.engine.nested import tensors_in
from opscope.engine.source_lines import OWN_FOLDER, TORCH_FOLDER, user_line
from opscope.tracers.node_runs import GraphRun
from opscope.tracers.traced import TracedBreak, TracedPart
from opscope.tracers.warm_up import untouched

_DYNAMO_FOLDER = TORCH_FOLDER + "_dynamo/"
_SKIPPED = re.compile(r"frame skipped: .* \((.*) line (\d+)\)")
_KEPT = (torch.nn.Module, list, tuple, dict)  # locals that a module's path may begin with

# Dynamo as it is by default, but for shapes, which are all static, and its limit on graphs for one function.
_SETTINGS = {"automatic_dynamic_shapes": False, "recompile_limit": 1 << 16, "accumulated_recompile_limit": 1 << 20}


class Collector:
    """A backend for torch.compile that keeps the graphs. Without data it gives results of the right shapes."""

    def __init__(self, computes: bool = True, function: Callable[..., Any] | None = None) -> None:
        self.parts: list[TracedPart] = []
        self.breaks: list[TracedBreak] = []
        self.codes: Counter[Any] = Counter()  # graphs made of each function
        self.runs: list[GraphRun] | None = None  # while a capture records
        self.calls = 0
        self._compiled: list[dict[str, Any]] = []
        self._function = function  # that is the model
        self._root: CodeType | None = None
        self._computes = computes
        self._before = {name: _counts(name) for name in ("unimplemented", "graph_break")}
        self._left_out_before = _left_out()

    def __call__(self, module: torch.fx.GraphModule, _: list[Any]) -> Callable[..., Any]:
        made_from = _frame_state()
        index = len(self.parts)
        part = TracedPart(made_from.name, module, (), made_from.roots)
        self.parts.append(part)
        if made_from.code is not None:
            self.codes[made_from.code] += 1
            if self._function is not None and made_from.is_of(self._function):
                self._root = made_from.code
        reason = getattr(module, "compile_subgraph_reason", None)
        if reason is not None and reason.graph_break:
            self.breaks.append(TracedBreak(reason.reason, _line(reason), index))

        self._compiled.append({"collector": self, "part": part})
        kept = self._compiled[-1]  # emptied in the end: Dynamo holds on to the function

        def run(*args: Any) -> Any:
            return kept["collector"].run(index, kept["part"], args)

        return run

    def run(self, index: int, part: TracedPart, args: tuple[Any, ...]) -> Any:
        self.calls += 1
        if self.runs is not None:
            return self.runs[index](args, _caller_locals())
        part.args = part.args or args
        return part.module.forward(*args) if self._computes else _results_without_data(part.module, args)

    def close(self) -> None:
        """What was compiled can no longer be run; the parts stay."""
        self.runs = None
        for kept in self._compiled:
            kept.clear()

    @property
    def is_whole(self) -> bool:
        """One graph, run once, made from the model's own function: nothing runs outside it."""
        return self.calls == 1 and not self.breaks and set(self.codes) == {self._root}

    def finish(self) -> None:
        """Adds the breaks that ended no graph: functions that Dynamo left to Python whole."""
        given_up = _counts("unimplemented") - self._before["unimplemented"]
        ended = _counts("graph_break") - self._before["graph_break"]
        texts = sorted(given_up - ended, key=lambda text: _SKIPPED.search(text) is None)
        before_any_op = ended.total() - sum(found.after is not None for found in self.breaks)
        known = [found.text for found in self.breaks]
        early = [text for text in ended if not any(text in each or each in text for each in known)]
        self.breaks += [TracedBreak(text, user_line(text)) for text in early[: max(before_any_op, 0)]]
        for text in texts[: _left_out() - self._left_out_before]:
            skipped = _SKIPPED.search(text)
            line = f"{skipped[1]}:{skipped[2]}" if skipped else user_line(text)
            self.breaks.append(TracedBreak(text.rpartition("***\n")[2].strip(), line))

    def through(self, call: Callable[..., Any]) -> Callable[[Any], Callable[..., Any]]:
        """For the engine: the compiled model, whose graphs are then the session's."""

        def bound(session: Any) -> Callable[..., Any]:
            self.runs = [GraphRun(session, part) for part in self.parts]
            for found in self.breaks:
                reason, _ = native.explain_tracer_failure("dynamo", "Unsupported", found.text)
                native.add_break(session, reason, found.text, found.source, found.after)
            return call

        return bound


def _counts(name: str) -> Counter[str]:
    """Dynamo's counts of a kind, by its texts: "unimplemented" is what it could not do, "graph_break" what ended a graph."""
    from torch._dynamo.utils import counters

    return Counter(counters[name])


def _left_out() -> int:
    """Functions that Dynamo looked at and made nothing of."""
    from torch._dynamo.utils import counters

    return int(counters["frames"]["total"] - counters["frames"]["ok"])


class _FrameState:
    """The function that Dynamo is compiling: its name, its code, and the modules and containers it has at hand."""

    def __init__(self, output: Any) -> None:
        code = getattr(getattr(output, "root_tx", None), "f_code", None)
        self.code = code
        is_wrapper = code is None or code.co_filename.startswith(_DYNAMO_FOLDER)  # around a function of PyTorch's own
        self.name = "forward" if code is None or is_wrapper else code.co_name
        found = {"L": getattr(output, "local_scope", {}), "G": getattr(output, "global_scope", {})}
        self.roots = {**_named("L", found["L"]), **_named("G", found["G"], (torch.nn.Module,))}
        self._wrapped = found["L"].get("fn") if is_wrapper else None

    def is_of(self, function: Callable[..., Any]) -> bool:
        return self._wrapped == function or getattr(function, "__code__", None) is self.code


def _named(scope: str, values: Mapping[str, Any], kinds: tuple[type, ...] = _KEPT) -> dict[str, Any]:
    owners = {name: _owner(value) for name, value in values.items()}
    return {f"{scope}['{name}']": value for name, value in owners.items() if isinstance(value, kinds)}


def _owner(value: Any) -> Any:
    """What a method belongs to; anything else as it is."""
    return value.__self__ if isinstance(value, MethodType) else value


def _frame_state() -> _FrameState:
    from torch._dynamo.output_graph import OutputGraph

    frame = sys._getframe(1)
    while frame is not None:
        if isinstance(owner := frame.f_locals.get("self"), OutputGraph):
            return _FrameState(owner)
        frame = frame.f_back  # type: ignore[assignment]
    return _FrameState(None)


def _caller_locals() -> dict[str, Any]:
    """The locals of the compiled function that runs a graph: one graph may serve several modules of a kind."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_DYNAMO_FOLDER, OWN_FOLDER)):
        frame = frame.f_back  # type: ignore[assignment]
    return _named("L", frame.f_locals) if frame is not None else {}


def _line(reason: Any) -> str:
    for frame in reversed(reason.user_stack or []):
        if not frame.filename.startswith(TORCH_FOLDER):
            return f"{frame.filename}:{frame.lineno}"
    return ""


def _results_without_data(module: torch.fx.GraphModule, args: tuple[Any, ...]) -> Any:
    """What a graph would give, by the shapes that Dynamo found; an input that it hands back is that input."""
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    given = dict(zip(placeholders, args, strict=False))
    device = next((tensor.device for tensor in tensors_in(args)), torch.device("cpu"))

    def result(node: torch.fx.Node) -> Any:
        value = node.meta.get("example_value")
        return given[node] if node in given else untouched(value, device) if isinstance(value, torch.Tensor) else value

    output = next(node for node in module.graph.nodes if node.op == "output")
    return torch.fx.node.map_arg(output.args[0], result)


@functools.cache
def _pass_by_opscope() -> None:
    """Its own functions, such as the kernels of torchvision's ops, are no part of a model; a Profiler in one is."""
    from opscope import measurement

    for package, kept in ((opscope, "opscope.measurement"), (measurement, "opscope.measurement.profiler")):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if module.name != kept:
                torch._dynamo.trace_rules.add(module.name)


class _Backend:
    """What Dynamo is given and keeps with what it has compiled: all that stays of a collector in the end."""

    def __init__(self, collector: Collector) -> None:
        self.collector: Collector | None = collector

    def __call__(self, module: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        assert self.collector is not None, "compiled after its end"
        return self.collector(module, inputs)

    def close(self) -> None:
        if self.collector is not None:
            self.collector.close()
        self.collector = None


@contextmanager
def compiled(model: Any, computes: bool, fullgraph: bool = False) -> Iterator[tuple[Callable[..., Any], Collector]]:
    """What calls the model through Dynamo, and the backend. What was compiled for it is forgotten in the end."""
    import torch._dynamo as dynamo

    _pass_by_opscope()
    function = _function_of(model)
    collector = Collector(computes, function)
    backend = _Backend(collector)
    seen = set(_visited())
    _look_again(function)
    run = torch.compile(function, backend=backend, dynamic=False, fullgraph=fullgraph, **_apart())

    def call(*args: Any, **kwargs: Any) -> Any:
        # The surroundings of a capture tell Dynamo to stay away: that ends here.
        stance = "default" if collector.runs is None else "eager_on_recompile"
        with dynamo.config.patch(_SETTINGS), torch.compiler.set_stance(stance), attention_path.slow():
            return run(*args, **kwargs)

    try:
        yield call, collector
    finally:
        backend.close()
        if not torch_version.DYNAMO_BORROWS_BACKENDS:
            for key, cached in list(dynamo.eval_frame.cached_backends.items()):
                if getattr(cached, "compiler_fn", cached) is backend:
                    del dynamo.eval_frame.cached_backends[key]
        for code in {*collector.codes, *(set(_visited()) - seen)}:  # a function of which the caller has graphs keeps them
            if len(dynamo.eval_frame._debug_get_cache_entry_list(code)) <= collector.codes[code]:
                dynamo.eval_frame.reset_code(code)


def _look_again(function: Callable[..., Any]) -> None:
    """Dynamo passes by what it once left alone, under a FlopCounterMode for example, for the rest of the process."""
    from torch._dynamo import eval_frame

    codes: set[Any] = {*_visited(), *_wrappers(), getattr(function, "__code__", None)}
    for code in codes - {None}:
        if not eval_frame._debug_get_cache_entry_list(code):
            eval_frame.reset_code(code)
        elif hasattr(eval_frame, "set_code_exec_strategy"):  # the caller's graphs stay
            from torch._dynamo.types import FrameAction, FrameExecStrategy

            eval_frame.set_code_exec_strategy(code, FrameExecStrategy(FrameAction.DEFAULT, FrameAction.DEFAULT))


def _wrappers() -> Iterator[CodeType]:
    """What Dynamo puts around functions of PyTorch's own, such as nn.Sequential's forward, to compile them at all."""
    from torch._dynamo import external_utils

    for value in vars(external_utils).values():
        constants = getattr(getattr(value, "__code__", None), "co_consts", ())
        yield from (each for each in constants if isinstance(each, CodeType))


def _apart() -> dict[str, Any]:
    """Graphs made here do not count towards the caller's limit of graphs for a function, where PyTorch can do that."""
    has_it = "isolate_recompiles" in inspect.signature(torch.compile).parameters
    return {"isolate_recompiles": True} if has_it else {}


def _function_of(model: Any) -> Callable[..., Any]:
    if not isinstance(model, torch.nn.Module):
        return model  # type: ignore[no-any-return]
    return model._call_impl if model._forward_hooks or model._forward_pre_hooks else model.forward


def _visited() -> Iterator[CodeType]:
    """Functions that Dynamo has looked at: those it left to Python stay marked so until they are reset."""
    from torch._dynamo.convert_frame import input_codes

    return (code for seen in list(input_codes.seen) if (code := seen()) is not None)
