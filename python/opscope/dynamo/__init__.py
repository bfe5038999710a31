"""Dynamo's graphs of a model, for people who work with torch.fx: a backend that keeps them, and what they say.

    extractor = trace_model_with_dynamo(model, x)           # prints each partition
    compiled = torch.compile(model, backend=extractor)      # or as a backend of your own torch.compile

The graphs come from tracers/dynamo.py; memory and costs are the core's, from a capture of each partition by shapes.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from opscope._load import native
from opscope.api import Graph
from opscope.dynamo.text import Timeline, describe, function_text, is_rest
from opscope.engine import abstract_run
from opscope.engine.nested import tensors_in
from opscope.engine.source_lines import user_line
from opscope.engine.structural_copy import model_tensors
from opscope.errors import Error, error
from opscope.inputs import as_inputs
from opscope.results.profile import Row, counted
from opscope.tracers import Traced, TracedBreak, TracedModel, TracedPart, failure_of
from opscope.tracers.dynamo import Collector, compiled
from opscope.tracers.node_runs import target_of, through
from opscope.tracers.silence import quiet
from opscope.tracers.tensor_meta import fill_tensor_meta, is_weight, placeholder_inputs

__all__ = [
    "DynamoGraphExtractor",
    "GraphStatistics",
    "analyze_memory_timeline",
    "describe",
    "placeholder_inputs",
    "save_graph_to_file",
    "trace_model_with_dynamo",
]

@dataclass
class GraphStatistics:
    """Nodes of one partition, or of all: how many, of which kinds, and what they call."""

    name: str  # of the function that the graph was made from
    nodes: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)  # "call_function" -> 12
    by_target: dict[str, int] = field(default_factory=dict)  # "torch.conv2d" -> 3, the most frequent first


class DynamoGraphExtractor:
    """A backend for torch.compile that keeps every graph as it is and runs it unchanged.

    With `analyze_memory` each partition has a memory timeline. With `fullgraph` a graph break is an error that says
    where and why.
    """

    def __init__(self, analyze_memory: bool = True, fullgraph: bool = False) -> None:
        require_compile()
        self.analyze_memory, self.fullgraph = analyze_memory, fullgraph
        self.model = ""  # its name, where trace_model_with_dynamo knows it
        self.graph: Graph | None = None  # of the whole model, where trace_model_with_dynamo captured it
        self._collector = Collector()
        self._traced: Traced | None = None
        self._partitions: dict[int, Graph] = {}

    def __call__(self, module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        run = self._collector(module, example_inputs)
        fill_tensor_meta(module)
        if not self.fullgraph:
            return run
        broken = any(found.after is not None for found in self._collector.breaks)
        if not broken and not is_rest(self._collector.parts[-1].name):
            return run

        def refuse(*_: Any) -> Any:
            raise _breaks_error(self.breaks, "") if broken else _early_break_error(self._collector.parts[-1].name)

        return refuse

    @property
    def graph_modules(self) -> list[torch.fx.GraphModule]:
        """Dynamo's graphs, in the order in which they were made.

        A node that gives one tensor has its `tensor_meta`; one that gives several has `tensor_metas`.
        """
        return [part.module for part in self._collector.parts]

    @property
    def graphs(self) -> list[GraphStatistics]:
        """What each partition is made of."""
        return [_statistics(part.name, [part.module]) for part in self._collector.parts]

    @property
    def statistics(self) -> GraphStatistics:
        """The same, of all partitions together."""
        return _statistics("all", self.graph_modules)

    @property
    def breaks(self) -> list[Row]:
        """Where Dynamo left the code to Python: `reason`, `source`, `after` (the partition that ends there), `detail`.

        Partitions count from 1; a function that was left to Python whole ends none.
        """
        return [_break_row(found) for found in self._collector.breaks]

    @property
    def memory_timelines(self) -> list[Timeline]:
        """For each partition (index, name, bytes in use) by node; none with analyze_memory=False."""
        if not self.analyze_memory:
            return []
        return [self.partition(number).memory_timeline() for number in range(1, len(self._collector.parts) + 1)]

    def partition(self, number: int) -> Graph:
        """One partition as opscope's graph, captured by shapes: its costs, its nodes, its memory. The first is 1."""
        count = len(self._collector.parts)
        if not 1 <= number <= count:
            raise error(f"no partition {number}: there {'is' if count == 1 else 'are'} {count}", "number", "count from 1")
        if number not in self._partitions:
            self._partitions[number] = Graph(_captured(self._collector.parts[number - 1]))
        return self._partitions[number]

    def __repr__(self) -> str:
        of = f" of {self.model}" if self.model else ""
        if not self._collector.parts:
            return f"<opscope.DynamoGraphExtractor{of}: no graphs yet; call the compiled model once>"
        nodes, graphs = counted(self.statistics.nodes, "node"), counted(len(self.graph_modules), "graph")
        return f"<opscope.DynamoGraphExtractor{of}: {nodes} in {graphs}, {counted(len(self.breaks), 'break')}>"

    def reset(self) -> None:
        """Forgets all graphs, so that the extractor can be a backend again."""
        self._collector, self._traced, self.graph, self._partitions = Collector(), None, None, {}

    def _take(self, traced: Traced, graph: Graph | None) -> None:
        """The graphs of a trace that ran elsewhere."""
        self._traced, self.graph = traced, graph
        self._collector.parts, self._collector.breaks = traced.parts, traced.breaks
        for part in traced.parts:
            fill_tensor_meta(part.module)

    def _as_traced(self) -> Traced:
        if not self._collector.parts:
            raise error("the extractor has no graphs yet", "", "call the compiled model once; that is when Dynamo traces it")
        if self._traced is not None:
            return self._traced
        part = self._collector.parts[0]
        return Traced("dynamo", _root_of(part), (), {}, self._collector.parts, self._collector.breaks)


