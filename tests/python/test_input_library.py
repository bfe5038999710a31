"""Models of timm, torchvision and ultralytics: their libraries say what they take, by name or as the user's own."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import timm
import torch
import torchvision
from torch import nn

import opscope
from opscope.engine import abstract_run
from opscope.inputs import InputSpec
from opscope.inputs.library import library_spec
from opscope.inputs.plan import InputPlan, plan_inputs
from opscope.options import Options
from opscope.sources import Source, building, torchvision_models

TIMM = {
    "resnet18": 224,
    "vit_tiny_patch16_224": 224,
    "efficientnet_b1": 240,
    "inception_v3": 299,
    "nasnetalarge": 331,
    "crossvit_9_240": 240,
    "edgenext_small": 256,
    "dm_nfnet_f0": 192,
    "swin_tiny_patch4_window7_224": 224,
    "mixer_s16_224": 224,
}
TORCHVISION = {
    "resnet18": {"x": (1, 3, 224, 224)},
    "vit_b_16": {"x": (1, 3, 224, 224)},
    "quantized_mobilenet_v2": {"x": (1, 3, 224, 224)},
    "fcn_resnet50": {"x": (1, 3, 224, 224)},
    "r3d_18": {"x": (1, 3, 16, 224, 224)},
    "raft_small": {"image1": (1, 3, 520, 960), "image2": (1, 3, 520, 960)},
}


@functools.cache
def torchvision_model(name: str) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return building.build(lambda: torchvision.models.get_model(name, weights=None, **_no_backbone(name)))


def _no_backbone(name: str) -> dict[str, Any]:
    return {"weights_backbone": None} if name.startswith(("fcn", "fasterrcnn")) else {}


def plan(model: Any, name: str = "", spec: InputSpec | None = None, **asked: Any) -> InputPlan:
    return plan_inputs(Source(model, name, "", default_inputs=spec), Options(**asked))


def shapes(planned: InputPlan) -> dict[str, tuple[int, ...] | None]:
    return {row.name: row.shape for row in planned.rows}


def runs(model: nn.Module, planned: InputPlan) -> bool:
    inputs = planned.make()
    return len(abstract_run.capture(model, inputs.args, inputs.kwargs, tracer="static")) > 0


@pytest.mark.parametrize("name", TIMM)
def test_timm_at_its_own_size(name: str) -> None:
    model = building.build(lambda: timm.create_model(name))
    planned = plan(model)
    assert shapes(planned) == {"x": (1, 3, TIMM[name], TIMM[name])} and runs(model, planned)
    assert f"timm's pretrained_cfg: 3x{TIMM[name]}x{TIMM[name]}" in planned.rows[0].why and not planned.notes


def test_a_fixed_size_is_refused_before_the_model_does() -> None:
    model = building.build(lambda: timm.create_model("vit_tiny_patch16_224"))
    with pytest.raises(opscope.Error, match="takes images of 224x224 only") as caught:
        plan(model, "vit", image_size=256)
    assert "fixed" in caught.value.hint
    assert shapes(plan(model, image_size=224, batch=2)) == {"x": (2, 3, 224, 224)}


@pytest.mark.parametrize("name", TORCHVISION)
def test_torchvision(name: str) -> None:
    model = torchvision_model(name)
    planned = plan(model, name)
    assert shapes(planned) == TORCHVISION[name] and runs(model, planned)
    named = plan(model, name, torchvision_models.default_inputs(name))
    assert shapes(named) == shapes(planned) and named.rows[0].why == planned.rows[0].why


def test_what_the_weights_were_made_for_is_said() -> None:
    rows = plan(torchvision_model("inception_v3"), "inception_v3").rows
    assert rows[0].shape == (1, 3, 224, 224) and "DEFAULT weights' transforms make 299" in rows[0].why


@pytest.mark.parametrize(
    ("asked", "images"),
    [
        ({}, [(3, 800, 800)]),
        ({"batch": 2, "image_size": (480, 640)}, [(3, 480, 640)] * 2),
        ({"input_shape": (2, 3, 320, 320)}, [(3, 320, 320)] * 2),
        ({"input_shape": [(3, 320, 320), (3, 200, 300)]}, [(3, 320, 320), (3, 200, 300)]),
    ],
)
def test_detectors_take_lists_of_images(asked: dict[str, Any], images: list[tuple[int, ...]]) -> None:
    planned = plan(torchvision_model("fasterrcnn_resnet50_fpn"), **asked)
    given = planned.make().args
    assert len(given) == 1 and [tuple(image.shape) for image in given[0]] == images
    assert planned.rows[0].name == "images[0]"


@pytest.mark.parametrize(("asked", "shape"), [({}, (520, 960)), ({"image_size": 256}, (256, 256))])
def test_both_frames_change_together(asked: dict[str, Any], shape: tuple[int, int]) -> None:
    planned = plan(torchvision_model("raft_small"), batch=2, **asked)
    assert shapes(planned) == dict.fromkeys(("image1", "image2"), (2, 3, *shape))
    assert set(
        shapes(plan(torchvision_model("raft_small"), input_shape=(1, 3, 128, 128))).values()
    ) == {(1, 3, 128, 128)}


@pytest.mark.parametrize(
    ("file", "side"), [("yolov8n.yaml", 640), ("yolo11n-seg.yaml", 640), ("yolov8n-cls.yaml", 224)]
)
def test_ultralytics(file: str, side: int) -> None:
    from ultralytics import YOLO

    model = YOLO(file).model.eval()
    planned = plan(model)
    assert shapes(planned) == {"x": (1, 3, side, side)} and runs(model, planned)


def test_a_spec_may_say_more() -> None:
    spec = InputSpec(
        ((1, 16), (1, 3, 8, 8)), why="because", names=("ids", "image"), dtypes=(torch.int64, None), images=None
    )
    planned = plan(nn.Linear(1, 1), "x", spec, batch=4)
    assert [(row.name, row.shape, row.dtype) for row in planned.rows] == [
        ("ids", (4, 16), "int64"),
        ("image", (4, 3, 8, 8), "float32"),
    ]
    assert planned.rows[0].why == "because"


@pytest.mark.parametrize("make", [lambda: nn.Linear(3, 4), lambda: nn.Sequential(nn.Conv2d(3, 4, 3))])
def test_the_users_own_models_are_of_no_library(make: Callable[[], nn.Module]) -> None:
    assert library_spec(make()) is None
