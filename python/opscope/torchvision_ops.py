"""torchvision's custom operators, for when its own native library does not load.

A torchvision wheel built for CUDA cannot load beside a CPU torch, and then `import torchvision` fails:
"operator torchvision::nms does not exist". `prepare` declares the missing operators, with kernels of our own
for the ones that models run, before torchvision is imported. Where the library loads it does nothing.
"""

from __future__ import annotations

import glob
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import torch

from opscope import torchvision_kernels as kernels

_POOLED = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_IMAGE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_DEFORM = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, "
    "SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask"
)

SCHEMAS = (
    "_cuda_version() -> int",
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
    f"roi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
    f"_roi_align_backward(Tensor grad, Tensor rois, {_POOLED}, {_IMAGE}, int sampling_ratio, bool aligned) -> Tensor",
    "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, "
    f"int rois_zero_point, {_POOLED}, int sampling_ratio, bool aligned) -> Tensor",
    f"roi_pool(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)",
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_POOLED}, {_IMAGE}) -> Tensor",
    f"ps_roi_align(Tensor input, Tensor rois, {_POOLED}, int sampling_ratio) -> (Tensor, Tensor)",
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, int sampling_ratio, "
    f"{_IMAGE}) -> Tensor",
    f"ps_roi_pool(Tensor input, Tensor rois, {_POOLED}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOLED}, {_IMAGE}) -> Tensor",
    f"deform_conv2d({_DEFORM}) -> Tensor",
    f"_deform_conv2d_backward(Tensor grad, {_DEFORM}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
)

_KERNELS = {
    "nms": kernels.nms,
    "roi_align": kernels.roi_align,
    "roi_pool": kernels.roi_pool,
    "deform_conv2d": kernels.deform_conv2d,
}

_library: torch.library.Library | None = None  # the operators live as long as this object


def prepare() -> None:
    """Makes `import torchvision` work. Cheap, and without effect the second time or where nothing is missing."""
    global _library
    if _library is not None or "torchvision" in sys.modules or _exists("nms"):
        return
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None or _native_library_loads(os.path.dirname(spec.origin)):
        return
    _library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in SCHEMAS:
        _library.define(schema)
    _library.impl("_cuda_version", lambda: -1, "CompositeExplicitAutograd")
    for name, kernel in _KERNELS.items():
        _library.impl(name, kernel, "CPU")
    sys.meta_path.insert(0, _ExtensionFinder())


def replaced() -> bool:
    """Whether torchvision's operators are ours in this process."""
    return _library is not None


def _exists(name: str) -> bool:
    try:
        getattr(torch.ops.torchvision, name)
    except AttributeError:
        return False
    return True


def _native_library_loads(folder: str) -> bool:
    libraries = [path for ending in ("so", "pyd", "dylib") for path in glob.glob(os.path.join(folder, f"_C*.{ending}"))]
    try:
        for path in libraries:
            torch.ops.load_library(path)
    except (OSError, ImportError, RuntimeError):
        return False
    return bool(libraries)


class _ExtensionFinder(importlib.abc.MetaPathFinder):
    """Lets torchvision.extension load as it is, then has it say that the operators are there: they are."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torchvision.extension":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _ExtensionLoader(spec.loader)
        return spec


class _ExtensionLoader(importlib.abc.Loader):
    def __init__(self, original: Any) -> None:
        self._original = original

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._original.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._original.exec_module(module)
        module._has_ops = lambda: True  # type: ignore[attr-defined]
