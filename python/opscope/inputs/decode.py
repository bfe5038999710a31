"""The decode step of a language model: one new token with the KV cache that its own prefill leaves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from opscope.engine import abstract_run
from opscope.engine.nested import is_wrapper, replace, tensors_in, unflattened
from opscope.errors import Error, error
from opscope.inputs import float_dtype, input_device, make_tensor
from opscope.inputs.config import most_tokens, text_config
from opscope.inputs.kv_caches import (
    asked_cache,
    count_tokens,
    is_asked,
    refused,
    to_steady_state,
    view_alone,
    without_own_dtype,
)
from opscope.inputs.kv_facts import kv_facts
from opscope.inputs.parts import PROMPT_TOKENS, Part, Sizes, ones
from opscope.inputs.signature import Signature
from opscope.inputs.transformers_inputs import is_transformers, transformers_parts

#: The arguments that hold what was read before, and the outputs that give it.
_CACHES = ("past_key_values", "cache_params", "state", "mems")
#: What an encoder-decoder's decoder takes a step of; a model without one of these takes input_ids.
_STEPS = ("decoder_input_ids", "decoder_input_values")


@dataclass
class Step:
    """What a decode step is called with."""

    parts: list[Part]
    notes: list[str]
    kv_cache: dict[str, Any] | None  # the facts of its cache


def decode_step(model: Any, signature: Signature, sizes: Sizes, name: str) -> Step:
    cache_name = _cache_name(signature, name)
    past = sizes.request.past_len or sizes.request.seq_len or PROMPT_TOKENS
    parts, notes = _prefill(model, signature, sizes, past)
    before = {part.name: part for part in parts}
    outputs = _run(model, before, "use_cache" in signature.names)
    cache = _cache_of(outputs, cache_name, name)
    request = without_own_dtype(sizes.request, model)
    if is_asked(request):
        asked = asked_cache(model, name, cache_name, request, past, cache)
        try:
            outputs = _run(model, before, True, {cache_name: asked.cache})
        except Error as problem:
            raise refused(problem, name, asked) from problem
        cache, notes = _cache_of(outputs, cache_name, name), notes + asked.notes
        count_tokens(cache, past)
    to_steady_state(cache)
    size = sum(t.numel() * t.element_size() for t in tensors_in(cache) if t.numel() > 1)  # no counters
    why = f"the KV cache of its own prefill of {past} tokens: {size:,} bytes"
    batch = next((part.shape[0] for part in parts if part.shape), 1)
    facts = kv_facts(cache, model, past, batch)
    parts = _one_token(model, before, past, outputs)
    parts.append(Part(cache_name, why, value=_Held(cache, model), words=f"KV cache of {past} tokens"))
    if "use_cache" in signature.names:
        parts.append(Part("use_cache", "the KV cache is returned", value=True))
    return Step(parts, notes, facts)


def _cache_of(outputs: Any, cache_name: str, name: str) -> Any:
    cache = getattr(outputs, cache_name, None)
    if cache is None:
        raise error(f"{name} returned no KV cache ({cache_name}) for its prompt", "phase", "profile its prefill")
    if not any(True for _ in tensors_in(cache)):
        raise error(f"the KV cache of {name} is empty after its prefill", "phase", "profile its prefill")
    return cache


def check_generates(model: Any, name: str) -> None:
    """Refuses a phase for a model that has none."""
    if is_transformers(model) and getattr(model, "can_generate", lambda: False)():
        return
    raise error(
        f"{name} does not generate tokens, so it has no prefill and no decode step",
        "phase",
        "leave --phase out, or name a class that generates, such as one ...ForCausalLM",
    )


def _cache_name(signature: Signature, name: str) -> str:
    found = next((cache for cache in _CACHES if cache in signature.names), None)
    if found is None:
        raise error(f"{name} takes no KV cache, so it has no decode step", "phase", "profile its prefill")
    return found


def _prefill(model: Any, signature: Signature, sizes: Sizes, past: int) -> tuple[list[Part], list[str]]:
    """The parts of a prefill of that many tokens; for an encoder-decoder, the decoder's."""
    if not _step_names(signature.names):
        sizes.request = sizes.request.replace(seq_len=past)
        return transformers_parts(model, signature, sizes)
    parts, notes = transformers_parts(model, signature, sizes)
    most, limit = most_tokens(text_config(model.config, decoder=True), decoder=True)
    if most is not None and past >= most:
        raise error(
            f"{sizes.name} takes at most {most} tokens, and past_len is {past}", limit, f"past_len up to {most - 1}"
        )
    for part in parts:
        if part.name in _STEPS and part.shape is not None:
            part.reshape((part.shape[0], past, *part.shape[2:]), part.why)
    return parts, notes


