"""The layer that consumes an input, and the shape that it asks for."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

#: Layers that say nothing about their input, or only pass it on: the next one is asked.
TRANSPARENT = (
    nn.Identity,
    nn.Flatten,
    nn.Unflatten,
    nn.ReLU,
    nn.modules.dropout._DropoutNd,
    nn.modules.pooling._MaxPoolNd,
    nn.modules.pooling._AvgPoolNd,
    nn.modules.pooling._AdaptiveAvgPoolNd,
    nn.modules.pooling._AdaptiveMaxPoolNd,
    nn.modules.padding._ConstantPadNd,
    nn.modules.padding._ReflectionPadNd,
    nn.modules.padding._ReplicationPadNd,
    nn.modules.padding._CircularPadNd,
    nn.Upsample,
    *(
        getattr(nn, name) for name in (
            "Sigmoid", "Tanh", "GELU", "SiLU", "ELU", "LeakyReLU", "ReLU6", "Hardswish", "Softmax"
        )
    ),
)

#: Sizes where the layer leaves them open. An image's side may follow from a later layer (input_guess).
STEPS, SIDE, FRAMES = 128, 224, 16


@dataclass(frozen=True)
class Wanted:
    """A shape with the roles of its sizes: 'batch', 'tokens', 'height', 'width' are open, None is given."""

    shape: tuple[int, ...]
    roles: tuple[str | None, ...]
    why: str
    dtype: torch.dtype | None = None
    bound: int | None = None  # ids below this


def wanted_by(layer: nn.Module, path: str, position: int = 0) -> list[Wanted]:
    """The shapes that a layer takes, the likeliest first; none where it does not say."""
    for kinds, rule in _RULES:
        if isinstance(layer, kinds):
            return _named(rule(layer, position), path)
    if isinstance(layer, torch.jit.ScriptModule):
        return _named(_scripted(layer), path)
    for attribute, rule in _RULES_BY_ATTRIBUTE:  # quantised layers, and the users' own that speak the same way
        if isinstance(getattr(layer, attribute, None), int):
            return _named(rule(layer, position), path)
    return []


def _named(wanted: list[Wanted], path: str) -> list[Wanted]:
    return [dataclasses.replace(w, why=w.why.format(path=path or "of the model")) for w in wanted]


def _image(channels: int, dimensions: int, kind: str) -> Wanted:
    why = f"first layer {{path}} ({kind}) takes {channels} channel{'s' * (channels != 1)}"
    if dimensions == 1:
        return Wanted((1, channels, STEPS), ("batch", None, "tokens"), why)
    if dimensions == 2:
        return Wanted((1, channels, SIDE, SIDE), ("batch", None, "height", "width"), why)
    return Wanted((1, channels, FRAMES, SIDE, SIDE), ("batch", None, None, "height", "width"), why)


def _conv(layer: Any, _: int) -> list[Wanted]:
    channels = layer.in_channels or 3  # a lazy one takes any: an image has three
    kernel = getattr(layer, "kernel_size", (1, 1))
    return [_image(channels, len(kernel) if isinstance(kernel, tuple) else 2, type(layer).__name__)]


def _linear(layer: Any, _: int) -> list[Wanted]:
    if not layer.in_features:
        return []
    return _features(
        layer.in_features, f"first layer {{path}} ({type(layer).__name__}) takes {layer.in_features} features"
    )


def _features(width: int, why: str) -> list[Wanted]:
    row = Wanted((1, width), ("batch", None), why)
    return [row, Wanted((1, STEPS, width), ("batch", "tokens", None), why)]


def _sequence(width: int, why: str, batch_first: bool = True) -> Wanted:
    if batch_first:
        return Wanted((1, STEPS, width), ("batch", "tokens", None), why)
    return Wanted((STEPS, 1, width), ("tokens", "batch", None), why + ", the sequence first")


def _embedding(layer: Any, _: int) -> list[Wanted]:
    number = layer.num_embeddings
    why = f"first layer {{path}} ({type(layer).__name__}) looks ids up among {number}"
    return [
        Wanted((1, STEPS), ("batch", "tokens"), why, torch.int64, number),
        Wanted((1,), ("batch",), why, torch.int64, number),
    ]


def _recurrent(layer: Any, position: int) -> list[Wanted]:
    if position > 0:
        return []
    why = f"first layer {{path}} ({type(layer).__name__}) takes {layer.input_size} features a step"
    return [_sequence(layer.input_size, why, getattr(layer, "batch_first", True))]


def _cell(layer: Any, position: int) -> list[Wanted]:
    width = layer.input_size if position == 0 else layer.hidden_size
    return [
        Wanted((1, width), ("batch", None), f"first layer {{path}} ({type(layer).__name__}) takes {width} features")
    ]


def _attention(layer: Any, position: int) -> list[Wanted]:
    width = (layer.embed_dim, layer.kdim, layer.vdim)[position] if position < 3 else layer.embed_dim
    why = f"first layer {{path}} (MultiheadAttention) takes {width} features"
    return [_sequence(width, why, layer.batch_first)]


def _transformer(layer: Any, _: int) -> list[Wanted]:
    inner = next(m for m in layer.modules() if isinstance(m, nn.MultiheadAttention))
    why = f"first layer {{path}} ({type(layer).__name__}) takes {inner.embed_dim} features"
    return [_sequence(inner.embed_dim, why, inner.batch_first)]


def _bilinear(layer: Any, position: int) -> list[Wanted]:
    return _features(
        (layer.in1_features, layer.in2_features)[min(position, 1)], "first layer {path} (Bilinear) takes two inputs"
    )


def _layer_norm(layer: Any, _: int) -> list[Wanted]:
    inner = tuple(layer.normalized_shape)
    why = f"first layer {{path}} ({type(layer).__name__}) is over {'x'.join(map(str, inner))}"
    if len(inner) == 1:
        return [_sequence(inner[0], why), Wanted((1, *inner), ("batch", None), why)]
    return [Wanted((1, *inner), ("batch", *[None] * len(inner)), why)]


def _norm(layer: Any, _: int) -> list[Wanted]:
    channels = getattr(layer, "num_features", None) or getattr(layer, "num_channels", None) or 3
    kind = type(layer).__name__
    if kind.endswith("1d"):
        return [
            Wanted((1, channels), ("batch", None), f"first layer {{path}} ({kind}) takes {channels} features"),
            _image(channels, 1, kind),
        ]
    return [_image(channels, 3 if kind.endswith("3d") else 2, kind)]


def _scripted(layer: Any) -> list[Wanted]:
    """A layer of a TorchScript module keeps its weights and the name of its class, and little else."""
    kind, weights = layer.original_name, dict(layer.named_parameters(recurse=False))
    weight = weights.get("weight", weights.get("weight_ih_l0"))
    if weight is None or weight.dim() < 2:
        return []
    if kind in ("Conv1d", "Conv2d", "Conv3d"):
        return [_image(weight.shape[1] * getattr(layer, "groups", 1), weight.dim() - 2, kind)]
    if kind == "Embedding":
        why = f"first layer {{path}} (Embedding) looks ids up among {weight.shape[0]}"
        return [Wanted((1, STEPS), ("batch", "tokens"), why, torch.int64, weight.shape[0])]
    if kind in ("LSTM", "GRU", "RNN"):
        why = f"first layer {{path}} ({kind}) takes {weight.shape[1]} features a step"
        return [_sequence(weight.shape[1], why), _sequence(weight.shape[1], why, batch_first=False)]
    why = f"first layer {{path}} ({kind}) takes {weight.shape[1]} features"
    return _features(weight.shape[1], why) if kind == "Linear" else []


_RULES: tuple[tuple[Any, Any], ...] = (
    (nn.modules.conv._ConvNd, _conv),
    (nn.Linear, _linear),
    ((nn.Embedding, nn.EmbeddingBag), _embedding),
    (nn.RNNBase, _recurrent),
    (nn.RNNCellBase, _cell),
    (nn.MultiheadAttention, _attention),
    (
        (
            nn.Transformer,
            nn.TransformerEncoder,
            nn.TransformerDecoder,
            nn.TransformerEncoderLayer,
            nn.TransformerDecoderLayer,
        ),
        _transformer,
    ),
    (nn.Bilinear, _bilinear),
    ((nn.LayerNorm, nn.RMSNorm), _layer_norm),
    ((nn.modules.batchnorm._NormBase, nn.GroupNorm), _norm),
)

_RULES_BY_ATTRIBUTE: tuple[tuple[str, Any], ...] = (
    ("in_channels", _conv),
    ("in_features", _linear),
    ("num_embeddings", _embedding),
    ("input_size", _recurrent),
)


def is_transparent(layer: nn.Module) -> bool:
    """Whether a layer's input may have any shape, as far as the layer says."""
    return isinstance(layer, TRANSPARENT) or not (
        wanted_by(layer, "") or any(True for _ in layer.modules() if _ is not layer)
    )
