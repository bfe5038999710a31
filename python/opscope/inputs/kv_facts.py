"""What a model's own KV cache keeps, layer by layer, read off the cache object that its prefill left. Nothing is worked out here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from opscope.engine.nested import named_tensors
from opscope.inputs.config import text_config

#: Where the tokens are among a tensor's dimensions, by the name of the layer's attribute.
_TOKENS = {"keys": -2, "values": -2, "indexer_keys": 1, "_quantized_keys[0]": -2, "_quantized_values[0]": -2}
_TOKENS |= {f"{kind}_scales[{index}]": -2 for kind in ("key", "value") for index in (0, 1)}
_OF_LIBRARIES = ("HQQQuantizedLayer", "QuantoQuantizedLayer")
_LATENT = ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")


def kv_facts(cache: Any, model: Any, past: int, batch: int) -> dict[str, Any] | None:
    """The capture's section "kv_cache"; None for a cache that has no layers to ask, as those of old models."""
    layers = [fact for layer in _layers(cache) if (fact := _layer(layer, batch)) is not None]
    if not layers:
        return None
    for fact, encoder in zip(layers, _encoders(cache), strict=False):
        fact["state_bytes"] += sum(t.nbytes for _, t in named_tensors(encoder) if t.numel() > 1) // batch
    told = {"type": type(cache).__name__, "batch": batch, "past_len": past, "layers": layers}
    capacity = max((getattr(layer, "max_cache_len", 0) for layer in _layers(cache)), default=0)
    if capacity:
        told["capacity"] = capacity
    if (block := getattr(cache, "block", 1)) > 1:
        told["block"] = block
    if (latent := _latent(model, len(layers))) is not None:
        told["latent"] = latent
    return told


def _layers(cache: Any) -> list[Any]:
    own = getattr(cache, "self_attention_cache", cache)
    return list(getattr(own, "layers", None) or ())


def _encoders(cache: Any) -> Iterator[Any]:
    """Of an encoder-decoder: what each layer keeps of the encoder, as long as its input."""
    yield from _layers(getattr(cache, "cross_attention_cache", None))


def _layer(layer: Any, batch: int) -> dict[str, Any] | None:
    held = {name: tensor for name, tensor in named_tensors(vars(layer)) if tensor.numel() > 1 or tensor.is_floating_point()}
    held = {name: tensor for name, tensor in held.items() if tensor.numel() > 0}
    if not held:
        return None
    per_token = state = shared = 0
    if type(layer).__name__ in _OF_LIBRARIES:
        return _packed_layer(layer, held, batch)
    for name, tensor in held.items():
        tokens = _TOKENS.get(name)
        if tensor.dim() == 0:
            shared += tensor.nbytes
        elif tokens is None:
            state += tensor.nbytes // batch
        else:
            per_token += tensor.nbytes // tensor.shape[tokens] // batch
    keys, values = (held.get(name, held.get(f"_quantized_{name}[0]")) for name in ("keys", "values"))
    some = keys if keys is not None else next(iter(held.values()))
    dtype = getattr(layer, "stored_name", None) or _name(some.dtype)
    fact = {"kind": "state", "dtype": dtype, "bytes_per_token": per_token, "state_bytes": state}
    if shared:
        fact["shared_bytes"] = shared
    if keys is not None and values is not None:
        packed = 2 if fact["dtype"] == "int4" else 1  # numbers in a byte
        widths = {"key_width": keys.shape[-1] * packed, "value_width": values.shape[-1] * packed}
        fact |= {"kind": "full", "heads": keys.shape[1], **widths}
        if getattr(layer, "is_sliding", False):
            fact |= {"kind": "sliding", "window": int(getattr(layer, "sliding_window", None) or layer.get_max_length())}
    return fact


def _packed_layer(layer: Any, held: dict[str, torch.Tensor], batch: int) -> dict[str, Any]:
    """Groups of numbers across tokens, as a library packs them: a token has its share."""
    both = layer._quantized_keys, layer._quantized_values
    keys, values = (part[1]["shape"] if isinstance(part, tuple) else part.shape for part in both)
    size = sum(tensor.nbytes for name, tensor in held.items() if name.startswith("_quantized"))
    fact = {"kind": "full", "dtype": f"int{layer.nbits}", "bytes_per_token": size // (batch * keys[-2]), "state_bytes": 0}
    return fact | {"heads": keys[1], "key_width": keys[-1], "value_width": values[-1]}


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _latent(model: Any, layers: int) -> dict[str, Any] | None:
    """Multi-head latent attention, where the config has all its sizes."""
    config = text_config(model.config, decoder=True)
    sizes = {name: getattr(config, name, None) for name in _LATENT}
    if not all(isinstance(size, int) and size > 0 for size in sizes.values()):
        return None
    return {"layers": layers, "heads": config.num_attention_heads, **sizes}
