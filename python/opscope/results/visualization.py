"""Drawings of a model's graph."""

from __future__ import annotations

import os
from typing import Any

import torch

from opscope.api import Graph, capture, from_graph_module, trace
from opscope.errors import error

_TRACERS = {"symbolic_trace": "fx", "dynamo_export": "dynamo"}


def generate_visualization(
    traced_graph: Any,
    example_inputs: Any = None,
    output_path: str | os.PathLike[str] | None = None,
    model_name: str | None = None,
    trace_method: str | None = None,
    *,
    level: str = "layer",
    color: str = "category",
    depth: int | None = None,
    focus: str = "",
    max_nodes: int = 60,
    fold: bool = True,
) -> str:
    """Draws a graph to a .png, .pdf, .svg, .dot or .html, and returns a line with its path.

    `traced_graph` is an fx GraphModule, an opscope Graph, an nn.Module or a model's name. `trace_method` names the tracer
    of a model that is not traced yet ('symbolic_trace', 'dynamo', 'export', 'hybrid'); by default the engine captures it.
    """
    if output_path is None:
        raise error("where should the picture go?", "output_path", "for example 'resnet18.png'")
    path = os.fspath(output_path)
    graph = _graph_of(traced_graph, example_inputs, model_name, trace_method)
    line: str = graph.profile()._native.draw(
        path, level=level, color=color, depth=depth, focus=focus, max_boxes=max_nodes, fold=fold
    )
    return line


def _graph_of(model: Any, inputs: Any, name: str | None, trace_method: str | None) -> Graph:
    if isinstance(model, Graph):
        return model
    if isinstance(model, torch.fx.GraphModule):
        return from_graph_module(model, inputs, name=name)
    named = {"name": name} if name and not isinstance(model, str) else {}
    if trace_method:
        return trace(model, inputs, tracer=_TRACERS.get(trace_method, trace_method), **named)
    return capture(model, inputs, **named)
