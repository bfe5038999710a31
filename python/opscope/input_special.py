"""Arguments that few transformers models have, each made from the config where the forward takes it.

One row an argument: what its processor would give. The row makes everything that comes with the argument too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from opscope.input_config import find, inner_configs, plain_id
from opscope.input_context import Asked
from opscope.input_images import channels, chosen_size
from opscope.input_parts import ANSWER_TOKENS, Part, numbers, ones
from opscope.input_reading import consumers


def add_before_text(asked: Asked) -> None:
    _add(asked, _BEFORE_TEXT)


def add_after_text(asked: Asked) -> None:
    _add(asked, _AFTER_TEXT)


def _add(asked: Asked, rows: dict[str, Callable[[Asked], None]]) -> None:
    for name, row in rows.items():
        if name in asked.names and name not in asked.parts:
            row(asked)


def _config(asked: Asked, *names: str, default: int = 1) -> int:
    value, _ = find(list(inner_configs(asked.config)), *names)
    return value if isinstance(value, int) else default


def _ids(asked: Asked, name: str, shape: tuple[int, ...], vocabulary: int, why: str) -> Part:
    token = plain_id(asked.config, vocabulary)
    return Part(name, why, shape, torch.int64, torch.full(shape, token), f"ids {token}", fill=token)


# --- images --------------------------------------------------------------------------------------------------


def _tiles(asked: Asked) -> None:
    """Llama 3.2 Vision: up to max_num_tiles tiles of one image, and which arrangement they are."""
    height, width, why = chosen_size(asked)
    tiles, batch = _config(asked, "max_num_tiles", default=4), asked.sizes.batch
    images = (batch, 1) if "input_ids" in asked.names else (batch, 1)
    asked.add(Part("pixel_values", f"{tiles} tiles of one image; {why}", (*images, tiles, channels(asked), height, width)))
    asked.add(numbers("aspect_ratio_ids", torch.full(images, 1), "the first arrangement of tiles"))
    asked.add(ones("aspect_ratio_mask", (*images, tiles), "every tile is used"))


def _images_of_prompt(asked: Asked) -> None:
    """IDEFICS: images beside the prompt, and which tokens see which."""
    height, width, why = chosen_size(asked)
    asked.add(Part("pixel_values", f"one image; {why}", (asked.sizes.batch, 1, channels(asked), height, width)))


def _image_attention(asked: Asked) -> None:
    ids = asked.parts.get("input_ids")
    if "perceiver_embeddings" in asked.names and ids is not None and ids.shape is not None:
        asked.add(ones("image_attention_mask", (*ids.shape, 1), "every token sees the image"))


def _prompted_images(asked: Asked) -> None:
    height, width, why = chosen_size(asked)
    height = height // 2 if height == 2 * width else height  # SegGPT's positions are for image and prompt in one
    shape = (asked.sizes.batch, channels(asked), height, width)
    for name in ("pixel_values", "prompt_pixel_values", "prompt_masks"):
        asked.add(Part(name, f"image, example and its mask; {why}", shape))


def _high_resolution(asked: Asked) -> None:
    side = _config(asked, "high_res_image_size", default=1024)
    asked.add(Part("high_res_pixel_values", "the image again, larger", (asked.sizes.batch, channels(asked), side, side)))


def _rows_of_patches(asked: Asked) -> None:
    """Pix2Struct: rows of patches with their place in the first two columns."""
    patch = _config(asked, "patch_size", default=16)
    count = asked.sizes.tokens(2048)
    width = 2 + channels(asked) * patch * patch
    asked.add(Part("flattened_patches", f"{count} patches of {patch}, with row and column", (asked.sizes.batch, count, width)))
    asked.add(ones("attention_mask", (asked.sizes.batch, count), "no padding"))


def _points(asked: Asked) -> None:
    """A segmenter's prompt: one point."""
    batch = asked.sizes.batch
    asked.add(Part("input_points", "one point as the prompt", (batch, 1, 1, 2)))
    asked.add(ones("input_labels", (batch, 1, 1), "the point is on the object"))


def _task(asked: Asked) -> None:
    length = _config(asked, "task_seq_len", default=77)
    asked.add(_ids(asked, "task_inputs", (asked.sizes.batch, length), 49408, f"the task in words: {length} ids (task_seq_len in config)"))


def _classes(asked: Asked) -> None:
    """OmDet-Turbo: the names of the classes, the task in words."""
    batch, count, length = asked.sizes.batch, 2, 77
    vocabulary = _config(asked, "vocab_size", default=49408)
    for name, rows in (("classes", batch * count), ("tasks", batch)):
        asked.add(_ids(asked, f"{name}_input_ids", (rows, length), vocabulary, f"{count} classes" if name == "classes" else "the task"))
        asked.add(ones(f"{name}_attention_mask", (rows, length), "no padding"))
    asked.add(numbers("classes_structure", torch.full((batch,), count), "classes an image"))


