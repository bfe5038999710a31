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

from opscope import _engine
from opscope._load import native
from opscope.api import Graph
from opscope.errors import Error, error
from opscope.inputs import as_inputs
from opscope.nested import tensors_in
from opscope.result import Row
from opscope.tensor_meta import TensorMetadata, example_of, fill_tensor_meta, without_data
from opscope.tracers import Traced, TracedModel, TracedPart, failure_of
from opscope.tracers.dynamo import Collector, compiled
from opscope.tracers.quiet import quiet
from opscope.tracers.run_nodes import target_of, through

Timeline = list[tuple[int, str, int]]  # (index, name, bytes in use after it) of each node


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
        self.graph: Graph | None = None  # of the whole model, where trace_model_with_dynamo captured it
        self._collector = Collector()
        self._traced: Traced | None = None
        self._timelines: dict[int, Timeline] = {}

    def __call__(self, module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        run = self._collector(module, example_inputs)
        fill_tensor_meta(module)
        if not (self.fullgraph and any(found.after is not None for found in self._collector.breaks)):
            return run

        def refuse(*_: Any) -> Any:
            raise _breaks_error(self.breaks, "")

        return refuse

    @property
    def graph_modules(self) -> list[torch.fx.GraphModule]:
        """Dynamo's graphs, in the order in which they were made; every node that gives tensors has `tensor_meta`."""
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
        """Where Dynamo left the code to Python: `reason`, `source`, `after` (the partition that ends there), `detail`."""
        return [
            Row({"reason": _reason(found.text), "source": found.source, "after": found.after, "detail": found.text})
            for found in self._collector.breaks
        ]

    @property
    def memory_timelines(self) -> list[Timeline]:
        """For each partition (index, name, bytes in use) by node; none with analyze_memory=False."""
        if not self.analyze_memory:
            return []
        for index in range(len(self._collector.parts)):
            if index not in self._timelines:
                self._timelines[index] = self.partition(index).memory_timeline()
        return [self._timelines[index] for index in sorted(self._timelines)]

    def partition(self, index: int) -> Graph:
        """One partition as opscope's graph, captured by shapes: its costs, its nodes, its memory."""
        return Graph(_captured(self._collector.parts[index]))

    def reset(self) -> None:
        """Forgets all graphs, so that the extractor can be a backend again."""
        self._collector, self._traced, self.graph, self._timelines = Collector(), None, None, {}

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
    with _memory_explained(name):
        with quiet():
            ready = TracedModel(model, given.args, given.kwargs, name=name, source="")
        if analyze_memory:
            graph, traced = ready.trace("dynamo")
            extractor._take(traced, Graph(graph))
        else:
            extractor._take(_compiled_once(ready, name), None)
    if fullgraph and extractor.breaks:
        raise _breaks_error(extractor.breaks, name)
    if verbose:
        print(describe(extractor, max_nodes), end="")
    return extractor


def _compiled_once(ready: TracedModel, name: str) -> Traced:
    """Dynamo's graphs from one run of the model, without the capture that would follow."""
    with quiet(), compiled(ready.model, ready.computes) as (call, collector):
        try:
            _engine.run_unrecorded(ready.model, ready.args, ready.kwargs, call)
        except Error:
            raise
        except Exception as problem:
            raise failure_of("dynamo", problem, name) from problem
        collector.finish()
        return Traced("dynamo", ready.model, ready.args, ready.kwargs, collector.parts, collector.breaks)


def save_graph_to_file(extractor: DynamoGraphExtractor, path: str | os.PathLike[str], *, weights: bool = False) -> list[str]:
    """Writes the graphs as one Python file that runs by itself, and their weights beside it if asked; notes on it."""
    from opscope.tracers.saved_code import save_code

    return save_code(extractor._as_traced(), os.fspath(path), weights)


def analyze_memory_timeline(graph: torch.fx.Graph, inputs: tuple[Any, ...] | None = None) -> Timeline:
    """(index, name, bytes in use after it) of each node: inputs and activations, in storages, freed after their last use.

    Views take nothing; results of the graph stay; parameters and buffers are not counted. Inputs have the shapes
    that the placeholders' metadata says, unless they are given.
    """
    module = graph.owning_module or torch.fx.GraphModule(torch.nn.Module(), graph)
    part = TracedPart("forward", module, placeholder_inputs(module) if inputs is None else tuple(inputs), {"": module})
    return Graph(_captured(part)).memory_timeline()


def placeholder_inputs(module: torch.fx.GraphModule) -> tuple[Any, ...]:
    """What a graph is called with, without data, by its placeholders' metadata."""
    return tuple(_value_of(node) for node in module.graph.nodes if node.op == "placeholder")


def describe(extractor: DynamoGraphExtractor, max_nodes: int | None = 60) -> str:
    """Every partition as text: its nodes with their metadata, what it calls, its memory, and why it ends."""
    blocks = [_block(extractor, index, max_nodes) for index in range(len(extractor.graph_modules))]
    left = [found for found in extractor.breaks if found.after is None]
    return "\n".join([*blocks, *(f"Left to Python: {_at(found)}\n" for found in left)])


def require_compile() -> None:
    if not hasattr(torch, "compile"):
        raise error("this torch has no torch.compile", f"torch {torch.__version__}", "pip install --upgrade 'torch>=2.0'")


# --- text -------------------------------------------------------------------------------------------------------


def _block(extractor: DynamoGraphExtractor, index: int, max_nodes: int | None) -> str:
    title = f"Graph Partition {index + 1}"
    counts = extractor.graphs[index]
    ends = [_at(found) for found in extractor.breaks if found.after == index]
    timeline = extractor.memory_timelines[index] if extractor.analyze_memory else []
    weights = len(list(filter(_is_weight, extractor.graph_modules[index].graph.nodes)))
    about = f"{counts.name}: {counts.nodes} nodes" + (f", {weights} of them weights, which are not listed" if weights else "")
    lines = [title, "=" * len(title), about, *(f"ends at {text}" for text in ends), ""]
    lines.append(_node_table(extractor.graph_modules[index], timeline, max_nodes))
    for key, found in (("kind", counts.by_kind), ("operation", counts.by_target)):
        lines.append(native.format_listing("nodes", [key, "nodes"], [[each, str(count)] for each, count in found.items()]))
    if timeline:
        peak = max(timeline, key=lambda row: row[2])
        lines.append(f"most memory in use: {peak[2]} bytes, after {peak[1]}\n")
    return "\n".join(lines)


def _node_table(module: torch.fx.GraphModule, timeline: Timeline, max_nodes: int | None) -> str:
    nodes = [node for node in module.graph.nodes if not _is_weight(node)]
    shown = nodes[:max_nodes]
    bytes_after = {name: str(count) for _, name, count in timeline}
    keys = ["kind", "name", "target", "output", *(["bytes"] if timeline else [])]
    rows = [[n.op, n.name, _target(n), _output_text(n), *([bytes_after[n.name]] if timeline else [])] for n in shown]
    table = native.format_listing("nodes", keys, rows)
    rest = len(nodes) - len(shown)
    return table + (f"and {rest} more nodes: max_nodes=None shows them\n" if rest else "")


def _target(node: torch.fx.Node) -> str:
    return "" if node.op in ("placeholder", "output") else target_of(node)


def _output_text(node: torch.fx.Node) -> str:
    found: list[str] = []

    def note(meta: Any) -> None:
        if isinstance(meta, TensorMetadata):
            found.append(f"{'x'.join(map(str, meta.shape)) or 'scalar'} {str(meta.dtype).removeprefix('torch.')}")
        elif isinstance(meta, (tuple, list)):
            for each in meta:
                note(each)

    note(node.meta.get("tensor_meta"))
    return ", ".join(found)


def _at(found: Row) -> str:
    return f"{found.source}: {found.reason}" if found.source else str(found.reason)


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
    weights = {id(v): v for v, node in zip(values, nodes, strict=True) if isinstance(v, torch.Tensor) and _is_weight(node)}
    root = _root_of(part, list(weights.values()))
    inputs = tuple(tensor for tensor in tensors_in(values) if id(tensor) not in weights)
    traced = Traced("dynamo", root, inputs, {}, [TracedPart(part.name, part.module, values, part.roots)])
    return _engine.capture(root, inputs, {}, tracer="static", name=part.name, source="", through=through(traced))


def _value_of(node: torch.fx.Node) -> Any:
    example = example_of(node)
    example = node.meta.get("tensor_meta") if example is None else example
    if example is None and node.args:
        return node.args[0]  # its default
    if example is None:
        hint = "trace it with Dynamo or export, run ShapeProp over it, or give the inputs"
        raise error(f"nothing says which tensor the placeholder {node.name} takes", "", hint)
    return without_data(example)


def _is_weight(node: torch.fx.Node) -> bool:
    """Parameters and buffers that a tracer has made arguments of its graph: Dynamo's and export's ways of saying so."""
    if node.op != "placeholder":
        return False
    if isinstance(example_of(node), torch.nn.Parameter) or "_dynamo_static_input_type" in node.meta.get("tensor_dict", ()):
        return True
    return "val" in node.meta and "example_value" not in node.meta and node.name.startswith(("p_", "b_", "c_"))


class _Weights(torch.nn.Module):
    """The weights of a graph whose model is not at hand."""

    def __init__(self, weights: list[torch.Tensor]) -> None:
        super().__init__()
        for index, weight in enumerate(weights):
            register = self.register_parameter if isinstance(weight, torch.nn.Parameter) else self.register_buffer
            register(f"weight_{index}", weight)


def _root_of(part: TracedPart, weights: list[torch.Tensor] | None = None) -> torch.nn.Module:
    """The module that a partition is of: the one among its function's locals that has the weights it reads."""
    wanted = {id(weight) for weight in weights or []}
    for root in part.roots.values():
        if isinstance(root, torch.nn.Module) and wanted <= {id(tensor) for tensor in _engine.model_tensors(root)}:
            return root
    return _Weights(weights or [])


# --- errors -----------------------------------------------------------------------------------------------------


def _reason(text: str) -> str:
    return str(native.explain_tracer_failure("dynamo", "Unsupported", text)[0])


def _breaks_error(breaks: list[Row], name: str) -> Error:
    first, others = breaks[0], len(breaks) - 1
    more = f", and {others} more" if others else ""
    return error(
        f"graph breaks with fullgraph=True: {first.reason}{more}",
        first.source or name,
        "fullgraph=False keeps the graphs on both sides of a break",
    )


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
