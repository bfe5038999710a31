"""One fx graph as the text of an nn.Module: __init__ from what the graph names, forward from its nodes."""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import torch
from torch import nn
from torch.fx import GraphModule, Node
from torch.utils import _pytree as pytree

from opscope.engine.torch_version import parts_of
from opscope.errors import error, first_line
from opscope.tracers.node_runs import plain_path
from opscope.tracers.saved_code.functions import Unwritable
from opscope.tracers.saved_code.modules import constructor_call
from opscope.tracers.saved_code.shapes import described, node_values
from opscope.tracers.saved_code.text import INFIX, Text, identifier
from opscope.tracers.saved_code.tree import GraphClassText, Tree

_RESERVED = {"torch", "nn", "F", "DEVICE", "self", "math", "operator", "os", "sys"}
_RESERVED |= {"random_tensor", "shapes", "main", "example_inputs", "load_weights"}
_PARTS = re.compile(r"\.(\w+)|\['?([^'\]]+)'?\]")  # Dynamo's L['self'].layer1[0]._modules['conv']
_INPUT_NAME = re.compile(r"[lL]_(?:k?w?args_)?([A-Za-z].*?)_*$")  # Dynamo's l_kwargs_input_ids_


@dataclass
class Names:
    """What the file's classes share: the model's own names of its tensors and modules, the classes so far."""

    text: Text
    root: nn.Module | None
    tensors: dict[int, str]  # by id: a parameter's or buffer's path in the model
    inputs: frozenset[int] | None = None  # ids of the tensors that are inputs, where all others are weights
    classes: list[GraphClassText] = field(default_factory=list)

    def __post_init__(self) -> None:
        modules = self.root.named_modules() if self.root is not None else ()
        self._modules = {id(module): path for path, module in modules}

    def class_name(self, wanted: str) -> str:
        taken = {written.name for written in self.classes} | self.text.taken() | _RESERVED
        return identifier(wanted, taken)

    @property
    def training(self) -> bool:
        return self.root is not None and self.root.training

    def path_of(self, node: Node, roots: Mapping[str, Any]) -> str:
        """The innermost module that the tracer saw around a node, by its path in the model."""
        stack = node.meta.get("nn_module_stack")
        shown = plain_path(str(list(stack.values())[-1][0])) if stack else ""
        found: Any = None
        for name in sorted(roots, key=len):
            if name and (shown == name or shown.startswith((f"{name}.", f"{name}["))):
                found, shown = roots[name], shown[len(name) :]
        if found is None and roots.get("", self.root) is self.root:
            return shown if re.fullmatch(r"[\w.]+", shown) else ""
        if found is None:  # the tracer was given a module around the model
            found, shown = roots[""], f".{shown}"
        for part in _PARTS.findall(shown):
            found = _step(found, next(filter(None, part)))
        return str(self._modules.get(id(found), ""))

    def kind(self, path: str) -> str:
        """The class of the model's module at a path, for comments."""
        try:
            return type(self.root.get_submodule(path)).__name__ if self.root is not None else ""
        except AttributeError:
            return ""


def graph_class(
    wanted: str,
    module: GraphModule,
    args: tuple[Any, ...],
    names: Names,
    about: str = "",
    roots: Mapping[str, Any] | None = None,
) -> GraphClassText:
    """`roots` are what the paths in the nodes' module stacks begin with, where they are not the model's own."""
    made = _GraphClass(names.class_name(wanted), module, args, names, roots or {}).written(about)
    names.classes.append(made)
    return made


