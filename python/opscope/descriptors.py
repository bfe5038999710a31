"""Tensors and subgraphs in words of one's own, priced by the core: for tools that already have a graph in some form.

A list of descriptors becomes a capture like any other, one op for each, so that every number here is the cost table's
or the caller's own. Nothing is computed in Python.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from opscope._load import native
from opscope.api import Graph, capture, from_graph_module
from opscope.dynamo import DynamoGraphExtractor, placeholder_inputs
from opscope.inputs import as_dtype
from opscope.result import Profile, Row


@dataclass(frozen=True)
class TensorDescriptor:
    """A tensor without data. Descriptors with the same name in one list are the same tensor."""

    shape: tuple[int, ...]
    dtype: Any = torch.float32  # a torch.dtype or its name
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(map(int, self.shape)))
        object.__setattr__(self, "dtype", as_dtype(self.dtype))

    @functools.cached_property
    def _tensor(self) -> torch.Tensor:
        return torch.empty(self.shape, dtype=self.dtype, device="meta")

    @property
    def size(self) -> int:
        """Elements."""
        return self._tensor.numel()

    @property
    def bytes(self) -> int:
        return self._tensor.nbytes

    @property
    def dtype_name(self) -> str:
        return str(self.dtype).removeprefix("torch.")


@dataclass
class SubgraphDescriptor:
    """Operations with the tensors they read and write.

    One operation that the cost table knows ('conv2d', 'torch.relu', 'aten.add.Tensor') is priced by its shapes; several
    at once have the `macs`, `flops` and `bytes` that the caller declares, and are unknown without. Declared numbers win.
    """

    operations: Sequence[str]
    input_tensors: Sequence[TensorDescriptor] = ()
    output_tensors: Sequence[TensorDescriptor] = ()
    weight_tensors: Sequence[TensorDescriptor] = ()  # parameters, read behind the inputs
    name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)  # arguments that are no tensors: {"stride": [2, 2]}
    declared_macs: int | None = None
    declared_flops: int | None = None
    declared_bytes: int | None = None

    @functools.cached_property
    def _row(self) -> Row:
        return _graph_of([self]).profile().ops[0]

    @property
    def macs(self) -> int:
        return int(self._row.macs)

    @property
    def flops(self) -> int:
        return int(self._row.flops)

    @property
    def bytes(self) -> int:
        """Bytes that it reads and writes."""
        return int(self._row.memory_bytes)

    @property
    def arithmetic_intensity(self) -> float:
        """FLOPs per byte."""
        return float(self._row.arithmetic_intensity)

    @property
    def confidence(self) -> str:
        """'exact', 'estimated', 'upper_bound' or 'unknown'; declared numbers are taken at their word."""
        return str(self._row.confidence)


class UnifiedAnalyzer:
    """One way in for everything that can be priced: models, GraphModules, extractors, graphs, descriptors."""

    def __init__(self, convention: str = "opscope", ridge: float = 10.0) -> None:
        self.convention, self.ridge = convention, ridge

    def analyze(self, what: Any, inputs: Any = None, **options: Any) -> Profile:
        """The profile of a model, a name, a GraphModule, an extractor, a Graph, or SubgraphDescriptors.

        A GraphModule takes the inputs that its placeholders' metadata describes where none are given.
        """
        return self.graph(what, inputs, **options).profile(convention=self.convention, ridge=self.ridge)

    def graph(self, what: Any, inputs: Any = None, **options: Any) -> Graph:
        if isinstance(what, Graph):
            return what
        if isinstance(what, DynamoGraphExtractor):
            return what.graph or _graph_of(self.subgraphs(what))
        if isinstance(what, SubgraphDescriptor):
            return _graph_of([what])
        if isinstance(what, (list, tuple)) and all(isinstance(each, SubgraphDescriptor) for each in what):
            return _graph_of(what)
        if isinstance(what, torch.fx.GraphModule):
            return from_graph_module(what, placeholder_inputs(what) if inputs is None else inputs, **options)
        return capture(what, inputs, **options)

    def subgraphs(self, what: Any, inputs: Any = None, **options: Any) -> list[SubgraphDescriptor]:
        """A descriptor for each node that calls something, with the core's numbers; the engine's own graph has layers."""
        if isinstance(what, DynamoGraphExtractor):
            parts = enumerate((what.partition(index) for index in range(len(what.graph_modules))), 1)
            return [each for number, part in parts for each in self._of_graph(part, f"{number}.")]
        return self._of_graph(self.graph(what, inputs, **options), "")

    def _of_graph(self, graph: Graph, prefix: str) -> list[SubgraphDescriptor]:
        found = graph.profile(convention=self.convention, ridge=self.ridge)
        if not graph.nodes:
            return [_of_layer(row, [op for op in found.ops if op.layer == row.name]) for row in found.layers]
        rows, types = found.to_dict()["nodes"], {path: row.type for path, row in found.by_module().items()}
        return [_of_node(row, rows, types, prefix) for row in rows if row["kind"].startswith("call_")]


# --- from the core ----------------------------------------------------------------------------------------------


def _of_node(
    row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], types: Mapping[str, str], prefix: str
) -> SubgraphDescriptor:
    given = [(value, rows[index - 1]["name"]) for index in row["inputs"] for value in rows[index - 1]["outputs"]]
    operation = types[row["module"]] if row["kind"] == "call_module" else row["target"]
    return _priced(row, prefix + row["name"], [operation], given, [(value, row["name"]) for value in row["outputs"]], prefix)


def _of_layer(row: Row, ops: Sequence[Row]) -> SubgraphDescriptor:
    """What the first op reads goes in, what the last one makes comes out."""
    given = [(value, value.get("name", "")) for op in ops[:1] for value in op.inputs]
    made = [(value, value.get("name", "")) for op in ops[-1:] for value in op.outputs]
    return _priced(row, row.name, [op.op for op in ops], given, made, "")


_Named = Sequence[tuple[Mapping[str, Any], str]]  # tensors, each with what its graph calls it


def _priced(
    row: Mapping[str, Any], name: str, operations: list[str], given: _Named, made: _Named, prefix: str
) -> SubgraphDescriptor:
    """With the core's numbers. Weights keep the model's names, so that what two subgraphs share is counted once."""

    def described(value: Mapping[str, Any], own: str) -> TensorDescriptor:
        shared = value["name"] if _is_weight(value) else own and prefix + own
        return TensorDescriptor(tuple(value["shape"]), value["dtype"], shared)

    return SubgraphDescriptor(
        operations,
        [described(value, own) for value, own in given if not _is_weight(value)],
        [described(value, own) for value, own in made],
        [described(value, own) for value, own in given if _is_weight(value)],
        name,
        declared_macs=row["macs"],
        declared_flops=row["flops"],
        declared_bytes=row["memory_bytes"],
    )


def _is_weight(value: Mapping[str, Any]) -> bool:
    return value["kind"] == "parameter" and bool(value.get("name"))


# --- to the core ------------------------------------------------------------------------------------------------


def _graph_of(subgraphs: Sequence[SubgraphDescriptor]) -> Graph:
    names: set[str] = set()
    return Graph(native.graph_of_subgraphs([_native_row(each, names) for each in subgraphs]))


def _native_row(subgraph: SubgraphDescriptor, names: set[str]) -> Any:
    """One op in a module of its own, which has the subgraph's name."""
    row = native.SubgraphRow()
    row.op, row.type = _op_name(subgraph.operations), "+".join(subgraph.operations)
    row.name = _unique(subgraph.name or row.op.rpartition(":")[2], names)
    row.inputs, row.weights, row.outputs = (
        [(each.shape, each.dtype_name, each.name) for each in tensors]
        for tensors in (subgraph.input_tensors, subgraph.weight_tensors, subgraph.output_tensors)
    )
    row.argument_names = _tensor_names(row.op, [*subgraph.input_tensors, *subgraph.weight_tensors])
    row.attributes = list(subgraph.attributes.items())
    row.macs, row.flops, row.bytes = subgraph.declared_macs, subgraph.declared_flops, subgraph.declared_bytes
    return row