def _regions(asked: Asked) -> None:
    """LXMERT: features of 36 regions that a detector found, and their boxes."""
    batch = asked.sizes.batch
    asked.add(Part("visual_feats", "36 regions; visual_feat_dim in config", (batch, 36, _config(asked, "visual_feat_dim", default=2048))))
    asked.add(Part("visual_pos", "their boxes; visual_pos_dim in config", (batch, 36, _config(asked, "visual_pos_dim", default=4))))


def _visual_embeddings(asked: Asked) -> None:
    batch, width = asked.sizes.batch, _config(asked, "visual_embedding_dim", default=512)
    asked.add(Part("visual_embeds", "36 regions; visual_embedding_dim in config", (batch, 36, width)))
    asked.add(ones("visual_attention_mask", (batch, 36), "no padding"))


# --- beside the tokens ---------------------------------------------------------------------------------------


def _tokens(asked: Asked) -> tuple[int, ...] | None:
    ids = asked.parts.get("input_ids")
    return ids.shape if ids is not None else None


def _boxes(asked: Asked) -> None:
    shape = _tokens(asked)
    if shape is not None:
        asked.add(Part("bbox", "a box for each token", (*shape, 4), torch.int64))


def _questions(asked: Asked) -> None:
    """InstructBLIP: the prompt again, in the query transformer's own vocabulary."""
    inner = getattr(asked.config, "qformer_config", asked.config)
    length = asked.sizes.tokens()
    rows = asked.sizes.batch
    asked.add(_ids(asked, "qformer_input_ids", (rows, length), getattr(inner, "vocab_size", 30522), "the prompt in the query transformer's vocabulary"))
    asked.add(ones("qformer_attention_mask", (rows, length), "no padding"))


def _kinds_of_tokens(asked: Asked) -> None:
    """0 for text, 1 for an image, 3 for sound: what processors give models with positions of several kinds."""
    shape = _tokens(asked)
    if shape is None or not asked.places:
        return
    kinds = torch.zeros(shape, dtype=torch.int64)
    start = 0
    for (_, count), kind in zip(asked.places, asked.kinds, strict=True):
        kinds[..., start : start + count] = kind
        start += count
    asked.add(Part("mm_token_type_ids", "which tokens stand for images", shape, torch.int64, kinds, "1 for an image's tokens, else 0"))


def _image_positions(asked: Asked) -> None:
    """Kosmos-2: which tokens are the image's."""
    shape, count = _tokens(asked), _config(asked, "latent_query_num", default=64)
    if shape is not None:
        mask = torch.zeros(shape, dtype=torch.int64)
        mask[..., :count] = 1
        asked.add(Part("image_embeds_position_mask", f"the first {count} tokens are the image's", shape, torch.int64, mask, "ones, then zeros"))


def _languages(asked: Asked) -> None:
    if getattr(asked.config, "languages", None) and getattr(asked.config, "default_language", None) is None:
        asked.add(Part("lang_ids", "the first of languages in config", (asked.sizes.batch,), torch.int64))


def _queries(asked: Asked) -> None:
    """BLIP-2's query transformer: its queries, and the image features that they look at."""
    width, inner = _config(asked, "encoder_hidden_size", default=1408), _config(asked, "hidden_size", default=768)
    asked.add(Part("query_embeds", "32 queries; hidden_size in config", (asked.sizes.batch, 32, inner)))
    if "encoder_hidden_states" in asked.names:
        asked.add(Part("encoder_hidden_states", "257 image features; encoder_hidden_size in config", (asked.sizes.batch, 257, width)))


def _spoken(asked: Asked) -> None:
    """SpeechT5's decoder side: frames of the sound so far, and whose voice it is."""
    consumer = consumers(asked.model).get("decoder_input_values")
    layer = consumer.layer if consumer is not None else None
    width = layer.normalized_shape[-1] if isinstance(layer, torch.nn.LayerNorm) else _config(asked, "num_mel_bins", default=80)
    asked.add(Part("decoder_input_values", "the decoder's side: 32 frames", (asked.sizes.batch, ANSWER_TOKENS, width)))
    if "ForTextToSpeech" in type(asked.model).__name__:
        asked.add(Part("speaker_embeddings", "speaker_embedding_dim in config", (asked.sizes.batch, _config(asked, "speaker_embedding_dim", default=512))))