class _GraphClass:
    def __init__(self, name: str, module: GraphModule, args: tuple[Any, ...], names: Names, roots: Mapping[str, Any]) -> None:
        self.name, self.module, self.names, self.text, self.roots = name, module, names, names.text, roots
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.args = dict(zip(placeholders, args, strict=False))
        self.values = node_values(module, args)
        self.tree = Tree(self.text, self._nested, names.training)
        self.expressions: dict[Node, str] = {}
        self.replaced: dict[str, GraphModule] = {}  # submodules that no constructor call makes, by path

    def written(self, about: str) -> GraphClassText:
        inputs = self._collect()
        made = list(self.tree.lines())
        parameters = self._name_nodes(inputs)
        body = list(self._forward())
        lines = [f"class {self.name}(nn.Module):", *(f"    {line}".rstrip() for line in _docstring(about))]
        lines += ["    def __init__(self):", "        super().__init__()", *(f"        {line}" for line in made), ""]
        lines += [f"    def forward({', '.join(['self', *parameters])}):", *(f"        {line}".rstrip() for line in body)]
        given = [self.args.get(node, self.values.get(node)) for node in inputs]
        return GraphClassText(self.name, "\n".join(lines), self.tree.state, given)

    # --- what the graph names ---------------------------------------------------------------------------------

    def _collect(self) -> list[Node]:
        """Puts modules and tensors into the tree. The placeholders that stay inputs."""
        inputs = []
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                path = self._weight_path(node)
                if path is None:
                    inputs.append(node)
                else:
                    self._own(node, path, self.args[node])
            elif node.op == "get_attr":
                self._own(node, str(node.target), _attribute(self.module, str(node.target)))
            elif node.op == "call_module" and not self._is_guard(node):
                self._add(str(node.target), self._called_module(node))
            elif node.op == "call_function":
                with contextlib.suppress(Unwritable):  # the file knows the name before nodes get theirs
                    self.text.reference(node.target)
        return inputs

    def _own(self, node: Node, path: str, value: Any) -> None:
        self.expressions[node] = path  # a path until the tree is whole
        self._add(path, value)

    def _add(self, path: str, value: Any) -> None:
        self.tree.add(path, value, self.names.kind)

    def _weight_path(self, node: Node) -> str | None:
        """Tracers that pass parameters as inputs: they are the model's all the same."""
        value = self.args.get(node)
        if not isinstance(value, torch.Tensor):
            return None
        if id(value) in self.names.tensors:
            return self.names.tensors[id(value)]
        is_lifted = self.names.inputs is not None and id(value) not in self.names.inputs  # export passes constants so
        is_weight = isinstance(value, nn.Parameter) or is_lifted
        return identifier(node.name, ()) if is_weight else None

    def _is_guard(self, node: Node) -> bool:
        """Export's checks of its inputs' shapes; forward's comments say them."""
        return type(_attribute(self.module, str(node.target))).__name__ == "GuardsFn"

    def _called_module(self, node: Node) -> nn.Module:
        path, module = str(node.target), _attribute(self.module, str(node.target))
        if path in self.replaced:
            return self.replaced[path]
        if isinstance(module, GraphModule):
            return module
        try:
            constructor_call(module, self.text)
        except Unwritable as problem:
            self.replaced[path] = module = self._exported(node, module, problem)
        return cast(nn.Module, module)

    def _exported(self, node: Node, module: nn.Module, problem: Unwritable) -> GraphModule:
        """The graph of a submodule that cannot be made by a call, at the shapes that it is called with here."""
        try:
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda each: self.values[each])
            args, kwargs = pytree.tree_map_only(torch.Tensor, _zeros, (args, kwargs))
            made = torch.export.export(module, args, dict(kwargs), strict=False).module()
        except Exception as failure:
            raise error(
                f"{type(module).__name__} can be written neither as a constructor call ({problem}) nor as a graph",
                str(node.target),
                f"{first_line(failure)}; try --tracer export, which has no submodules",
            ) from failure
        self.text.note(f"{node.target} ({type(module).__name__}) is written as its graph: {problem}")
        return made

    def _nested(self, path: str, module: GraphModule) -> GraphClassText:
        """A graph inside the graph: a branch of a cond, a region without gradients, a submodule written out."""
        inner = replace(self.names, inputs=None, classes=self.names.classes)
        return graph_class(f"{self.name}_{path.replace('.', '_')}", module, self._nested_args(path, module), inner)

    def _nested_args(self, path: str, module: GraphModule) -> tuple[Any, ...]:
        for node in self.module.graph.nodes:
            if node.op == "call_module" and node.target == path:
                found = pytree.tree_leaves((node.args, dict(node.kwargs)))
                return tuple(self.values.get(each) if isinstance(each, Node) else each for each in found)
        return tuple(_noted(node) for node in module.graph.nodes if node.op == "placeholder")

    # --- forward ----------------------------------------------------------------------------------------------

    def _name_nodes(self, inputs: list[Node]) -> list[str]:
        taken = _RESERVED | self.text.taken() | {written.name for written in self.names.classes} | {self.name}
        parameters = []
        for node in self.module.graph.nodes:
            if node in self.expressions:
                self.expressions[node] = self.tree.expression(self.expressions[node])
                continue
            wanted = _INPUT_NAME.match(node.name) if node in inputs else None
            self.expressions[node] = identifier(wanted.group(1) if wanted else node.name, taken)
            taken.add(self.expressions[node])
            if node in inputs:
                parameters.append(self.expressions[node] + self._default(node))
        return parameters

    def _default(self, node: Node) -> str:
        return f"={self.text.value(node.args[0])}" if node.args else ""

    def _forward(self) -> Iterator[str]:
        for node in self.module.graph.nodes:
            if node.op != "placeholder" or not self.expressions[node].isidentifier():
                continue
            if shape := described(self.args.get(node, self.values.get(node))):
                yield f"# {self.expressions[node]}: {shape}"
        section = ""
        for node in self.module.graph.nodes:
            if node.op in ("placeholder", "get_attr") or (node.op == "call_module" and self._is_guard(node)):
                continue
            if (path := self.names.path_of(node, self.roots)) and path != section:
                section = path
                yield ""
                yield f"# {path}{f' ({kind})' if (kind := self.names.kind(path)) else ''}"
            yield self._statement(node)

    def _statement(self, node: Node) -> str:
        if node.op == "output":
            return f"return {self._returned(node)}"
        try:
            expression = self._expression(node)
        except Unwritable as problem:
            what = f"the node {node.name} cannot be written as Python: {problem}"
            raise error(what, str(node.target), "try another tracer") from problem
        if node.target is operator.setitem:
            return expression
        shape = described(self.values.get(node))
        target = f"{self.expressions[node]} = " if node.users else ""
        return f"{target}{expression}" + (f"  # {shape}" if shape else "")

    def _expression(self, node: Node) -> str:
        args = [self._value(each) for each in node.args]
        named = [f"{name}={self._value(each)}" for name, each in node.kwargs.items()]
        if node.op == "call_module":
            if str(node.target) in self.replaced:
                args, named = [self._value(each) for each in pytree.tree_leaves((node.args, dict(node.kwargs)))], []
            return f"{self.tree.expression(str(node.target))}({', '.join(args + named)})"
        if node.op == "call_method":
            return f"{_atom(args[0])}.{node.target}({', '.join(args[1:] + named)})"
        return self._infix(node, args, named) or f"{self.text.reference(node.target)}({', '.join(args + named)})"

    def _infix(self, node: Node, args: list[str], named: list[str]) -> str | None:
        """x + y, x[0] and x.shape, as a person writes them."""
        if named or not args:
            return None
        target: Any = node.target
        if target in INFIX and len(args) == 2:
            return f"{_atom(args[0])} {INFIX[target]} {_atom(args[1])}"
        if target is operator.getitem:
            return f"{_atom(args[0])}[{self._index(node.args[1])}]"
        if target is operator.setitem:
            return f"{_atom(args[0])}[{self._index(node.args[1])}] = {args[2]}"
        if target is getattr and len(args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{_atom(args[0])}.{node.args[1]}"
        return None

    def _index(self, index: Any) -> str:
        if isinstance(index, tuple) and index:
            return ", ".join(map(self._index_part, index)) + ("," if len(index) == 1 else "")
        return self._index_part(index)

    def _index_part(self, index: Any) -> str:
        if not isinstance(index, slice):
            return self._value(index)
        start, stop, step = ("" if part is None else self._value(part) for part in (index.start, index.stop, index.step))
        return f"{start}:{stop}" + (f":{step}" if step else "")

    def _value(self, value: Any) -> str:
        return self.text.value(value, lambda each: self.expressions[each] if isinstance(each, Node) else None)

    # --- what it returns --------------------------------------------------------------------------------------

    def _returned(self, node: Node) -> str:
        spec = getattr(getattr(self.module.graph._codegen, "pytree_info", None), "out_spec", None)
        if spec is None:
            return self._value(_plain(node.args[0]))
        leaves = iter([self._value(each) for each in pytree.tree_leaves(node.args[0], is_leaf=lambda each: each is None)])
        return _structured(spec, leaves)


def _attribute(module: GraphModule, path: str) -> Any:
    found: Any = module
    for name in path.split("."):
        found = getattr(found, name)
    return found


def _step(found: Any, name: str) -> Any:
    if isinstance(found, (list, tuple)):
        return found[int(name)] if name.isdigit() and int(name) < len(found) else None
    if isinstance(found, nn.Module) and name in found._modules:
        return found._modules[name]
    return found.get(name) if isinstance(found, dict) else getattr(found, name, None)


def _zeros(like: torch.Tensor) -> torch.Tensor:
    return torch.zeros(tuple(like.shape), dtype=like.dtype)


def _noted(node: Node) -> Any:
    return node.meta.get("val", node.meta.get("example_value"))


def _plain(value: Any) -> Any:
    """fx keeps its arguments in immutable lists and dicts; models' outputs may be dicts of their own kind."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(map(_plain, value))
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _structured(spec: Any, leaves: Iterator[str]) -> str:
    """The leaves in plain lists, tuples and dicts, where the model had classes of its own."""
    if spec.is_leaf():
        return next(leaves)
    parts = [_structured(child, leaves) for child in parts_of(spec)]
    keys = _keys(spec, len(parts))
    if keys is not None:
        return f"{{{', '.join(f'{key!r}: {part}' for key, part in zip(keys, parts, strict=True))}}}"
    if spec.type is list:
        return f"[{', '.join(parts)}]"
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _keys(spec: Any, count: int) -> list[Any] | None:
    """Names of a dict's or dataclass's parts, as pytree keeps them beside its type."""
    if spec.type in (list, tuple) or (isinstance(spec.type, type) and hasattr(spec.type, "_fields")):
        return None
    context = spec.context
    for keys in (context, *(context if isinstance(context, (list, tuple)) else ())):
        is_list = isinstance(keys, (list, tuple)) and len(keys) == count
        if is_list and all(isinstance(key, (str, int)) for key in keys):
            return list(keys)
    return None


def _atom(text: str) -> str:
    is_simple = re.fullmatch(r"[\w.\[\]\"]+|\(.*\)", text) is not None and not text[0].isdigit()
    return text if is_simple or text.replace(".", "").isdigit() else f"({text})"


def _docstring(about: str) -> list[str]:
    return [f'"""{about}"""', ""] if about else []
