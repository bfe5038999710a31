"""Sound for transformers models: waves, or the features that an extractor makes of them; and series of numbers."""

from __future__ import annotations

import inspect

import torch

from opscope.engine import abstract_run
from opscope.errors import Error
from opscope.inputs import float_dtype, input_device, make_tensor
from opscope.inputs.config import find, inner_configs, processor_class
from opscope.inputs.context import Asked
from opscope.inputs.forward_code import consumers
from opscope.inputs.parts import Part, ones

_SECONDS = 1  # of a wave, where the model takes any length
_FRAMES = 1000  # of features, where nothing says how many


def add_sound(asked: Asked) -> None:
    only = getattr(getattr(asked.model, "encoder", None), "main_input_name", None) if "inputs" in asked.names else None
    if "input_features" in asked.names and not _is_other_way(asked) and only in (None, "input_features"):
        _features(asked)
    alone = "input_ids" not in asked.names or "input_values" in asked.required
    if "input_values" in asked.names and alone and only in (None, "input_values"):
        _waves(asked)
    _add_places(asked)


def _is_other_way(asked: Asked) -> bool:
    """Whether sound is given instead of text: an encoder-decoder without a place for it in the prompt."""
    place, _ = find(list(inner_configs(asked.config)), *_PLACE_NAMES)
    both = "input_ids" in asked.names and "input_features" not in asked.required
    return both and place is None and bool(getattr(asked.config, "is_encoder_decoder", False))


def _features(asked: Asked) -> None:
    bins, source, channels_first = _bins(asked)
    frames, why = _frames(asked, channels_first)
    batch = asked.sizes.batch
    shape: tuple[int, ...] = (batch, bins, frames) if channels_first else (batch, frames, bins)
    if "is_longer" in asked.names:  # CLAP: one channel of a picture of the sound
        shape = (batch, 1, frames, bins)
        asked.add(Part("is_longer", "the sound fits", (batch, 1), torch.bool))
    asked.add(Part("input_features", f"{bins} bins ({source}), {why}", shape))
    for mask, kind in (("input_features_mask", torch.bool), ("feature_attention_mask", torch.int64)):
        if mask in asked.names:
            asked.add(ones(mask, (batch, frames), "no padding", kind))


def _bins(asked: Asked) -> tuple[int, str, bool]:
    """How many numbers a frame has, who says so, and whether they come before the frames."""
    towers = [*asked.audio[1:], *asked.audio]
    bins, source = find([*towers, *inner_configs(asked.config)], *_BIN_NAMES)
    windows = find(towers, "n_window")[0]  # Qwen's: a convolution over the picture
    if source == "num_mel_bins" and (windows is not None or _takes_channels(asked, bins)):
        return bins, "num_mel_bins in config", True
    consumer = consumers(asked.model).get("input_features")
    layer = consumer.layer if consumer is not None else None
    wide = layer.normalized_shape[-1] if isinstance(layer, torch.nn.LayerNorm) else getattr(layer, "in_features", None)
    if consumer is not None and isinstance(wide, int) and wide != bins and _fits(asked, wide):
        return wide, f"first layer {consumer.path}", False
    if isinstance(bins, int):
        return bins, f"{source} in config", False
    return _extractor_default(asked, "feature_size", 80), "its feature extractor's", False


def _fits(asked: Asked, width: int) -> bool:
    """Whether a model of sound alone runs with features of this width (the reader may have missed a convolution)."""
    if "input_ids" in asked.names:
        return True
    floats, device = float_dtype(asked.model), input_device(asked.model)
    given: dict[str, torch.Tensor] = {"input_features": make_tensor((1, _FRAMES, width), floats, device)}
    if "input_features_mask" in asked.names:
        given["input_features_mask"] = torch.ones((1, _FRAMES), dtype=torch.bool)
    try:
        abstract_run.run_abstract(asked.model, (), given)
    except Error as problem:
        return bool(getattr(problem, "needs_values", False)) or "shape" not in str(problem)
    return True