def trace_model_with_dynamo(
    model: Any,
    inputs: Any,
    *,
    analyze_memory: bool = True,
    fullgraph: bool = False,
    model_name: str | None = None,
    verbose: bool = True,
    max_nodes: int | None = 60,
) -> DynamoGraphExtractor:
    """Traces a model with Dynamo, prints each partition and gives the extractor with its graphs.

    `inputs` are a tensor, a tuple of positional arguments or a dict of keyword arguments. The model is left as it was,
    and so is what torch.compile has cached. With analyze_memory=False the model runs once, while Dynamo looks on, and no
    second time to be recorded. `max_nodes` of each partition are printed; None prints all.
    """
    extractor = DynamoGraphExtractor(analyze_memory, fullgraph)
    given, name = as_inputs(inputs), model_name or type(model).__name__
    extractor.model = name
    with _memory_explained(name):
        with quiet():
            ready = TracedModel(model, given.args, given.kwargs, name=name, source="")
        if analyze_memory:
            graph, traced = ready.trace("dynamo")
            extractor._take(traced, Graph(graph))
        else:
            extractor._take(_compiled_once(ready, name), None)
    if fullgraph:
        if not any(found.source for found in extractor.breaks):
            _require_one_graph(ready, name)
        if extractor.breaks:
            raise _breaks_error(extractor.breaks, name)
    if verbose:
        print(describe(extractor, max_nodes), end="")
    return extractor


def _compiled_once(ready: TracedModel, name: str) -> Traced:
    """Dynamo's graphs from one run of the model, without the capture that would follow."""
    with quiet(), compiled(ready.model, ready.computes) as (call, collector):
        try:
            abstract_run.run_unrecorded(ready.model, ready.args, ready.kwargs, call)
        except Error:
            raise
        except Exception as problem:
            raise failure_of("dynamo", problem, name) from problem
        collector.finish()
        return Traced("dynamo", ready.model, ready.args, ready.kwargs, collector.parts, collector.breaks)


def _require_one_graph(ready: TracedModel, name: str) -> None:
    """A break before the first tensor op ends no graph, and Dynamo says where it is only if it must not break at all."""
    with quiet(), compiled(ready.model, ready.computes, fullgraph=True) as (call, _):
        try:
            abstract_run.run_unrecorded(ready.model, ready.args, ready.kwargs, call)
        except Exception as problem:
            found = failure_of("dynamo", problem.__cause__ or problem, name)
            raise _fullgraph_error(str(found), user_line(getattr(found, "detail", "")) or name) from problem


def save_graph_to_file(extractor: DynamoGraphExtractor, path: str | os.PathLike[str], *, weights: bool = False) -> list[str]:
    """Writes the graphs as one Python file that runs by itself, and their weights beside it if asked; notes on it.

    A folder that is not there is made.
    """
    from opscope.tracers.saved_code import save_code

    traced, folder = extractor._as_traced(), os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as problem:
        raise error(f"cannot make the folder {folder}: {problem.strerror}", os.fspath(path), "choose another") from None
    return save_code(traced, os.fspath(path), weights)


