"""What a model is called with: the forms in which a user gives it, and inputs made from shapes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_map

from opscope.errors import error

Shape = Sequence[int]

# Above this a zero-filled tensor of floats costs real time and memory. Larger ones are left as the system maps them:
# fresh pages, which read as zero and take no memory until they are touched.
_FILL_LIMIT_BYTES = 64 << 20
# Whole numbers are inputs for their values, ids and masks. Above this their shape has to do.
_VALUES_LIMIT_BYTES = 1 << 30


class Inputs:
    """The arguments of one forward call: Inputs(ids, attention_mask=mask)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        parts = [describe(value) for value in self.args]
        parts += [f"{key}={describe(value)}" for key, value in self.kwargs.items()]
        return f"Inputs({', '.join(parts)})"

    def __iter__(self) -> Iterator[Any]:
        return iter((self.args, self.kwargs))


def describe(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{'x'.join(map(str, value.shape)) or 'scalar'} {str(value.dtype).removeprefix('torch.')}"
    return type(value).__name__


def as_inputs(inputs: Any) -> Inputs:
    """A tuple is positional arguments, a mapping keyword arguments; anything else is the one argument."""
    if isinstance(inputs, Inputs):
        return inputs
    if isinstance(inputs, Mapping) or _is_user_mapping(inputs):
        return Inputs(**{str(key): value for key, value in inputs.items()})
    if isinstance(inputs, tuple) and not hasattr(inputs, "_fields"):  # a PackedSequence is one argument
        return Inputs(*inputs)
    return Inputs(inputs)


def _is_user_mapping(value: Any) -> bool:
    return hasattr(value, "keys") and hasattr(value, "items")  # transformers' BatchEncoding


def as_shapes(input_shape: Any) -> list[tuple[int, ...]]:
    """One shape, (1, 3, 224, 224), or several, [(1, 128), (1, 128)]."""
    try:
        items = list(input_shape)
        several = bool(items) and not hasattr(items[0], "__index__")
        shapes = [tuple(operator.index(size) for size in shape) for shape in (items if several else [items])]
    except TypeError:
        raise error(
            f"{input_shape!r} is not a shape", "input_shape", "a shape is whole numbers: (1, 3, 224, 224)"
        ) from None
    for shape in shapes:
        if any(size < 0 for size in shape):
            raise error(
                f"a shape has no negative sizes: {' '.join(map(str, shape))}",
                "input_shape",
                "a shape is whole numbers: 1 3 224 224",
            )
    return shapes


def as_dtype(dtype: Any) -> torch.dtype | None:
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype
    found = getattr(torch, _DTYPE_NICKNAMES.get(str(dtype), str(dtype).removeprefix("torch.")), None)
    if not isinstance(found, torch.dtype):
        raise error(
            f"no dtype called '{dtype}'", "dtype", "float32, float16, bfloat16, float64, int64, int32, int8, bool, ..."
        )
    return found


def as_device(device: Any) -> torch.device | None:
    try:
        return None if device is None else torch.device(device)
    except (RuntimeError, TypeError):
        raise error(f"no device called '{device}'", "device", "cpu, cuda, cuda:1, mps, meta, ...") from None


_DTYPE_NICKNAMES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}


@dataclass(frozen=True)
class InputSpec:
    """Inputs that a library says its model takes, until batch, sizes, dtype and device are known."""

    shapes: tuple[tuple[int, ...], ...]
    arrange: Callable[[list[torch.Tensor], int], Inputs] | None = None  # default: one argument a shape
    why: str = ""  # "timm's pretrained_cfg: 3x224x224"; shown by --print-inputs
    names: tuple[str, ...] = ()  # the arguments' names; default: those of forward, in order
    dtypes: tuple[torch.dtype | None, ...] = ()  # default, and None: floats of the weights' dtype
    images: bool | None = None  # the last two sizes are height and width; default: where there are three or more
    fixed_size: str = ""  # why no other image size will do; empty where any will


def make_tensor(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Zeros; floats that the device has no room for are a shape without data, which is all that a capture needs."""
    blank = _without_data(shape, dtype)
    if blank.nbytes <= _FILL_LIMIT_BYTES:
        return torch.zeros(shape, dtype=dtype, device=device)
    if not dtype.is_floating_point:
        return with_values(torch.zeros((), dtype=dtype).expand(shape), device)
    try:
        return torch.empty(shape, dtype=dtype, device=device)
    except RuntimeError:
        return blank


def with_values(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Values, which may be expanded from few, in memory of their own; where they are too many, their shape without data."""
    blank = _without_data(tuple(values.shape), values.dtype)
    return values.to(device).contiguous() if blank.nbytes <= _VALUES_LIMIT_BYTES else blank


def _without_data(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    try:
        return torch.empty(shape, dtype=dtype, device="meta")
    except RuntimeError as problem:
        what = f"an input of {'x'.join(map(str, shape))} has more bytes than 64 bits can count"
        raise error(what, "input_shape", "give a smaller batch, or smaller sizes") from problem


def cast_inputs(given: Inputs, owned: bool, dtype: torch.dtype | None) -> Inputs:
    """Given inputs follow the weights that were cast; a model that is the caller's own is never cast."""
    if dtype is None:
        return given
    if not owned:
        raise error("dtype does not change a model or inputs that you made", "dtype", "cast them: model.to(dtype)")

    def cast(value: Any) -> Any:
        return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    args, kwargs = tree_map(cast, tuple(given)) if dtype.is_floating_point else given
    return Inputs(*args, **kwargs)


def float_dtype(model: Any, dtype: torch.dtype | None = None) -> torch.dtype:
    """What floating inputs are: the asked dtype, else the weights' own, else the default."""
    if dtype is not None:
        return dtype
    weights = model.parameters() if isinstance(model, torch.nn.Module) else ()
    return next((w.dtype for w in weights if w.dtype.is_floating_point), torch.get_default_dtype())


def input_device(model: Any) -> torch.device:
    """Where the model's weights are; a model without data gets its inputs on the CPU, so values stay known."""
    if isinstance(model, torch.nn.Module):
        for weight in model.parameters():
            if weight.device.type != "meta":
                return weight.device
    return torch.device("cpu")
