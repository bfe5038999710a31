"""torch.export without its strict mode, which runs forward in Python on fake tensors; and Dynamo's older export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from opscope.engine.nested import named_tensors, replace, tensors_in
from opscope.engine.structural_copy import root_module
from opscope.errors import error
from opscope.tracers.node_runs import calls_of, plain_path
from opscope.tracers.traced import Traced, TracedPart


def trace(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    return _plainly(_export, model, args, kwargs)


def trace_with_dynamo(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """One graph of torch-level functions, or an error: a graph break ends it."""
    return _plainly(_export_with_dynamo, model, args, kwargs)


def _export(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    with torch.no_grad():
        program = export_program(model, args, kwargs)
    flat = tuple(program._graph_module_flat_inputs(args, kwargs))
    part = TracedPart("forward", program.graph_module, flat, {"": model})
    return Traced("export", model, args, kwargs, [part])


def export_program(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.export.ExportedProgram:
    hooks = torch.nn.modules.module._global_buffer_registration_hooks
    before = set(hooks)
    try:
        return torch.export.export(model, args, kwargs, strict=False)
    finally:
        for hook in set(hooks) - before:  # torch 2.8 to 2.11 forget theirs where an export fails
            del hooks[hook]


def _export_with_dynamo(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    from torch._dynamo import export

    with torch.no_grad():
        module, _ = export(model, assume_static_by_default=True)(*args, **kwargs)
    flat = tuple(tree_leaves((args, kwargs)))
    wanted = sum(node.op == "placeholder" for node in module.graph.nodes)
    if wanted != len(flat):
        raise error(f"Dynamo's graph takes {wanted} inputs and the model {len(flat)}", "dynamo_export", "use --tracer export")
    roots = {"": model, **_own_names(module, model)}
    _call_own_modules(module, roots)
    part = TracedPart("forward", module, flat, roots)
    return Traced("dynamo_export", model, args, kwargs, [part])


class _Function(torch.nn.Module):
    """A callable that is no module; what it belongs to is found all the same."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.owner = root_module(function)
        self._function = [function]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function[0](*args, **kwargs)


class _Plain(torch.nn.Module):
    """A model that takes its tensors one by one and gives them back in a dict: what any tracer can take and give."""

    def __init__(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        super().__init__()
        self.model = model
        self._inputs = [args, kwargs]  # in a list: where the tensors go, not buffers of this module

    def forward(self, *tensors: torch.Tensor) -> dict[str, torch.Tensor]:
        given = iter(tensors)
        args, kwargs = replace(self._inputs, "", lambda *_: next(given))
        return dict(named_tensors(self.model(*args, **kwargs)))


def _plainly(make: Callable[..., Traced], model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Traced:
    """As it is; and where the model takes or gives things that are no plain containers, such as a cache, by its tensors."""
    if not isinstance(model, torch.nn.Module):
        model = _Function(model).eval()
    try:
        return make(model, args, kwargs)
    except Exception as problem:
        if not any(sign in str(problem) for sign in _NOT_PLAIN):
            raise
        try:
            plain = make(_Plain(model, args, kwargs).eval(), tuple(tensors_in((args, kwargs))), {})
        except Exception:
            raise problem from None
    return Traced(plain.tracer, model, args, kwargs, plain.parts)


# How PyTorch says that it met something that is no tensor and no container it knows.
_NOT_PLAIN = ("register a pytree", "not a known type", "Unsupported input type", "pytree", "output consist of", "It looks like one of the")


def _own_names(module: torch.fx.GraphModule, model: torch.nn.Module) -> dict[str, Any]:
    """What Dynamo calls the model: `L['self']`, after forward's own name for it."""
    stacks = (node.meta.get("nn_module_stack") or {} for node in module.graph.nodes)
    paths = {plain_path(path) for stack in stacks for path, _ in stack.values()}
    return {path.partition("]")[0] + "]": model for path in paths if path.startswith("L[")}


def _call_own_modules(module: torch.fx.GraphModule, roots: Mapping[str, Any]) -> None:
    """A graph of torch 2.8 or 2.9 calls copies of the model's modules."""
    called = {node.target: calls_of(node, roots) for node in module.graph.nodes if node.op == "call_module"}
    for target, calls in called.items():
        if calls:
            module.set_submodule(target, calls[-1][0])