def _unique(name: str, names: set[str]) -> str:
    found, number = name, 1
    while found in names:
        found, number = f"{name}_{number}", number + 1
    names.add(found)
    return found


def _op_name(operations: Sequence[str]) -> str:
    """'torch.nn.functional.relu' and 'aten.relu.default' are aten::relu; several operations are one that nobody knows."""
    if len(operations) != 1:
        return f"subgraph::{'+'.join(map(_short, operations)) or 'empty'}"
    only = operations[0]
    return only if "::" in only and not only.startswith("aten::") else f"aten::{_short(only)}"


def _short(operation: str) -> str:
    name = operation.removeprefix("aten::")
    if name.startswith("aten."):
        return name.split(".")[1]
    return name.rpartition(".")[2].strip("_")


def _tensor_names(op_name: str, tensors: Sequence[TensorDescriptor]) -> list[str]:
    """The names that the op's schema has for its tensors, in its order."""
    packet = getattr(torch.ops.aten, op_name.removeprefix("aten::"), None)
    names: list[str] = []
    for overload in packet.overloads() if packet is not None else []:
        names = [each.name for each in getattr(packet, overload)._schema.arguments if "Tensor" in str(each.type)]
        if len(names) >= len(tensors):
            break
    return [*names, *(f"input_{index}" for index in range(len(names), len(tensors)))][: len(tensors)]
