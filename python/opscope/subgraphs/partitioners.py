"""Ops grouped into subgraphs: by FusionPartitioner as a fusing compiler would, by GraphPartitioner layer by layer.

Both take whatever can be profiled, and every number in their reports is the core's.
"""

from __future__ import annotations

import functools
import json
import operator
from typing import Any

from opscope.api import Graph
from opscope.errors import error
from opscope.results.profile import Profile, Row, counted
from opscope.subgraphs.descriptors import SubgraphDescriptor, UnifiedAnalyzer


class PartitionReport:
    """The subgraphs of one graph, the bytes that fusion saves, and the fusion boundaries. `print(report)` is what `opscope fuse` prints."""

    def __init__(self, graph: Graph, profile: Profile) -> None:
        self.graph, self.profile = graph, profile

    @functools.cached_property
    def _data(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.profile._native.fuse_json())
        return data

    @property
    def strategy(self) -> str:
        """'none', 'layer' or 'fused'."""
        return str(self._data["partition"]["strategy"])

    @property
    def subgraphs(self) -> list[Row]:
        """In an order in which they can run: id, type, module, ops, macs, flops, bytes, bottleneck, depends_on, begins, ends."""
        return [Row(row) for row in self._data["subgraphs"]]

    @property
    def total_subgraphs(self) -> int:
        """How many subgraphs there are; `len(report)` is the same."""
        return int(self._data["partition"]["subgraphs"])

    @property
    def unfused_bytes(self) -> int:
        """Bytes moved with each op as a kernel of its own."""
        return int(self._data["partition"]["unfused_bytes"])

    @property
    def fused_bytes(self) -> int:
        """Bytes moved with each subgraph as one fused kernel."""
        return int(self._data["partition"]["fused_bytes"])

    @property
    def saved_bytes(self) -> int:
        """The difference: bytes moved that fusion saves."""
        return int(self._data["partition"]["saved_bytes"])

    @property
    def missed(self) -> list[Row]:
        """Producers and consumers that were not fused: from, to, why, and the bytes that fusing them would save, the most first."""
        return [Row(row) for row in self._data["partition"]["missed"]]

    def subgraph_of(self, op: int) -> Row | None:
        """The subgraph of an op, by its place in `profile.ops`; None for an op that does no work and is in no subgraph."""
        return self._by_op.get(op)

    @functools.cached_property
    def _by_op(self) -> dict[int, Row]:
        return {op: row for row in self.subgraphs for op in row.ops}

    @functools.cached_property
    def descriptors(self) -> list[SubgraphDescriptor]:
        """Each subgraph as a SubgraphDescriptor, with the core's numbers."""
        ops = self.profile.ops
        return [
            SubgraphDescriptor(
                [ops[index].op for index in row.ops],
                name=f"{row.id}.{row.type}",
                declared_macs=row.macs,
                declared_flops=row.flops,
                declared_bytes=row.memory_bytes,
            )
            for row in self.subgraphs
        ]

    def to_text(self, *, width: int = 100, color: bool = False, verbose: bool = False, top: int = 10, sort: str = "order") -> str:
        """The report that `opscope fuse` prints, as text."""
        return str(self.profile._native.fuse_text(width=width, color=color, verbose=verbose, top=top, sort=sort))

    def to_dict(self) -> dict[str, Any]:
        """The whole report as plain Python data: what to_json gives."""
        return dict(self._data)

    def to_json(self) -> str:
        """The report as `opscope fuse --format json` writes it."""
        return str(self.profile._native.fuse_json())

    def __str__(self) -> str:
        return self.to_text()

    def __len__(self) -> int:
        return self.total_subgraphs

    def __repr__(self) -> str:
        ops = counted(int(self._data["partition"]["ops"]), "op")
        return f"<opscope.PartitionReport of {self.profile.model}: {counted(self.total_subgraphs, 'subgraph')} from {ops}>"


class FusionPartitioner:
    """Puts ops into subgraphs. `strategy` is 'fused', 'layer' or 'none'; the tensors of a subgraph fit in
    `fast_memory` bytes where that is given."""

    def __init__(
        self, strategy: str = "fused", fast_memory: int | None = None, *, convention: str = "opscope", ridge: float = 10.0
    ) -> None:
        self.strategy, self.fast_memory = strategy, _as_bytes(fast_memory)
        self.convention, self.ridge = convention, ridge

    def partition(self, what: Any, inputs: Any = None, **options: Any) -> PartitionReport:
        """Of a model, a name, an fx GraphModule, a Graph, an extractor or descriptors; options are those of `profile`."""
        graph = UnifiedAnalyzer(self.convention, self.ridge).graph(what, inputs, **options)
        profile = graph.profile(
            convention=self.convention, ridge=self.ridge, partition=self.strategy, fast_memory=self.fast_memory
        )
        return PartitionReport(graph, profile)


class GraphPartitioner(FusionPartitioner):
    """The older one: a subgraph for each call of a leaf module and for each function between them."""

    def __init__(self, *, convention: str = "opscope", ridge: float = 10.0) -> None:
        super().__init__("layer", convention=convention, ridge=ridge)


def _as_bytes(size: int | None) -> int:
    try:
        number = 0 if size is None else operator.index(size)
    except TypeError:
        number = -1
    if number < 0 or (number == 0 and size is not None):
        raise error(f"{size!r} is not a number of bytes", "fast_memory", "a whole number, such as 262144, or None for no limit")
    return number
