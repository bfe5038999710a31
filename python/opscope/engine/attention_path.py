"""What `nn.MultiheadAttention` and `nn.TransformerEncoderLayer` run in eval. On a GPU the fast path of attention is one call
of an op that holds a product, fused attention and a product, and that of the layer one call of an op that holds those, two
norms and two products more: shown as these. Elsewhere, and where a path takes masks or gives weights, the slow path is shown,
op by op.

PyTorch's own functions stay what they are: Dynamo knows them by identity, for the rest of the process. The module's code
finds other answers behind its name `torch`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional as F

from opscope._load import native
from opscope.engine.threads import Undo, replaced

_ATTENTION: Any = torch.nn.modules.activation
_ENCODER: Any = torch.nn.modules.transformer
_ALIGNMENT = 8  # a head of other widths is not fused
_FUSED = (torch.float32, torch.float16, torch.bfloat16)


class _Over:
    """A module with some other answers."""

    def __init__(self, module: Any, **answers: Any) -> None:
        self._module = module
        vars(self).update(answers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _Registration(_Over):
    @property
    def _privateuse1_backend_name(self) -> Any:
        """The third kind of device that the fast path takes."""
        return "meta" if native.capturing() else self._module._privateuse1_backend_name


def shown() -> Iterator[Undo]:
    """Sets each switch and yields what undoes it."""
    paths, utils = torch.backends.mha, torch.utils
    enabled = paths.get_fastpath_enabled()

    def answers(is_fused: Callable[[dict[str, Any]], bool], **ops: Callable[..., Any]) -> _Over:
        def is_enabled() -> bool:
            return enabled and (not native.capturing() or is_fused(sys._getframe(1).f_locals))

        def parts_of(name: str, parts: Callable[..., Any]) -> Callable[..., Any]:
            return lambda *args: (parts if native.capturing() else getattr(torch, name))(*args)

        return _Over(
            torch,
            backends=_Over(torch.backends, mha=_Over(paths, get_fastpath_enabled=is_enabled)),
            utils=_Over(utils, backend_registration=_Registration(utils.backend_registration)),
            **{name: parts_of(name, parts) for name, parts in ops.items()},
        )

    paths.set_fastpath_enabled(False)  # of whatever else asks
    yield lambda: paths.set_fastpath_enabled(enabled)
    yield replaced(_ATTENTION, "torch", answers(_attention_is_fused, _native_multi_head_attention=_attention))
    yield replaced(_ENCODER, "torch", answers(_layer_is_fused, _transformer_encoder_layer_fwd=_layer))


@contextmanager
def slow() -> Iterator[None]:
    """For a tracer that compiles the code that asks: Dynamo breaks the graph where it cannot look into an answer."""
    undo = [replaced(layers, "torch", torch) for layers in (_ATTENTION, _ENCODER)]
    try:
        yield
    finally:
        for each in undo:
            each()


def _attention_is_fused(seen: dict[str, Any]) -> bool:
    """Of the module's call, by the variables of the frame that asks."""
    if seen["need_weights"] or seen["attn_mask"] is not None or seen["key_padding_mask"] is not None:
        return False
    return _is_fused(seen["self"], seen["query"])


def _layer_is_fused(seen: dict[str, Any]) -> bool:
    """The whole encoder asks too; for masks it would pack its sequences."""
    if not isinstance(seen["self"], torch.nn.TransformerEncoderLayer):
        return False
    return seen["src_mask"] is None and seen["src_key_padding_mask"] is None and _is_fused(seen["self"].self_attn, seen["src"])


def _is_fused(attention: Any, query: Any) -> bool:
    return bool(query.device.type == "cuda" and query.dtype in _FUSED and attention.head_dim % _ALIGNMENT == 0)


def _layer(src: Any, width: int, heads: int, *rest: Any) -> Any:
    attention, (is_gelu, norm_first, eps, *weights) = rest[:4], rest[4:]
    norm1, norm2, up, down = (weights[at : at + 2] for at in (0, 2, 4, 6))

    def normed(x: Any, norm: Any) -> Any:
        return F.layer_norm(x, (width,), norm[0], norm[1], eps)

    x = normed(src, norm1) if norm_first else src
    x = _attention(x, x, x, width, heads, *attention)[0].add_(src)
    x = kept = x if norm_first else normed(x, norm1)
    x = normed(x, norm2) if norm_first else x
    x = torch._addmm_activation(up[1], x.reshape(-1, width), up[0].t(), use_gelu=is_gelu)
    x = torch.addmm(down[1], x, down[0].t()).view(src.shape).add_(kept)
    return x if norm_first else normed(x, norm2)


def _attention(query: Any, _key: Any, _value: Any, width: int, heads: int, *rest: Any) -> Any:
    weight, bias, out_weight, out_bias = rest[:4]
    batch = query.size(0)
    products = F.linear(query, weight, bias).chunk(3, -1)
    q, k, v = (part.view(batch, -1, heads, width // heads).transpose(1, 2) for part in products)
    attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, -1, width)
    return F.linear(attended, out_weight, out_bias), None
