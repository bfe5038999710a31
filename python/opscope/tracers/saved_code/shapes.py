"""What every node of a graph gives: from the tracer's own notes or, where it left none, from a run without data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree

_NOTES = ("val", "example_value", "tensor_meta")


def node_values(module: torch.fx.GraphModule, args: tuple[Any, ...]) -> dict[torch.fx.Node, Any]:
    """By node, a tensor without data or a nest of them; nodes whose shape is not known are left out."""
    noted = {node: value for node in module.graph.nodes if (value := _note(node)) is not None}
    if all(node in noted for node in module.graph.nodes if node.op in ("call_module", "call_function", "call_method")):
        return noted
    run = _ShapeRun(module)
    try:
        with run.mode:
            run.run(*pytree.tree_map(run.without_data, args), enable_io_processing=False)
    except Exception:  # a node that needs data: what is known up to it is kept
        pass
    return {**noted, **run.values}


def described(value: Any) -> str:
    """'float32[1, 64, 56, 56]', and so for what a tuple or dict holds; '' for what needs no word."""
    if isinstance(value, torch.Tensor) or hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{str(value.dtype).removeprefix('torch.')}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, dict):
        parts = [f"{key}: {text}" for key, part in value.items() if (text := described(part))]
        return f"{{{', '.join(parts)}}}" if parts else ""
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        parts = [described(part) or str(part) for part in value]
        return f"({', '.join(parts)})" if parts and any(described(part) for part in value) else ""
    return str(value) if isinstance(value, (int, float, torch.Size, torch.SymInt)) and not isinstance(value, bool) else ""


def _note(node: torch.fx.Node) -> Any:
    return next((node.meta[name] for name in _NOTES if node.meta.get(name) is not None), None)


class _ShapeRun(torch.fx.Interpreter):
    """Runs a graph on fake tensors, all of them on one device: weights may be on none while inputs are real."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True))
        self.values: dict[torch.fx.Node, Any] = {}
        self._made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def without_data(self, value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self._made:
            with self.mode:
                device = "cpu" if value.device.type == "meta" else value.device
                fake = torch.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device=device)
            self._made[id(value)] = (value, fake)
        return self._made[id(value)][1]

    def fetch_attr(self, target: str) -> Any:
        found = super().fetch_attr(target)
        return found if isinstance(found, torch.nn.Module) else self.without_data(found)

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        module = self.fetch_attr(target)
        with _fake_state(module, self.without_data):
            return module(*args, **kwargs)

    def run_node(self, node: torch.fx.Node) -> Any:
        value = super().run_node(node)
        self.values[node] = value
        return value


@contextmanager
def _fake_state(module: torch.nn.Module, without_data: Any) -> Iterator[None]:
    state = dict(module.named_parameters()) | dict(module.named_buffers())
    fakes = {name: without_data(tensor) for name, tensor in state.items()}
    with torch.nn.utils.stateless._reparametrize_module(module, fakes):
        yield
