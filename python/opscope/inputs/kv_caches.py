"""The KV cache that the user asks for in place of the model's own: static, in another dtype, in blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from opscope.engine.nested import replace
from opscope.errors import Error, error
from opscope.inputs import float_dtype
from opscope.inputs.config import text_config

_CHOICES = ("kv_cache", "kv_dtype", "kv_block", "kv_capacity")


@dataclass
class AskedCache:
    """An empty cache to hand to the prefill, and what it assumes."""

    cache: Any
    option: str  # that asked for it
    notes: list[str] = field(default_factory=list)


def without_own_dtype(request: Any, model: Any) -> Any:
    """The request where it asks for the dtype that the cache has anyway."""
    own = str(float_dtype(model)).removeprefix("torch.")
    return request.replace(kv_dtype=None) if request.kv_dtype == own else request


def is_asked(request: Any) -> bool:
    """Whether the prefill is to fill another cache than it would by itself."""
    return request.kv_cache == "static" or request.kv_dtype is not None or request.kv_block is not None


def asked_cache(model: Any, name: str, cache_name: str, request: Any, past: int, own: Any) -> AskedCache:
    """`own`: the cache that the model made by itself, filled."""
    option = next(choice for choice in _CHOICES if getattr(request, choice) not in (None, "dynamic"))
    words = "a static KV cache" if option == "kv_cache" else "a KV cache in " + (request.kv_dtype or "blocks")
    if cache_name != "past_key_values" or not getattr(model, "_supports_default_dynamic_cache", lambda: True)():
        held = ", ".join(sorted({type(layer).__name__ for layer in getattr(own, "layers", ())})) or type(own).__name__
        raise error(f"{name} cannot use {words}: it keeps {held} of its own", option, "leave it out")
    if option == "kv_cache":
        return _static(model, request, past, own, name)
    return _stored(name, words, option, request, model, own)


def to_steady_state(cache: Any) -> None:
    """A full window as any step but the first after a prompt finds it: a view of the window that the step before made."""
    for layer in getattr(getattr(cache, "self_attention_cache", cache), "layers", ()):
        window = getattr(layer, "sliding_window", None) or getattr(layer, "window", None)
        if not isinstance(window, int) or getattr(layer, "block", None) is not None or hasattr(layer, "max_cache_len"):
            continue

        def steady(tensor: Any, _: str, window: int = window) -> Any:
            if tensor.dim() != 4 or tensor.shape[-2] != window - 1 or not tensor.is_meta:
                return tensor
            whole = tensor.new_empty((*tensor.shape[:-2], window, tensor.shape[-1]))
            return view_alone(whole, whole[..., 1:, :])

        vars(layer).update(replace(dict(vars(layer)), "", steady))


def count_tokens(cache: Any, past: int) -> None:
    """A static cache counts its tokens in a tensor that was there before its prompt's capture, which put it back."""
    for layer in getattr(getattr(cache, "self_attention_cache", cache), "layers", ()):
        counter = getattr(layer, "cumulative_length", None)
        if isinstance(counter, torch.Tensor):
            layer.cumulative_length = torch.full_like(counter, past, device="cpu")


