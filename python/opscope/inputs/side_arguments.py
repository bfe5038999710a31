"""Arguments that come beside tokens, and series of numbers: boxes, kinds of tokens, speakers, steps of time."""

from __future__ import annotations

from typing import Any

import torch

from opscope.inputs.config import find, inner_configs, plain_id
from opscope.inputs.context import Asked
from opscope.inputs.parts import ANSWER_TOKENS, Part, numbers, ones


def config_number(asked: Asked, *names: str, default: int = 1) -> int:
    value, _ = find(list(inner_configs(asked.config)), *names)
    return value if isinstance(value, int) else default


def some_ids(asked: Asked, name: str, shape: tuple[int, ...], vocabulary: int, why: str) -> Part:
    token = plain_id(asked.config, vocabulary)
    return Part(name, why, shape, torch.int64, torch.full((), token).expand(shape), f"ids {token}", fill=token)


def _tokens(asked: Asked) -> tuple[int, ...] | None:
    ids = asked.parts.get("input_ids")
    return ids.shape if ids is not None else None


def boxes(asked: Asked) -> None:
    shape = _tokens(asked)
    if shape is not None:
        asked.add(Part("bbox", "a box for each token", (*shape, 4), torch.int64))


def questions(asked: Asked) -> None:
    """InstructBLIP: the prompt again, in the query transformer's own vocabulary."""
    inner = getattr(asked.config, "qformer_config", asked.config)
    length = asked.sizes.tokens()
    rows = asked.sizes.batch
    vocabulary, why = getattr(inner, "vocab_size", 30522), "the prompt in the query transformer's vocabulary"
    asked.add(some_ids(asked, "qformer_input_ids", (rows, length), vocabulary, why))
    asked.add(ones("qformer_attention_mask", (rows, length), "no padding"))


def kinds_of_tokens(asked: Asked) -> None:
    """0 for text, 1 for an image, 3 for sound: what processors give models with positions of several kinds."""
    shape = _tokens(asked)
    if shape is None or not asked.places:
        return
    kinds = torch.zeros(shape[-1], dtype=torch.int64)
    start = 0
    for (_, count), kind in zip(asked.places, asked.kinds, strict=True):
        kinds[start : start + count] = kind
        start += count
    why = "which tokens stand for images or sound"
    asked.add(numbers("mm_token_type_ids", kinds.expand(shape), why, "1 for an image's tokens, 3 for sound's, else 0"))


def image_positions(asked: Asked) -> None:
    """Kosmos-2: which tokens are the image's."""
    shape, count = _tokens(asked), config_number(asked, "latent_query_num", default=64)
    if shape is not None:
        mask = torch.zeros(shape[-1], dtype=torch.int64)
        mask[:count] = 1
        why = f"the first {count} tokens are the image's"
        asked.add(numbers("image_embeds_position_mask", mask.expand(shape), why, "ones, then zeros"))


def languages(asked: Asked) -> None:
    if getattr(asked.config, "languages", None) and getattr(asked.config, "default_language", None) is None:
        asked.add(Part("lang_ids", "the first of languages in config", (asked.sizes.batch,), torch.int64))


def spoken(asked: Asked) -> None:
    """SpeechT5's decoder side: frames of the sound so far, and whose voice it is."""
    bare = type(getattr(asked.model, "decoder", None)).__name__.endswith("WithoutPrenet")
    width = config_number(asked, *(("hidden_size",) if bare else ("num_mel_bins",)), default=80)
    asked.add(Part("decoder_input_values", "the decoder's side: 32 frames", (asked.sizes.batch, ANSWER_TOKENS, width)))
    if "ForTextToSpeech" in type(asked.model).__name__:
        shape = (asked.sizes.batch, config_number(asked, "speaker_embedding_dim", default=512))
        asked.add(Part("speaker_embeddings", "speaker_embedding_dim in config", shape))


def series(asked: Asked) -> None:
    batch, config = asked.sizes.batch, asked.config
    context, name = find([config], "context_length")
    number = find([config], "num_input_channels")[0]
    if number is not None:
        asked.add(
            Part("past_values", f"{context} steps ({name} in config) of {number} channels", (batch, context, number))
        )
    elif getattr(config, "lags_sequence", None):
        _lagged_series(asked, context)
    else:
        asked.add(Part("past_values", f"{context} steps ({name} in config)", (batch, context)))
        if "past_values_padding" in asked.names:
            asked.add(Part("past_values_padding", "no padding", (batch, context), torch.int64))
        if "freq" in asked.required:
            asked.add(Part("freq", "a high frequency", (batch, 1), torch.int64))


def _lagged_series(asked: Asked, context: int) -> None:
    """Time-series transformers look back further than their context, by their lags."""
    config, batch = asked.config, asked.sizes.batch
    length, ahead = context + max(config.lags_sequence), config.prediction_length
    inner = (config.input_size,) if config.input_size > 1 else ()
    why = f"context_length and the longest of lags_sequence in config: {length} steps"
    asked.add(Part("past_values", why, (batch, length, *inner)))
    asked.add(
        Part(
            "past_observed_mask",
            "all observed",
            (batch, length, *inner),
            value=_float_ones((batch, length, *inner)),
            words="ones",
        )
    )
    asked.add(Part("future_values", f"prediction_length in config: {ahead} steps", (batch, ahead, *inner)))
    for name, steps in (("past_time_features", length), ("future_time_features", ahead)):
        asked.add(Part(name, "num_time_features in config", (batch, steps, config.num_time_features)))
    if config.num_static_categorical_features:
        asked.add(
            Part(
                "static_categorical_features", "in config", (batch, config.num_static_categorical_features), torch.int64
            )
        )
    if config.num_static_real_features:
        asked.add(Part("static_real_features", "in config", (batch, config.num_static_real_features)))


def _float_ones(shape: tuple[int, ...]) -> Any:
    return lambda floats, device: torch.ones(shape, dtype=floats, device=device)


def mel(asked: Asked) -> None:
    """Gemma 3n's sound tower alone: frames of bins, and which of them are padding."""
    frames, bins = asked.sizes.tokens(1000), config_number(asked, "input_feat_size", default=128)
    asked.add(
        Part("audio_mel", f"{frames} frames; input_feat_size in config: {bins}", (asked.sizes.batch, frames, bins))
    )
    asked.add(Part("audio_mel_mask", "no padding", (asked.sizes.batch, frames), torch.bool))


def decisions(asked: Asked) -> None:
    """Decision transformer: what was seen, done and gained at each step."""
    batch, steps = asked.sizes.batch, asked.sizes.tokens(
        20, config_number(asked, "max_ep_len", default=4096), "max_ep_len"
    )
    for name, width in (("states", "state_dim"), ("actions", "act_dim")):
        asked.add(Part(name, f"{width} in config", (batch, steps, config_number(asked, width))))
    for name in ("rewards", "returns_to_go"):
        asked.add(Part(name, "one number a step", (batch, steps, 1)))
    asked.add(numbers("timesteps", torch.arange(steps).expand(batch, steps), "steps in their order", "0, 1, 2, ..."))
    asked.add(ones("attention_mask", (batch, steps), "no padding"))
