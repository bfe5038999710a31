"""Transformers models, by hub id, folder or config.json: the architecture alone, without weights.

A config comes from a file, from the local hub cache, from the table that ships with opscope, or, when the user
asks for it, from the hub. Which ids are known is hf_known's, which class is built is hf_heads'.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opscope.errors import Error, error, first_line, three_nearest
from opscope.options import Options
from opscope.sources import building, hf_known, hf_quantised

if TYPE_CHECKING:
    from opscope.sources import Source

PREFIX = "hf"
PACKAGE = "transformers"
INSTALL_HINT = f"{sys.executable} -m pip install transformers"

listed = hf_known.listed


@functools.cache
def installed() -> bool:
    return importlib.util.find_spec("transformers") is not None


def version_text() -> str:
    return building.version_text("transformers")


def dependencies() -> list[str]:
    """What the names stand for: transformers' version, our table, and the local hub cache, which downloads change."""
    hub = hf_known.hub_cache()
    return [*_own_dependencies(), *([hub] if os.path.isdir(hub) else [])]


def _own_dependencies() -> list[str]:
    return [*building.package_file("transformers", "__init__.py"), hf_known.TABLE]


@dataclass
class Found:
    """A config, and where it was found."""

    name: str
    config: dict[str, Any]
    row: hf_known.Known | None = None
    path: str | None = None  # of the config's file, where it has one
    notes: list[str] = field(default_factory=list)

    @property
    def model_type(self) -> str:
        known = self.row.config if self.row is not None else {}
        return str(self.config.get("model_type") or known.get("model_type", ""))


def find(spec: str, request: Options, status: Callable[[str], None]) -> Source | None:
    from opscope.sources import Source

    place, _, class_name = spec.partition("#")
    found = _find_config(place, request, status)
    if found is None:
        return None
    status("importing transformers")
    builder = _builder(found, class_name, request)
    from opscope.sources import hf_build

    status(f"building {found.name}")
    model = builder.build(with_data=request.tracer == "eager")
    files = [*_own_dependencies(), found.path] if found.path else dependencies()
    files.append(str(sys.modules[type(model).__module__].__file__))
    if "timm" in sys.modules:  # DETR's backbone
        files += building.package_file("timm", "version.py")
    return Source(
        model,
        found.name,
        f"{version_text()}, {type(model).__name__}",
        owned=True,
        cacheable=not builder.remote,
        dependencies=files,
        with_data=lambda: builder.build(with_data=True),
        notes=[*found.notes, *builder.notes],
        published=hf_quantised.published(found.config),
        published_dtype=hf_build.published_dtype(found.config),
    )


def _find_config(place: str, request: Options, status: Callable[[str], None]) -> Found | None:
    """From a path, the local hub cache, the table, the hub; None where the name is not for transformers."""
    path = hf_known.config_file(place)
    if path is not None:
        return Found(_name_of(path), _read(path), path=path)
    if os.path.exists(place):
        return None
    row = hf_known.table().get(place)
    path = hf_known.cached_config(place) if row or hf_known.looks_like_hub_id(place) else None
    if path is not None:
        return Found(place, _read(path), row, path, [f"config from the local hub cache: {path}"])
    if row is not None:
        return Found(place, row.config | ({"dtype": row.dtype} if row.dtype else {}), row)
    if not hf_known.looks_like_hub_id(place) or place.startswith("timm/"):
        return None
    if not request.download:
        raise _not_here(place)
    status(f"fetching the config of {place}")
    path = _download(place)
    return Found(place, _read(path), path=path)


def _name_of(path: str) -> str:
    """A folder's name for its config.json, else the file's."""
    folder, file = os.path.split(os.path.abspath(path))
    return os.path.basename(folder) if file == "config.json" else file.removesuffix(".json")


def _read(path: str) -> dict[str, Any]:
    try:
        return hf_known.read_config(path)
    except (OSError, ValueError) as problem:
        raise error(f"not a transformers config: {first_line(problem)}", path) from problem


def _not_here(hub_id: str) -> Exception:
    names = [name for name, _ in listed()]
    maker = hub_id.split("/")[0]
    look = f"opscope list {maker}" if any(name.startswith(f"{maker}/") for name in names) else "opscope list"
    return error(
        f"{hub_id} is not in the local hub cache, nor among the {len(names)} ids that opscope knows",
        "",
        f"{look}; --download fetches its config, or give a folder with its config.json",
        three_nearest(hub_id, names),
    )


def _download(hub_id: str) -> str:
    hub = importlib.import_module("huggingface_hub")
    try:
        return str(hub.hf_hub_download(hub_id, "config.json"))
    except Exception as problem:
        raise error(
            f"the config of {hub_id} could not be fetched: {first_line(problem)}",
            "",
            "give a local folder or a config.json; HF_HOME names the cache, HF_TOKEN opens gated models",
        ) from problem


def _builder(found: Found, class_name: str, request: Options) -> Any:
    """Imports transformers: what only needs names stays quick without it."""
    from opscope.sources import hf_build

    try:
        return hf_build.builder(found, class_name, request)
    except Error:
        raise
    except Exception as problem:
        hint = f"read by {version_text()}: another version may know this config"
        raise error(f"{found.name}: {first_line(problem)}", found.path or "", hint) from problem


def load_transformer_model(model_name: str) -> tuple[Any, str]:
    """(model, input type): 'tokens', 'image', 'detr', 'audio', 'video' or 'image+tokens'.

    The architecture only: parameters have shapes and no data. `opscope.profile` takes it as it is.
    """
    from opscope.sources import hf_build

    if not installed():
        raise error("transformers is not installed", "", INSTALL_HINT)
    source = find(model_name.removeprefix(f"{PREFIX}:"), Options(), lambda _: None)
    if source is None:
        near = three_nearest(model_name, [name for name, _ in listed()])
        raise error(f"no transformers model called '{model_name}'", "", "opscope list", near)
    return source.model, hf_build.input_type(source.model)