def _step_names(names: Iterable[str]) -> list[str]:
    return [name for name in _STEPS if name in names]


def _run(model: Any, parts: dict[str, Part], use_cache: bool, more: Mapping[str, Any] = MappingProxyType({})) -> Any:
    floats, device = float_dtype(model), input_device(model)
    values = {name: part.make(floats, device) for name, part in parts.items()} | dict(more)
    if use_cache:
        values["use_cache"] = True
    return abstract_run.run_abstract(model, (), values)


def _one_token(model: Any, before: dict[str, Part], past: int, outputs: Any) -> list[Part]:
    """The prompt's parts cut to the next token: images and sound were read, their features are in the cache."""
    tokens = next(iter(_step_names(before)), "input_ids")
    ids = before[tokens]
    shape = ids.shape or (1, past)
    ids.reshape((shape[0], 1, *shape[2:]), "the next token")
    kept = [ids]
    if tokens == "input_ids":
        if "attention_mask" in before:
            rows = (before["attention_mask"].shape or shape)[0]
            kept.append(
                ones("attention_mask", (rows, shape[1] + 1), f"the {shape[1]} tokens of the cache and the next")
            )
        return kept
    encoded = _encoded(model, before, outputs)
    if "attention_mask" in before and encoded is not None:
        kept.append(before["attention_mask"])
    if encoded is not None:
        kept.append(
            Part("encoder_outputs", "the encoder has run", value=_Held(encoded, model), words="the encoder's outputs")
        )
    return kept + [part for name, part in before.items() if name == "speaker_embeddings"]


def _encoded(model: Any, before: dict[str, Part], outputs: Any) -> Any:
    """What the encoder gives: its own kind of output where it can be run alone, else its last hidden state."""
    hidden = getattr(outputs, "encoder_last_hidden_state", None)
    if hidden is None or "encoder_outputs" not in inspect.signature(model.forward).parameters:
        return None
    encoder = model.get_encoder()
    takes = inspect.signature(encoder.forward).parameters
    floats, device = float_dtype(model), input_device(model)
    try:
        return abstract_run.run_abstract(
            encoder,
            (),
            {n: part.make(floats, device) for n, part in before.items() if n in takes},
        )
    except Error:
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=hidden)


class _Held:
    """An object of tensors without data; where the model has data, each use gets tensors of zeros instead."""

    def __init__(self, held: Any, model: Any) -> None:
        self._held = held
        self._has_data = not any(weight.is_meta for weight in model.parameters())

    def __call__(self, _: torch.dtype, device: torch.device) -> Any:
        def fresh(tensor: torch.Tensor, path: str) -> torch.Tensor:
            if is_wrapper(tensor):
                return unflattened(tensor, path, fresh)
            if not tensor.is_meta:
                return tensor.clone()
            if not self._has_data:
                return tensor
            elements = tensor.untyped_storage().nbytes() // tensor.element_size()
            if elements == tensor.numel():
                return make_tensor(tuple(tensor.shape), tensor.dtype, device)
            return view_alone(make_tensor((elements,), tensor.dtype, device), tensor)

        return replace(self._held, "", fresh)
