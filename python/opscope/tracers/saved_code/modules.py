"""A module as the call that makes one like it: nn.Conv2d(3, 64, kernel_size=(7, 7), bias=False).

The call is read from the constructor's signature and the module's own attributes, tried on the meta device, and
what came out is compared with the module: what a call cannot say becomes assignments after it, and a module that
neither says is `Unwritable`.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import torch
from torch import nn

from opscope.errors import first_line
from opscope.tracers.saved_code.functions import Unwritable, is_standard, library_import
from opscope.tracers.saved_code.text import Text

_MISSING = object()
# What nn.Module keeps for itself; modules, parameters and buffers are compared one by one.
_OWN = set(vars(nn.Module())) | {"_flat_weights", "_flat_weight_refs", "_flat_weights_names"}
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


@dataclass
class Call:
    """`expression` makes the module; `after` are (path, value text) to assign below it, such as ('bias', '...')."""

    expression: str
    after: list[tuple[str, str]] = field(default_factory=list)


def constructor_call(module: nn.Module, text: Text) -> Call:
    """Throws Unwritable where there is none."""
    for part in module.modules():
        if any(getattr(part, hooks, None) for hooks in _HOOKS):
            raise Unwritable(f"{type(part).__name__} has hooks, which its constructor does not make")
    expression = _expression(module, text)
    return Call(expression, list(_differences(_tried(expression, module, text), module, "", text)))


def _tried(expression: str, module: nn.Module, text: Text) -> nn.Module:
    """The module that the expression makes: on no memory, except where buffers are not part of the state."""
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": torch.nn.functional, "DEVICE": text.device}
    has_own_values = any(part._non_persistent_buffers_set for part in module.modules())
    try:
        for line in text.imports:
            exec(line, names)
        with torch.random.fork_rng(devices=[]), torch.device("cpu" if has_own_values else "meta"):
            made = eval(expression, names)
    except Exception as problem:
        raise Unwritable(f"{expression} fails: {first_line(problem)}") from problem
    return made  # type: ignore[no-any-return]


# --- the expression -----------------------------------------------------------------------------------------


def _expression(module: nn.Module, text: Text) -> str:
    name = _class_name(type(module), text)
    positional, named = _arguments(module, text)
    parts = [*positional, *(f"{key}={value}" for key, value in named.items())]
    return f"{name}({', '.join(parts)})"


def _class_name(kind: type, text: Text) -> str:
    if getattr(nn, kind.__name__, None) is kind:
        return f"nn.{kind.__name__}"
    if is_standard(kind.__module__) and getattr(importlib.import_module(kind.__module__), kind.__qualname__, None) is kind:
        text.imports.add(f"import {kind.__module__}")
        return f"{kind.__module__}.{kind.__qualname__}"
    name = library_import(kind, text)
    if name is None:
        raise Unwritable(f"{kind.__qualname__} is not a class that a fresh interpreter can import")
    return name


def _arguments(module: nn.Module, text: Text) -> tuple[list[str], dict[str, str]]:
    special = next((rule for kind, rule in _SPECIAL if type(module).__init__ is kind.__init__), None)
    values = special(module) if special else _attributes(module)
    if isinstance(values, list):  # of a container, as it holds them
        return [_argument(value, text) for value in values], {}
    positional: list[str] = []
    named: dict[str, str] = {}
    defaults = _defaults(type(module), bool(special))
    for name, value in values.items():
        default = defaults.get(name, _MISSING)
        if default is inspect.Parameter.empty and not named and not isinstance(value, tuple):
            positional.append(_argument(value, text))
        elif not _equal(default, value) and not _repeats(value, default):
            named[name] = _argument(value, text)
    if (dtype := _dtype(module)) is not None and "dtype" in _parameters(type(module)) | ({"dtype": 0} if special else {}):
        named["dtype"] = text.value(dtype)
    return positional, named


def _argument(value: Any, text: Text) -> str:
    if isinstance(value, nn.Module):
        return _expression(value, text)
    if isinstance(value, torch.Tensor):
        return f"torch.ones({', '.join(map(str, value.shape))}, dtype={value.dtype})"
    return text.value(value)


def _parameters(kind: type) -> dict[str, Any]:
    return dict(inspect.signature(kind).parameters)


def _defaults(kind: type, special: bool) -> dict[str, Any]:
    base = _RECURRENT_DEFAULTS if special and issubclass(kind, nn.RNNBase) else {}
    return {name: parameter.default for name, parameter in _parameters(kind).items()} | base


def _dtype(module: nn.Module) -> torch.dtype | None:
    """The dtype to ask for: that of the floating weights, where it is one and not the default."""
    found = {tensor.dtype for tensor in module.parameters() if tensor.is_floating_point()}
    return next(iter(found)) if len(found) == 1 and found != {torch.float32} else None


def _attributes(module: nn.Module) -> dict[str, Any]:
    """The constructor's parameters by the attributes of the same name."""
    values: dict[str, Any] = {}
    for name, parameter in _parameters(type(module)).items():
        is_rest = parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        if is_rest or name in ("device", "dtype") or name.startswith("_"):
            continue
        value = getattr(module, name, getattr(module, f"_{name}", _MISSING))
        if value is _MISSING and parameter.default is parameter.empty:
            raise Unwritable(f"{type(module).__name__} takes '{name}' and does not keep it")
        if value is _MISSING:
            continue
        if isinstance(parameter.default, bool) and not isinstance(value, (bool, int)):
            value = value is not None  # bias=True makes a tensor called bias
        values[name] = value
    return values


