"""What a GraphModule of the user's is called with, and what is wrong where it is none or takes something else."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from opscope.errors import error
from opscope.inputs import Inputs, as_inputs
from opscope.tracers.tensor_meta import is_weight, placeholder_inputs


def graph_module_inputs(module: Any, inputs: Any, name: str) -> Inputs:
    """The inputs given, else those that the placeholders' metadata describes. Throws Error where they do not fit."""
    if not isinstance(module, torch.fx.GraphModule):
        raise error(f"{type(module).__name__} is not a torch.fx.GraphModule", "module", _other_hint(module))
    if inputs is None and _weights(module):
        raise error("the graph takes its weights as inputs, and none are given", name, _placeholders_hint(module))
    arguments = as_inputs(placeholder_inputs(module) if inputs is None else inputs)
    try:
        inspect.signature(module.forward).bind(*arguments.args, **arguments.kwargs)
    except TypeError as problem:
        raise error(f"the inputs are not what the graph takes: {problem}", name, _placeholders_hint(module)) from None
    return arguments


def _other_hint(module: Any) -> str:
    if isinstance(module, torch.export.ExportedProgram):
        return "give its .module()"
    return "opscope.trace takes any model; torch.fx.symbolic_trace(model) makes a GraphModule"


def _placeholders_hint(module: torch.fx.GraphModule) -> str:
    weights = _weights(module)
    if weights and "val" in weights[0].meta:
        return f"{weights[0].name} is a weight: of an exported program give .module() instead of .graph_module"
    if weights:
        return f"{weights[0].name} is a weight: an extractor's partition(1) has them in their place"
    names = [str(node.target) for node in module.graph.nodes if node.op == "placeholder"]
    return f"it takes {', '.join(names) or 'nothing'}"


def _weights(module: torch.fx.GraphModule) -> list[torch.fx.Node]:
    return [node for node in module.graph.nodes if is_weight(node)]
