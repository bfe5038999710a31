"""Arguments that few transformers models have, each made from the config where the forward takes it.

One row an argument: what its processor would give. The row makes everything that comes with the argument too.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from opscope.inputs.context import Asked
from opscope.inputs.images import channels, chosen_size
from opscope.inputs.parts import Part, numbers, ones
from opscope.inputs.side_arguments import (
    boxes,
    config_number,
    decisions,
    image_positions,
    kinds_of_tokens,
    languages,
    mel,
    questions,
    series,
    some_ids,
    spoken,
)


def add_before_text(asked: Asked) -> None:
    _add(asked, _BEFORE_TEXT)


def add_after_text(asked: Asked) -> None:
    _add(asked, _AFTER_TEXT)


def _add(asked: Asked, rows: dict[str, Callable[[Asked], None]]) -> None:
    for name, row in rows.items():
        if name in asked.names and name not in asked.parts:
            row(asked)


# --- images --------------------------------------------------------------------------------------------------


def _tiles(asked: Asked) -> None:
    """Llama 3.2 Vision: up to max_num_tiles tiles of one image, and which arrangement they are."""
    height, width, why = chosen_size(asked)
    tiles, batch = config_number(asked, "max_num_tiles", default=4), asked.sizes.batch
    images = (batch, 1)
    shape = (*images, tiles, channels(asked), height, width)
    asked.add(Part("pixel_values", f"{tiles} tiles of one image; {why}", shape))
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


def _masked_patches(asked: Asked) -> None:
    """Which patches a model that learns to fill in is not shown: VideoMAE hides nine of ten."""
    pixels, patch = asked.parts.get("pixel_values"), config_number(asked, "patch_size", default=16)
    if pixels is None or pixels.shape is None or "bool_masked_pos" not in asked.required:
        return
    frames = pixels.shape[1] // config_number(asked, "tubelet_size") if len(pixels.shape) == 5 else 1
    count = frames * (pixels.shape[-2] // patch) * (pixels.shape[-1] // patch)
    mask = torch.zeros(count, dtype=torch.bool)
    mask[: count * 9 // 10] = True
    why = f"nine of ten of {count} patches are hidden"
    asked.add(numbers("bool_masked_pos", mask.expand(pixels.shape[0], count), why, "ones, then zeros"))


def _high_resolution(asked: Asked) -> None:
    side = config_number(asked, "high_res_image_size", default=1024)
    shape = (asked.sizes.batch, channels(asked), side, side)
    asked.add(Part("high_res_pixel_values", "the image again, larger", shape))


def _rows_of_patches(asked: Asked) -> None:
    """Pix2Struct: rows of patches with their place in the first two columns."""
    patch = config_number(asked, "patch_size", default=16)
    count = asked.sizes.tokens(2048)
    width = 2 + channels(asked) * patch * patch
    asked.add(
        Part("flattened_patches", f"{count} patches of {patch}, with row and column", (asked.sizes.batch, count, width))
    )
    asked.add(ones("attention_mask", (asked.sizes.batch, count), "no padding"))


def _points(asked: Asked) -> None:
    """A segmenter's prompt: one point."""
    batch = asked.sizes.batch
    asked.add(Part("input_points", "one point as the prompt", (batch, 1, 1, 2)))
    asked.add(ones("input_labels", (batch, 1, 1), "the point is on the object"))


def _task(asked: Asked) -> None:
    length = config_number(asked, "task_seq_len", default=77)
    asked.add(
        some_ids(
            asked,
            "task_inputs",
            (asked.sizes.batch, length),
            49408,
            f"the task in words: {length} ids (task_seq_len in config)",
        )
    )


def _classes(asked: Asked) -> None:
    """OmDet-Turbo: the names of the classes, the task in words."""
    batch, count, length = asked.sizes.batch, 2, 77
    vocabulary = config_number(asked, "vocab_size", default=49408)
    for name, rows in (("classes", batch * count), ("tasks", batch)):
        asked.add(
            some_ids(
                asked,
                f"{name}_input_ids",
                (rows, length),
                vocabulary,
                f"{count} classes" if name == "classes" else "the task",
            )
        )
        asked.add(ones(f"{name}_attention_mask", (rows, length), "no padding"))
    asked.add(numbers("classes_structure", torch.full((batch,), count), "classes an image"))


