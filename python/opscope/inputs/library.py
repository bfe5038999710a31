"""What a library says about its own models: timm's pretrained_cfg, torchvision's weights and sizes, ultralytics' imgsz.

Asked by what the model is, so that an instance the user made is treated as one that opscope built by name.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import Any

from opscope.inputs import Inputs, InputSpec

_USUAL = (1, 3, 224, 224)


def library_spec(model: Any, name: str = "") -> InputSpec | None:
    """The inputs of a timm, torchvision or ultralytics model; None for all others."""
    return _timm(model) or _torchvision(model, name) or _ultralytics(model)


def with_reasons(spec: InputSpec, model: Any, name: str) -> InputSpec:
    """A spec that came without reasons gets those of the library, where they are about the same shapes."""
    found = None if spec.why else library_spec(model, name)
    if found is None or [s[-3:] for s in found.shapes] != [s[-3:] for s in spec.shapes]:
        return spec
    return dataclasses.replace(spec, why=found.why, fixed_size=spec.fixed_size or found.fixed_size)


def _timm(model: Any) -> InputSpec | None:
    config: Any = getattr(model, "pretrained_cfg", None) or getattr(model, "default_cfg", None)
    size = config.get("input_size") if hasattr(config, "get") else None
    if not isinstance(size, (tuple, list)) or len(size) != 3:
        return None
    text = "x".join(map(str, size))
    fixed = f"timm's pretrained_cfg says that {text} is fixed" if config.get("fixed_input_size") else ""
    return InputSpec(((1, *size),), why=f"timm's pretrained_cfg: {text}", fixed_size=fixed)


def _torchvision(model: Any, name: str) -> InputSpec | None:
    home = type(model).__module__
    if not home.startswith("torchvision.models."):
        return None
    if home.startswith("torchvision.models.detection."):
        return InputSpec(((3, 800, 800),), _as_list, why=_transform_size(model))
    if home.startswith("torchvision.models.video."):
        return InputSpec(((1, 3, 16, 224, 224),), why=f"a clip of 16 frames{_trained(name)}")
    if home.startswith("torchvision.models.optical_flow."):
        return InputSpec(((1, 3, 520, 960),) * 2, why=f"two frames, sides that 8 divides{_trained(name)}")
    side = getattr(model, "image_size", None)
    fixed = f"its positions are for {side}x{side}" if isinstance(side, int) else ""
    shape = (1, 3, side, side) if isinstance(side, int) else _USUAL
    return InputSpec(
        (shape,),
        why=fixed or f"torchvision's models are compared at 224{_trained(name)}",
        fixed_size=fixed,
    )


def _as_list(images: list[Any], batch: int) -> Inputs:
    return Inputs([image for image in images for _ in range(batch)])


def _transform_size(model: Any) -> str:
    transform = getattr(model, "transform", None)
    least, most = getattr(transform, "min_size", None), getattr(transform, "max_size", None)
    sides = f"; it resizes them to {min(least)}..{most}" if least and most else ""
    return f"a detector takes a list of images{sides}"


def _trained(name: str) -> str:
    """'; its DEFAULT weights were trained at 299', from the weights' own transforms; nothing is downloaded."""
    models = sys.modules.get("torchvision.models")
    try:
        weights = models.get_model_weights(name).DEFAULT if models is not None and name else None
        size = getattr(weights, "transforms", None).keywords.get("crop_size")  # type: ignore[union-attr]
    except (ValueError, AttributeError, KeyError):
        return ""
    size = "x".join(map(str, size)) if isinstance(size, (tuple, list)) else size
    return f"; its DEFAULT weights' transforms make {size}" if size else ""


def _ultralytics(model: Any) -> InputSpec | None:
    if not type(model).__module__.startswith("ultralytics.") or not hasattr(model, "yaml"):
        return None
    classifies = importlib.import_module("ultralytics.nn.tasks").ClassificationModel
    side = 224 if isinstance(model, classifies) else 640
    channels = model.yaml.get("channels", 3) if hasattr(model.yaml, "get") else 3
    why = f"ultralytics counts {'classifiers' if side == 224 else 'its models'} at {side}"
    return InputSpec(((1, channels, side, side),), why=why)
