"""What tensors the nodes of an fx graph give: `tensor_meta`, which ShapeProp fills in and today's Dynamo does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.node import map_aggregate, map_arg
from torch.fx.passes.shape_prop import TensorMetadata, _extract_tensor_metadata

__all__ = ["TensorMetadata", "example_of", "fill_tensor_meta", "without_data"]


def fill_tensor_meta(module: torch.fx.GraphModule, inputs: Sequence[Any] | None = None) -> None:
    """Gives every node that makes tensors its `tensor_meta`, in the form of its result: one, or a tuple of them.

    Dynamo and export leave an example of each result on its node. Where a node has none, shapes alone are run through
    the graph, from the placeholders' examples or the `inputs`.
    """
    for node in module.graph.nodes:
        if "tensor_meta" not in node.meta:
            _set(node, _attribute(module, str(node.target)) if node.op == "get_attr" else example_of(node))
    calls = (node for node in module.graph.nodes if node.op.startswith("call_"))
    if any("tensor_meta" not in node.meta and example_of(node) is None for node in calls):
        _run_shapes(module, inputs)
    for node in module.graph.nodes:
        if node.op == "output":
            metas = map_arg(node.args[0], lambda given: given.meta.get("tensor_meta"))
            node.meta.setdefault("tensor_meta", metas)


def example_of(node: torch.fx.Node) -> Any:
    """The example that a tracer left: Dynamo's `example_value`, export's `val`."""
    return node.meta.get("example_value", node.meta.get("val"))


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
        node.meta["tensor_meta"] = described_value


class _Shapes(torch.fx.Interpreter):
    def run_node(self, n: torch.fx.Node) -> Any:
        result = super().run_node(n)
        if "tensor_meta" not in n.meta and n.op != "output":
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
