"""torchvision's model zoo: its names, how each is built without weights, what each takes.

Models are built with parameters that have no data: a capture needs their shapes only, and filling
regnet_y_128gf would take ten seconds and 2.6 GB.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from opscope import torchvision_ops
from opscope.inputs import Inputs, InputSpec

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
    return f"torchvision {importlib.metadata.version('torchvision').split('+')[0]}"


def dependencies() -> list[str]:
    """The file that changes when torchvision does."""
    spec = importlib.util.find_spec("torchvision")
    return [os.path.join(os.path.dirname(spec.origin), "version.py")] if spec and spec.origin else []


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
    options = _options(builder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not with_data:
            try:
                with parameters_without_data():
                    return builder(**options).eval()
            except (RuntimeError, NotImplementedError):
                pass  # ssdlite runs its own backbone to learn its sizes: build it for real
        return builder(**options).eval()


@contextlib.contextmanager
def parameters_without_data() -> Iterator[None]:
    """Parameters that this thread's new modules register move to the meta device at once.

    Unlike `with torch.device("meta")` it leaves buffers and every other tensor alone: constructors may look
    at those (regnet computes its widths with tensors), and so may forward (anchors, relative positions).
    """
    register, thread = torch.nn.Module.register_parameter, threading.get_ident()

    def register_on_meta(module: torch.nn.Module, name: str, parameter: torch.nn.Parameter | None) -> None:
        if parameter is not None and parameter.device.type != "meta" and threading.get_ident() == thread:
            parameter = torch.nn.Parameter(parameter.detach().to("meta"), requires_grad=parameter.requires_grad)
        register(module, name, parameter)

    torch.nn.Module.register_parameter = register_on_meta  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register  # type: ignore[method-assign]


def _options(builder: Any) -> dict[str, Any]:
    """No weights, of the backbone neither: nothing is downloaded."""
    options: dict[str, Any] = {"weights": None}
    if "weights_backbone" in inspect.signature(builder).parameters:
        options["weights_backbone"] = None
    if builder.__name__ in ("googlenet", "inception_v3"):
        options["init_weights"] = False  # seconds of truncated-normal sampling that nobody looks at
    return options