def view_alone(memory: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The memory seen with the shape and strides of `like`, and no other handle on it than this one."""
    seen: Any = torch.empty(0, dtype=memory.dtype, device=memory.device)
    # By the tensor: a storage that Python has seen has one more handle.
    made: torch.Tensor = torch.ops.aten.set_.source_Tensor_storage_offset(seen, memory, like.storage_offset(), like.shape, like.stride())
    return made


def refused(problem: Error, name: str, asked: AskedCache) -> Error:
    words = type(asked.cache).__name__
    return error(f"{name} does not run with a {words}: {problem}", asked.option, "leave it out: the model's own works")


def _static(model: Any, request: Any, past: int, own: Any, name: str) -> AskedCache:
    from transformers.cache_utils import EncoderDecoderCache, StaticCache

    room = request.kv_capacity or past + 1
    if room <= past:
        raise error(f"a cache of {room} tokens has no room for {past} and the next one", "kv_capacity", f"{past + 1} or more")
    config = text_config(model.config, decoder=True)
    try:
        cache: Any = StaticCache(config=config, max_cache_len=room)
        if isinstance(own, EncoderDecoderCache):
            crossed: Any = own.cross_attention_cache.layers[0]
            length = crossed.keys.shape[-2]
            cache = EncoderDecoderCache(cache, StaticCache(config=config, max_cache_len=length))
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise error(f"{name} cannot use a static KV cache: {problem}", "kv_cache", "leave it out") from problem
    if not any(hasattr(layer, "max_cache_len") for layer in getattr(cache, "self_attention_cache", cache).layers):
        raise error(f"{name} cannot use a static KV cache: it keeps states of one size", "kv_cache", "leave it out")
    return AskedCache(cache, "kv_cache")


def _stored(name: str, words: str, option: str, request: Any, model: Any, own: Any) -> AskedCache:
    from transformers.cache_utils import DynamicLayer

    config = text_config(model.config, decoder=True)
    if request.kv_dtype is not None and ":" in request.kv_dtype:
        return _library(name, words, option, request, config)
    plain = [layer for layer in getattr(own, "layers", ()) if type(layer) is DynamicLayer]
    is_plain = request.kv_block is None and len(plain) == len(getattr(own, "layers", ())) > 0
    if request.kv_dtype == "fp8" and is_plain and (cache := _float8(config)) is not None:
        return AskedCache(cache, option, [_EAGER_FP8])
    return _stood_in(name, words, option, request, own)


def _float8(config: Any) -> Any:
    """transformers' own; None where it has none, or not for this model."""
    from transformers.cache_utils import QuantizedCache

    try:
        return QuantizedCache(backend="fp8", config=config)
    except (ImportError, TypeError, ValueError):
        return None


def _library(name: str, words: str, option: str, request: Any, config: Any) -> AskedCache:
    """transformers' cache of the library that is named, as it is by default but for the number of bits."""
    from transformers.cache_utils import QuantizedCache

    bits, library = request.kv_dtype.removeprefix("int").split(":")
    if request.kv_block is not None:
        raise error(f"a KV cache of {library} is in one piece, not in blocks", "kv_block", "leave it out")
    try:
        cache: Any = QuantizedCache(library, config, nbits=int(bits), axis_key=0, axis_value=0)
    except (ImportError, ValueError, TypeError) as problem:
        where = problem if isinstance(problem, ValueError) else f"it needs {library}"
        hint = "leave it out" if isinstance(problem, ValueError) else f"pip install {_PACKAGES[library]}, or int{bits} alone"
        raise error(f"{name} cannot use {words}: {where}", option, hint) from problem
    for layer in cache.layers:
        if library == "hqq":
            layer.quantizer = _Unsearched(layer.quantizer)
    return AskedCache(cache, option, [_OF_LIBRARY.format(library=library, bits=bits)])


class _Unsearched:
    """HQQ's quantizer without its search for better zero points, which looks at data: what it keeps is of the same size."""

    def __init__(self, quantizer: Any) -> None:
        self._quantizer = quantizer

    def quantize(self, *args: Any, **kwargs: Any) -> Any:
        return self._quantizer.quantize(*args, **kwargs, optimize=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._quantizer, name)


def _stood_in(name: str, words: str, option: str, request: Any, own: Any) -> AskedCache:
    from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

    from opscope.inputs.kv_layers import PagedCache, StoredCache, StoredLayer, codec_of

    if hasattr(own, "cross_attention_cache"):
        raise error(f"{name} cannot use {words}: it keeps the encoder's keys and values beside its own", option, "leave it out")
    layers: list[Any] = []
    for layer in getattr(own, "layers", ()):
        if type(layer) is DynamicLayer or type(layer) is DynamicSlidingWindowLayer:
            window = getattr(layer, "sliding_window", None)
            layers.append(StoredLayer(codec_of(request.kv_dtype), window, request.kv_block))
        elif hasattr(layer, "recurrent_states") and not hasattr(layer, "keys"):
            layers.append(type(layer)(number_of_states=layer.number_of_states))
        else:
            raise error(f"{name} cannot use {words}: it has layers of its own, {type(layer).__name__}", option, "leave it out")
    if not any(isinstance(layer, StoredLayer) for layer in layers):
        raise error(f"{name} cannot use {words}: it keeps no keys and values", option, "leave it out")
    _check_width(name, request, own)
    notes = [_NOTES[request.kv_dtype]] if request.kv_dtype in _NOTES else []
    if request.kv_dtype is not None and not notes:
        notes.append(f"keys and values are stored in {request.kv_dtype} and converted at every step, by a class of opscope's")
    if request.kv_block is None:
        return AskedCache(StoredCache(layers), option, notes)
    notes.append(
        f"the cache lies in blocks of {request.kv_block} tokens and is written in place, as servers hold it; attention is "
        "priced as PyTorch's over the tokens in them; block tables are not counted"
    )
    return AskedCache(PagedCache(layers, request.kv_block), option, notes)


def _check_width(name: str, request: Any, own: Any) -> None:
    if request.kv_dtype != "int4":
        return
    for layer in own.layers:
        for tensor in (getattr(layer, "keys", None), getattr(layer, "values", None)):
            if isinstance(tensor, torch.Tensor) and tensor.shape[-1] % 2:
                raise error(f"{name} has keys of {tensor.shape[-1]} numbers, which int4 does not pack", "kv_dtype", "int8")


_EAGER_FP8 = (
    "transformers' own fp8 cache stores keys and values in e4m3 with one scale each, and converts all of them at every step; "
    "a server's attention reads the bytes as they are stored"
)
_PACKAGES = {"hqq": "hqq", "quanto": "optimum-quanto"}
_OF_LIBRARY = (
    "transformers' own QuantizedCache keeps keys and values in {bits} bits as {library} packs them, converts all of them at every step, "
    "and holds up to 128 new tokens as they are"
)
_INTEGERS = (
    "keys and values are stored in {bits} bits with a scale and a zero point for each token and head, and converted "
    "at every step; libraries differ in both"
)
_NOTES = {
    "fp8": "keys and values are stored in e4m3 with one scale each, and converted at every step: transformers has no such "
    "cache for this model",
    "int8": _INTEGERS.format(bits=8),
    "int4": _INTEGERS.format(bits=4),
}
