"""What the engine's tests share: captures as plain data, functions as models."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import nn

from opscope.engine import abstract_run

X = torch.randn(2, 8)
IMAGE = torch.randn(1, 3, 8, 8)


def graph_of(model, *args, tracer="static", device=None, **kwargs):
    return json.loads(abstract_run.capture(model, args, kwargs, tracer=tracer, name="model", device=device).to_json())


def ops_of(model, *args, **kwargs):
    return [op["op"].removeprefix("aten::") for op in graph_of(model, *args, **kwargs)["ops"]]


def outputs_of(graph):
    values = {value["id"]: value for value in graph["values"]}
    return [(tuple(values[i]["shape"]), values[i]["dtype"]) for i in graph["outputs"]]


def called(function):
    """A function as a model without modules."""

    class Called(nn.Module):
        def forward(self, *args, **kwargs):
            return function(*args, **kwargs)

    return Called().eval()


def rows(graph: dict[str, Any]) -> list[Any]:
    """Each op with its module, and its outputs' shape, dtype and strides where these mean anything."""

    def seen(value: dict[str, Any]) -> Any:
        strides = value.get("strides", [])
        matter = [stride for size, stride in zip(value["shape"], strides, strict=False) if size != 1]
        return value["shape"], value["dtype"], None if 0 in value["shape"] else matter

    paths = [graph["modules"][scope["module"]]["path"] for scope in graph["scopes"]]
    values = graph["values"]
    return [(op["op"], paths[op.get("scope", 0)], [seen(values[i]) for i in op["outputs"]]) for op in graph["ops"]]
