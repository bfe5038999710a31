"""What the user says about single arguments: --input NAME=SHAPE[:DTYPE], or values in Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from opscope._load import native
from opscope.errors import error
from opscope.inputs import as_dtype, as_shapes
from opscope.inputs.parts import Part
from opscope.inputs.signature import Signature
from opscope.options import Options

_INTEGER_NAMES = ("ids", "_id", "position", "index", "labels", "lengths")


def apply_named(parts: list[Part], request: Options, signature: Signature, model: str) -> None:
    """Replaces planned parts by what the user gave under their names, and adds optional arguments."""
    for name, given in request.named_inputs.items():
        part = next((part for part in parts if part.name == name), None)
        if part is None:
            _check_name(name, signature, model)
            part = Part(name, "as asked")
            parts.append(part)
        _override(part, given)
    _fit_decoder(parts, request)
    if request.named_inputs and all(part.name in request.named_inputs for part in parts if part.shape is not None):
        for option in ("input_shape", "batch", "seq_len", "image_size"):
            if getattr(request, option) is not None:
                raise error(f"every input of {model} was given whole, so {option} does not apply", option, "leave one out")


#: What a decoder takes beside its encoder, one number for each of its tokens.
_DECODER_TOKENS = ("decoder_input_ids", "labels", "decoder_attention_mask")


def _fit_decoder(parts: list[Part], request: Options) -> None:
    """What is given for some of a decoder's tokens is how many there are."""
    by_name = {part.name: part for part in parts}
    if "decoder_input_ids" not in by_name:
        return
    asked = [by_name[name].shape for name in _DECODER_TOKENS if name in request.named_inputs]
    shape = next((shape for shape in asked if shape is not None and len(shape) == 2), None)
    planned = by_name["decoder_input_ids"].shape
    if shape is None or planned is None or len(planned) != 2:  # several codes a step
        return
    for name in _DECODER_TOKENS:
        if name in by_name and name not in request.named_inputs:
            by_name[name].reshape(shape, "as long as the decoder's other inputs")


def _check_name(name: str, signature: Signature, model: str) -> None:
    if name in signature.names:
        return
    near = list(native.nearest(name, signature.names))
    if signature.more_keywords and not near:
        return
    takes = ", ".join(signature.names[:12]) + (", ..." if len(signature.names) > 12 else "")
    raise error(f"{model} has no argument called '{name}'", "inputs", f"it takes {takes}", near)


def _override(part: Part, given: Any) -> None:
    shape, dtype = _shape_and_dtype(given)
    if shape is None:
        tensor = given if isinstance(given, torch.Tensor) else None
        part.shape, part.dtype = (tuple(tensor.shape), tensor.dtype) if tensor is not None else (None, None)
        part.value, part.given, part.why = given, True, "as asked"
        part.words = "as given" if tensor is not None else None
        return
    if dtype is None and part.shape is None and any(mark in part.name for mark in _INTEGER_NAMES):
        dtype = torch.int64
    if dtype is None and part.shape is None and "mask" in part.name:
        part.fill, dtype = 1, torch.int64
    part.reshape(shape, "as asked", dtype)


def _shape_and_dtype(given: Any) -> tuple[tuple[int, ...] | None, torch.dtype | None]:
    """(1, 3), ((1, 3), "int64") and {"shape": [1, 3], "dtype": "int64"} are shapes; all else is a value."""
    if isinstance(given, Mapping) and "shape" in given:
        return as_shapes(given["shape"])[0], as_dtype(given.get("dtype"))
    if isinstance(given, torch.Tensor) or not isinstance(given, (tuple, list)):
        return None, None
    if len(given) == 2 and _is_shape(given[0]) and (given[1] is None or isinstance(given[1], (str, torch.dtype))):
        return as_shapes(given[0])[0], as_dtype(given[1])
    return (as_shapes(given)[0], None) if _is_shape(given) else (None, None)


def _is_shape(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(type(size) is int for size in value)


def with_sizes_of(request: Options, model: Any) -> Options:
    """Shapes given for some inputs set the sizes that the others follow: a mask has its ids' length, labels too."""
    names = dict(request.named_inputs)
    if request.input_shape is not None:
        main = model.main_input_name
        names.setdefault(main if isinstance(main, str) else main[0], as_shapes(request.input_shape)[0])
    for name, sized in _sized_by(model):
        given = names.get(name)
        shape = tuple(given.shape) if isinstance(given, torch.Tensor) else _shape_and_dtype(given)[0]
        if shape is not None and len(shape) == len(sized):
            request = _with(request, dict(zip(sized, shape, strict=True)))
    return request


def _sized_by(model: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Arguments whose shape says how large others are: names of their sizes, those that count first come first."""
    prompt, answer = ("batch", "seq_len"), ("batch", "answer")
    reads = "input_ids" in model.main_input_name  # a name, or a list of them
    decodes = bool(getattr(model.config, "is_encoder_decoder", False))
    classifies = type(model).__name__.endswith("ForSequenceClassification")
    yield "input_ids", prompt
    if reads:
        yield from (("attention_mask", prompt), ("token_type_ids", prompt))
    yield "labels", ("batch",)
    if decodes or (reads and not classifies):
        yield "labels", answer if decodes else prompt
    yield from (("decoder_input_ids", answer), ("decoder_attention_mask", answer))
    if reads:
        yield "position_ids", prompt
    yield "pixel_values", ("batch", "channels", "height", "width")


def _with(request: Options, found: dict[str, int]) -> Options:
    image = (found["height"], found["width"]) if "height" in found else None
    batch = found["batch"] if request.batch is None else request.batch
    return request.replace(
        batch=batch, seq_len=request.seq_len or found.get("seq_len"), image_size=request.image_size or image
    )
