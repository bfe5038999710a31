"""The plan of a model's inputs: what would be passed, part by part, and why. Made from the model, not from its name.

Asked in this order: the user's own factory, the library that the model came from, transformers' config, timm's
pretrained_cfg, the layers that forward feeds its arguments to. What the user asked for overrides any part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from opscope.errors import error
from opscope.inputs import Inputs, InputSpec, as_shapes, cast_inputs, float_dtype, input_device
from opscope.inputs.decode import check_generates, decode_step
from opscope.inputs.guesses import guessed_parts
from opscope.inputs.library import library_spec, with_reasons
from opscope.inputs.overrides import apply_named, with_sizes_of
from opscope.inputs.parts import Part, Sizes, called_with
from opscope.inputs.signature import Signature, has_forward, signature_of
from opscope.inputs.transformers_inputs import is_transformers, transformers_parts
from opscope.options import Options


@dataclass(frozen=True)
class PlannedInput:
    """A row of --print-inputs."""

    name: str
    shape: tuple[int, ...] | None  # None: a plain value, or an object of several tensors
    dtype: str | None
    why: str
    value: str | None = None  # in words: "ones", "ids 5", "cache of 4096 tokens"


@dataclass
class InputPlan:
    parts: list[Part]
    floats: torch.dtype
    device: torch.device
    notes: list[str] = field(default_factory=list)  # assumptions, to be flagged in the report
    arrange: Callable[[list[torch.Tensor], int], Inputs] | None = None
    batch: int = 1
    kv_cache: dict[str, Any] | None = None  # the facts of a decode step's cache

    def make(self) -> Inputs:
        if self.arrange is not None:
            return self.arrange([part.make(self.floats, self.device) for part in self.parts], self.batch)
        return called_with(self.parts, self.floats, self.device)

    @property
    def rows(self) -> list[PlannedInput]:
        return [self._row(part) for part in self.parts]

    def _row(self, part: Part) -> PlannedInput:
        dtype = None if part.shape is None else str(part.dtype or self.floats).removeprefix("torch.")
        value = part.words or (repr(part.value) if part.shape is None and not callable(part.value) else None)
        many = f"{self.batch} of these in a list; " if self.arrange is not None and self.batch > 1 else ""
        return PlannedInput(part.name, part.shape, dtype, many + part.why, value or "zeros")


def plan_inputs(source: Any, request: Options, dtype: torch.dtype | None = None) -> InputPlan:
    """The inputs that a source's model is called with; an error says which argument is unknown and how to give it."""
    model = source.model
    if not has_forward(model):
        parts = f"profile one of its parts: {_children(model)}"
        raise error(f"{type(model).__name__} has no forward of its own", source.name, parts)
    if is_transformers(model):
        request = with_sizes_of(request, model)
    signature, sizes = signature_of(model), Sizes(request, source.name)
    if request.phase is not None:
        check_generates(model, source.name)
    plan = InputPlan([], float_dtype(model, dtype), input_device(model))
    if request.phase == "decode":
        step = decode_step(model, signature, sizes, source.name)
        plan.parts, plan.notes, plan.kv_cache = step.parts, step.notes, step.kv_cache
    elif source.inputs is not None and request.input_shape is None:
        _reject_sizes(source, request)
        plan.parts = _own_parts(cast_inputs(source.inputs, source.owned, dtype), signature)
    elif source.default_inputs is not None:
        _from_spec(plan, with_reasons(source.default_inputs, model, source.name), signature, sizes)
    else:
        plan.parts, plan.notes = _worked_out(source, signature, sizes, request, plan)
    if request.last_logits and request.phase != "decode":
        _keep_last_logits(plan, signature, source.name)
    apply_named(plan.parts, request, signature, source.name)
    sizes.reject_unused(_override_hint(plan.parts))
    return plan


def _keep_last_logits(plan: InputPlan, signature: Signature, name: str) -> None:
    """As `generate` calls a model with its prompt: the other positions' logits are for losses."""
    if "logits_to_keep" in signature.names:
        plan.parts.append(Part("logits_to_keep", "of the last token only", value=1))
    else:
        plan.notes.append(f"{name} has no logits_to_keep: it computes the logits of every token")


def _children(model: torch.nn.Module) -> str:
    return ", ".join(f"{name} ({type(child).__name__})" for name, child in model.named_children())


def _override_hint(parts: list[Part]) -> str:
    first = next((part for part in parts if part.shape is not None), None)
    return f"--input {first.name}={'x'.join(map(str, first.shape or ()))} sets it whole" if first else ""


