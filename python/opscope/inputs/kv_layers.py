"""Cache layers that transformers has no class for, or none without another library: tokens stored in another dtype, or in blocks.

They are written as transformers' own are, so that the ops of a step are those of a real one. What they assume of how
a library or a server stores tokens is said in notes, and their ops count as estimates. Imports transformers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

from opscope._load import native

Stored = tuple[torch.Tensor, ...]  # what is kept of keys, or of values: numbers, then scales and zero points

_ops = torch.library.Library("opscope", "FRAGMENT")
_ops.define("kv_encode(Tensor x, int bits) -> (Tensor, Tensor, Tensor)")
_ops.define("kv_decode(Tensor stored, Tensor scale, Tensor zero, int bits) -> Tensor")


def _encode(x: torch.Tensor, bits: int) -> Stored:
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    scale = ((high - low) / (2**bits - 1)).clamp(min=torch.finfo(x.dtype).tiny)
    numbers = ((x - low) / scale).round().clamp(0, 2**bits - 1).to(torch.uint8)
    return (numbers[..., 0::2] | numbers[..., 1::2] << 4 if bits == 4 else numbers), scale, low


def _encode_shapes(x: torch.Tensor, bits: int) -> Stored:
    scale = x.new_empty((*x.shape[:-1], 1))
    return x.new_empty((*x.shape[:-1], x.shape[-1] * bits // 8), dtype=torch.uint8), scale, torch.empty_like(scale)


def _decode(stored: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, bits: int) -> torch.Tensor:
    if bits == 4:
        stored = torch.stack((stored & 15, stored >> 4), -1).flatten(-2)
    return stored.to(scale.dtype) * scale + zero


def _decode_shapes(stored: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor, bits: int) -> torch.Tensor:
    return scale.new_empty((*stored.shape[:-1], stored.shape[-1] * 8 // bits))


for _key, _encoder, _decoder in (
    ("CompositeExplicitAutograd", _encode, _decode),
    ("Meta", _encode_shapes, _decode_shapes),
):
    _ops.impl("kv_encode", _encoder, _key)
    _ops.impl("kv_decode", _decoder, _key)


class Cast:
    """Tokens in another floating dtype."""

    def __init__(self, dtype: torch.dtype | None) -> None:
        self.dtype = dtype  # None: that of the model
        self.name: str | None = None

    def encode(self, x: torch.Tensor, before: Stored | None) -> Stored:
        return (x if self.dtype is None else x.to(self.dtype),)

    def decode(self, stored: Stored, dtype: torch.dtype) -> torch.Tensor:
        return stored[0] if self.dtype is None else stored[0].to(dtype)


class Float8(Cast):
    """e4m3 with one scale for a layer's keys and one for its values, which the prompt sets."""

    def __init__(self) -> None:
        super().__init__(torch.float8_e4m3fn)

    def encode(self, x: torch.Tensor, before: Stored | None) -> Stored:
        scale = before[1] if before else x.abs().amax().float() / torch.finfo(torch.float8_e4m3fn).max
        return (x / scale).to(torch.float8_e4m3fn), scale

    def decode(self, stored: Stored, dtype: torch.dtype) -> torch.Tensor:
        return stored[0].to(dtype) * stored[1].to(dtype)


class Integers(Cast):
    """Whole numbers of so many bits, with a scale and a zero point for each token and head in the model's dtype."""

    def __init__(self, bits: int) -> None:
        super().__init__(None)
        self.bits, self.name = bits, f"int{bits}"

    def encode(self, x: torch.Tensor, before: Stored | None) -> Stored:
        return tuple(torch.ops.opscope.kv_encode(x, self.bits))

    def decode(self, stored: Stored, dtype: torch.dtype) -> torch.Tensor:
        made: torch.Tensor = torch.ops.opscope.kv_decode(*stored, self.bits)
        return made


def codec_of(dtype: str | None) -> Cast:
    if dtype == "fp8":
        return Float8()
    if dtype in ("int8", "int4"):
        return Integers(int(dtype.removeprefix("int")))
    return Cast(getattr(torch, dtype) if dtype else None)


