"""What a transformers config says about the inputs: vocabulary, special ids, positions, images, sound.

Read by attribute, with the configs inside a config searched too; nothing is known by a model's name.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
from collections.abc import Iterator
from typing import Any

#: Where a config of several towers keeps them.
VISION_CONFIGS = ("vision_config", "image_config", "encoder", "vision_backbone_config", "vision_tower_config")
AUDIO_CONFIGS = ("audio_config", "audio_encoder", "speech_config", "encoder_config", "encoder", "speech_encoder")


def is_config(value: Any) -> bool:
    return hasattr(value, "to_dict") and hasattr(value, "model_type")


def inner_configs(config: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The config and every config in it, the outer first."""
    seen = set() if seen is None else seen
    if id(config) in seen:
        return
    seen.add(id(config))
    yield config
    for value in list(vars(config).values()):
        if is_config(value):
            yield from inner_configs(value, seen)


def find(configs: list[Any], *names: str) -> tuple[Any, str]:
    """The first of these attributes that one of the configs has, and where it was; (None, "") where none has."""
    for config in configs:
        for name in names:
            value = getattr(config, name, None)
            if value is not None:
                return value, name
    return None, ""


def towers(config: Any, names: tuple[str, ...]) -> list[Any]:
    """The config itself and its parts of these names, those inside a part too (thinker_config.vision_config)."""
    found = [config]
    for outer in inner_configs(config):
        found += [inner for name in names if is_config(inner := getattr(outer, name, None))]
    return found


def text_config(config: Any, decoder: bool = False) -> Any:
    """The config of the part that reads tokens."""
    for name in ("decoder",) if decoder else ("encoder", "text_encoder", "text_config"):
        inner = getattr(config, name, None)
        if is_config(inner) and getattr(inner, "vocab_size", None) is not None:
            return inner
    try:
        found = config.get_text_config(decoder=True) if decoder else config.get_text_config()
    except (ValueError, AttributeError, TypeError):
        found = config
    return found if getattr(found, "vocab_size", None) is not None else _with_vocabulary(config, found)


def _with_vocabulary(config: Any, otherwise: Any) -> Any:
    having = (inner for inner in inner_configs(config) if isinstance(getattr(inner, "vocab_size", None), int))
    return next(having, otherwise)


_ID_ENDINGS = ("_token_id", "_token_index", "_token_ids", "_start_id", "_end_id", "_id", "_index")


@functools.lru_cache(maxsize=64)
def _ids_of(text: str) -> frozenset[int]:
    return frozenset(int(number) for number in text.split())


def special_ids(config: Any) -> frozenset[int]:
    """Every id that the config gives a meaning: padding, ends, places of images. No prompt is made of those."""
    found: list[int] = []
    for inner in inner_configs(config):
        for name, value in vars(inner).items():
            if name.endswith(_ID_ENDINGS):
                values = value if isinstance(value, (list, tuple)) else [value]
                found += [item for item in values if isinstance(item, int) and not isinstance(item, bool)]
    return _ids_of(" ".join(map(str, sorted(set(found)))))


def plain_id(config: Any, vocabulary: int) -> int:
    """The smallest id from 5 up that means nothing in particular (tokenizers keep the first few for marks)."""
    special = special_ids(config)
    ids = itertools.chain(range(min(5, vocabulary), vocabulary), range(min(5, vocabulary)))
    return next((token for token in ids if token not in special), 0)


def eos_id(config: Any) -> int | None:
    for inner in inner_configs(config):
        value = getattr(inner, "eos_token_id", None)
        value = value[0] if isinstance(value, (list, tuple)) and value else value
        if isinstance(value, int) and value >= 0:
            return value
    return None


_POSITIONS = ("max_position_embeddings", "n_positions", "max_target_positions", "n_ctx", "max_seq_len", "max_length")
_DECODER_POSITIONS = ("max_decoder_position_embeddings", "max_target_positions", "decoder_max_position_embeddings")


def most_tokens(config: Any, decoder: bool = False) -> tuple[int | None, str]:
    """How many tokens the positions allow, and the attribute that says so."""
    names = (*_DECODER_POSITIONS, *_POSITIONS) if decoder else ("max_encoder_position_embeddings", *_POSITIONS)
    value, name = find([config], *names[:-1])
    if not isinstance(value, int) or value <= 0:
        return None, ""
    return value, name


def positions_of(model: Any) -> int | None:
    """How many tokens a transformers model's positions allow, its prompt and what it generates together."""
    config = getattr(model, "config", None)
    if not is_config(config):
        return None
    return most_tokens(text_config(config, decoder=True), decoder=True)[0]


def size_pair(value: Any) -> tuple[int, int] | None:
    """An image size in any of the ways that configs and processors write one: height, width."""
    if isinstance(value, int):
        return value, value
    if isinstance(value, (list, tuple)) and value and all(isinstance(side, int) for side in value):
        return (value[0], value[-1])
    if hasattr(value, "get"):
        for height, width in (("height", "width"), ("max_height", "max_width")):
            if value.get(height):
                return int(value[height]), int(value[width])
        side = value.get("shortest_edge") or value.get("longest_edge")
        return (int(side), int(side)) if side else None
    return None


def processor_class(config: Any, table: str) -> type | None:
    """The image processor or feature extractor that transformers pairs with this config."""
    transformers = sys.modules.get("transformers")
    module = "image_processing_auto" if table.startswith("IMAGE") else "feature_extraction_auto"
    try:
        names = getattr(importlib.import_module(f"transformers.models.auto.{module}"), table)
    except (ImportError, AttributeError):
        return None
    kinds = [inner.model_type for inner in inner_configs(config)]
    for kind in [*kinds, *(kind.rsplit("_", 1)[0] for kind in kinds)]:  # gemma4_audio: a tower of gemma4's
        found = names.get(kind)
        found = (found.get("torchvision") or found.get("pil")) if isinstance(found, dict) else found
        found = found[0] if isinstance(found, (list, tuple)) and found else found
        if isinstance(found, str):
            return getattr(transformers, found, None)
    return None


def processor_size(config: Any) -> tuple[tuple[int, int] | None, str]:
    """What the image processor crops or resizes to. Numbers of pixels, which some give as edges, are no sizes."""
    processor = processor_class(config, "IMAGE_PROCESSOR_MAPPING_NAMES")
    for attribute in ("crop_size", "size"):
        size = size_pair(getattr(processor, attribute, None))
        if size is not None and max(size) <= 4096:
            return size, f"{processor.__name__} makes {size[0]}x{size[1]}" if processor else ""
    return None, ""
