"""From what Inductor's scheduler made to the nodes of Dynamo's graph.

Inductor works on a graph of its own, in which softmax or a norm are several nodes. Each remembers the node of Dynamo's that it
was made from. A kernel of the scheduler's is a list of buffers to fill; which nodes it computes to fill one is found by
walking back from the buffer's node to what the kernel reads from memory. So a node that is worked out again in every kernel
that needs it belongs to all of these, and one that is split is in all that have a part of it.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

Kernel = dict[str, Any]

_aten = torch.ops.aten
_FREE = (operator.getitem, _aten.reshape.default, _aten._unsafe_view.default, _aten.alias.default, _aten.detach.default)


def kernels_of(scheduler: Any, ids: Mapping[str, int]) -> list[Kernel]:
    """name, kind, target and nodes of each kernel in its order; `ids` are the numbers of Dynamo's nodes by name."""
    return _Kernels(scheduler, ids).rows()


class _Kernels:
    def __init__(self, scheduler: Any, ids: Mapping[str, int]) -> None:
        self._groups = list(scheduler.nodes)
        self._ids = ids
        graph = next((each.graph for node in self._members() for each in _origins(node)), None)
        self._order = {node: index for index, node in enumerate(graph.nodes)} if graph is not None else {}
        self._node_of: dict[str, torch.fx.Node] = {}  # by buffer: the node whose result it holds
        for member in self._members():
            for buffer in member.get_outputs():
                if (last := self._last(member)) is not None:
                    self._node_of[buffer.get_name()] = last
        calls = (self._last(member) for member in self._members() if _is_library_call(member))
        self._by_library = {node for node in calls if node is not None}

    def rows(self) -> list[Kernel]:
        computed = [self._computed(group) for group in self._groups]
        self._give_concatenations(computed)
        kinds = [_kind(group) for group in self._groups]
        found = [self._numbers_of(nodes) for nodes in computed]
        called = {number for numbers, kind in zip(found, kinds, strict=True) if kind != "fused" for number in numbers}
        return [
            {
                "name": group.get_name(),
                "kind": kind,
                "target": _target(group),
                # Of a node that a library is called for, loops do what is left: bias, masks, copies.
                "nodes": sorted(numbers - called if kind == "fused" else numbers),
                "rest": sorted(numbers & called if kind == "fused" else ()),
            }
            for group, kind, numbers in zip(self._groups, kinds, found, strict=True)
            if kind != "nop"
        ]

    def _members(self) -> Iterator[Any]:
        for group in self._groups:
            yield from group.get_nodes()

    def _last(self, member: Any) -> torch.fx.Node | None:
        return max(_origins(member), key=self._order.__getitem__, default=None)

    def _computed(self, group: Any) -> list[torch.fx.Node]:
        nodes = [node for member in group.get_nodes() if not _is_nop(member) for node in self._computed_by(member)]
        return list(dict.fromkeys(nodes))

    def _computed_by(self, member: Any) -> Iterable[torch.fx.Node]:
        last = self._last(member)
        if last is None or _is_library_call(member) or member.is_template():
            return [last] if last is not None else []
        return self._between(last, set(_origins(member)), {each.name for each in member.read_writes.reads})

    def _between(self, last: torch.fx.Node, origins: set[torch.fx.Node], names: set[str]) -> list[torch.fx.Node]:
        """The origins from the buffers that are read up to the last one.

        A loop that makes an operand ready for a library's call has that call and all before it for origins: what it computes
        of these is only what follows from what it reads.
        """
        read = {self._node_of.get(name) for name in names}
        found, known = [], {node: node.name in names for node in self._order if node.op == "placeholder"}
        for node in sorted({last, *origins} - read, key=self._order.__getitem__):
            given = [each for each in node.all_input_nodes if each not in read]
            known[node] = node not in self._by_library and all(known.get(each, True) for each in given)
            if known[node]:
                found.append(node)
        return _leading_to(last, found)

    def _give_concatenations(self, computed: list[list[torch.fx.Node]]) -> None:
        """A concatenation whose parts are written in place by the kernels that make them is a part of those."""
        maker = {
            buffer.get_name(): index
            for index, group in enumerate(self._groups)
            for member in group.get_nodes()
            for buffer in member.get_outputs()
        }
        for member in self._members():
            if not _is_nop(member) or type(member.node).__name__ != "ConcatKernel":
                continue
            last = self._last(member)
            for part in member.node.inputs:
                index = maker.get(part.get_name())
                if last is not None and index is not None and last not in computed[index]:
                    computed[index].append(last)

    def _numbers_of(self, nodes: Iterable[torch.fx.Node]) -> set[int]:
        """Of Dynamo's nodes behind these."""
        names = (name for node in nodes if not _is_view(node) for name in _sources(node.meta.get("from_node") or ()))
        return {self._ids[name] for name in names if name in self._ids}


def _leading_to(last: torch.fx.Node, nodes: Iterable[torch.fx.Node]) -> list[torch.fx.Node]:
    """Those of the nodes that `last` needs, itself if it is one of them."""
    allowed = set(nodes)
    ahead, found = [last], {node: None for node in (last,) if node in allowed}
    while ahead:
        for node in ahead.pop().all_input_nodes:
            if node in allowed and node not in found:
                found[node] = None
                ahead.append(node)
    return list(found)


def _origins(member: Any) -> Iterable[torch.fx.Node]:
    return member.node.get_origins() if member.node is not None else ()


def _is_view(node: torch.fx.Node) -> bool:
    """It computes nothing: a linear layer's result that the next kernel reads in another shape is not made there."""
    return node.target in _FREE or bool(getattr(node.target, "is_view", False))


def _is_library_call(member: Any) -> bool:
    return bool(member.is_extern())


def _is_nop(member: Any) -> bool:
    """Takes no time: names a part of another kernel's result, or memory that others fill."""
    return type(member).__name__ == "NopKernelSchedulerNode" or type(member.node).__name__ == "MultiOutput"


def _kind(group: Any) -> str:
    members = list(group.get_nodes())
    if all(map(_is_nop, members)):
        return "nop"
    if any(member.is_template() for member in members):
        return "template"
    return "extern" if any(map(_is_library_call, members)) else "fused"


def _target(group: Any) -> str:
    """What a library is called for: 'aten.addmm.default', 'ConvolutionUnary'."""
    for member in group.get_nodes():
        if _is_library_call(member) and not _is_nop(member):
            return str(getattr(member.node, "op_overload", None) or type(member.node).__name__)
    return ""


def _sources(found: Sequence[Any]) -> Iterator[str]:
    """Names of the nodes at the beginning of a chain of passes; each pass adds a level."""
    for source in found:
        yield from _sources(source.from_node) if source.from_node else (source.name,)


class Reasons:
    """Why the scheduler put two of its nodes into different kernels, in its own words."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str] = {}

    def note(self, first: str, second: str, reason: str, args: tuple[Any, ...]) -> None:
        self._found[first, second] = reason % args

    def between(self, kernels: Sequence[str], begin: int) -> list[dict[str, Any]]:
        """The last word on each pair of kernels; they are numbered from `begin`."""
        number = {name: index for index, kernel in enumerate(kernels, begin) for name in kernel.split("_")}
        last: dict[tuple[int, int], str] = {}
        for (first, second), reason in self._found.items():
            one, other = (number.get(name.partition("_")[0]) for name in (first, second))
            if one is not None and other is not None and one != other:
                last[one, other] = reason
        return [{"from": one, "to": other, "reason": reason} for (one, other), reason in last.items()]
