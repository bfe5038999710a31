"""torch.fx.symbolic_trace: runs forward once on symbols, so whatever looks at a value or a size stops it."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from opscope.tracers.traced import Traced, TracedPart


def trace(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    try:
        module = _symbolic_trace(model)
    except Exception as problem:
        module = _with_defaults(model, args, kwargs, problem)
    return traced_module(module, args, kwargs, model)


def traced_module(
    module: torch.fx.GraphModule, args: tuple[Any, ...], kwargs: dict[str, Any], model: torch.nn.Module | None = None
) -> Traced:
    """A GraphModule with what it is called with."""
    root = module if model is None else model
    part = TracedPart("forward", module, placeholder_values(module, args, kwargs), {"": root})
    return Traced("fx", root, args, kwargs, [part])


def _symbolic_trace(model: torch.nn.Module, held: dict[str, Any] | None = None) -> torch.fx.GraphModule:
    """As torch.fx.symbolic_trace does it, with the line of each node."""
    tracer = torch.fx.Tracer()
    tracer.record_stack_traces = True
    graph = tracer.trace(model, held)
    named = model if hasattr(model, "__name__") else type(model)  # a function, else a module's class
    return torch.fx.GraphModule(tracer.root, graph, named.__name__)  # type: ignore[union-attr]


def _with_defaults(model: torch.nn.Module, args: Any, kwargs: Any, problem: Exception) -> torch.fx.GraphModule:
    """Once more with the arguments that were not given held at their defaults: symbols in their place confuse most."""
    parameters = _signature(model).parameters
    given = _signature(model).bind(*args, **kwargs).arguments
    rest = {p.name: p.default for p in parameters.values() if p.name not in given and p.default is not p.empty}
    if not rest:
        raise problem
    try:
        module = _symbolic_trace(model, rest)
    except Exception as second:
        raise second from problem
    _forget_defaults(module, rest)
    return module


def _signature(model: Any) -> inspect.Signature:
    return inspect.signature(getattr(model, "forward", model))


def _forget_defaults(module: torch.fx.GraphModule, rest: dict[str, Any]) -> None:
    """Takes out the placeholders of arguments held at their defaults, and the checks that they still are."""
    for node in reversed(list(module.graph.nodes)):
        held = node.op == "placeholder" and node.target.removesuffix("_1") in rest
        check = node.op == "call_function" and getattr(node.target, "__name__", "") in ("_assert_is_none", "_assert")
        if (held or check) and not node.users:
            module.graph.erase_node(node)
    module.recompile()


def placeholder_values(module: torch.fx.GraphModule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """What a call with these arguments gives each placeholder, in their order."""
    bound = inspect.signature(module.forward).bind(*args, **kwargs)
    bound.apply_defaults()
    nodes = (node for node in module.graph.nodes if node.op == "placeholder")
    return tuple(bound.arguments[str(node.target).lstrip("*")] for node in nodes)
