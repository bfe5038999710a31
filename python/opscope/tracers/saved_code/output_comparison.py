"""Compares two lists of outputs, bit by bit or within a tolerance, and finds which belong together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

from opscope.engine.nested import tensors_in
from opscope.errors import error

_TOLERANCE = 1e-5
_SMALLEST = 1e-3  # outputs below it are compared as if they were as large

Pairs = list[tuple[Any, Any]]


def leaves(value: Any) -> list[Any]:
    """Tensors and numbers of an output, in order; classes of a library's own count as what they hold."""
    if isinstance(value, (bool, int, float)):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in leaves(part)]
    if isinstance(value, torch.Tensor):
        return [value]
    parts = pytree.tree_leaves(value)
    if parts and parts[0] is not value:
        return [leaf for part in parts for leaf in leaves(part)]
    return list(tensors_in(value))


# --- which belong together ------------------------------------------------------------------------------------


def in_order(ours: list[Any], theirs: list[Any]) -> Pairs | None:
    """Export puts what it writes to buffers before the model's outputs. None where there are too few."""
    extra = len(ours) - len(theirs)
    return list(zip(ours[extra:], theirs, strict=True)) if extra >= 0 else None


def in_any_order(ours: list[Any], theirs: list[Any], given: set[int]) -> Pairs:
    """For graphs of Dynamo, which returns each tensor once, and neither numbers nor what the model was given.

    Each of ours goes to one of the model's at most; what finds none has None beside it, unless it need not be there.
    """
    left, pairs = list(ours), list[tuple[Any, Any]]()
    for wanted in _distinct(theirs):
        best = _nearest(left, wanted)
        need_not = not isinstance(wanted, torch.Tensor) or id(wanted) in given
        if need_not and (best is None or not is_close(left[best], wanted)):
            continue
        pairs.append((None if best is None else left.pop(best), wanted))
    return pairs


def _nearest(values: list[Any], wanted: Any) -> int | None:
    alike = [index for index, each in enumerate(values) if _kind(each) == _kind(wanted)]
    return min(alike, key=lambda index: _distance(values[index], wanted), default=None)


def _distinct(values: list[Any]) -> list[Any]:
    """Each tensor once; equal numbers are not one."""
    keys = [id(value) if isinstance(value, torch.Tensor) else -1 - index for index, value in enumerate(values)]
    return list(dict(zip(keys, values, strict=True)).values())


# --- how near they are ----------------------------------------------------------------------------------------


def _kind(value: Any) -> Any:
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else type(value)


def is_same(one: Any, other: Any) -> bool:
    """Bit by bit, so that NaN is NaN."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return type(one) is type(other) and bool(one == other)
    if _kind(one) != _kind(other):
        return False
    pair = [each.detach().cpu().contiguous().flatten().view(torch.uint8) for each in (one, other)]
    return bool(torch.equal(*pair))


def is_close(one: Any, other: Any) -> bool:
    if is_same(one, other):
        return True
    return _kind(one) == _kind(other) and _distance(one, other) <= _TOLERANCE


def _distance(one: Any, other: Any) -> float:
    """Largest difference, relative to the number, or to one, or to the largest number where all are smaller."""
    if not isinstance(one, torch.Tensor):
        return 0.0 if one == other else float("inf")
    if not one.is_floating_point():
        return 0.0 if torch.equal(one.cpu(), other.cpu()) else float("inf")
    if one.numel() == 0:
        return 0.0
    a, b = one.detach().cpu().double(), other.detach().cpu().double()
    largest = float(b.abs().nan_to_num(nan=1.0).max())
    gap = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs() / b.abs().clamp(min=_scale(largest)))
    return float(gap.nan_to_num(nan=float("inf")).max())


def _scale(largest: float) -> float:
    return min(1.0, max(largest, _SMALLEST))


def require_close(pairs: Pairs, whose: str, path: str) -> None:
    for index, (one, other) in enumerate(pairs):
        if one is None or _kind(one) != _kind(other):
            raise error(f"output {index} of the saved file is {_said(one)}, of {whose} {_said(other)}", path)
        if not is_close(one, other):
            gap = f"differs from {whose}'s by {_distance(one, other):.3g}"
            raise error(f"output {index} ({_said(one)}) of the saved file {gap}", path)


def require_as_many(ours: list[Any], theirs: list[Any], whose: str, path: str) -> Pairs:
    if len(ours) != len(theirs):
        raise error(f"the saved file gives {len(ours)} outputs, {whose} {len(theirs)}", path)
    return list(zip(ours, theirs, strict=True))


def _said(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def verdict(what: str, whose: str, pairs: Pairs, reason: Callable[[], str]) -> str:
    """'outputs bit-equal to the model's', or within the tolerance and why."""
    if all(is_same(one, other) for one, other in pairs):
        return f"{what} bit-equal to {whose}"
    return f"{what} within 1e-5 of {whose}: {reason()}"