@contextmanager
def _assumed() -> Iterator[None]:
    """What is recorded inside rests on an assumption."""
    native.assume_ops(True)
    try:
        yield
    finally:
        native.assume_ops(False)


class StoredLayer(DynamicLayer):  # type: ignore[no-untyped-call]
    """One layer's tokens as a codec stores them: grown by concatenation, as transformers does, or in blocks in place."""

    def __init__(self, codec: Cast, window: int | None, block: int | None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.codec, self.block = codec, block
        self.window, self.is_sliding = window, window is not None
        self.begin = 0  # in the first block: tokens that are behind the window
        self.cumulative_length = 0
        self.key_scales: Stored = ()
        self.value_scales: Stored = ()

    @property
    def stored_name(self) -> str | None:
        return self.codec.name

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.dtype, self.device, self.is_initialized = key_states.dtype, key_states.device, True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with _assumed():
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
                self._begin(key_states, value_states)
                return key_states, value_states
            held = min(self.cumulative_length, self.window - 1) if self.window else self.cumulative_length
            self.cumulative_length += key_states.shape[-2]
            both: Any = ((self.keys, *self.key_scales), key_states), ((self.values, *self.value_scales), value_states)
            keys, values = (self._grown(stored, new, held) for stored, new in both)
            results = self.codec.decode(keys, self.dtype), self.codec.decode(values, self.dtype)
            if self.block is None:
                self._keep(keys, values)
            return results

    def _begin(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        self.cumulative_length = tokens = key_states.shape[-2]
        keys, values = self.codec.encode(key_states, None), self.codec.encode(value_states, None)
        if self.block is None:
            return self._keep(keys, values)
        held = min(tokens, self.window - 1) if self.window else tokens
        first = tokens - held
        self.begin = first % self.block
        room = (tokens // self.block - first // self.block + 1) * self.block  # the next token's block too
        self._set(self._paged(keys, held, room), self._paged(values, held, room))

    def _paged(self, stored: Stored, held: int, room: int) -> Stored:
        pages = []
        for tensor in stored:
            page = tensor
            if tensor.dim() > 0:
                page = tensor.new_zeros((*tensor.shape[:-2], room, tensor.shape[-1]))
                page[..., self.begin : self.begin + held, :] = tensor[..., tensor.shape[-2] - held :, :]
            pages.append(page)
        return tuple(pages)

    def _grown(self, stored: Stored, states: torch.Tensor, held: int) -> Stored:
        """The tokens that the step sees, its own among them."""
        new, end = self.codec.encode(states, stored), self.begin + held
        if self.block is None:
            return tuple(
                old if old.dim() == 0 else torch.cat([old, more], dim=-2) for old, more in zip(stored, new, strict=True)
            )
        seen = []
        for page, more in zip(stored, new, strict=True):
            if page.dim() > 0:
                page[..., end : end + states.shape[-2], :] = more
                page = page[..., self.begin : end + states.shape[-2], :]
            seen.append(page)
        return tuple(seen)

    def _keep(self, keys: Stored, values: Stored) -> None:
        self._set(self._newest(keys), self._newest(values))

    def _newest(self, stored: Stored) -> Stored:
        if self.window is None:
            return stored
        return tuple(t if t.dim() == 0 else t[..., -self.window + 1 :, :] for t in stored)

    def _set(self, keys: Stored, values: Stored) -> None:
        self.keys, self.key_scales = keys[0], keys[1:]
        self.values, self.value_scales = values[0], values[1:]

    def get_seq_length(self) -> int:
        return self.cumulative_length

    def get_max_length(self) -> int:
        return self.window or -1

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        if self.window is None:
            return self.cumulative_length + query_length, 0
        held = min(self.cumulative_length, self.window - 1)
        return held + query_length, self.cumulative_length - held


class StoredCache(Cache):
    """Layers that store tokens in a dtype of their own."""

    block = 1

    def __init__(self, layers: Sequence[Any]) -> None:
        super().__init__(layers=list(layers))


class PagedCache(StoredCache):
    """Layers that hold tokens in blocks, as servers do."""

    def __init__(self, layers: Sequence[Any], block: int) -> None:
        super().__init__(layers)
        self.block = block
