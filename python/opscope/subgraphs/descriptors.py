"""Tensors and subgraphs described by the caller, with costs from the core: for tools that have a graph of their own.

A list of descriptors becomes a capture like any other, one op for each, so that every number here is the cost table's
or the caller's own. Nothing is computed in Python.
"""

from __future__ import annotations

import functools
import operator
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from opscope.api import Graph, capture, from_graph_module, load
from opscope.dynamo import DynamoGraphExtractor
from opscope.errors import error
from opscope.inputs import as_dtype
from opscope.results.profile import Profile, Row
from opscope.subgraphs.capture_text import capture_text
from opscope.tracers.tensor_meta import placeholder_inputs


@dataclass(frozen=True)
class TensorDescriptor:
    """A tensor without data. Descriptors with the same name in one list are the same tensor."""

    shape: tuple[int, ...]
    dtype: Any = torch.float32  # a torch.dtype or its name
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _as_shape(self.shape))
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
        """What it occupies."""
        return self._tensor.nbytes

    @property
    def strides(self) -> list[int]:
        """Of a contiguous tensor of this shape."""
        return list(self._tensor.stride())

    @property
    def dtype_name(self) -> str:
        """Its dtype without "torch.": 'float32'."""
        return str(self.dtype).removeprefix("torch.")


def _as_shape(shape: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(map(operator.index, shape))
    except TypeError:
        sizes = (-1,)
    if any(size < 0 for size in sizes):
        hint = "whole numbers, none of them negative: (1, 3, 224, 224), or () for one number"
        raise error(f"{shape!r} is not a shape", "shape", hint)
    return sizes


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

    def __post_init__(self) -> None:
        if isinstance(self.operations, str):
            self.operations = [self.operations]
        if not all(isinstance(each, str) for each in self.operations):
            raise error(f"{self.operations!r} are not names of operations", "operations", "['conv2d'], ['torch.relu'], ...")
        for key in ("input_tensors", "output_tensors", "weight_tensors"):
            for each in getattr(self, key):
                if not isinstance(each, TensorDescriptor):
                    raise error(f"{each!r} is not a TensorDescriptor", key, "TensorDescriptor((1, 3, 224, 224), 'float32')")

    @functools.cached_property
    def _row(self) -> Row:
        return _graph_of([self]).profile().ops[0]

    def _known(self, key: str) -> Any:
        return None if self.confidence == "unknown" else self._row[key]

    @property
    def macs(self) -> int | None:
        """None if unknown: `confidence` is then 'unknown'."""
        return cast("int | None", self._known("macs"))

    @property
    def flops(self) -> int | None:
        """None if unknown."""
        return cast("int | None", self._known("flops"))

    @property
    def bytes(self) -> int:
        """Bytes that it reads and writes, by its tensors unless declared: known for any operation."""
        return int(self._row.memory_bytes)

    @property
    def arithmetic_intensity(self) -> float | None:
        """FLOPs per byte; None if the FLOPs are unknown."""
        return cast("float | None", self._known("arithmetic_intensity"))

    @property
    def confidence(self) -> str:
        """'exact', 'estimated', 'upper_bound' or 'unknown'; declared numbers count as exact."""
        return str(self._row.confidence)


class UnifiedAnalyzer:
    """Profiles models, GraphModules, extractors, graphs and descriptors through one interface."""

    def __init__(self, convention: str = "opscope", ridge: float = 10.0) -> None:
        self.convention, self.ridge = convention, ridge

    def analyze(self, what: Any, inputs: Any = None, **options: Any) -> Profile:
        """The profile of a model, a name, a GraphModule, an extractor, a Graph, or SubgraphDescriptors.

        A GraphModule takes the inputs that its placeholders' metadata describes where none are given.
        """
        return self.graph(what, inputs, **options).profile(convention=self.convention, ridge=self.ridge)

    def graph(self, what: Any, inputs: Any = None, **options: Any) -> Graph:
        """The same as a Graph, without its profile."""
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
            numbers = range(1, len(what.graph_modules) + 1)
            return [each for number in numbers for each in self._of_graph(what.partition(number), f"{number}.")]
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

    unknown = row["confidence"] == "unknown" and not row["flops"]  # a part of its ops may be known
    return SubgraphDescriptor(
        operations,
        [described(value, own) for value, own in given if not _is_weight(value)],
        [described(value, own) for value, own in made],
        [described(value, own) for value, own in given if _is_weight(value)],
        name,
        declared_macs=None if unknown else row["macs"],
        declared_flops=None if unknown else row["flops"],
        declared_bytes=row["memory_bytes"],
    )


def _is_weight(value: Mapping[str, Any]) -> bool:
    return value["kind"] == "parameter" and bool(value.get("name"))


# --- to the core ------------------------------------------------------------------------------------------------


def _graph_of(subgraphs: Sequence[SubgraphDescriptor]) -> Graph:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "subgraphs.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(capture_text(subgraphs))
        return load(path)
