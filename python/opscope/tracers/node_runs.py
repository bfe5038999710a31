"""Runs a tracer's graphs under the capture engine, node by node, so that every op belongs to a node."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from opscope._load import native
from opscope.engine.nested import replace, tensors_in
from opscope.engine.source_lines import user_line
from opscope.tracers.traced import Traced, TracedPart

_ROOT = re.compile(r"[LG]\['[^']+'\]")  # Dynamo's names of a function's locals and globals
_GETATTR = re.compile(r"getattr\(([^()]*), '([^']*)'\)")  # a step that is a number, in torch 2.8 and 2.9
_STEP = re.compile(r"\.?([^.\[\]@]+)|\[(?:'([^']*)'|(\d+))\]")

Calls = list[tuple[torch.nn.Module, str]]  # the module calls around a node, outermost first, each with its key


class GraphRun:
    """A part whose nodes a session knows; it can be run any number of times."""

    def __init__(self, session: Any, part: TracedPart) -> None:
        self.session, self.part = session, part
        self.id = native.add_part(session, part.name)
        self.ids: dict[torch.fx.Node, int] = {}
        for node in part.module.graph.nodes:
            self.ids[node] = self._add(node)

    def _add(self, node: torch.fx.Node) -> int:
        called, calls = _called_module(node), calls_of(node, self.part.roots)
        owner = called if called is not None else calls[-1][0] if calls else None
        inputs = [self.ids[each] for each in node.all_input_nodes]
        line = user_line(node.meta.get("stack_trace") or "")
        return int(native.add_node(self.session, node.op, node.name, target_of(node), line, owner, inputs))

    def __call__(self, args: tuple[Any, ...], roots: Mapping[str, Any] | None = None) -> Any:
        """The part's result. `roots` say which modules its paths mean this time, where that may differ."""
        run = native.NodeRun(self.session, self.id)
        try:
            return _Runner(self.part.module, run, self.ids, {**self.part.roots, **(roots or {})}).run_flat(args)
        finally:
            run.leave_scope()


class _Runner(torch.fx.Interpreter):
    def __init__(
        self, module: torch.fx.GraphModule, run: Any, ids: Mapping[torch.fx.Node, int], roots: Mapping[str, Any]
    ) -> None:
        super().__init__(module)
        self._run, self._ids, self._roots = run, ids, roots
        self.extra_traceback = False  # its notes on an error would hide the error's first line

    def run_flat(self, args: tuple[Any, ...]) -> Any:
        return self.run(*args, enable_io_processing=False)

    def run_node(self, n: torch.fx.Node) -> Any:
        self._run.enter(self._ids[n], calls_of(n, self._roots) if n.op.startswith("call") else [])
        if isinstance(n.target, torch._ops.HigherOrderOperator):
            result = self._run_region(n)
            self._run.enter(self._ids[n], [])
        else:
            result = super().run_node(n)
        self._run.leave(list(tensors_in(result)))
        return result

    def fetch_args_kwargs_from_env(self, n: torch.fx.Node) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = super().fetch_args_kwargs_from_env(n)
        return tuple(map(_plain, args)), {name: _plain(value) for name, value in kwargs.items()}

    def _run_region(self, node: torch.fx.Node) -> Any:
        """A part of the model kept as a graph inside the graph: its ops are the outer node's, its modules its own."""
        args, kwargs = self.fetch_args_kwargs_from_env(node)

        def run_body(module: torch.fx.GraphModule, *inputs: Any) -> Any:
            ids = dict.fromkeys(module.graph.nodes, self._ids[node])
            return _Runner(module, _Inside(self._run), ids, self._roots).run_flat(inputs)

        bodies = (_Body(each, run_body) if isinstance(each, torch.fx.GraphModule) else each for each in args)
        return node.target(*bodies, **kwargs)  # type: ignore[operator]


class _Body:
    """A region's GraphModule, but for how it runs."""

    def __init__(self, module: torch.fx.GraphModule, run: Callable[..., Any]) -> None:
        self._module, self._run = module, run

    def __call__(self, *args: Any) -> Any:
        return self._run(self._module, *args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


def _plain(value: Any) -> Any:
    """Lists and dicts as the graph's code would make them: in a graph they cannot be changed, and models do."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return tuple(map(_plain, value)) if type(value) is tuple else value


class _Inside:
    """A run of a region: what its nodes give is not what the node around it gives."""

    def __init__(self, run: Any) -> None:
        self.enter, self._run = run.enter, run

    def leave(self, _: list[torch.Tensor]) -> None:
        self._run.leave_scope()


def through(traced: Traced) -> Callable[[Any], Callable[..., Any]]:
    """For the engine: given a session, what to call in the model's place. For graphs in one part."""

    def bound(session: Any) -> Callable[..., Any]:
        run = GraphRun(session, traced.parts[0])

        def call(*args: Any, **kwargs: Any) -> Any:
            given = map(id, tensors_in((traced.args, traced.kwargs)))
            stands_for = dict(zip(given, tensors_in((args, kwargs)), strict=True))
            return run(replace(traced.parts[0].args, "", lambda tensor, _: stands_for.get(id(tensor), tensor)))

        return call

    return bound


def calls_of(node: torch.fx.Node, roots: Mapping[str, Any]) -> Calls:
    """The module calls that a tracer noted around a node; a called module enters its own."""
    calls = []
    if node.target is getattr and isinstance(node.args[0], torch.fx.Node):
        node = node.args[0]  # fx notes an attribute where it is used
    for key, (path, _) in (node.meta.get("nn_module_stack") or {}).items():
        module = _module_at(roots, path)
        if module is not None:
            calls.append((module, f"{key} {path}"))  # a module that has two paths has one key
    called = _called_module(node)
    if called is not None and calls and calls[-1][0] is called:
        calls.pop()
    return calls


def _called_module(node: torch.fx.Node) -> torch.nn.Module | None:
    owner = node.graph.owning_module
    return owner.get_submodule(str(node.target)) if node.op == "call_module" and owner is not None else None


def plain_path(path: str) -> str:
    """One of Dynamo's, without calls in it."""
    plain = _GETATTR.sub(r"\1.\2", path)
    return path if plain == path else plain_path(plain)


def _module_at(roots: Mapping[str, Any], path: str) -> torch.nn.Module | None:
    path = plain_path(path)
    root = _ROOT.match(path)
    found = roots.get(root.group() if root else "")
    for step in _STEP.finditer(path, root.end() if root else 0):
        found = _step(found, next(part for part in step.groups() if part is not None))
    return found if isinstance(found, torch.nn.Module) else None


def _step(value: Any, name: str) -> Any:
    if name in ("_modules", "__self__") and isinstance(value, torch.nn.Module):
        return value  # the next step names one of them; or it is a method of it
    if name.startswith("slice(") and isinstance(value, (torch.nn.Sequential, torch.nn.ModuleList)):
        return value[slice(*(None if part == "None" else int(part) for part in name[6:-1].split(", ")))]
    if isinstance(value, torch.nn.Module):
        return value._modules.get(name, getattr(value, name, None))
    if isinstance(value, (list, tuple)):
        return value[int(name)] if name.isdigit() and int(name) < len(value) else None
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def target_of(node: torch.fx.Node) -> str:
    if node.op != "call_function":
        return str(node.target)
    if isinstance(node.target, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)):
        return str(node.target)
    return str(node._pretty_print_target(node.target))
