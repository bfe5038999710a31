"""torch.export without its strict mode, which runs forward in Python on fake tensors; and Dynamo's older export."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from opscope.errors import error
from opscope.tracers.traced import Traced, TracedPart


def trace(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    with torch.no_grad():
        program = torch.export.export(model, args, kwargs, strict=False)
    flat = tuple(program._graph_module_flat_inputs(args, kwargs))
    part = TracedPart("forward", program.graph_module, flat, {"": model})
    return Traced("export", model, args, kwargs, [part])


def trace_with_dynamo(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """One graph of torch-level functions, or an error: a graph break ends it."""
    from torch._dynamo import export

    with torch.no_grad():
        module, _ = export(model, assume_static_by_default=True)(*args, **kwargs)
    flat = tuple(tree_leaves((args, kwargs)))
    wanted = sum(node.op == "placeholder" for node in module.graph.nodes)
    if wanted != len(flat):
        raise error(f"Dynamo's graph takes {wanted} inputs and the model {len(flat)}", "dynamo_export", "use --tracer export")
    part = TracedPart("forward", module, flat, {"": model, **_own_names(module, model)})
    return Traced("dynamo_export", model, args, kwargs, [part])


def _own_names(module: torch.fx.GraphModule, model: torch.nn.Module) -> dict[str, Any]:
    """What Dynamo calls the model: `L['self']`, after forward's own name for it."""
    stacks = (node.meta.get("nn_module_stack") or {} for node in module.graph.nodes)
    paths = {path for stack in stacks for path, _ in stack.values()}
    return {path.partition("]")[0] + "]": model for path in paths if path.startswith("L[")}
