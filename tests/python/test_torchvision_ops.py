"""Our kernels for torchvision's operators against torchvision's own Python code and plain definitions."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from opscope.engine import torchvision_kernels as kernels
from opscope.engine import torchvision_ops
from opscope.sources import torchvision_models


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def boxes_inside(count: int, height: int, width: int) -> torch.Tensor:
    corners = torch.rand(count, 2, 2) * torch.tensor([width - 2.0, height - 2.0])
    low, high = corners.amin(1), corners.amax(1) + 1
    return torch.cat([(torch.arange(count) % 2).float()[:, None], low, high], dim=1)


@pytest.mark.parametrize("sampling_ratio", [2, 1, 0])
@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_roi_align(sampling_ratio: int, aligned: bool, scale: float) -> None:
    from torchvision.ops import roi_align as module_of_name  # noqa: F401
    from torchvision.ops.roi_align import _roi_align

    x, rois = torch.rand(2, 5, 20, 30), boxes_inside(9, 20, 30)
    expected = _roi_align.__wrapped__(x, rois, scale, 7, 5, sampling_ratio, aligned)
    torch.testing.assert_close(kernels.roi_align(x, rois, scale, 7, 5, sampling_ratio, aligned), expected)


def test_roi_align_is_zero_outside() -> None:
    out = kernels.roi_align(torch.ones(1, 1, 4, 4), torch.tensor([[0.0, 50, 50, 60, 60]]), 1.0, 2, 2, 2, False)
    assert torch.equal(out, torch.zeros(1, 1, 2, 2))


def test_roi_pool() -> None:
    x = torch.rand(2, 3, 8, 8)
    out, argmax = kernels.roi_pool(x, torch.tensor([[1.0, 0, 0, 7, 7], [0.0, 20, 20, 30, 30]]), 1.0, 2, 2)
    assert torch.equal(out[0], F.max_pool2d(x[1], 4)) and not out[1].any()
    assert torch.equal(x[1].flatten(1).gather(1, argmax[0].flatten(1).long()), out[0].flatten(1))
    assert (argmax[1] == -1).all()


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("shift", [0, 1])
def test_deform_conv2d_with_whole_offsets_is_a_shifted_convolution(groups: int, shift: int) -> None:
    x, weight, bias = torch.rand(2, 6, 12, 13), torch.rand(8, 6 // groups, 3, 3), torch.rand(8)
    moved = F.pad(x, (0, shift, 0, shift))[:, :, shift:, shift:]
    expected = F.conv2d(moved, weight, bias, stride=2, dilation=2, groups=groups)
    offset = torch.full((2, 18, *expected.shape[2:]), float(shift))
    mask = torch.ones(2, 9, *expected.shape[2:])
    out = kernels.deform_conv2d(x, weight, offset, mask, bias, 2, 2, 0, 0, 2, 2, groups, 1, True)
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_nms(threshold: float) -> None:
    from torchvision.ops import box_iou

    boxes, scores = boxes_inside(200, 30, 30)[:, 1:], torch.rand(200)
    overlap, kept = box_iou(boxes, boxes), []
    for index in scores.argsort(descending=True).tolist():
        if all(overlap[index, other] <= threshold for other in kept):
            kept.append(index)
    assert kernels.nms(boxes, scores, threshold).tolist() == kept
    assert kernels.nms(torch.zeros(0, 4), torch.zeros(0), threshold).tolist() == []
    assert kernels.nms(torch.zeros(5, 4), torch.zeros(5), threshold).tolist() == [0, 1, 2, 3, 4]


def test_detectors_run_for_real() -> None:
    import torchvision

    assert torchvision.extension._has_ops()
    model = torchvision_models.build("fasterrcnn_mobilenet_v3_large_320_fpn", with_data=True)
    with torch.no_grad():
        found = model([torch.rand(3, 64, 64)])[0]
    assert found["boxes"].shape[1] == 4


def test_prepare_twice_is_once() -> None:
    before = torchvision_ops.replaced()
    torchvision_ops.prepare()
    assert torchvision_ops.replaced() == before