def _repeats(value: Any, default: Any) -> bool:
    """stride=(1, 1) is what stride=1 becomes."""
    return isinstance(value, tuple) and type(default) is int and all(part == default for part in value)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return one is other
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:
        return False


# --- constructors that keep their arguments elsewhere ---------------------------------------------------------


def _attention(module: Any) -> dict[str, Any]:
    return {
        "embed_dim": module.embed_dim,
        "num_heads": module.num_heads,
        "dropout": module.dropout,
        "bias": module.in_proj_bias is not None,
        "add_bias_kv": module.bias_k is not None,
        "add_zero_attn": module.add_zero_attn,
        "kdim": None if module.kdim == module.embed_dim else module.kdim,
        "vdim": None if module.vdim == module.embed_dim else module.vdim,
        "batch_first": module.batch_first,
    }


_RECURRENT_DEFAULTS = {
    "input_size": inspect.Parameter.empty,
    "hidden_size": inspect.Parameter.empty,
    "num_layers": 1,
    "nonlinearity": "tanh",
    "bias": True,
    "batch_first": False,
    "dropout": 0.0,
    "bidirectional": False,
    "proj_size": 0,
}


def _recurrent(module: Any) -> dict[str, Any]:
    return {name: getattr(module, name) for name in _RECURRENT_DEFAULTS if hasattr(module, name)}


def _transformer_layer(module: Any) -> dict[str, Any]:
    return {
        "d_model": module.linear1.in_features,
        "nhead": module.self_attn.num_heads,
        "dim_feedforward": module.linear1.out_features,
        "dropout": module.dropout.p,
        "activation": module.activation,
        "layer_norm_eps": module.norm1.eps,
        "batch_first": module.self_attn.batch_first,
        "norm_first": module.norm_first,
        "bias": module.linear1.bias is not None,
    }


def _encoder(module: Any) -> dict[str, Any]:
    return {
        "encoder_layer": module.layers[0],
        "num_layers": len(module.layers),
        "norm": module.norm,
        "enable_nested_tensor": module.enable_nested_tensor,
        "mask_check": module.mask_check,
    }


def _decoder(module: Any) -> dict[str, Any]:
    return {"decoder_layer": module.layers[0], "num_layers": len(module.layers), "norm": module.norm}


def _transformer(module: Any) -> dict[str, Any]:
    return {
        "d_model": module.d_model,
        "nhead": module.nhead,
        "custom_encoder": module.encoder,
        "custom_decoder": module.decoder,
        "batch_first": module.batch_first,
    }


_SPECIAL: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (nn.MultiheadAttention, _attention),
    (nn.LSTM, _recurrent),
    (nn.GRU, _recurrent),
    (nn.RNN, _recurrent),
    (nn.TransformerEncoderLayer, _transformer_layer),
    (nn.TransformerDecoderLayer, _transformer_layer),
    (nn.TransformerEncoder, _encoder),
    (nn.TransformerDecoder, _decoder),
    (nn.Transformer, _transformer),
    (nn.Sequential, lambda module: list(module)),
)


