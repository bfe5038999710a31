"""`opscope.reconcile`: what other tools count for a model, beside opscope, and why they differ."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from opscope._load import native
from opscope.api import _source_of
from opscope.errors import error
from opscope.options import Options, takes_options
from opscope.peers.runs import check_tools
from opscope.peers.worker import peers_of
from opscope.results.profile import Row
from opscope.results.report import Report


class Reconciliation(Report):
    """Other tools' numbers beside opscope's. `print(it)` shows the tables; every number comes from C++."""

    def __init__(self, found: Any, why: bool, tolerance: float) -> None:
        super().__init__(found)
        self._view = {"why": why, "tolerance": tolerance}

    @property
    def rows(self) -> list[Row]:
        """One a tool: tool, version, unit, total (its own), flops, difference, accuracy, params; or error and hint."""
        return [Row(peer) for peer in self._data["models"][0]["peers"]]

    @property
    def flops(self) -> int:
        """opscope's own: two for a multiply-accumulate, one for other arithmetic."""
        return int(self._data["models"][0]["flops"])

    def causes(self, tool: str) -> list[Row]:
        """Why a tool's number differs: kind, what, flops and rows (op, module, ops, flops), the largest first.

        Those with `is_unit` lead from the tool's own number to its FLOPs; the others add up to the difference.
        """
        return [Row(cause) for row in self.rows if row.tool == tool for cause in row.get("causes", [])]

    def __repr__(self) -> str:
        tools = ", ".join(row.tool for row in self.rows)
        return f"<opscope.Reconciliation of {self._data['models'][0]['model']} with {tools}>"


@takes_options
def reconcile(
    model: Any,
    inputs: Any = None,
    *,
    with_: str | Sequence[str] = ("fvcore",),
    why: bool = True,
    tolerance: float = 0.1,
    **options: Any,
) -> Reconciliation:
    """What other tools count for a model, beside opscope, and where every FLOP of the difference comes from.

    `model`, `inputs` and the other options are those of `profile`. `with_` names the tools: 'fvcore', 'torch'
    (FlopCounterMode), 'ptflops', 'thop', 'torchinfo', 'calflops', or 'all'. Each is run for real, on the CPU, on a
    copy of the model with the same inputs; one that is not installed or fails is a row that says so. With `why`
    the causes are there too. A tool further off than `tolerance` is marked.

        >>> print(opscope.reconcile("resnet18", with_=["fvcore", "torch"]))
    """
    tools = [with_] if isinstance(with_, str) else list(with_)
    check_tools(tools)
    if isinstance(model, (str, os.PathLike)) and os.fspath(model).endswith((".json", ".onnx", ".pt2")):
        raise error("a graph in a file cannot be run by other tools", os.fspath(model), "give the model itself")
    asked = Options(**options | {"tracer": "eager"})
    asked.refuse_edits("a comparison with other tools")
    graph, answer = peers_of(_source_of(model, asked), inputs, asked, tools, lambda _: None)
    return Reconciliation(native.reconcile(graph, json.dumps(answer)), why, tolerance)
