"""Described subgraphs as the text of a saved capture: one op each, in a module of its own. The core reads and prices it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from opscope.errors import error

if TYPE_CHECKING:
    from opscope.subgraphs.descriptors import SubgraphDescriptor, TensorDescriptor

_Rows = list[dict[str, Any]]


def capture_text(subgraphs: Sequence[SubgraphDescriptor]) -> str:
    """Tensors of one name are one tensor, so that what a subgraph makes is what a later one reads."""
    return _Document(subgraphs).text()


class _Document:
    def __init__(self, subgraphs: Sequence[SubgraphDescriptor]) -> None:
        self.values: _Rows = []
        self.storages: list[int] = []
        self.modules: _Rows = [{"id": 0, "name": "", "path": "", "type": "Subgraphs"}]
        self.scopes: _Rows = [{"id": 0, "module": 0}]
        self.owned: _Rows = []
        self.ops: _Rows = []
        self.declared: _Rows = []
        self._paths = {"": 0}
        self._named: dict[str, int] = {}
        self._read: set[int] = set()
        for subgraph in subgraphs:
            self._add(subgraph)

    def _add(self, subgraph: SubgraphDescriptor) -> None:
        op, op_name = len(self.ops), _op_name(subgraph.operations)
        module = self._own_module(subgraph.name or _short(op_name.rpartition(":")[2]), "+".join(subgraph.operations))
        scope = len(self.scopes)
        self.scopes.append({"id": scope, "parent": 0, "module": module})
        given = [self._known(tensor, "input") for tensor in subgraph.input_tensors]
        for number, tensor in enumerate(subgraph.weight_tensors):
            given.append(self._known(tensor, "parameter"))
            self.owned.append({"module": module, "value": given[-1], "name": f"weight_{number}"})
        self._read.update(given)
        made = [self._value(tensor, "activation") for tensor in subgraph.output_tensors]
        self._named.update({tensor.name: index for index, tensor in zip(made, subgraph.output_tensors, strict=True) if tensor.name})
        arguments = _arguments(op_name, given, subgraph.attributes)
        self.ops.append({"id": op, "op": op_name, "scope": scope, "arguments": arguments, "outputs": made})
        costs = {"macs": subgraph.declared_macs, "flops": subgraph.declared_flops, "bytes": subgraph.declared_bytes}
        if known := {key: value for key, value in costs.items() if value is not None}:
            self.declared.append({"op": op, **known})

    def _own_module(self, path: str, type_: str) -> int:
        found, number = path, 1
        while found in self._paths:
            found, number = f"{path}_{number}", number + 1
        return self._module(found, type_)

    def _module(self, path: str, type_: str) -> int:
        """Made with those above it, which come first."""
        if path not in self._paths:
            above, _, name = path.rpartition(".")
            parent = self._module(above, "Module")
            self._paths[path] = len(self.modules)
            self.modules.append({"id": len(self.modules), "parent": parent, "name": name, "path": path, "type": type_})
        return self._paths[path]

    def _known(self, tensor: TensorDescriptor, kind: str) -> int:
        if tensor.name not in self._named or not tensor.name:
            self._named[tensor.name] = self._value(tensor, kind)
        return self._named[tensor.name]

    def _value(self, tensor: TensorDescriptor, kind: str) -> int:
        index = len(self.values)
        row = {"id": index, "kind": kind, "dtype": tensor.dtype_name, "shape": list(tensor.shape), "storage": index}
        self.values.append(row | {"strides": tensor.strides, "name": tensor.name, "device": "cpu"})
        self.storages.append(tensor.bytes)
        return index

    def text(self) -> str:
        ends = [row["id"] for row in self.values if row["kind"] == "activation" and row["id"] not in self._read]
        for index in ends:
            self.values[index]["kind"] = "output"
        about = {"model": "subgraphs", "source": "", "tracer": "static", "torch": torch.__version__, "seconds": 0.0}
        document = {
            "schema_version": 1,
            "capture": {**about, "slow_path": [], "dependencies": []},
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
        return json.dumps(document)


def _op_name(operations: Sequence[str]) -> str:
    """'torch.nn.functional.relu' and 'aten.relu.default' are aten::relu; several operations are one that nobody knows."""
    if len(operations) != 1:
        return f"subgraph::{'+'.join(map(_short, operations)) or 'empty'}"
    only = operations[0]
    return only if "::" in only and not only.startswith("aten::") else f"aten::{_short(only)}"


def _short(operation: str) -> str:
    name = operation.removeprefix("aten::")
    return name.split(".")[1] if name.startswith("aten.") else name.rpartition(".")[2]


def _arguments(op_name: str, given: Sequence[int], attributes: Mapping[str, Any]) -> dict[str, Any]:
    named = zip(_tensor_names(op_name, len(given)), given, strict=True)
    return {name: {"tensor": value} for name, value in named} | {name: _attribute(v) for name, v in attributes.items()}


def _tensor_names(op_name: str, count: int) -> list[str]:
    """The names that the op's schema has for its tensors, in its order."""
    packet = getattr(torch.ops.aten, op_name.removeprefix("aten::"), None)
    names: list[str] = []
    for overload in packet.overloads() if packet is not None else []:
        names = [each.name for each in getattr(packet, overload)._schema.arguments if "Tensor" in str(each.type)]
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
    raise error(f"{value!r} is not an attribute of an operation", "attributes", "numbers, strings, or lists of numbers")
