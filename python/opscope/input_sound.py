"""Sound for transformers models: waves, or the features that an extractor makes of them; and series of numbers."""

from __future__ import annotations

import torch

from opscope.input_config import find, inner_configs, processor_class
from opscope.input_context import Asked
from opscope.input_parts import Part, ones

_SECONDS = 1  # of a wave, where the model takes any length
_FRAMES = 1024  # of features, where nothing says how many


def add_sound(asked: Asked) -> None:
    if "input_features" in asked.names:
        _features(asked)
    elif "input_values" in asked.names and "input_ids" not in asked.required:
        _waves(asked)


def _features(asked: Asked) -> None:
    bins, source = find([*asked.audio, *inner_configs(asked.config)], "num_mel_bins", "input_feat_per_channel", "input_dim", "feature_size")
    bins = bins if isinstance(bins, int) else 80
    convolution = _takes_channels(asked, bins)
    frames, why = _frames(asked, convolution)
    batch = asked.sizes.batch
    shape = (batch, bins, frames) if convolution else (batch, frames, bins)
    asked.add(Part("input_features", f"{bins} bins ({source or 'usual'} in config), {why}", shape))


def _takes_channels(asked: Asked, bins: int) -> bool:
    """Whether bins come before frames: the first layer is a convolution over that many channels."""
    for module in asked.model.modules():
        if isinstance(module, torch.nn.Conv1d):
            return module.in_channels == bins
        if isinstance(module, torch.nn.Linear):
            return False
    return False


def _frames(asked: Asked, convolution: bool) -> tuple[int, str]:
    positions, name = find([*asked.audio, *inner_configs(asked.config)], "max_source_positions")
    if isinstance(positions, int) and convolution:
        return 2 * positions, f"{2 * positions} frames: twice {name} in config"
    frames = asked.sizes.tokens(_FRAMES)
    return frames, f"{frames} frames"


def _waves(asked: Asked) -> None:
    bins, _ = find([asked.config], "num_mel_bins", "spectrogram_length")
    length, _ = find([asked.config], "max_length")
    if isinstance(bins, int) and "max_length" in asked.config.to_dict():
        asked.add(Part("input_values", f"{length} frames of {bins} bins in config", (asked.sizes.batch, length, bins)))
        return
    rate = sampling_rate(asked)
    batch, samples = asked.sizes.batch, rate * _SECONDS
    number, _ = find([asked.config], "audio_channels")
    codec = _codec(asked)
    shape = (batch, number if isinstance(number, int) else 1, samples) if codec else (batch, samples)
    asked.add(Part("input_values", f"{_SECONDS} s at {rate} Hz", shape))
    if "padding_mask" in asked.names and codec:
        asked.add(ones("padding_mask", shape if "encodec" not in asked.config.model_type else (batch, samples), "no padding", torch.bool))


def _codec(asked: Asked) -> bool:
    """Whether the first convolution takes the wave's channels as they are."""
    first = next((m for m in asked.model.modules() if isinstance(m, torch.nn.Conv1d)), None)
    return find([asked.config], "audio_channels", "codebook_size")[0] is not None and first is not None


def sampling_rate(asked: Asked) -> int:
    rate, _ = find([*asked.audio, *inner_configs(asked.config)], "sampling_rate", "sample_rate")
    if isinstance(rate, int):
        return rate
    extractor = processor_class(asked.config, "FEATURE_EXTRACTOR_MAPPING_NAMES")
    code = getattr(getattr(extractor, "__init__", None), "__kwdefaults__", None) or {}
    return int(code.get("sampling_rate", 16000))
