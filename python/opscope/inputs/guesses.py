"""Inputs of a model that says nothing of them: from the layers that its forward feeds, each guess tried by shapes."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import torch
from torch import nn

from opscope.errors import error
from opscope.inputs import as_shapes, describe, float_dtype
from opscope.inputs.forward_code import Consumer, consumers
from opscope.inputs.layers import SIDE, STEPS, Wanted, is_transparent, wanted_by
from opscope.inputs.parts import Part, Sizes
from opscope.inputs.signature import Argument, Signature, module_of
from opscope.inputs.trial import settled
from opscope.options import Options

_TRIALS = 24
_TIMES = {"t", "time", "times", "timestep", "timesteps", "sigma", "noise_level"}
_PLAIN_VALUES = {"int", "float", "bool", "str"}
_INTEGERS = ("LongTensor", "IntTensor", "Int64")


def guessed_parts(
    source: Any, signature: Signature, sizes: Sizes, request: Options
) -> tuple[list[Part], list[str]]:
    """One part for each required argument, and what was assumed."""
    model = source.model
    arguments = _needed(signature, request)
    choices = _choices(model, arguments, sizes, source.name, request)
    parts = [options[0] for options in choices]
    if request.input_shape is not None:
        return parts, []
    tried = [parts, *([list(c) for c in itertools.islice(itertools.product(*choices), 1, _TRIALS)])]
    chosen, note = settled(model, tried, sizes)
    if chosen and any(part.shape is not None for part in chosen):
        text = ", ".join(f"{part.name} {_text(part, model)}" for part in chosen)
        return chosen, [f"no inputs were given, so {text} was assumed{note}"]
    return chosen, []


def _text(part: Part, model: Any) -> str:
    return describe(torch.empty(part.shape or (), dtype=part.dtype or float_dtype(model), device="meta"))


def _needed(signature: Signature, request: Options) -> list[Argument]:
    """The arguments to make: those that are required and not given by name; as many as there are shapes."""
    named = set(request.named_inputs)
    needed = [argument for argument in signature.required if argument.name not in named]
    if request.input_shape is None:
        if not signature.arguments and signature.more_positional:
            return [Argument("input", "", True)]
        return needed
    number = len(as_shapes(request.input_shape))
    everything = [
        argument for argument in signature.arguments if argument.name not in named and not argument.keyword_only
    ]
    taken = everything[:number]
    return taken + [Argument(f"args[{index}]", "", True) for index in range(len(taken), number)]


def _choices(
    model: Any, arguments: list[Argument], sizes: Sizes, name: str, request: Options
) -> list[list[Part]]:
    shapes = as_shapes(request.input_shape) if request.input_shape is not None else None
    reach, exported = _reached(model, arguments), _exported(model)
    every = [exported.get(a.name) or _wanted(a, reach.get(a.name), arguments) for a in arguments]
    if shapes is not None:
        return [[_of_shape(*each, sizes)] for each in zip(arguments, shapes, every, strict=True)]
    for argument, wanted in zip(arguments, every, strict=True):
        if not wanted:
            raise _unknown(argument, name, reach.get(argument.name))
    single = len(arguments) > 1 and (any("height" in w[0].roles for w in every) or _only_lookups(model))
    return [
        [_part(argument, choice, sizes) for choice in _ordered(wanted, single, request.seq_len is not None)]
        for argument, wanted in zip(arguments, every, strict=True)
    ]


def _exported(model: Any) -> dict[str, list[Wanted]]:
    """The inputs that an exported or traced graph was made with, as its placeholders remember them."""
    if not isinstance(model, torch.fx.GraphModule):
        return {}
    held = [(node.name, node.meta.get("val")) for node in model.graph.nodes if node.op == "placeholder"]
    why = "the graph was exported with it"
    return {
        name: [Wanted(tuple(map(int, value.shape)), (None,) * value.dim(), why, value.dtype)]
        for name, value in held
        if isinstance(value, torch.Tensor)
    }


def _reached(model: Any, arguments: list[Argument]) -> dict[str, Consumer]:
    """The layer that each argument reaches: as the code says, else the layers in the order they were registered."""
    inner = module_of(model)
    if not isinstance(inner, nn.Module):
        return {}
    read = consumers(inner) if not isinstance(inner, torch.jit.ScriptModule) else {}
    if isinstance(inner, nn.Sequential) or (len(arguments) == 1 and set(read) == {"input"}):
        read = {arguments[0].name: read["input"]} if "input" in read and arguments else {}
    if wanted_by(inner, "") or isinstance(inner, nn.modules.lazy.LazyModuleMixin):  # a layer of PyTorch's itself
        read = {argument.name: Consumer(inner, "", index) for index, argument in enumerate(arguments)}
    left = [argument.name for argument in arguments if argument.name not in read and not _is_mask(argument)]
    if left and not read:
        layers = (Consumer(layer, path) for path, layer in inner.named_modules() if wanted_by(layer, path))
        read |= dict(zip(left, layers, strict=False))
    return read


def _wanted(argument: Argument, consumer: Consumer | None, arguments: list[Argument]) -> list[Wanted]:
    if consumer is None:
        return _by_name(argument)
    if argument.name in _TIMES and not isinstance(consumer.layer, nn.Embedding):
        return [Wanted((1,), ("batch",), "a time for each sample, by its name")]
    found = wanted_by(consumer.layer, consumer.path, consumer.position)
    if not found and not is_transparent(consumer.layer):
        inner = ((path, layer) for path, layer in consumer.layer.named_modules() if wanted_by(layer, path))
        path, layer = next(inner, ("", None))
        found = wanted_by(layer, f"{consumer.path}.{path}") if layer is not None else []
    return [_share(wanted, consumer) for wanted in found]


def _share(wanted: Wanted, consumer: Consumer) -> Wanted:
    """Of a layer that takes several arguments joined, each has an equal part."""
    number, axis = len(consumer.joined), 1 if "height" in wanted.roles else len(wanted.shape) - 1
    if number < 2 or wanted.shape[axis] % number or wanted.dtype is not None:
        return wanted
    shape = list(wanted.shape)
    shape[axis] //= number
    return dataclasses.replace(wanted, shape=tuple(shape), why=f"{wanted.why}, shared by {', '.join(consumer.joined)}")


def _is_mask(argument: Argument) -> bool:
    return "mask" in argument.name


def _by_name(argument: Argument) -> list[Wanted]:
    if _is_mask(argument):
        return [Wanted((1, STEPS), ("batch", "tokens"), "a mask of ones, by its name", torch.bool)]
    if any(kind in argument.annotation for kind in _INTEGERS):
        return [Wanted((1, STEPS), ("batch", "tokens"), f"forward's annotation: {argument.annotation}", torch.int64)]
    return []


def _ordered(wanted: list[Wanted], single: bool, tokens_asked: bool) -> list[Wanted]:
    """Ids come in sequences; `single`: one for each sample, as beside an image or in a model of lookups alone."""
    ordered = wanted[::-1] if single and wanted[0].bound is not None else wanted
    return sorted(ordered, key=lambda choice: tokens_asked and "tokens" not in choice.roles)


def _only_lookups(model: Any) -> bool:
    """Whether nothing in the model reads a sequence."""
    readers, names = (nn.RNNBase, nn.MultiheadAttention, nn.Conv1d), ("ttention", "osition")
    if not isinstance(model, nn.Module):
        return False
    return not any(isinstance(m, readers) or any(n in type(m).__name__ for n in names) for m in model.modules())


def _part(argument: Argument, wanted: Wanted, sizes: Sizes) -> Part:
    shape = list(wanted.shape)
    for axis, role in enumerate(wanted.roles):
        if role == "batch":
            shape[axis] = sizes.batch
        elif role == "tokens":
            shape[axis] = sizes.tokens(STEPS)
    if "height" in wanted.roles:
        shape[-2:] = sizes.image(SIDE, SIDE)
    part = Part(argument.name, wanted.why, tuple(shape), wanted.dtype, positional=not argument.keyword_only)
    if _is_mask(argument):
        part.value, part.words, part.fill = torch.ones((), dtype=torch.bool).expand(shape), "ones", 1
    return part


def layer_part(argument: Argument, consumer: Consumer | None, sizes: Sizes, name: str) -> Part:
    """An argument of a model that otherwise says what it takes: by the layer that it reaches, passed by name."""
    wanted = _wanted(argument, consumer, [argument])
    if not wanted:
        raise _unknown(argument, name, consumer)
    part = _part(argument, wanted[0], sizes)
    part.positional = False
    return part


def _of_shape(argument: Argument, shape: tuple[int, ...], wanted: list[Wanted], sizes: Sizes) -> Part:
    if sizes.request.batch is not None and shape:
        shape = (sizes.batch, *shape[1:])
    kind = wanted[0].dtype if wanted else None
    return Part(argument.name, "input_shape as asked", shape, kind, positional=not argument.keyword_only)


def _unknown(argument: Argument, name: str, consumer: Consumer | None) -> Exception:
    example = "1x3x224x224"
    if consumer is not None and isinstance(consumer.layer, nn.modules.lazy.LazyModuleMixin):
        what = f"{consumer.path} ({type(consumer.layer).__name__}) takes any number of features"
    elif argument.annotation in _PLAIN_VALUES:
        return error(
            f"{name} needs inputs: '{argument.name}' is {argument.annotation}",
            argument.name,
            "give it in Python: inputs={...}",
        )
    else:
        what = f"the shape of '{argument.name}' is not known"
    hint = f"give --input {argument.name}={example}, --input-shape, or the inputs themselves in Python"
    return error(f"{name} needs inputs: {what}", argument.name, hint)
