"""Runs users' Python files and finds what a `file.py:name` or `package.module:name` stands for."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from types import ModuleType
from typing import Any

import torch

from opscope._load import native
from opscope.engine import torchvision_ops
from opscope.errors import Error, error, first_line


def run_file(path: str) -> ModuleType:
    """Imports a file by its path, with its folder on sys.path as if Python had been started on it."""
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        missing = not os.path.isdir(path)
        raise error("no such file" if missing else "a folder, not a file", path, "name a Python file: models.py:build")
    add_to_path(os.path.dirname(path))
    torchvision_ops.prepare()  # for what the file imports: timm, transformers and others import torchvision
    name = _module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise error(f"{path} is not a Python file", path, "a Python file's name ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look their module up
    try:
        spec.loader.exec_module(module)
    except Exception as problem:
        sys.modules.pop(name, None)
        raise import_error(path, problem) from problem
    return module


def run_module(name: str) -> ModuleType:
    add_to_path(os.getcwd())
    torchvision_ops.prepare()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        if problem.name and (name == problem.name or name.startswith(problem.name + ".")):
            raise error(f"no Python module called '{problem.name}'", "", install_hint(problem.name)) from problem
        raise import_error(name, problem) from problem
    except Exception as problem:
        raise import_error(name, problem) from problem


def find_attribute(module: ModuleType, attribute: str, where: str) -> Any:
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            names = model_like_names(module)
            near = native.nearest(attribute, names) or names[:5]
            hint = f"did you mean {', '.join(near)}?" if near else "it defines no class and no function"
            raise error(f"{where} has no '{attribute}'", "", hint)
        found = getattr(found, part)
    return found


def default_attribute(module: ModuleType, where: str) -> str:
    """What a file means that is named alone: `build`, `create_model`, the one nn.Module class that needs no arguments, or
    the one module."""
    names = model_like_names(module)
    makers = [name for name in ("build", "create_model") if name in names]
    classes = [name for name in names if _is_module_class(getattr(module, name))]
    modules = [name for name in names if isinstance(getattr(module, name), torch.nn.Module)]
    for kind in (makers[:1], makers[1:], classes, modules):
        ready = [name for name in kind if not required_arguments(getattr(module, name))]
        if len(ready) == 1:
            return ready[0]
        if ready:
            raise error(f"which model of {where}?", "", " or ".join(f"{where}:{name}" for name in ready[:5]))
    needing = [f"{name}({', '.join(required_arguments(getattr(module, name)))})" for name in [*makers, *classes]]
    there = f"it has {', '.join(needing or names)}; " if names else ""
    hint = f"{there}write a function build() in it that returns the model"
    raise error(f"{where} has no model that can be made without arguments", "", hint)


def _is_module_class(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, torch.nn.Module)


def required_arguments(factory: Any) -> list[str]:
    """What a class or a function must be called with; nothing for a module, which is a model already."""
    try:
        parameters = () if isinstance(factory, torch.nn.Module) else inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return []
    catch_all = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in catch_all]


def model_like_names(module: ModuleType) -> list[str]:
    """Classes, functions and modules that the file itself defines, in its order."""

    def own(value: Any) -> bool:
        if inspect.isclass(value) or inspect.isfunction(value):
            return bool(value.__module__ == module.__name__)
        return hasattr(value, "forward") and callable(value)

    return [name for name, value in vars(module).items() if not name.startswith("_") and own(value)]


def import_error(where: str, problem: Exception) -> Error:
    """One line with the file and line that failed: for a user, the deepest one that is not a library's."""
    place = _failing_place(where, problem)
    hint = install_hint(problem.name) if isinstance(problem, ModuleNotFoundError) and problem.name else ""
    return error(f"{os.path.basename(where)} does not import: {first_line(problem)}", place, hint)


def install_hint(module: str) -> str:
    return f"is it installed? {sys.executable} -m pip install {module.split('.')[0]}"


def _failing_place(where: str, problem: Exception) -> str:
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{problem.filename}:{problem.lineno}"
    frames = traceback.extract_tb(problem.__traceback__)
    for frame in reversed(frames):
        if frame.filename == where or not _is_library(frame.filename):
            return f"{frame.filename}:{frame.lineno}"
    return where


def _is_library(filename: str) -> bool:
    libraries = (os.path.dirname(os.__file__), os.path.dirname(os.path.dirname(__file__)), "<")
    return "site-packages" in filename or filename.startswith(libraries)


def _module_name(path: str) -> str:
    stem = os.path.splitext(os.path.basename(path))[0]
    known = sys.modules.get(stem)
    taken = known is not None and getattr(known, "__file__", None) != path
    return f"_opscope_user_{stem}" if taken or not stem.isidentifier() else stem


def add_to_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)