def analyze_memory_timeline(graph: torch.fx.Graph, inputs: tuple[Any, ...] | None = None) -> Timeline:
    """(index, name, bytes in use after it) of each node: inputs and activations, in storages, freed after their last use.

    Views take nothing; results of the graph stay; parameters and buffers are not counted. Inputs have the shapes
    that the placeholders' metadata says, unless they are given.
    """
    module = graph.owning_module or torch.fx.GraphModule(torch.nn.Module(), graph)
    part = TracedPart("forward", module, placeholder_inputs(module) if inputs is None else tuple(inputs), {"": module})
    return Graph(_captured(part)).memory_timeline()


def require_compile() -> None:
    if not hasattr(torch, "compile"):
        raise error("this torch has no torch.compile", f"torch {torch.__version__}", "pip install --upgrade 'torch>=2.0'")


def _statistics(name: str, modules: list[torch.fx.GraphModule]) -> GraphStatistics:
    nodes = [node for module in modules for node in module.graph.nodes]
    kinds = Counter(node.op for node in nodes)
    targets = Counter(target_of(node) for node in nodes if node.op.startswith("call_"))
    return GraphStatistics(name, len(nodes), dict(kinds), dict(targets.most_common()))


# --- partitions under the engine --------------------------------------------------------------------------------


def _captured(part: TracedPart) -> Any:
    """A partition by shapes: its weights are the model's own, where it has run; its other arguments are the inputs."""
    nodes = [node for node in part.module.graph.nodes if node.op == "placeholder"]
    values = part.args if len(part.args) == len(nodes) else placeholder_inputs(part.module)
    weights = {id(v): v for v, node in zip(values, nodes, strict=True) if isinstance(v, torch.Tensor) and is_weight(node)}
    root = _root_of(part, list(weights.values()))
    inputs = tuple(tensor for tensor in tensors_in(values) if id(tensor) not in weights)
    traced = Traced("dynamo", root, inputs, {}, [TracedPart(part.name, part.module, values, part.roots)])
    return abstract_run.capture(root, inputs, {}, tracer="static", name=part.name, source="", through=through(traced))


class _Weights(torch.nn.Module):
    """The weights of a graph whose model is not at hand."""

    def __init__(self, weights: list[torch.Tensor]) -> None:
        super().__init__()
        for index, weight in enumerate(weights):
            register: Any = self.register_parameter if isinstance(weight, torch.nn.Parameter) else self.register_buffer
            register(f"weight_{index}", weight)


def _root_of(part: TracedPart, weights: list[torch.Tensor] | None = None) -> torch.nn.Module:
    """The module that a partition is of: the one among its function's locals that has the weights it reads."""
    wanted = {id(weight) for weight in weights or []}
    for root in part.roots.values():
        if isinstance(root, torch.nn.Module) and wanted <= {id(tensor) for tensor in model_tensors(root)}:
            return root
    return _Weights(weights or [])


# --- errors -----------------------------------------------------------------------------------------------------


def _break_row(found: TracedBreak) -> Row:
    reason = str(native.explain_tracer_failure("dynamo", "Unsupported", found.text)[0])
    after = None if found.after is None else found.after + 1
    return Row({"reason": reason, "source": found.source, "after": after, "detail": found.text})


def _breaks_error(breaks: list[Row], name: str) -> Error:
    first, others = next((found for found in breaks if found.source), breaks[0]), len(breaks) - 1
    return _fullgraph_error(first.reason + (f", and {others} more" if others else ""), first.source or name)


def _early_break_error(name: str) -> Error:
    where = function_text(name)
    made = _fullgraph_error(f"the first is before any tensor op, and the graph is of {where}", "")
    made.hint += "; torch.compile(..., fullgraph=True) says why it breaks"
    return made


def _fullgraph_error(reason: str, where: str) -> Error:
    hint = "fullgraph=False keeps the graphs on both sides of a break"
    return error(f"graph breaks with fullgraph=True: {reason}", where, hint)


_NO_ROOM = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")


@contextmanager
def _memory_explained(name: str) -> Iterator[None]:
    try:
        yield
    except (MemoryError, RuntimeError) as problem:
        said = f"{problem} {getattr(problem, 'detail', '')} {problem.__cause__ or ''}".lower()
        if not isinstance(problem, MemoryError) and not any(sign in said for sign in _NO_ROOM):
            raise
        hint = "run less of it: analyze_memory=False, a smaller batch or a smaller model"
        raise error("out of memory while the model ran", name, hint) from problem
