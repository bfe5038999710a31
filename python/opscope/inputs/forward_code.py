"""Reads the code of a module's forward to see which layer each argument reaches first. The code is never run."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from opscope.inputs.layers import is_transparent

_DEPTH = 24


@dataclass(frozen=True)
class Consumer:
    """The layer that takes an argument, the way to it, and as which of its arguments."""

    layer: nn.Module
    path: str
    position: int = 0
    joined: tuple[str, ...] = ()  # arguments that were joined into one before they reached the layer


def consumers(module: nn.Module, path: str = "", depth: int = 0) -> dict[str, Consumer]:
    """For each argument of the module's forward, the innermost layer that takes it, where the code tells."""
    if depth > _DEPTH:
        return {}
    if isinstance(module, (nn.Sequential, nn.ModuleList)):
        found = _first_child(module, path, depth)
        return {"input": found} if found else {}
    reader = _read(module, "forward", module)
    if reader is None:
        return {}
    return {
        name: inner
        for name, consumer in reader.found.items()
        if (inner := _innermost(consumer, path, depth)) is not None
    }


def _first_child(module: Any, path: str, depth: int) -> Consumer | None:
    for name, child in module.named_children():
        if not is_transparent(child):
            return _innermost(Consumer(child, name), path, depth)
    return None


def _innermost(consumer: Consumer, path: str, depth: int) -> Consumer | None:
    """Down to a layer of PyTorch's: what forward gives to a block is what the block gives to its first layer."""
    layer, here = consumer.layer, f"{path}.{consumer.path}" if path and consumer.path else path or consumer.path
    if type(layer).__module__.startswith("torch.") and not isinstance(layer, (nn.Sequential, nn.ModuleList)):
        return Consumer(layer, here, consumer.position, consumer.joined)
    inner = consumers(layer, here, depth + 1)
    if isinstance(layer, (nn.Sequential, nn.ModuleList)):
        found = inner.get("input")
    else:
        names = _parameter_names(layer)
        found = inner.get(names[consumer.position]) if consumer.position < len(names) else None
    if found is None:
        return Consumer(layer, here, consumer.position, consumer.joined)
    return Consumer(found.layer, found.path, found.position, consumer.joined or found.joined)


def _parameter_names(module: Any) -> list[str]:
    try:
        return list(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        return []


@functools.lru_cache(maxsize=512)
def _tree(function: Any) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, IndentationError, ValueError):
        return None
    found = tree.body[0] if tree.body else None
    return found if isinstance(found, ast.FunctionDef) else None


def _read(module: nn.Module, method: str, owner: Any) -> _Reader | None:
    function = inspect.unwrap(getattr(type(owner), method, None) or (lambda: None))
    tree = _tree(function)
    if tree is None:
        return None
    names = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
    reader = _Reader(module, {name: frozenset({name}) for name in names[1:]})
    for statement in tree.body:
        reader.visit(statement)
    return reader


def _has_items(value: Any) -> bool:
    return isinstance(value, (nn.ModuleList, nn.Sequential, list, tuple)) and len(value) > 0


@dataclass
class _Reader(ast.NodeVisitor):
    """Walks statements in order; `holds` says which arguments a name still stands for, untouched by any layer."""

    module: nn.Module
    holds: dict[str, frozenset[str]]
    found: dict[str, Consumer] = field(default_factory=dict)
    layers: dict[str, tuple[Any, str]] = field(default_factory=dict)  # loop variables that stand for layers

    def visit_Assign(self, node: ast.Assign) -> None:
        held = self._held(node.value)
        layer = self._layer(node.value)
        for target in node.targets:
            names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name)]
            for name in names:
                self.holds[name] = held
                if layer is not None:
                    self.layers[name] = layer

    def visit_For(self, node: ast.For) -> None:
        items = self._layer(node.iter)
        if items is not None and isinstance(node.target, ast.Name) and _has_items(items[0]):
            self.layers[node.target.id] = (items[0][0], f"{items[1]}.0")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self._held(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._held(node)

    def _held(self, node: ast.AST | None) -> frozenset[str]:
        """The arguments that an expression is, in another form at most; calls of layers are noted on the way."""
        if isinstance(node, ast.Name):
            return self.holds.get(node.id, frozenset())
        if isinstance(node, ast.Call):
            return self._called(node)
        if isinstance(node, (ast.Subscript, ast.Attribute, ast.Starred)):
            return self._held(node.value)
        if isinstance(node, (ast.Tuple, ast.List)):
            return frozenset().union(*(self._held(item) for item in node.elts))
        if isinstance(node, ast.BinOp):
            return self._held(node.left) | self._held(node.right)
        if isinstance(node, ast.IfExp):
            return self._held(node.body) | self._held(node.orelse)
        return frozenset()

    def _called(self, node: ast.Call) -> frozenset[str]:
        arguments = [self._held(argument) for argument in node.args]
        named = {keyword.arg or "": self._held(keyword.value) for keyword in node.keywords}
        layer = self._layer(node.func)
        if layer is not None and isinstance(layer[0], nn.Module):
            if is_transparent(layer[0]):
                return frozenset().union(*arguments, *named.values())
            names = _parameter_names(layer[0])
            for position, held in [
                *enumerate(arguments),
                *((names.index(k), v) for k, v in named.items() if k in names),
            ]:
                self._note(layer, position, held)
            return frozenset()
        if layer is not None and inspect.ismethod(layer[0]) and layer[0].__self__ is self.module:
            return self._method(layer[0], node, arguments)
        own = self._held(node.func.value) if isinstance(node.func, ast.Attribute) else frozenset()
        return own.union(*arguments, *named.values())

    def _method(self, method: Any, node: ast.Call, arguments: list[frozenset[str]]) -> frozenset[str]:
        """A method of the module itself: its code is read with the same names."""
        name = getattr(method, "__name__", "")
        inner = _read(self.module, name, self.module) if name != "forward" and len(self.found) < 64 else None
        if inner is None:
            return frozenset().union(*arguments)
        names = [n for n in inner.holds if n in inspect.signature(method).parameters]
        for position, held in enumerate(arguments):
            consumer = inner.found.get(names[position]) if position < len(names) else None
            if consumer is not None:
                self._note((consumer.layer, consumer.path), consumer.position, held)
        return frozenset()

    def _note(self, layer: tuple[Any, str], position: int, held: frozenset[str]) -> None:
        joined = tuple(sorted(held)) if len(held) > 1 else ()
        for name in held:
            self.found.setdefault(name, Consumer(layer[0], layer[1], position, joined))

    def _layer(self, node: ast.AST) -> tuple[Any, str] | None:
        """What `self.a.b[0]` is in this module, and its path."""
        if isinstance(node, ast.Name):
            return (self.module, "") if node.id == "self" else self.layers.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._layer(node.value)
            value = getattr(owner[0], node.attr, None) if owner is not None else None
            path = f"{owner[1]}.{node.attr}" if owner is not None and owner[1] else node.attr
            return (value, path) if value is not None else None
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            owner, key = self._layer(node.value), str(node.slice.value)
            try:
                return (owner[0][node.slice.value], f"{owner[1]}.{key}") if owner is not None else None
            except (TypeError, IndexError, KeyError):
                return None
        return None
