"""torchvision's custom operators, for when its own native library does not load.

A torchvision wheel built for CUDA cannot load beside a CPU torch, and then `import torchvision` fails:
"operator torchvision::nms does not exist". `prepare` declares the missing operators, with kernels of our own
for the ones that models run, before torchvision is imported. Where the library loads it does nothing.
"""

from __future__ import annotations

import functools
import glob
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from opscope._load import native
from opscope.engine import threads
from opscope.engine import torchvision_kernels as kernels

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
    if _library is not None or "torchvision" in sys.modules or _exists("nms"):
        return
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None or _native_library_loads(os.path.dirname(spec.origin)):
        return
    _define_missing()
    sys.meta_path.insert(0, _ExtensionFinder())


def _define_missing() -> None:
    """Declares the operators that are not there, with a kernel for those that models run."""
    global _library
    if _library is None:
        _library = torch.library.Library("torchvision", "FRAGMENT")
    for schema in SCHEMAS:
        name = schema.split("(")[0]
        if _exists(name):
            continue
        _library.define(schema)
        if name == "_cuda_version":
            _library.impl(name, lambda: -1, "CompositeExplicitAutograd")
        elif name in _KERNELS:
            _library.impl(name, _KERNELS[name], "CPU")


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
        made: ModuleType | None = self._original.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._original.exec_module(module)
        module._has_ops = lambda: True  # type: ignore[attr-defined]


# --- during a capture ----------------------------------------------------------------------------------------


def answers() -> Iterator[threads.Undo]:
    """Sets, for the time of a capture, what torchvision asks or works out from data; yields what undoes each."""
    extension = sys.modules.get("torchvision.extension")
    if extension is not None and not extension._has_ops():
        _define_missing()
        yield threads.replaced(extension, "_has_ops", lambda: True)
    boxes = sys.modules.get("torchvision.ops.boxes")
    if boxes is not None:
        yield threads.replaced(boxes, "_batched_nms_vanilla", _all_at_once(boxes, boxes._batched_nms_vanilla))
    heads = sys.modules.get("torchvision.models.detection.roi_heads")
    if heads is not None:
        yield _with_image_shapes(heads.RoIHeads)
        yield threads.replaced(heads, "paste_mask_in_image", _pasted_everywhere(heads.paste_mask_in_image))
        yield threads.replaced(heads, "heatmaps_to_keypoints", _keypoints_everywhere(heads.heatmaps_to_keypoints))


def replace_method(
    owner: Any, name: str, ours: Callable[..., Any], by_name: Any
) -> tuple[Callable[..., Any], threads.Undo]:
    """Has a class's method do what `ours` does; the method as it was, and what undoes it. A plain function gets the code
    of `by_name`, which finds `ours` whatever its globals are: a class whose attribute is set has Python forget what it
    has looked up on it, and that takes as long as to capture ten ops."""
    method = getattr(owner, name)
    if not isinstance(method, types.FunctionType) or method.__closure__ or method.__kwdefaults__:
        return method, threads.replaced(owner, name, ours)
    plain = types.FunctionType(method.__code__, method.__globals__, argdefs=method.__defaults__)
    return plain, threads.replaced(method, "__code__", by_name.__code__)


class _Images(threading.local):
    """Height and width of the images that this thread's detector is at."""

    largest = (0, 0)


_images = _Images()


_plain_forward: Any = None  # of RoIHeads


def _with_image_shapes(heads: type) -> threads.Undo:
    global _plain_forward
    _plain_forward, undo = replace_method(heads, "forward", _forward, _forward_by_name)
    return undo


def _forward_by_name(self: Any, features: Any, proposals: Any, image_shapes: Any, targets: Any = None) -> Any:
    from opscope.engine.torchvision_ops import _forward

    return _forward(self, features, proposals, image_shapes, targets)


def _forward(self: Any, features: Any, proposals: Any, image_shapes: Any, targets: Any = None) -> Any:
    _images.largest = (max(shape[0] for shape in image_shapes), max(shape[1] for shape in image_shapes))
    return _plain_forward(self, features, proposals, image_shapes, targets)


@functools.cache
def _all_at_once(boxes_module: Any, one_by_one: Callable[..., Any]) -> Callable[..., Any]:
    """Class by class there would be as many classes as boxes, where the classes are data."""

    @functools.wraps(one_by_one)
    def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
        together = boxes_module._batched_nms_coordinate_trick if native.is_unknown(idxs) else one_by_one
        kept: Tensor = together(boxes, scores, idxs, iou_threshold)
        return kept

    return batched_nms


def _bounded(op: str, height: int, width: int) -> tuple[int, int]:
    limit = native.bound(op, "item", max(height, width))
    return min(height, limit), min(width, limit)


@functools.cache
def _pasted_everywhere(paste: Callable[..., Any]) -> Callable[..., Any]:
    """A mask is pasted at the size of its box, which is data: at most that of the image."""

    @functools.wraps(paste)
    def pasted(mask: Tensor, box: Tensor, im_h: int, im_w: int) -> Tensor:
        if native.is_unknown(box):
            height, width = _bounded("torchvision::paste_mask_in_image", im_h, im_w)
            box = torch.tensor([0, 0, width - 1, height - 1], device=box.device)
        pasted: Tensor = paste(mask, box, im_h, im_w)
        return pasted

    return pasted


@functools.cache
def _keypoints_everywhere(locate: Callable[..., Any]) -> Callable[..., Any]:
    """A heat map is enlarged to the size of its box, which is data: at most that of the image."""

    @functools.wraps(locate)
    def located(maps: Tensor, rois: Tensor) -> Any:
        if native.is_unknown(rois):
            height, width = _bounded("torchvision::heatmaps_to_keypoints", *_images.largest)
            whole = torch.tensor([0, 0, width, height], dtype=rois.dtype, device=rois.device)
            rois = whole.expand(len(rois), 4)
        return locate(maps, rois)

    return located