def _regions(asked: Asked) -> None:
    """LXMERT: features of 36 regions that a detector found, and their boxes."""
    batch = asked.sizes.batch
    asked.add(
        Part(
            "visual_feats",
            "36 regions; visual_feat_dim in config",
            (batch, 36, config_number(asked, "visual_feat_dim", default=2048)),
        )
    )
    asked.add(
        Part(
            "visual_pos",
            "their boxes; visual_pos_dim in config",
            (batch, 36, config_number(asked, "visual_pos_dim", default=4)),
        )
    )


def _visual_embeddings(asked: Asked) -> None:
    batch, width = asked.sizes.batch, config_number(asked, "visual_embedding_dim", default=512)
    asked.add(Part("visual_embeds", "36 regions; visual_embedding_dim in config", (batch, 36, width)))
    asked.add(ones("visual_attention_mask", (batch, 36), "no padding"))


def _queries(asked: Asked) -> None:
    """BLIP-2's query transformer: its queries, and the image features that they look at."""
    width, inner = config_number(asked, "encoder_hidden_size", default=1408), config_number(
        asked, "hidden_size", default=768
    )
    asked.add(Part("query_embeds", "32 queries; hidden_size in config", (asked.sizes.batch, 32, inner)))
    if "encoder_hidden_states" in asked.names:
        asked.add(
            Part(
                "encoder_hidden_states",
                "257 image features; encoder_hidden_size in config",
                (asked.sizes.batch, 257, width),
            )
        )


def _any_inputs(asked: Asked) -> None:
    """Perceiver: whatever its preprocessor takes."""
    perceiver = getattr(asked.model, "perceiver", asked.model)
    if not hasattr(perceiver, "input_preprocessor"):
        return
    kind, batch = type(perceiver.input_preprocessor).__name__, asked.sizes.batch
    if kind == "PerceiverTextPreprocessor":
        length = asked.sizes.tokens(2048, config_number(asked, "max_position_embeddings", default=2048))
        vocabulary = config_number(asked, "vocab_size")
        asked.add(some_ids(asked, "inputs", (batch, length), vocabulary, "vocab_size in config"))
    elif kind == "PerceiverImagePreprocessor":
        _perceived_image(asked)
    elif kind == "NoneType":
        width = config_number(asked, "d_model", default=768)
        asked.add(Part("inputs", "d_model in config", (batch, asked.sizes.tokens(2048), width)))


def _perceived_image(asked: Asked) -> None:
    batch, name = asked.sizes.batch, type(asked.model).__name__
    if "OpticalFlow" in name:
        shape = (batch, 2, 27, *asked.sizes.image(*asked.config.train_size))
        asked.add(Part("inputs", "two frames of 27 values a place; train_size in config", shape))
        return
    side = config_number(asked, "image_size", default=224) if name.endswith("Learned") else 224
    asked.add(Part("inputs", "an image", (batch, 3, *asked.sizes.image(side, side))))


def _placed_patches(asked: Asked) -> None:
    """Gemma 4: rows of patches with the place of each."""
    name = "pixel_position_ids" if "pixel_position_ids" in asked.names else "image_position_ids"
    patch, side, batch = config_number(asked, "patch_size", default=16), 48, asked.sizes.batch
    if "vision_config" in vars(asked.config) and asked.config.vision_config is None:
        return
    places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="xy"), -1).reshape(1, -1, 2)
    asked.add(
        Part("pixel_values", f"{side}x{side} patches of {patch}", (batch, side * side, channels(asked) * patch * patch))
    )
    asked.add(numbers(name, places.expand(batch, -1, -1), "column and row of each patch", "0 0, 1 0, ..."))


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
    "past_values": series,
    "audio_mel": mel,
    "query_embeds": _queries,
    "inputs": _any_inputs,
    "pixel_position_ids": _placed_patches,
    "image_position_ids": _placed_patches,
    "states": decisions,
}
_AFTER_TEXT: dict[str, Callable[[Asked], None]] = {
    "bbox": boxes,
    "bool_masked_pos": _masked_patches,
    "lang_ids": languages,
    "decoder_input_values": spoken,
    "qformer_input_ids": questions,
    "image_attention_mask": _image_attention,
    "mm_token_type_ids": kinds_of_tokens,
    "image_embeds_position_mask": image_positions,
}