def _worked_out(
    source: Any, signature: Signature, sizes: Sizes, request: Options, plan: InputPlan
) -> tuple[list[Part], list[str]]:
    model = source.model
    if is_transformers(model):
        parts, notes = transformers_parts(model, signature, sizes)
        if request.input_shape is not None:
            _shape_parts(parts, as_shapes(request.input_shape), signature, source.name)
        return parts, notes
    spec = library_spec(model, source.name)
    if spec is not None:
        _from_spec(plan, spec, signature, sizes)
        return plan.parts, plan.notes
    return guessed_parts(source, signature, sizes, request)


def _own_parts(inputs: Inputs, signature: Signature) -> list[Part]:
    why = "returned beside the model"
    names = [*(a.name for a in signature.arguments if not a.keyword_only)]
    names += [f"args[{index}]" for index in range(len(names), len(inputs.args))]
    parts = [_own(name, value, why, True) for name, value in zip(names, inputs.args, strict=False)]
    return parts + [_own(name, value, why, False) for name, value in inputs.kwargs.items()]


def _own(name: str, value: Any, why: str, positional: bool) -> Part:
    tensor = value if isinstance(value, torch.Tensor) else None
    plain = repr(value) if isinstance(value, (int, float, str)) else type(value).__name__
    words = "as given" if tensor is not None else plain
    shape, dtype = (tuple(tensor.shape), tensor.dtype) if tensor is not None else (None, None)
    return Part(name, why, shape, dtype, value, words, positional, given=True)


def _reject_sizes(source: Any, request: Options) -> None:
    for option in ("batch", "seq_len", "image_size"):
        if getattr(request, option) is not None:
            raise error(f"{source.name} brings its own inputs, so {option} does not apply", option, "give input_shape")


def _from_spec(plan: InputPlan, spec: InputSpec, signature: Signature, sizes: Sizes) -> None:
    """Parts of what a library says, at the batch and the image size asked for."""
    asked = sizes.request.input_shape
    if asked is not None:
        spec = _spec_from_shapes(spec, as_shapes(asked))
    names = list(spec.names) or [a.name for a in signature.arguments if not a.keyword_only]
    names += [f"args[{index}]" for index in range(len(names), len(spec.shapes))]
    if spec.arrange is not None:
        plan.arrange, plan.batch = spec.arrange, sizes.batch
        names = [f"{names[0]}[{index}]" for index in range(len(spec.shapes))]
    for index, shape in enumerate(spec.shapes):
        made = _sized(shape, spec, sizes)
        kind = spec.dtypes[index] if index < len(spec.dtypes) else None
        why = "image_size as asked" if sizes.asked_image else spec.why or "what models of this kind take"
        plan.parts.append(Part(names[index], why, made, kind, positional=True))


def _sized(shape: tuple[int, ...], spec: InputSpec, sizes: Sizes) -> tuple[int, ...]:
    is_image = len(shape) >= 3 if spec.images is None else spec.images
    if is_image and sizes.request.input_shape is None:
        shape = (*shape[:-2], *sizes.image(shape[-2], shape[-1], fixed=spec.fixed_size))
    if spec.arrange is None and shape and sizes.request.batch is not None:
        shape = (sizes.batch, *shape[1:])
    return shape


def _spec_from_shapes(spec: InputSpec, shapes: list[tuple[int, ...]]) -> InputSpec:
    """Detectors take a list of images: a shape given for one is an image's, with or without a batch of one."""
    why = "input_shape as asked"
    if spec.arrange is not None:
        images = [image for shape in shapes for image in ([shape[1:]] * shape[0] if len(shape) == 4 else [shape])]
        return dataclasses.replace(spec, shapes=tuple(images), why=why)
    if len(spec.shapes) > 1 and len(shapes) == 1:
        shapes = shapes * len(spec.shapes)
    return dataclasses.replace(spec, shapes=tuple(shapes), why=why)


def _shape_parts(parts: list[Part], shapes: list[tuple[int, ...]], signature: Signature, name: str) -> None:
    """Shapes for a transformers model's arguments, in the order of the plan: its main input first."""
    if len(shapes) > len(parts):
        takes = ", ".join(part.name for part in parts)
        raise error(
            f"{len(shapes)} shapes were given, and {name} is called with {takes}",
            "input_shape",
            "name them: --input NAME=SHAPE",
        )
    for part, shape in zip(parts, shapes, strict=False):
        part.reshape(shape, "input_shape as asked")
