"""From what a user names to a model: registered names, files, users' own code, and the libraries' names."""

from __future__ import annotations

import fnmatch
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, cast

import torch

from opscope._load import native
from opscope.errors import Error, error, first_line, three_nearest
from opscope.inputs import Inputs, InputSpec, as_inputs
from opscope.options import Options
from opscope.registry import MODEL_REGISTRY, load_registry
from opscope.sources import hf_models, model_files, timm_models, torchvision_models, yolo_models
from opscope.sources.hf_quantised import Published
from opscope.sources.user_code import default_attribute, find_attribute, import_error, required_arguments, run_file, run_module

DEFAULT_MODEL = "resnet18"

#: In the order in which a plain name is looked for: what needs no import to answer comes first.
LIBRARIES: tuple[ModuleType, ...] = (yolo_models, hf_models, torchvision_models, timm_models)


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
    notes: list[str] = field(default_factory=list)  # what the user should know of how it was found
    published: Published | None = None  # how its weights are stored, where its config says that they are quantised
    published_dtype: str | None = None  # of its weights, where somebody published them
    trained_at: tuple[tuple[int, ...], ...] = ()  # (height, width) or (shorter side,) that its published weights are for

    def notes_for(self, arguments: Inputs) -> list[str]:
        """The notes, and whether its weights were trained on images of another size than these."""
        images = [each for each in (*arguments.args, *arguments.kwargs.values()) if isinstance(each, torch.Tensor)]
        size = next((tuple(image.shape[-2:]) for image in images if image.dim() >= 4), None)
        if size is None or not self.trained_at or any(_fits(size, known) for known in self.trained_at):
            return self.notes
        known = " or ".join(_size_text(each) for each in self.trained_at)
        flag = f"--image-size {self.trained_at[0][0]}"
        return [*self.notes, f"the images are {_size_text(size)}; the published weights are for {known} ({flag})"]


def _fits(size: tuple[int, ...], known: tuple[int, ...]) -> bool:
    return size == known if len(known) > 1 else min(size) == known[0]


def _size_text(size: tuple[int, ...]) -> str:
    return "x".join(map(str, size)) if len(size) > 1 else f"a shorter side of {size[0]}"


_PLAIN = Options()


def _silent(_: str) -> None:
    pass


def find_source(spec: str, request: Options = _PLAIN, status: Callable[[str], None] = _silent) -> Source:
    found = _find(spec, request, status)
    if request.task is not None and not any(found.text.startswith(each.PACKAGE) for each in (hf_models, yolo_models)):
        raise error(f"{found.name} has one head, so task does not apply", "task", "it is for transformers and YOLO models")
    return found


def _find(spec: str, request: Options, status: Callable[[str], None]) -> Source:
    registry_file = load_registry(request.registry)
    if spec in MODEL_REGISTRY:
        return _registered(spec, registry_file)
    library, name = _insisted(spec)
    if library is not None:
        return _from_library(library, name, request, status)
    if found := model_files.find(spec, request, status):
        return found
    if ":" in spec or spec.endswith(".py"):
        _check_prefix(spec)
        return _user_code(spec)
    for each in LIBRARIES:
        if each.installed() and (found := each.find(spec, request, status)):
            return cast(Source, found)
    raise _unknown(spec, LIBRARIES)


def _check_prefix(spec: str) -> None:
    """'tmm:resnet18' means timm, not a module to install."""
    prefix, _, name = spec.partition(":")
    near = native.nearest(prefix, [each.PREFIX for each in LIBRARIES])
    if near and "." not in prefix and importlib.util.find_spec(prefix) is None:
        raise error(f"no source called '{prefix}'", "", "opscope list shows the models by source", [f"{each}:{name}" for each in near])


def _insisted(spec: str) -> tuple[ModuleType | None, str]:
    """'timm:resnet18' -> timm's module and 'resnet18'."""
    prefix, _, name = spec.partition(":")
    return next((each for each in LIBRARIES if prefix == each.PREFIX), None), name


def _from_library(library: ModuleType, name: str, request: Options, status: Callable[[str], None]) -> Source:
    if not library.installed():
        raise error(f"no model called '{name}': {library.PACKAGE} is not installed", "", library.INSTALL_HINT)
    found: Source | None = library.find(name, request, status)
    if found is None:
        raise _unknown(name, (library,))
    return found


