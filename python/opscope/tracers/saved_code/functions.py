"""Functions that are not PyTorch's own, in a file that runs by itself: written out with what they use.

A library's function that cannot be written out (a closure, C code) is imported; a user's cannot be, since the
file must run without the user's.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import sys
import textwrap
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from opscope.tracers.saved_code.text import Text

_MOST = 24  # definitions that one function may bring along


class Unwritable(Exception):
    """Has no form in a file of Python; the text says why."""


def is_standard(module: str) -> bool:
    top = module.partition(".")[0]
    return top == "torch" or top in sys.stdlib_module_names


def inline(function: Any, text: Text) -> str:
    """Defines the function in the file, and what it uses before it. Its name there."""
    made = _Definitions()
    name = made.define(function)
    for each, source in made.sources.items():
        if text.definitions.get(each, source) != source:
            raise Unwritable(f"two different things are called {each}")
    text.imports |= made.imports
    text.definitions.update(made.sources)
    return name


def library_import(function: Any, text: Text) -> str | None:
    """`from library import name`, where that gives this very object in a fresh interpreter too."""
    module, name = getattr(function, "__module__", None), getattr(function, "__name__", None)
    if not module or not name or module == "__main__" or not name.isidentifier() or not _is_installed(module):
        return None
    if getattr(importlib.import_module(module), name, None) is not function:
        return None
    text.imports.add(f"from {module} import {name}")
    return str(name)


def _is_installed(module: str) -> bool:
    file = getattr(sys.modules.get(module.partition(".")[0]), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


class _Definitions:
    """Sources of functions and classes by name, each after those that it uses."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.imports: set[str] = set()
        self._under_way: dict[str, Any] = {}

    def define(self, thing: Any) -> str:
        name = str(thing.__name__)
        if self._under_way.get(name, thing) is not thing:
            raise Unwritable(f"two different things are called {name}")
        if name in self._under_way:
            return name
        if len(self._under_way) == _MOST:
            raise Unwritable(f"it uses more than {_MOST} other definitions")
        self._under_way[name] = thing
        source = _source_of(thing)
        for used in _names_used(source):
            self._bring(used, thing)
        self.sources[name] = source
        return name

    def _bring(self, name: str, user: Any) -> None:
        """Has the file know a name that `user` takes from its module."""
        scope = sys.modules[user.__module__].__dict__ if inspect.isclass(user) else user.__globals__
        if name not in scope:
            if not hasattr(builtins, name):
                raise Unwritable(f"the name {name} in {user.__name__} is not its module's")
            return
        value = scope[name]
        if (line := _import_line(sys.modules[user.__module__], name)) is not None:
            self.imports.add(line)
        elif _is_plain(value):
            self.sources[name] = f"{name} = {value!r}"
        elif inspect.isfunction(value) or inspect.isclass(value):
            if self.define(value) != name:
                self.sources[name] = f"{name} = {value.__name__}"
        else:
            raise Unwritable(f"{name} is a {type(value).__name__}")


def _import_line(module: ModuleType, name: str) -> str | None:
    """The import that brings a name into a module, where it is of the standard library or of torch."""
    try:
        tree = ast.parse(inspect.getsource(module))
    except (OSError, TypeError, SyntaxError):
        return None
    for node in ast.walk(tree):
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            if (alias.asname or alias.name.partition(".")[0]) != name:
                continue
            renamed = f" as {alias.asname}" if alias.asname else ""
            if isinstance(node, ast.Import) and is_standard(alias.name):
                return f"import {alias.name}{renamed}"
            if isinstance(node, ast.ImportFrom) and node.level == 0 and is_standard(node.module or ""):
                return f"from {node.module} import {alias.name}{renamed}"
    return None


def _source_of(thing: Any) -> str:
    if getattr(thing, "__closure__", None):
        raise Unwritable(f"{thing.__name__} is a closure")
    if getattr(thing, "__name__", "") == "<lambda>":
        raise Unwritable("a lambda has no source of its own")
    try:
        return textwrap.dedent(inspect.getsource(thing)).rstrip()
    except (OSError, TypeError):
        raise Unwritable(f"the source of {getattr(thing, '__name__', thing)} is not there") from None


def _names_used(source: str) -> list[str]:
    """Names that the text takes from around it, annotations among them; in order of appearance."""
    tree = ast.parse(source)
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)) and node.name:
            bound.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return [name for name in dict.fromkeys(names) if name not in bound and name != "super"]


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str)) and type(value).__module__ == "builtins"


def custom_operator(name: str) -> Any | None:
    """The function behind an operator made with `torch.library.custom_op`, whose source has the decorator."""
    found = torch._library.custom_ops.OPDEFS.get(name)
    return getattr(found, "_init_fn", None)


def installed_package(namespace: str) -> str | None:
    """The package that an operator namespace is named after, if it is loaded and a fresh interpreter has it."""
    return namespace if namespace in sys.modules and _is_installed(namespace) else None