def _takes_channels(asked: Asked, bins: int) -> bool:
    """Whether bins come before frames: the first layer is a convolution over that many channels."""
    first = next((module for module in asked.model.modules() if isinstance(module, torch.nn.Conv1d)), None)
    return first is not None and first.in_channels == bins


def _frames(asked: Asked, channels_first: bool) -> tuple[int, str]:
    positions, name = find([*asked.audio[1:], *asked.audio], "max_source_positions")
    if isinstance(positions, int) and channels_first:
        return 2 * positions, f"{2 * positions} frames: twice {name} in config"
    if "is_longer" in asked.names:
        return 1001, "1001 frames: 10 s"
    frames = asked.sizes.tokens(_FRAMES) if "input_ids" not in asked.names else _FRAMES
    return frames, f"{frames} frames"


_BIN_NAMES = (
    "feature_projection_input_dim",
    "num_mel_bins",
    "input_feat_per_channel",
    "feature_size",
    "input_feat_size",
    "input_dim",
)
_PLACE_NAMES = ("audio_token_id", "audio_token_index")


def _add_places(asked: Asked) -> None:
    token, _ = find(list(inner_configs(asked.config)), *_PLACE_NAMES)
    if not isinstance(token, int) or "input_features" not in asked.parts or "input_ids" not in asked.names:
        return
    if asked.owner("get_audio_features") is None:  # Qwen2-Audio widens one token itself
        asked.places.append((token, 1))
        asked.kinds.append(3)
        return
    fixed, _ = find([asked.config], "audio_soft_tokens_per_image")  # Gemma 3n fills up to as many
    if isinstance(fixed, int):
        asked.places.append((token, fixed))
        asked.kinds.append(3)
        return
    parts = ("input_features", "input_features_mask", "feature_attention_mask")
    asked.add_place(token, "get_audio_features", 3, ("audio_seq_length",), parts)


def _waves(asked: Asked) -> None:
    bins, _ = find([asked.config], "num_mel_bins", "spectrogram_length")
    length, _ = find([asked.config], "max_length")
    if isinstance(bins, int) and "max_length" in asked.config.to_dict():
        asked.add(Part("input_values", f"{length} frames of {bins} bins in config", (asked.sizes.batch, length, bins)))
        return
    consumer = consumers(asked.model).get("input_values")
    if consumer is not None and isinstance(consumer.layer, torch.nn.LayerNorm):  # hidden states, no wave
        width, steps = consumer.layer.normalized_shape[-1], asked.sizes.tokens()
        asked.add(
            Part("input_values", f"first layer {consumer.path} is over {width}", (asked.sizes.batch, steps, width))
        )
        return
    rate = sampling_rate(asked)
    batch, samples = asked.sizes.batch, rate * _SECONDS
    number, _ = find([asked.config], "audio_channels")
    shape = (batch, number if isinstance(number, int) else 1, samples) if _codec(asked) else (batch, samples)
    asked.add(Part("input_values", f"{_SECONDS} s at {rate} Hz", shape))


def _codec(asked: Asked) -> bool:
    """Whether the first convolution takes the wave's channels as they are."""
    first = next((m for m in asked.model.modules() if isinstance(m, torch.nn.Conv1d)), None)
    told = find(list(inner_configs(asked.config)), "audio_channels", "codebook_size")[0] is not None
    return first is not None and (told or find([asked.config], "channels")[0] is not None)


def sampling_rate(asked: Asked) -> int:
    rate, _ = find([*asked.audio, *inner_configs(asked.config)], "sampling_rate", "sample_rate")
    if isinstance(rate, int):
        return rate
    return _extractor_default(asked, "sampling_rate", 16000)


def _extractor_default(asked: Asked, name: str, otherwise: int) -> int:
    """What the feature extractor that transformers pairs with the model is made with."""
    extractor = processor_class(asked.config, "FEATURE_EXTRACTOR_MAPPING_NAMES")
    parameters = inspect.signature(extractor).parameters if extractor is not None else {}
    default = parameters[name].default if name in parameters else None
    return default if isinstance(default, int) else otherwise
