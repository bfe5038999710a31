"""From what a user names to a model: torchvision names, registered names, `file.py:name`, `module:name`."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from opscope import torchvision_models
from opscope._load import native
from opscope.errors import Error, error, first_line
from opscope.inputs import Inputs, InputSpec, as_inputs
from opscope.registry import MODEL_REGISTRY, load_registry
from opscope.user_code import find_attribute, import_error, model_like_names, run_file, run_module

DEFAULT_MODEL = "resnet18"


@dataclass
class Source:
    """A model and what is known about where it came from."""

    model: Any
    name: str
    text: str  # "torchvision 0.28.0", "models.py"
    default_inputs: InputSpec | None = None  # what its kind of model usually takes
    inputs: Inputs | None = None  # what the user's own factory returned beside it
    owned: bool = False  # made for this call: it may be cast to another dtype
    cacheable: bool = False
    dependencies: list[str] = field(default_factory=list)
    with_data: Callable[[], Any] | None = None  # builds it again with real weights, for an eager run


def find_source(
    spec: str, registry: str | None = None, *, with_data: bool = False, status: Callable[[str], None] = lambda _: None
) -> Source:
    registry_file = load_registry(registry)
    if spec in MODEL_REGISTRY:
        return _registered(spec, registry_file)
    if ":" in spec or spec.endswith(".py"):
        return _user_code(spec)
    return _torchvision(spec, with_data, status)


def _registered(name: str, registry_file: str | None) -> Source:
    text = f"registered in {os.path.basename(registry_file)}" if registry_file else "registered"
    model, inputs, owned = _instantiate(MODEL_REGISTRY[name], name)
    return Source(model, name, text, inputs=inputs, owned=owned)


def _user_code(spec: str) -> Source:
    place, _, attribute = spec.rpartition(":") if ":" in spec else (spec, "", "")
    is_file = place.endswith(".py") or os.sep in place
    module = run_file(place) if is_file else run_module(place)
    if not attribute:
        names = model_like_names(module)
        hint = f"it defines {', '.join(names[:8])}: try {place}:{names[0]}" if names else "it defines nothing to call"
        raise error(f"which model of {place}?", "", hint)
    model, inputs, owned = _instantiate(find_attribute(module, attribute, place), spec)
    text = os.path.basename(place) if is_file else place
    return Source(model, attribute, text, inputs=inputs, owned=owned)


def _instantiate(found: Any, where: str) -> tuple[Any, Inputs | None, bool]:
    """A module as it is; a class or callable called without arguments; with inputs if it returns them too."""
    if isinstance(found, torch.nn.Module):
        return found, None, False
    if not callable(found):
        raise error(f"{where} is {_a(found)}, not a model", "", "name an nn.Module, a class or a function")
    made = _call(found, where)
    inputs = None
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module):
        made, inputs = made[0], as_inputs(made[1])
    if not isinstance(made, torch.nn.Module):
        raise error(
            f"{where} gave {_a(made)}, not a model", "", "return an nn.Module, or an nn.Module and its inputs"
        )
    return made.eval(), inputs, True


def _call(factory: Callable[[], Any], where: str) -> Any:
    needed = _required_arguments(factory)
    if needed:
        raise error(
            f"{where} needs arguments: {', '.join(needed)}",
            "",
            "name a function without arguments that makes the model",
        )
    try:
        return factory()
    except Error:
        raise
    except Exception as problem:
        failed = import_error(where, problem)
        raise error(f"{where} raised {first_line(problem)}", failed.where, failed.hint) from problem


def _required_arguments(factory: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):
        return []
    catch_all = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is inspect.Parameter.empty and p.kind not in catch_all]


def _a(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _torchvision(name: str, with_data: bool, status: Callable[[str], None]) -> Source:
    if not torchvision_models.installed():
        raise error(
            f"no model called '{name}': torchvision is not installed", "", torchvision_models.INSTALL_HINT
        )
    status("importing torchvision")
    known = torchvision_models.names()
    if name not in known:
        raise _unknown(name, [*MODEL_REGISTRY, *known])
    status(f"building {name}")
    return Source(
        torchvision_models.build(name, with_data=with_data),
        name,
        torchvision_models.version_text(),
        default_inputs=torchvision_models.default_inputs(name),
        owned=True,
        cacheable=True,
        dependencies=torchvision_models.dependencies(),
        with_data=lambda: torchvision_models.build(name, with_data=True),
    )


def _unknown(name: str, names: list[str]) -> Exception:
    near = list(native.nearest(name, names))
    look = "opscope list " + (near[0].rstrip("0123456789") if near else "")
    if os.path.isdir(name):
        file = os.path.join(name, "models.py")
        return error(f"'{name}' is a folder, not a model", "", f"name what to profile in a file of it: {file}:MyModel")
    if os.path.exists(name):
        return error(f"'{name}' is a file, not a model", "", f"name what to profile in it: {name}:MyModel")
    return error(f"no model called '{name}'", "", look.strip(), near)


def known_models(registry: str | None = None) -> tuple[list[tuple[str, str]], list[str]]:
    """(name, source) of every model that has a name, and the files that this list depends on."""
    registry_file = load_registry(registry)
    label = f"registered in {os.path.basename(registry_file)}" if registry_file else "registered"
    models = [(name, label) for name in sorted(MODEL_REGISTRY)]
    files = [registry_file] if registry_file else []
    if torchvision_models.installed():
        text = torchvision_models.version_text()
        models += [(name, text) for name in torchvision_models.names() if name not in MODEL_REGISTRY]
        files += torchvision_models.dependencies()
    return models, files