def _any_inputs(asked: Asked) -> None:
    """Perceiver: whatever its preprocessor takes."""
    kind = type(getattr(getattr(asked.model, "perceiver", asked.model), "input_preprocessor", None)).__name__
    batch = asked.sizes.batch
    if kind == "PerceiverTextPreprocessor":
        asked.add(_ids(asked, "inputs", (batch, asked.sizes.tokens(2048, _config(asked, "max_position_embeddings", default=2048))), _config(asked, "vocab_size"), "vocab_size in config"))
    elif kind == "PerceiverImagePreprocessor":
        flow = "OpticalFlow" in type(asked.model).__name__
        height, width = asked.sizes.image(*(asked.config.train_size if flow else (224, 224)))
        asked.add(Part("inputs", "two frames of 27 values a place" if flow else "an image", (batch, *((2, 27) if flow else (3,)), height, width)))
    elif kind == "NoneType":
        asked.add(Part("inputs", "d_model in config", (batch, asked.sizes.tokens(2048), _config(asked, "d_model", default=768))))


def _placed_patches(asked: Asked) -> None:
    """Gemma 4: rows of patches with the place of each."""
    name = "pixel_position_ids" if "pixel_position_ids" in asked.names else "image_position_ids"
    patch, side, batch = _config(asked, "patch_size", default=16), 48, asked.sizes.batch
    if "vision_config" in vars(asked.config) and asked.config.vision_config is None:
        return
    places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="xy"), -1).reshape(1, -1, 2)
    asked.add(Part("pixel_values", f"{side}x{side} patches of {patch}", (batch, side * side, channels(asked) * patch * patch)))
    asked.add(numbers(name, places.repeat(batch, 1, 1), "column and row of each patch", "0 0, 1 0, ..."))


# --- series --------------------------------------------------------------------------------------------------


def _series(asked: Asked) -> None:
    batch, config = asked.sizes.batch, asked.config
    context, name = find([config], "context_length")
    number = find([config], "num_input_channels")[0]
    if number is not None:
        asked.add(Part("past_values", f"{context} steps ({name} in config) of {number} channels", (batch, context, number)))
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
    asked.add(Part("past_observed_mask", "all observed", (batch, length, *inner), value=_float_ones((batch, length, *inner)), words="ones"))
    asked.add(Part("future_values", f"prediction_length in config: {ahead} steps", (batch, ahead, *inner)))
    for name, steps in (("past_time_features", length), ("future_time_features", ahead)):
        asked.add(Part(name, "num_time_features in config", (batch, steps, config.num_time_features)))
    if config.num_static_categorical_features:
        asked.add(Part("static_categorical_features", "in config", (batch, config.num_static_categorical_features), torch.int64))
    if config.num_static_real_features:
        asked.add(Part("static_real_features", "in config", (batch, config.num_static_real_features)))


def _float_ones(shape: tuple[int, ...]) -> Any:
    return lambda floats, device: torch.ones(shape, dtype=floats, device=device)


def _decisions(asked: Asked) -> None:
    """Decision transformer: what was seen, done and gained at each step."""
    batch, steps = asked.sizes.batch, asked.sizes.tokens(20, _config(asked, "max_ep_len", default=4096), "max_ep_len")
    for name, width in (("states", "state_dim"), ("actions", "act_dim")):
        asked.add(Part(name, f"{width} in config", (batch, steps, _config(asked, width))))
    for name in ("rewards", "returns_to_go"):
        asked.add(Part(name, "one number a step", (batch, steps, 1)))
    asked.add(numbers("timesteps", torch.arange(steps).repeat(batch, 1), "steps in their order", "0, 1, 2, ..."))
    asked.add(ones("attention_mask", (batch, steps), "no padding"))


_BEFORE_TEXT: dict[str, Callable[[Asked], None]] = {
    "aspect_ratio_ids": _tiles,
    "perceiver_embeddings": _images_of_prompt,
    "prompt_pixel_values": _prompted_images,
    "high_res_pixel_values": _high_resolution,
    "flattened_patches": _rows_of_patches,
    "input_points": _points,
    "task_inputs": _task,
    "classes_input_ids": _classes,
    "visual_feats": _regions,
    "visual_embeds": _visual_embeddings,
    "past_values": _series,
    "query_embeds": _queries,
    "inputs": _any_inputs,
    "pixel_position_ids": _placed_patches,
    "image_position_ids": _placed_patches,
    "states": _decisions,
}
_AFTER_TEXT: dict[str, Callable[[Asked], None]] = {
    "bbox": _boxes,
    "lang_ids": _languages,
    "decoder_input_values": _spoken,
    "qformer_input_ids": _questions,
    "image_attention_mask": _image_attention,
    "mm_token_type_ids": _kinds_of_tokens,
    "image_embeds_position_mask": _image_positions,
}