def _registered(name: str, registry_file: str | None) -> Source:
    text = f"registered in {os.path.basename(registry_file)}" if registry_file else "registered"
    model, inputs, owned = _instantiate(MODEL_REGISTRY[name], name)
    return Source(model, name, text, inputs=inputs, owned=owned)


def _user_code(spec: str) -> Source:
    place, _, attribute = spec.rpartition(":") if ":" in spec else (spec, "", "")
    is_file = place.endswith(".py") or os.sep in place
    module = run_file(place) if is_file else run_module(place)
    attribute = attribute or default_attribute(module, place)
    model, inputs, owned = _instantiate(find_attribute(module, attribute, place), f"{place}:{attribute}")
    text = os.path.basename(place) if is_file else place
    return Source(model, attribute, text, inputs=inputs, owned=owned)


def _instantiate(found: Any, where: str) -> tuple[Any, Inputs | None, bool]:
    """A module as it is; a class or callable called without arguments; with inputs if it returns them too."""
    if isinstance(found, torch.nn.Module):
        return found, None, False
    if not callable(found):
        raise error(f"{where} is {_a(found)}, not a model", "", "name an nn.Module, a class or a function")
    made, inputs = _call(found, where), None
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module):
        inputs, made = as_inputs(made[1]), made[0]
    if not isinstance(made, torch.nn.Module):
        raise error(
            f"{where} gave {_a(made)}, not a model", "", "return an nn.Module, or an nn.Module and its inputs"
        )
    return made.eval(), inputs, True


def _call(factory: Callable[[], Any], where: str) -> Any:
    needed = required_arguments(factory)
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


def _a(value: Any) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def _unknown(name: str, libraries: tuple[ModuleType, ...]) -> Exception:
    if os.path.isdir(name):
        files = sorted(entry for entry in os.listdir(name) if entry.endswith(".py"))
        file = f"a Python file of it: {os.path.join(name, files[0])}" if files else "a Python file, or a folder with a config.json"
        return error(f"'{name}' is a folder without a config.json, so not a model", "", f"name {file}")
    if os.path.exists(name):
        hint = "files that hold one: .py, .pt2, .onnx, .pt, a transformers config.json, a saved capture"
        return error(f"'{name}' is a file, not a model", "", hint)
    there = [each for each in libraries if each.installed()]
    names = list(dict.fromkeys([*MODEL_REGISTRY, *(known for each in there for known, _ in each.listed())]))
    meant = sorted((known for known in names if name and matches(known, name)), key=len)
    near = meant[:3] or three_nearest(name, names)
    look = "opscope list " + (name if meant else near[0].rstrip("0123456789") if near else "")
    missing = [each for each in libraries if not each.installed()]
    if missing and not there:
        packages = ", ".join(each.PACKAGE for each in missing)
        return error(f"no model called '{name}': {packages} not installed", "", missing[0].INSTALL_HINT)
    return error(f"no model called '{name}'", "", look.strip(), near)


def matches(name: str, pattern: str | None) -> bool:
    """A part of the name, or all of it with * and ?. Case does not matter, nor do the marks between words."""
    if any(mark in (pattern or "") for mark in "*?["):
        return fnmatch.fnmatchcase(name.lower(), str(pattern).lower())
    return _letters_and_digits(pattern or "") in _letters_and_digits(name)


def _letters_and_digits(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


@dataclass(frozen=True)
class Known:
    """A name that `profile` takes, for `opscope list`."""

    name: str
    source: str
    family: str


def known_models(registry: str | None = None, libraries: tuple[ModuleType, ...] = LIBRARIES) -> tuple[list[Known], list[str]]:
    """Every model that has a name, and the files that this list depends on."""
    registry_file = load_registry(registry)
    label = f"registered in {os.path.basename(registry_file)}" if registry_file else "registered"
    models = [Known(name, label, "") for name in MODEL_REGISTRY]
    files = [registry_file] if registry_file else []
    taken = set(MODEL_REGISTRY)
    for library in libraries:
        if not library.installed():
            continue
        text = library.version_text()
        for name, family in library.listed():
            spec = f"{library.PREFIX}:{name}" if name in taken else name
            models.append(Known(spec, text, family))
            taken.add(name)
        files += library.dependencies()
    return models, files
