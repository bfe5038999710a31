"""CPU kernels for torchvision's operators in plain torch, used when torchvision's own library does not load.

They follow torchvision's definitions to the sampling point; they are written for clear code, not for speed.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

_BOXES_AT_ONCE = 64  # sampled together: a few megabytes


def nms(dets: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Indices of the boxes kept, best score first: a box goes if it overlaps a better one that stays."""
    if dets.numel() == 0:
        return dets.new_empty((0,), dtype=torch.long)
    order = scores.argsort(descending=True, stable=True)
    boxes = dets[order].to(torch.float32 if dets.dtype in (torch.float16, torch.bfloat16) else dets.dtype)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    alive = torch.ones(len(boxes), dtype=torch.bool)
    for i in range(len(boxes)):
        if alive[i]:
            alive[i + 1 :] &= ~_overlaps(boxes[i], areas[i], boxes[i + 1 :], areas[i + 1 :], iou_threshold)
    return order[alive]


def _overlaps(box: Tensor, area: Tensor, others: Tensor, areas: Tensor, iou_threshold: float) -> Tensor:
    top_left = torch.maximum(box[:2], others[:, :2])
    bottom_right = torch.minimum(box[2:], others[:, 2:])
    inter = (bottom_right - top_left).clamp_(min=0).prod(dim=1)
    return inter / (area + areas - inter) > iou_threshold  # 0/0 of empty boxes is no overlap


