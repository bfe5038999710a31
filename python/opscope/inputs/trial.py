"""Tries candidates of inputs on a model by shapes alone, and finds the image size that a later layer fixes."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from torch import nn

from opscope.engine import abstract_run
from opscope.errors import Error
from opscope.inputs import float_dtype, input_device
from opscope.inputs.layers import SIDE
from opscope.inputs.parts import Part, Sizes, called_with
from opscope.inputs.signature import module_of

_USUAL_SIDES = (28, 32, 64, 96, 128, 160, 192, 256, 299, 320, 384, 512)


def settled(model: Any, candidates: list[list[Part]], sizes: Sizes) -> tuple[list[Part], str]:
    """The first candidate that the model runs with, by shapes alone; else the first of all, for its own error."""
    if _is_lazy(model):  # takes its sizes from its first call, so most will do
        return candidates[0], ""
    for parts in candidates:
        if _refusal(model, parts) is None:
            return parts, ""
        if not sizes.asked_image:
            fitting = _fitted_side(model, parts)
            if fitting is not None:
                side = (fitting[0].shape or (0,))[-1]
                return fitting, f": images of {SIDE}x{SIDE} did not fit, {side}x{side} do"
    return candidates[0], ""


def _is_lazy(model: Any) -> bool:
    inner = module_of(model)
    return isinstance(inner, nn.Module) and any(nn.parameter.is_lazy(weight) for weight in inner.parameters())


def _refusal(model: Any, parts: list[Part]) -> str | None:
    """Why the model does not take these; None where it does, or where shapes are not the reason."""
    inputs = called_with(parts, float_dtype(model), input_device(model))
    try:
        abstract_run.run_abstract(model, inputs.args, inputs.kwargs)
    except Error as problem:
        return None if getattr(problem, "needs_values", False) else str(problem)
    return None


_MISMATCH = re.compile(r"\((\d+)x(\d+) and (\d+)x(\d+)\)")


def _fitted_side(model: Any, parts: list[Part]) -> list[Part] | None:
    """An image's side where a linear layer after the convolutions fixes it: a usual one, else found by halving."""
    if not any(len(part.shape or ()) >= 4 for part in parts):
        return None
    for side in _USUAL_SIDES:
        trial = [_with_side(part, side) for part in parts]
        if _refusal(model, trial) is None:
            return trial
    low, high = 1, 1024
    while low <= high:
        side = (low + high) // 2
        trial = [_with_side(part, side) for part in parts]
        refusal = _refusal(model, trial)
        if refusal is None:
            return trial
        got = _MISMATCH.search(refusal)
        if got is None and "size" not in refusal:
            return None
        if got is None or int(got[2]) < int(got[3]):
            low = side + 1
        else:
            high = side - 1
    return None


def _with_side(part: Part, side: int) -> Part:
    if part.shape is None or len(part.shape) < 4:
        return part
    return dataclasses.replace(part, shape=(*part.shape[:-2], side, side))
