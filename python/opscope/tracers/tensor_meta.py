"""What tensors the nodes of an fx graph give: `tensor_meta`, which ShapeProp fills in and today's Dynamo does not.

`tensor_meta` is always one TensorMetadata, so that code may ask for its shape; a result of several is in `tensor_metas`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.node import map_aggregate, map_arg
from torch.fx.passes.shape_prop import TensorMetadata, _extract_tensor_metadata

from opscope.errors import error

__all__ = [
    "TensorMetadata",
    "example_of",
    "fill_tensor_meta",
    "is_weight",
    "placeholder_inputs",
    "tensor_metas",
    "without_data",
]



def fill_tensor_meta(module: torch.fx.GraphModule, inputs: Sequence[Any] | None = None) -> None:
    """Gives every node that makes one tensor its `tensor_meta`; tuples and the like are `tensor_metas`, in their form.

    Dynamo and export leave an example of each result on its node. Where a node has none, shapes alone are run through
    the graph, from the placeholders' examples or the `inputs`.
    """
    for node in module.graph.nodes:
        if not _has_meta(node):
            _set(node, _attribute(module, str(node.target)) if node.op == "get_attr" else example_of(node))
    calls = (node for node in module.graph.nodes if node.op.startswith("call_"))
    if any(not _has_meta(node) and example_of(node) is None for node in calls):
        _run_shapes(module, inputs)
    for node in module.graph.nodes:
        if node.op == "output":
            _keep(node, map_arg(node.args[0], tensor_metas))


def tensor_metas(node: torch.fx.Node) -> Any:
    """The metadata of a node's result, in its form: one, a tuple of them, or None."""
    return node.meta.get("tensor_meta", node.meta.get("tensor_metas"))


def _has_meta(node: torch.fx.Node) -> bool:
    return "tensor_meta" in node.meta or "tensor_metas" in node.meta


def _keep(node: torch.fx.Node, metas: Any) -> None:
    node.meta["tensor_meta" if isinstance(metas, TensorMetadata) else "tensor_metas"] = metas


def example_of(node: torch.fx.Node) -> Any:
    """The example that a tracer left: Dynamo's `example_value`, export's `val`."""
    return node.meta.get("example_value", node.meta.get("val"))


def is_weight(node: torch.fx.Node) -> bool:
    """Parameters and buffers that a tracer has made arguments of its graph: Dynamo's and export's ways of saying so."""
    if node.op != "placeholder":
        return False
    if isinstance(example_of(node), torch.nn.Parameter) or "_dynamo_static_input_type" in node.meta.get("tensor_dict", ()):
        return True
    return "val" in node.meta and "example_value" not in node.meta and node.name.startswith(("p_", "b_", "c_"))


def placeholder_inputs(module: torch.fx.GraphModule) -> tuple[Any, ...]:
    """What a graph is called with, without data, by its placeholders' metadata."""
    return tuple(_value_of(node) for node in module.graph.nodes if node.op == "placeholder")


def _value_of(node: torch.fx.Node) -> Any:
    example = example_of(node)
    example = node.meta.get("tensor_meta") if example is None else example
    if example is None and node.args:
        return node.args[0]  # its default
    if example is None:
        hint = "trace it with Dynamo or export, run ShapeProp over it, or give the inputs"
        raise error(f"nothing says which tensor the placeholder {node.name} takes", "", hint)
    return without_data(example)


def without_data(value: Any, device: torch.device | None = None) -> Any:
    """An example, or its metadata, as something to call a graph with: tensors on the meta device, sizes as numbers."""
    if isinstance(value, TensorMetadata):
        sizes, strides = _numbers(value.shape), _numbers(value.stride)
        return torch.empty_strided(sizes, strides, dtype=value.dtype, device=device or "meta")
    if isinstance(value, torch.Tensor):
        sizes, strides = _numbers(value.size()), _numbers(value.stride())
        return torch.empty_strided(sizes, strides, dtype=value.dtype, device=device or "meta")
    return _number(value)


def _numbers(sizes: Sequence[Any]) -> tuple[int, ...]:
    return tuple(map(_number, sizes))


def _number(value: Any) -> Any:
    """A symbol's size in the run that made it."""
    return value.node.hint if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value


def _attribute(module: torch.nn.Module, path: str) -> Any:
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


def _set(node: torch.fx.Node, value: Any) -> None:
    """The metadata of the tensors in a value; a node whose value has none gets nothing."""
    found = False

    def described(item: Any) -> Any:
        nonlocal found
        found = found or isinstance(item, torch.Tensor)
        return _extract_tensor_metadata(item) if isinstance(item, torch.Tensor) else item

    described_value = map_aggregate(value, described)
    if found:
        _keep(node, described_value)


class _Shapes(torch.fx.Interpreter):
    def run_node(self, n: torch.fx.Node) -> Any:
        result = super().run_node(n)
        if not _has_meta(n) and n.op != "output":
            _set(n, result)
        return result


def _run_shapes(module: torch.fx.GraphModule, inputs: Sequence[Any] | None) -> None:
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    values = list(inputs) if inputs is not None else [_placeholder_value(node) for node in nodes]
    mode = next((value.fake_mode for value in values if isinstance(value, FakeTensor)), None)
    mode = mode or FakeTensorMode(allow_non_fake_inputs=True)
    faked = [mode.from_tensor(v) if isinstance(v, torch.Tensor) and not isinstance(v, FakeTensor) else v for v in values]
    with mode, torch.no_grad():
        _Shapes(module).run(*faked, enable_io_processing=False)


def _placeholder_value(node: torch.fx.Node) -> Any:
    example = example_of(node)
    if example is None and isinstance(node.meta.get("tensor_meta"), TensorMetadata):
        return without_data(node.meta["tensor_meta"], torch.device("cpu"))
    return node.args[0] if example is None and node.args else example
