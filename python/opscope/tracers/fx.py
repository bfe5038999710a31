"""torch.fx.symbolic_trace: runs forward once on symbols, so whatever looks at a value or a size stops it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

import torch

from opscope.engine.nested import tensors_in
from opscope.errors import error
from opscope.tracers.traced import Traced, TracedPart


def trace(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    _check(model)
    signature = inspect.signature(getattr(model, "forward", model))
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    held = {name: value for name, value in bound.arguments.items() if _is_held(signature.parameters[name], value)}
    module = _symbolic_trace(model, held)
    part = TracedPart("forward", module, _values(module, bound.arguments), {"": model})
    return Traced("fx", model, args, kwargs, [part])


def _check(model: Any) -> None:
    if not isinstance(model, (torch.nn.Module, FunctionType)):
        kind = type(model).__name__
        raise error(f"symbolic tracing takes modules and functions, and this is a {kind}", "fx", "use --tracer export")
    if isinstance(model, torch.nn.Module) and (model._forward_hooks or model._forward_pre_hooks):
        raise error("symbolic tracing does not run the hooks of the model itself, and it has some", "fx", "use --tracer export")


def _is_held(parameter: inspect.Parameter, value: Any) -> bool:
    """Arguments that are no tensors, given or by default, keep their values: a symbol in their place takes other branches."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return False
    return next(tensors_in(value), None) is None


def traced_module(module: torch.fx.GraphModule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """Any GraphModule with what it is called with."""
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return Traced("fx", module, args, kwargs, [TracedPart("forward", module, _values(module, bound.arguments), {"": module})])


def _symbolic_trace(model: Any, held: dict[str, Any]) -> torch.fx.GraphModule:
    """As torch.fx.symbolic_trace does it; with the line of each node where the modules that takes, seconds, are there."""
    tracer = torch.fx.Tracer()
    tracer.record_stack_traces = "torch._dynamo" in sys.modules
    graph = tracer.trace(model, held or None)
    named = model if isinstance(model, FunctionType) else type(model)
    module = torch.fx.GraphModule(tracer.root, graph, named.__name__)
    if held:
        _forget(module, held)
    return module


def _forget(module: torch.fx.GraphModule, held: dict[str, Any]) -> None:
    """Takes out the placeholders of arguments whose values are held, and the checks that they still have them."""
    graph = module.graph
    places = [node for node in graph.nodes if node.op == "placeholder" and node.target.removesuffix("_1") in held]
    checks = {user for place in places for user in _users(place)}
    for node in reversed(list(graph.nodes)):
        if node in checks or node in places and not node.users:
            graph.erase_node(node)
    module.recompile()


def _users(place: torch.fx.Node) -> list[torch.fx.Node]:
    """The comparison of a held argument with its value, and the assertion of that."""
    found = [user for user in place.users if user.op == "call_function"]
    return [*found, *(user for each in found for user in each.users)]


def _values(module: torch.fx.GraphModule, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    """What each placeholder takes, in their order."""
    nodes = (node for node in module.graph.nodes if node.op == "placeholder")
    return tuple(arguments[str(node.target).lstrip("*")] for node in nodes)
