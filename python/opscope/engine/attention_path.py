"""What `nn.MultiheadAttention` runs in eval. On a GPU its fast path is one call of an op that holds a product, fused
attention and a product: shown as these. Elsewhere, and where the path takes masks or gives weights, its slow path is
shown, op by op.

PyTorch's own functions stay what they are: Dynamo knows them by identity, for the rest of the process. The module's code
finds other answers behind its name `torch`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional as F

from opscope._load import native
from opscope.engine.threads import Undo, replaced

_LAYERS: Any = torch.nn.modules.activation
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

    def is_enabled() -> bool:
        return enabled and (not native.capturing() or _runs_three_ops(sys._getframe(1)))

    def attend(*args: Any) -> Any:
        return (_three_ops if native.capturing() else torch._native_multi_head_attention)(*args)

    answers = _Over(
        torch,
        backends=_Over(torch.backends, mha=_Over(paths, get_fastpath_enabled=is_enabled)),
        utils=_Over(utils, backend_registration=_Registration(utils.backend_registration)),
        _native_multi_head_attention=attend,
    )
    paths.set_fastpath_enabled(False)  # of the layers of transformers around it
    yield lambda: paths.set_fastpath_enabled(enabled)
    yield replaced(_LAYERS, "torch", answers)


@contextmanager
def slow() -> Iterator[None]:
    """For a tracer that compiles the code that asks: Dynamo breaks the graph where it cannot look into an answer."""
    undo = replaced(_LAYERS, "torch", torch)
    try:
        yield
    finally:
        undo()


def _runs_three_ops(frame: Any) -> bool:
    """Whether the frame that asks is the module's, and its call is one that is fused."""
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
