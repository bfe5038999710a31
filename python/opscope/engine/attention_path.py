"""What `nn.MultiheadAttention` runs in eval. On a GPU its fast path is one call of an op that holds a product, fused
attention and a product: shown as these. Elsewhere, and where the path takes masks or gives weights, its slow path is
shown, op by op."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional as F

from opscope._load import native
from opscope.engine.threads import Undo, replaced

_ALIGNMENT = 8  # a head of other widths is not fused
_FUSED = (torch.float32, torch.float16, torch.bfloat16)


def shown() -> Iterator[Undo]:
    """Sets each switch and yields what undoes it."""
    paths, enabled, fast = torch.backends.mha, torch.backends.mha.get_fastpath_enabled, torch._native_multi_head_attention
    layers: Any = torch.nn.modules.activation
    on_known_device = layers._check_arg_device

    def is_enabled() -> bool:
        return bool(enabled() and (not native.capturing() or _runs_three_ops(sys._getframe(1))))

    def attend(*args: Any) -> Any:
        return (_three_ops if native.capturing() else fast)(*args)

    def is_on_device(tensor: Any) -> bool:
        return bool(native.capturing() or on_known_device(tensor))  # weights may be on the meta device

    yield replaced(layers, "_check_arg_device", is_on_device)
    yield replaced(paths, "get_fastpath_enabled", is_enabled)
    yield replaced(torch, "_native_multi_head_attention", attend)


def _runs_three_ops(frame: Any) -> bool:
    """Whether the frame that asks is the module's, and its call is one that is fused."""
    if frame.f_code is not torch.nn.MultiheadAttention.forward.__code__:
        return False
    seen = frame.f_locals
    module, query = seen["self"], seen["query"]
    if seen["need_weights"] or seen["attn_mask"] is not None or seen["key_padding_mask"] is not None:
        return False
    return bool(query.device.type == "cuda" and query.dtype in _FUSED and module.head_dim % _ALIGNMENT == 0)


def _three_ops(query: Any, _key: Any, _value: Any, width: int, heads: int, *rest: Any) -> Any:
    weight, bias, out_weight, out_bias = rest[:4]
    batch = query.size(0)
    products = F.linear(query, weight, bias).chunk(3, -1)
    q, k, v = (part.view(batch, -1, heads, width // heads).transpose(1, 2) for part in products)
    attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, -1, width)
    return F.linear(attended, out_weight, out_bias), None
