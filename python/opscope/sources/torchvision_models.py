"""torchvision's model zoo: its names, how each is built without weights, what each takes.

Models are built with parameters that have no data: a capture needs their shapes only, and filling
regnet_y_128gf would take ten seconds and 2.6 GB.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from opscope.engine import torchvision_ops
from opscope.inputs import Inputs, InputSpec
from opscope.options import Options
from opscope.sources import building

if TYPE_CHECKING:
    from opscope.sources import Source

PREFIX = "torchvision"
PACKAGE = "torchvision"
INSTALL_HINT = f"{sys.executable} -m pip install torchvision"

IMAGE = InputSpec(shapes=((1, 3, 224, 224),))
VIDEO = InputSpec(shapes=((1, 3, 16, 224, 224),))
IMAGE_PAIR = InputSpec(shapes=((1, 3, 520, 960), (1, 3, 520, 960)))  # RAFT: sizes that 8 divides, 128 or more
IMAGE_LIST = InputSpec(
    shapes=((3, 800, 800),), arrange=lambda images, batch: Inputs([image for image in images for _ in range(batch)])
)


@functools.cache
def installed() -> bool:
    return importlib.util.find_spec("torchvision") is not None


def version_text() -> str:
    return building.version_text("torchvision")


def dependencies() -> list[str]:
    """The file that changes when torchvision does."""
    return building.package_file("torchvision", "version.py")


@functools.cache
def _models() -> ModuleType:
    torchvision_ops.prepare()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("torchvision.models")


@functools.cache
def names() -> tuple[str, ...]:
    return tuple(_models().list_models())


def default_inputs(name: str) -> InputSpec:
    home = _models().get_model_builder(name).__module__
    if home.startswith("torchvision.models.detection"):
        return IMAGE_LIST
    if home.startswith("torchvision.models.video"):
        return VIDEO
    if home.startswith("torchvision.models.optical_flow"):
        return IMAGE_PAIR
    return IMAGE


def build(name: str, *, with_data: bool = False) -> torch.nn.Module:
    builder = _models().get_model_builder(name)
    return building.build(functools.partial(builder, **_options(builder)), with_data=with_data)


def listed() -> list[tuple[str, str]]:
    """(name, family): the part of torchvision that has the model, then the file that defines it."""
    return [(name, _family(name)) for name in names()]


def _family(name: str) -> str:
    path = str(_models().get_model_builder(name).__module__).removeprefix("torchvision.models.")
    return path.replace(".", "/")


def find(spec: str, request: Options, status: Callable[[str], None]) -> Source | None:
    from opscope.sources import Source

    status("importing torchvision")
    if spec not in names():
        return None
    status(f"building {spec}")
    source = Source(
        build(spec, with_data=request.tracer == "eager"),
        spec,
        version_text(),
        default_inputs=default_inputs(spec),
        owned=True,
        cacheable=True,
        dependencies=dependencies(),
        trained_at=_trained_at(spec),
        with_data=lambda: build(spec, with_data=True),
    )
    if "quantize" in inspect.signature(_models().get_model_builder(spec)).parameters:
        source.notes.append("float weights, as torchvision builds it by default: it is quantised with quantize=True")
    return source


def _trained_at(name: str) -> tuple[tuple[int, ...], ...]:
    """The image sizes that its weights are used at, the default weights' first; none where any will do."""
    sizes: dict[tuple[int, ...], None] = {}
    weights = _models().get_model_weights(name)
    for each in sorted(weights, key=lambda each: each is not weights.DEFAULT):
        said = getattr(each.transforms, "keywords", {})
        side = said.get("crop_size")
        if isinstance(side, int):
            sizes[side, side] = None
        elif side is not None:
            sizes[tuple(side)] = None
        elif isinstance(said.get("resize_size"), int):
            sizes[(said["resize_size"],)] = None
    return tuple(sizes)


def _options(builder: Any) -> dict[str, Any]:
    """No weights, of the backbone neither: nothing is downloaded."""
    options: dict[str, Any] = {"weights": None}
    if "weights_backbone" in inspect.signature(builder).parameters:
        options["weights_backbone"] = None
    if builder.__name__ in ("googlenet", "inception_v3"):
        options["init_weights"] = False  # seconds of truncated-normal sampling that nobody looks at
    return options