# --- what came out against what was meant -----------------------------------------------------------------------


def _differences(made: nn.Module, meant: nn.Module, path: str, text: Text) -> Iterator[tuple[str, str]]:
    if type(made) is not type(meant):
        raise Unwritable(f"{path or 'it'} would be a {type(made).__name__}, not a {type(meant).__name__}")
    yield from _plain_differences(made, meant, path, text)
    yield from _tensor_differences(made, meant, path, text)
    if list(made._modules) != list(meant._modules):
        raise Unwritable(f"{type(meant).__name__} would have other submodules")
    for name, part in meant._modules.items():
        other = made._modules[name]
        if part is None or other is None:
            if part is not other:
                raise Unwritable(f"{type(meant).__name__} would have another '{name}'")
            continue
        yield from _differences(other, part, f"{path}{name}.", text)


def _plain_differences(made: nn.Module, meant: nn.Module, path: str, text: Text) -> Iterator[tuple[str, str]]:
    """Attributes that code reads. What PyTorch's own modules did not set themselves, nothing of theirs reads."""
    is_own = is_standard(type(meant).__module__)
    for name, value in vars(meant).items():
        if name in _OWN or (name not in vars(made) and (is_own or name.startswith("_"))):
            continue
        other = vars(made).get(name, _MISSING)
        if other is value or _equal(other, value) or _alike(other, value):
            continue
        if isinstance(value, (torch.Tensor, nn.Module)) or not _is_plain(value):
            raise Unwritable(f"{type(meant).__name__} has an attribute '{name}' that its constructor does not make")
        yield path + name, text.value(value)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str, torch.dtype, FunctionType)) or inspect.isbuiltin(value)


def _alike(one: Any, other: Any) -> bool:
    """Objects that are no tensors and hold the same: configs, partials."""
    if type(one) is not type(other) or isinstance(one, (torch.Tensor, nn.Module)) or not hasattr(one, "__dict__"):
        return False
    return _equal(vars(one), vars(other))


def _tensor_differences(made: nn.Module, meant: nn.Module, path: str, text: Text) -> Iterator[tuple[str, str]]:
    for kind in ("_parameters", "_buffers"):
        ours, theirs = _layouts(getattr(made, kind)), _layouts(getattr(meant, kind))
        if set(ours) != set(theirs):
            raise Unwritable(f"{type(meant).__name__} would have other {kind[1:]}")
        for name, layout in theirs.items():
            if layout != ours[name]:
                yield path + name, empty_like(getattr(meant, name), text, kind == "_parameters")
    for name in meant._non_persistent_buffers_set:
        if not torch.equal(made._buffers[name].cpu(), meant._buffers[name].cpu()):  # type: ignore[union-attr]
            raise Unwritable(f"{type(meant).__name__} has a buffer '{name}' that its constructor does not make")


def _layouts(tensors: Mapping[str, torch.Tensor | None]) -> dict[str, Any]:
    return {name: (each.shape, each.dtype, each.stride()) for name, each in tensors.items() if each is not None}


def empty_like(tensor: torch.Tensor, text: Text, is_parameter: bool) -> str:
    """A tensor of the same shape, dtype and strides, by the file's own `random_tensor`."""
    text.helpers.add("random_tensor")
    dtype = "" if tensor.dtype is torch.float32 else f", {tensor.dtype}"
    made = f"random_tensor({_list(tensor.shape)}{dtype}{_stride(tensor)})"
    grad = "" if tensor.is_floating_point() or tensor.is_complex() else ", requires_grad=False"
    return f"nn.Parameter({made}{grad})" if is_parameter else made


def _stride(tensor: torch.Tensor) -> str:
    """Memory that overlaps itself, as `expand` leaves it, cannot be filled: such a tensor is made whole."""
    is_plain = tensor.is_contiguous() or torch._debug_has_internal_overlap(tensor) != 0
    return "" if is_plain else f", stride={_list(tensor.stride())}"


def _list(sizes: Any) -> str:
    return f"({', '.join(str(int(size)) for size in sizes)}{',' if len(sizes) == 1 else ''})"
