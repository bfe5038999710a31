"""An extractor's partitions as text: nodes by the names that a person would write, what they call, memory, and why they end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from opscope._load import native
from opscope.errors import Error
from opscope.results.profile import Row, counted
from opscope.tracers.node_runs import target_of
from opscope.tracers.tensor_meta import TensorMetadata, is_weight, tensor_metas

if TYPE_CHECKING:
    from opscope.api import Graph
    from opscope.dynamo import DynamoGraphExtractor

Timeline = list[tuple[int, str, int]]  # (index, name, bytes in use after it) of each node

_REST = re.compile(r"torch_dynamo_resume_in_(.*)_at_(\d+)")


def describe(extractor: DynamoGraphExtractor, max_nodes: int | None = 60) -> str:
    """Every partition as text: its nodes with their metadata, what it calls, its memory, and why it ends."""
    blocks = [_block(extractor, number, max_nodes) for number in range(1, len(extractor.graph_modules) + 1)]
    blocks += [f"Left to Python: {_at(found)}" for found in extractor.breaks if found.after is None]
    return "\n\n".join(blocks) + "\n"


def is_rest(name: str) -> bool:
    """Whether Dynamo's name of a function says that it is what follows a break."""
    return _REST.fullmatch(name) is not None


def function_text(name: str) -> str:
    """'forward, from line 8 on' for what Dynamo calls 'torch_dynamo_resume_in_forward_at_8'."""
    return _REST.sub(r"\1, from line \2 on", name)


def _block(extractor: DynamoGraphExtractor, number: int, max_nodes: int | None) -> str:
    title, module = f"Graph Partition {number}", extractor.graph_modules[number - 1]
    counts, graph = extractor.graphs[number - 1], _captured(extractor, number)
    labels = {row.name: row.label for row in graph.nodes} if graph else {}
    timeline = graph.memory_timeline() if graph and extractor.analyze_memory else []
    weights = len(list(filter(is_weight, module.graph.nodes)))
    about = f"{function_text(counts.name)}: {counted(counts.nodes, 'node')}"
    about += f", {weights} of them weights, which are not listed" if weights else ""
    ends = [f"ends at {_at(found)}" for found in extractor.breaks if found.after == number]
    sections = ["\n".join([title, "=" * len(title), about, *ends]), _node_table(module, labels, timeline, max_nodes)]
    for key, found in (("kind", counts.by_kind), ("operation", counts.by_target)):
        rows = [[each, str(count)] for each, count in found.items()]
        sections.append(native.format_listing("nodes", [key, "nodes"], rows).rstrip("\n") if rows else "")
    if timeline:
        _, name, most = max(timeline, key=lambda row: row[2])
        sections.append(f"most memory in use: {_bytes(most)}, after {labels.get(name, name)}; weights are not counted")
    return "\n\n".join(filter(None, sections))


def _captured(extractor: DynamoGraphExtractor, number: int) -> Graph | None:
    """A partition as the core sees it; None where shapes alone cannot run it, unless its memory was asked for."""
    try:
        return extractor.partition(number)
    except Error:
        if extractor.analyze_memory:
            raise
        return None


def _node_table(
    module: torch.fx.GraphModule, labels: Mapping[str, str], timeline: Timeline, max_nodes: int | None
) -> str:
    nodes = [node for node in module.graph.nodes if not is_weight(node)]
    shown, after = nodes[:max_nodes], {name: _bytes(count) for _, name, count in timeline}
    keys = ["kind", "name", "target", "output", *(["in use after"] if timeline else [])]
    rows = [
        [n.op, labels.get(n.name, n.name), _target(n), _output_text(n), *([after[n.name]] if timeline else [])]
        for n in shown
    ]
    table = str(native.format_listing("nodes", keys, rows)).rstrip("\n")
    rest = len(nodes) - len(shown)
    return table + (f"\nand {counted(rest, 'more node')}: max_nodes=None shows them all" if rest else "")


def _bytes(count: int) -> str:
    return counted(count, "byte")


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

    note(tensor_metas(node))
    return ", ".join(found)


def _at(found: Row) -> str:
    return f"{found.source}: {found.reason}" if found.source else str(found.reason)
