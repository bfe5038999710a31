"""timm's models: every name of timm.list_models(), at the input size of its own configuration."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from opscope.engine import torchvision_ops
from opscope.errors import error, three_nearest
from opscope.inputs import InputSpec
from opscope.options import Options
from opscope.sources import building

if TYPE_CHECKING:
    from opscope.sources import Source

PREFIX = "timm"
PACKAGE = "timm"
INSTALL_HINT = f"{sys.executable} -m pip install timm"


@functools.cache
def installed() -> bool:
    return importlib.util.find_spec("timm") is not None


def version_text() -> str:
    return building.version_text("timm")


def dependencies() -> list[str]:
    return building.package_file("timm", "version.py")


@functools.cache
def _timm() -> ModuleType:
    torchvision_ops.prepare()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("timm")


def listed() -> list[tuple[str, str]]:
    """(name, family): the family is the file that defines the model, as timm itself sorts them."""
    registry = importlib.import_module(f"{_timm().__name__}.models._registry")
    return [(name, registry._model_to_module[name]) for name in _timm().list_models()]


def find(spec: str, request: Options, status: Callable[[str], None]) -> Source | None:
    from opscope.sources import Source

    status("importing timm")
    architecture = spec.split(".")[0]  # 'resnet50.a1_in1k' names weights of resnet50
    if not _timm().is_model(architecture):
        return None
    tags = _timm().list_pretrained(f"{architecture}.*")
    if spec != architecture and spec not in tags:
        look = f"without a tag it is {architecture}" if not tags else f"opscope list {architecture}"
        raise error(f"timm has no weights called '{spec}'", "", look, three_nearest(spec, tags))
    status(f"building {spec}")
    make = functools.partial(_make, spec)
    model: Any = building.build(make, with_data=request.tracer == "eager")
    return Source(
        model,
        spec,
        version_text(),
        default_inputs=InputSpec(shapes=((1, *model.pretrained_cfg["input_size"]),)),
        owned=True,
        cacheable=True,
        dependencies=dependencies(),
        with_data=lambda: building.build(make, with_data=True),
    )


def _make(spec: str) -> Any:
    return _timm().create_model(spec, pretrained=False)