def roi_align(
    input: Tensor,
    rois: Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> Tensor:
    """Average of bilinear samples in each bin."""
    out = input.new_zeros((len(rois), input.shape[1], pooled_height, pooled_width))
    if len(rois) == 0:
        return out
    shift = 0.5 if aligned else 0.0
    start_x, start_y, end_x, end_y = (rois[:, 1:] * spatial_scale - shift).unbind(1)
    width, height = end_x - start_x, end_y - start_y
    if not aligned:
        width, height = width.clamp(min=1.0), height.clamp(min=1.0)
    images = rois[:, 0].long()
    bins = (pooled_height, pooled_width)
    for chosen in _sampled_together(images, sampling_ratio):
        grid_y, grid_x = (_grid(size[chosen[0]], count, sampling_ratio) for size, count in zip((height, width), bins, strict=True))
        if grid_y <= 0 or grid_x <= 0:
            continue
        y = _sample_points(start_y[chosen], height[chosen], pooled_height, grid_y)
        x = _sample_points(start_x[chosen], width[chosen], pooled_width, grid_x)
        samples = _bilinear(input[images[chosen[0]]], y, x)
        samples = samples.view(-1, len(chosen), pooled_height, grid_y, pooled_width, grid_x)
        out[chosen] = samples.mean(dim=(3, 5)).transpose(0, 1)
    return out


def _grid(size: Tensor, bins: int, sampling_ratio: int) -> int:
    return sampling_ratio if sampling_ratio > 0 else int(torch.ceil(size / bins))


def _sampled_together(images: Tensor, sampling_ratio: int) -> Iterator[Tensor]:
    """Boxes of one image; box by box when the grid adapts to the box's size."""
    boxes = torch.arange(len(images))
    if sampling_ratio <= 0:
        yield from boxes.split(1)
        return
    for image in images.unique():
        yield from boxes[images == image].split(_BOXES_AT_ONCE)


def _sample_points(start: Tensor, length: Tensor, bins: int, grid: int) -> Tensor:
    """grid points in each of the bins, at the middle of equal steps."""
    steps = torch.arange(bins * grid, dtype=start.dtype)
    return start[:, None] + (steps + 0.5) * (length / (bins * grid))[:, None]


def _bilinear(image: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """image [C,H,W] at every (y, x) of each box's grid, [C,K,Y,X]; zero for points more than one pixel outside."""
    y_low, y_high, y_weight, y_inside = (part[:, :, None] for part in _neighbours(y, image.shape[1]))
    x_low, x_high, x_weight, x_inside = (part[:, None, :] for part in _neighbours(x, image.shape[2]))
    left = image[:, y_low, x_low] * (1 - y_weight) + image[:, y_high, x_low] * y_weight
    right = image[:, y_low, x_high] * (1 - y_weight) + image[:, y_high, x_high] * y_weight
    return (left * (1 - x_weight) + right * x_weight) * (y_inside & x_inside)


def _neighbours(points: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inside = (points >= -1.0) & (points <= size)
    points = points.clamp(min=0)
    low = points.floor().long().clamp(max=size - 1)
    high = (low + 1).clamp(max=size - 1)
    weight = torch.where(low >= size - 1, torch.zeros_like(points), points - low)
    return low, high, weight, inside


def roi_pool(
    input: Tensor, rois: Tensor, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[Tensor, Tensor]:
    """Maximum of each bin and where it was, -1 for an empty bin."""
    channels, height, width = input.shape[1:]
    out = input.new_zeros((len(rois), channels, pooled_height, pooled_width))
    argmax = torch.full(out.shape, -1, dtype=torch.int32)
    for i, roi in enumerate(rois):
        x0, y0, x1, y1 = (_round_half_away(value * spatial_scale) for value in roi[1:].tolist())
        ys = _bin_edges(y0, max(y1 - y0 + 1, 1), pooled_height, height)
        xs = _bin_edges(x0, max(x1 - x0 + 1, 1), pooled_width, width)
        image = input[int(roi[0])]
        for p, (top, bottom) in enumerate(ys):
            for q, (left, right) in enumerate(xs):
                if bottom <= top or right <= left:
                    continue
                best, where = image[:, top:bottom, left:right].flatten(1).max(dim=1)
                out[i, :, p, q] = best
                argmax[i, :, p, q] = ((where // (right - left) + top) * width + where % (right - left) + left).int()
    return out, argmax


def _round_half_away(value: float) -> int:
    return int(value + 0.5) if value >= 0 else -int(-value + 0.5)


def _bin_edges(start: int, length: int, bins: int, limit: int) -> list[tuple[int, int]]:
    def clip(edge: int) -> int:
        return min(max(edge + start, 0), limit)

    return [(clip(b * length // bins), clip(-(-(b + 1) * length // bins))) for b in range(bins)]


def deform_conv2d(
    input: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    groups: int,
    offset_groups: int,
    use_mask: bool,
) -> Tensor:
    """A convolution whose taps are read at learnt offsets: sample every tap, then one matrix product."""
    batch, channels = input.shape[:2]
    taps_h, taps_w = weight.shape[2:]
    out_h, out_w = offset.shape[2:]
    taps = taps_h * taps_w
    shifts = offset.view(batch, offset_groups, taps, 2, out_h, out_w)
    tap_y = (torch.arange(taps_h) * dilation_h).repeat_interleave(taps_w)
    tap_x = (torch.arange(taps_w) * dilation_w).repeat(taps_h)
    y = shifts[:, :, :, 0] + tap_y.view(-1, 1, 1) + (torch.arange(out_h) * stride_h - pad_h).view(-1, 1)
    x = shifts[:, :, :, 1] + tap_x.view(-1, 1, 1) + (torch.arange(out_w) * stride_w - pad_w)
    data = input.view(batch, offset_groups, channels // offset_groups, *input.shape[2:])
    columns = _gather_bilinear(data, y.to(input.dtype), x.to(input.dtype))  # [B, og, C/og, taps, oh, ow]
    if use_mask:
        columns = columns * mask.view(batch, offset_groups, 1, taps, out_h, out_w)
    columns = columns.reshape(batch, groups, channels // groups * taps, out_h * out_w)
    kernel = weight.reshape(groups, weight.shape[0] // groups, -1)
    out = torch.einsum("gok,bgkp->bgop", kernel, columns).reshape(batch, weight.shape[0], out_h, out_w)
    return out + bias.view(1, -1, 1, 1)


def _gather_bilinear(data: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """data [B,G,C,H,W] at points [B,G,T,P,Q], each corner counted only where it lies inside the image."""
    height, width = data.shape[-2:]
    flat = data.flatten(3)
    y_low, x_low = y.floor(), x.floor()
    corners = []
    for dy in (0, 1):
        for dx in (0, 1):
            cy, cx = y_low + dy, x_low + dx
            share = (1 - (y - cy).abs()) * (1 - (x - cx).abs())
            inside = (cy >= 0) & (cy < height) & (cx >= 0) & (cx < width)
            index = cy.clamp(0, height - 1).long() * width + cx.clamp(0, width - 1).long()
            picked = flat.gather(3, index.flatten(2).unsqueeze(2).expand(-1, -1, data.shape[2], -1))
            corners.append(picked.view(*data.shape[:3], *y.shape[2:]) * (share * inside).unsqueeze(2))
    return corners[0] + corners[1] + corners[2] + corners[3]
