"""Tensors and subgraphs in words of one's own, priced by the core: for tools that already have a graph in some form.

A list of descriptors becomes a capture like any other, one op for each, so that every number here is the cost table's
or the caller's own. Nothing is computed in Python.
"""

from __future__ import annotations

import functools
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from opscope._load import native
from opscope.api import Graph, capture, from_graph_module
from opscope.dynamo import DynamoGraphExtractor, placeholder_inputs
from opscope.errors import error
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
        """'exact', 'estimated', 'upper_bound' or 'unknown'; for declared numbers 'estimated'."""
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
            parts = [what.partition(index) for index in range(len(what.graph_modules))]
            return [each for part in parts for each in self.subgraphs(part)]
        found = self.analyze(what, inputs, **options)
        rows = list(found.to_dict().get("nodes") or [])
        if rows:
            return [_of_node(row, rows) for row in rows if row["kind"].startswith("call_")]
        return [_of_layer(row, [op for op in found.ops if op.layer == row.name]) for row in found.layers]


# --- from the core ----------------------------------------------------------------------------------------------


def _of_node(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> SubgraphDescriptor:
    given = [_tensor(value, rows[index - 1]["name"]) for index in row["inputs"] for value in rows[index - 1]["outputs"]]
    made = [_tensor(value, row["name"]) for value in row["outputs"]]
    return _declared([row["target"]], given, made, row["name"], row)


def _of_layer(row: Row, ops: Sequence[Row]) -> SubgraphDescriptor:
    given = [_tensor(value, value.get("name", "")) for op in ops[:1] for value in op.inputs]
    made = [_tensor(value, value.get("name", "")) for op in ops[-1:] for value in op.outputs]
    return _declared([op.op for op in ops], given, made, row.name, row)


def _tensor(value: Mapping[str, Any], name: str) -> TensorDescriptor:
    return TensorDescriptor(tuple(value["shape"]), value["dtype"], name)


def _declared(
    operations: list[str], given: list[TensorDescriptor], made: list[TensorDescriptor], name: str, row: Mapping[str, Any]
) -> SubgraphDescriptor:
    costs = {"declared_macs": row["macs"], "declared_flops": row["flops"], "declared_bytes": row["memory_bytes"]}
    return SubgraphDescriptor(operations, given, made, name=name, **costs)


# --- to the core ------------------------------------------------------------------------------------------------


class _Document:
    """Descriptors as a saved capture: one op each, in a module of its own."""

    def __init__(self, subgraphs: Sequence[SubgraphDescriptor]) -> None:
        self.values: list[dict[str, Any]] = []
        self.storages: list[int] = []
        self.modules: list[dict[str, Any]] = [{"id": 0, "name": "", "path": "", "type": "Subgraphs"}]
        self.scopes: list[dict[str, Any]] = [{"id": 0, "module": 0}]
        self.owned: list[dict[str, Any]] = []
        self.ops: list[dict[str, Any]] = []
        self.declared: list[dict[str, Any]] = []
        self._named: dict[str, int] = {}
        self._read: set[int] = set()
        for subgraph in subgraphs:
            self._add(subgraph)

    def _add(self, subgraph: SubgraphDescriptor) -> None:
        op, module = len(self.ops), len(self.modules)
        name = f"{op}" if not subgraph.name else subgraph.name.replace(".", "/")
        name = name if all(each["name"] != name for each in self.modules) else f"{name}#{op}"
        self.modules.append({"id": module, "parent": 0, "name": name, "path": name, "type": "+".join(subgraph.operations)})
        self.scopes.append({"id": module, "parent": 0, "module": module})
        given = [self._input(tensor) for tensor in subgraph.input_tensors]
        given += [self._weight(tensor, module, index) for index, tensor in enumerate(subgraph.weight_tensors)]
        self._read.update(given)
        made = [self._value(tensor, "activation") for tensor in subgraph.output_tensors]
        op_name = _op_name(subgraph.operations)
        arguments = _arguments(op_name, given, subgraph.attributes)
        self.ops.append({"id": op, "op": op_name, "scope": module, "arguments": arguments, "outputs": made})
        for index, tensor in zip(made, subgraph.output_tensors, strict=True):
            self._named[tensor.name or f"#{index}"] = index
        costs = {"macs": subgraph.declared_macs, "flops": subgraph.declared_flops, "bytes": subgraph.declared_bytes}
        if known := {key: value for key, value in costs.items() if value is not None}:
            self.declared.append({"op": op, **known})

    def _input(self, tensor: TensorDescriptor) -> int:
        if tensor.name and tensor.name in self._named:
            return self._named[tensor.name]
        index = self._value(tensor, "input")
        if tensor.name:
            self._named[tensor.name] = index
        return index

    def _weight(self, tensor: TensorDescriptor, module: int, number: int) -> int:
        known = self._named.get(tensor.name) if tensor.name else None
        index = self._value(tensor, "parameter") if known is None else known
        self._named[tensor.name or f"#{index}"] = index
        self.owned.append({"module": module, "value": index, "name": f"weight_{number}"})
        return index

    def _value(self, tensor: TensorDescriptor, kind: str) -> int:
        index = len(self.values)
        row = {"id": index, "kind": kind, "dtype": tensor.dtype_name, "shape": list(tensor.shape), "storage": index}
        self.values.append(row | {"strides": list(tensor._tensor.stride()), "name": tensor.name, "device": "cpu"})
        self.storages.append(tensor.bytes)
        return index

    def text(self) -> str:
        ends = [row["id"] for row in self.values if row["kind"] == "activation" and row["id"] not in self._read]
        for index in ends:
            self.values[index]["kind"] = "output"
        capture_row = {"model": "subgraphs", "source": "", "tracer": "static", "torch": torch.__version__, "seconds": 0.0}
        return json.dumps(
            {
                "schema_version": 1,
                "capture": {**capture_row, "slow_path": [], "dependencies": []},
                "modules": self.modules,
                "scopes": self.scopes,
                "storages": self.storages,
                "values": self.values,
                "owned": self.owned,
                "inputs": [row["id"] for row in self.values if row["kind"] == "input"],
                "outputs": ends,
                "ops": self.ops,
                "declared": self.declared,
                "diagnostics": [],
            }
        )


def _graph_of(subgraphs: Sequence[SubgraphDescriptor]) -> Graph:
    read = getattr(native, "read_capture", None)
    if read is None:
        raise error("this build of opscope cannot read captures", "", "rebuild it with OPSCOPE_CLI=ON")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "subgraphs.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(_Document(subgraphs).text())
        return Graph(read(path))


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


def _arguments(op_name: str, given: Sequence[int], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Tensors under the names that the op's schema has for them, in its order."""
    found = {name: {"tensor": value} for name, value in zip(_tensor_names(op_name, len(given)), given, strict=True)}
    return found | {name: _attribute(value) for name, value in attributes.items()}


def _tensor_names(op_name: str, count: int) -> list[str]:
    packet = getattr(torch.ops.aten, op_name.removeprefix("aten::"), None)
    names: list[str] = []
    for overload in packet.overloads() if packet is not None else []:
        arguments = getattr(packet, overload)._schema.arguments
        names = [each.name for each in arguments if "Tensor" in str(each.type)]
        if len(names) >= count:
            break
    return [*names, *(f"input_{index}" for index in range(len(names), count))][:count]


def _attribute(value: Any) -> Any:
    """As captures write it: numbers and strings as they are, floats and lists with their kind."""
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    if isinstance(value, float):
        return {"float": value}
    for type_, kind in ((bool, "bools"), (int, "ints"), (float, "floats")):
        if isinstance(value, (list, tuple)) and all(isinstance(item, type_) for item in value):
            return {kind: list(value)}
    raise error(f"{value!r} is no attribute of an operation", "attributes", "numbers, strings, or lists of numbers")
