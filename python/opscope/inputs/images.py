"""Images and clips for transformers models, in the layout that the forward's arguments ask for."""

from __future__ import annotations

import importlib
import inspect

import torch

from opscope.inputs.config import find, inner_configs, processor_size, size_pair
from opscope.inputs.context import Asked
from opscope.inputs.forward_code import consumers
from opscope.inputs.parts import Part, numbers, ones

_SIZE_NAMES = ("image_size", "img_size", "input_size", "crop_size")
_CHANNEL_NAMES = ("num_channels", "in_channels", "in_chans", "num_input_channels", "image_num_channels")
#: What a model of images without any size in its config is shown: the side that ImageNet models are given.
_USUAL_SIDE = 224
#: A model that takes images of any size as a grid of patches is shown one of about this side.
_GRID_SIDE = 448
#: Frames of a clip where the config says nothing.
_FRAMES = 8


def add_images(asked: Asked) -> None:
    if "pixel_values" in asked.parts:
        return
    for planner in (_grid, _flattened, _nested, _linear_patches, _clip, _plain):
        if planner(asked):
            break
    _add_masks(asked)
    _add_places(asked)


def image_size(asked: Asked) -> tuple[tuple[int, int], str]:
    """Height and width, and where they come from; a detector's are its processor's, whatever its backbone's were."""
    value, name = find(asked.vision, *_SIZE_NAMES)
    size = size_pair(value)
    if size is not None:
        return size, f"{name} in config"
    made, why = processor_size(asked.config)
    inner = getattr(asked.config, "backbone_config", None)
    backbone = size_pair(getattr(inner, "image_size", None))
    has_positions = not hasattr(inner, "depths")  # a plain ViT's are for its size; a pyramid takes any
    if backbone is not None and (has_positions or "pixel_mask" not in asked.names):
        return backbone, "image_size in the backbone's config"
    if made is not None and not why.startswith("ConvNext"):  # whose 384 is for the few models tuned at it
        return made, why
    return (_USUAL_SIDE, _USUAL_SIDE), "no size in config: what ImageNet models take"


def channels(asked: Asked) -> int:
    value, _ = find([*asked.vision, *inner_configs(asked.config)], *_CHANNEL_NAMES)
    return value if isinstance(value, int) else 3


def _window_side(asked: Asked) -> int:
    """A ViT that attends in windows takes whole ones: RF-DETR's 518 is made 504."""
    configs = [*asked.vision, *inner_configs(asked.config)]
    windows, patch = find(configs, "num_windows_side", "num_windows")[0], find(configs, "patch_size")[0]
    return windows * patch if isinstance(windows, int) and isinstance(patch, int) else 1


def chosen_size(asked: Asked) -> tuple[int, int, str]:
    multiple = 1
    (height, width), why = image_size(asked)
    asked_size = asked.sizes.image(height, width)
    if asked.sizes.asked_image:
        why = "image_size as asked"
        if asked_size != (height, width) and "interpolate_pos_encoding" in asked.names:
            asked.add(Part("interpolate_pos_encoding", "positions stretched to the asked size", value=True))
    if not asked.sizes.asked_image:
        multiple = _window_side(asked)
    height, width = (max(multiple, side // multiple * multiple) for side in asked_size)
    return height, width, why


def _plain(asked: Asked) -> bool:
    if "pixel_values" not in asked.names:
        return False
    height, width, why = chosen_size(asked)
    number = channels(asked)
    pair = (2,) if _matches_pairs(asked) else ()
    shape = (asked.sizes.batch, *pair, number, height, width)
    asked.add(Part("pixel_values", f"{'two images of ' if pair else ''}{number} channels; {why}", shape))
    return True


def _matches_pairs(asked: Asked) -> bool:
    """Whether transformers lists the model among those that match keypoints of two images."""
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    return asked.config.model_type in getattr(auto, "MODEL_FOR_KEYPOINT_MATCHING_MAPPING_NAMES", {})


def _linear_patches(asked: Asked) -> bool:
    """Fuyu: patches go through one linear layer, as words do through a table."""
    patch, _ = find(asked.vision, "patch_size")
    if not isinstance(patch, int) or "pixel_values" not in asked.names:
        return False
    layers = (getattr(module, "vision_embed_tokens", None) for module in asked.model.modules())
    layer = next((layer for layer in layers if isinstance(layer, torch.nn.Linear)), None)
    if layer is None:
        return False
    height, width, why = chosen_size(asked)
    count = (height // patch) * (width // patch)
    asked.add(Part("pixel_values", f"{count} patches of {patch}; {why}", (asked.sizes.batch, count, layer.in_features)))
    return True


def _clip(asked: Asked) -> bool:
    """Frames before channels, for models of video alone."""
    name = "pixel_values" if "pixel_values" in asked.names else "pixel_values_videos"
    only_video = "video" in asked.modalities and "image" not in asked.modalities
    frames, source = find(asked.vision, "num_frames", "frames_per_clip", "video_length", "num_frms")
    alone = only_video or name == "pixel_values_videos" or "pixel_values_videos" not in asked.names
    if name not in asked.names or not alone or not (
        isinstance(frames, int) or only_video or name == "pixel_values_videos"
    ):
        return False
    if not isinstance(frames, int):
        frames, source = _FRAMES, "no number"
    height, width, why = chosen_size(asked)
    shape = (asked.sizes.batch, int(frames), channels(asked), height, width)
    asked.add(Part(name, f"{frames} frames ({source} in config); {why}", shape))
    return True


def _nested(asked: Asked) -> bool:
    """Several images a prompt: batch, images, channels, height, width."""
    many = "pixel_attention_mask" in asked.names or find([asked.config], "image_grid_pinpoints")[0] is not None
    if "pixel_values" not in asked.names or not many or "input_ids" not in asked.names:
        return False
    height, width, why = chosen_size(asked)
    batch, tiles = asked.sizes.batch, 1
    if "image_sizes" in asked.names:
        tiles = _tiles(asked, height)
        asked.add(
            numbers("image_sizes", torch.tensor([[height, width]] * batch), "the image before it was cut into tiles")
        )
    why = f"{why}; {tiles} {'image' if tiles == 1 else 'tiles, the whole image first'}"
    asked.add(Part("pixel_values", why, (batch, tiles, channels(asked), height, width)))
    if "pixel_attention_mask" in asked.names:
        asked.add(ones("pixel_attention_mask", (batch, tiles, height, width), "no padding"))
    return True


def _tiles(asked: Asked, side: int) -> int:
    """LLaVA-NeXT cuts an image to the grid that fits best, and adds the whole: an image of one tile is two."""
    points = find([asked.config], "image_grid_pinpoints")[0] or []
    fitting = [(h, w) for h, w in points if h >= side and w >= side]
    height, width = min(fitting, key=lambda p: p[0] * p[1], default=(side, side))
    return 1 + (height // side) * (width // side)


def _grid(asked: Asked) -> bool:
    """Patches of images of any size, one after the other, with the grid of each (Qwen2-VL and what followed it)."""
    grid = next((name for name in ("image_grid_thw", "grid_thw") if name in asked.names), None)
    patch, _ = find(asked.vision[1:] + asked.vision[:1], "patch_size")
    patches = "pixel_values" if "pixel_values" in asked.names else "hidden_states"
    if grid is None or not isinstance(patch, int) or patches not in asked.names:
        return False
    merge = find(asked.vision[1:] + asked.vision[:1], "spatial_merge_size", "merge_size")[0] or 1
    times = find(asked.vision[1:] + asked.vision[:1], "temporal_patch_size")[0] or 1
    height, width = asked.sizes.image(_GRID_SIDE, _GRID_SIDE)
    rows, columns = (max(merge, side // (patch * merge) * merge) for side in (height, width))
    layer = getattr(consumers(asked.model).get(patches), "layer", None)
    batch = asked.sizes.batch
    width_of = getattr(layer, "in_features", None) or channels(asked) * times * patch * patch
    why = f"an image of {rows * patch}x{columns * patch} in patches of {patch} (patch_size in config)"
    padded = type(asked.model).__name__.endswith("ForRetrieval")  # ColQwen2 keeps the images of a batch apart
    shape = (batch, rows * columns, width_of) if padded else (batch * rows * columns, width_of)
    asked.add(Part(patches, why, shape))
    asked.add(numbers(grid, torch.tensor([[1, rows, columns]] * batch), "frames, rows and columns of patches"))
    for name in {"merge_sizes", "image_merge_sizes"} & asked.names:
        asked.add(numbers(name, torch.full((batch,), merge), "patches that become one"))
    if isinstance(layer, torch.nn.Conv2d):  # some cut patches up again, some take them as they come
        square = (channels(asked), patch, patch)
        asked.try_shapes(patches, [shape, (batch * rows * columns, *square), (1, batch * rows * columns, *square)])
    return True


def _flattened(asked: Asked) -> bool:
    """Patches of one image a row, with a mask and the image's shape (SigLIP 2)."""
    patch, _ = find(asked.vision[::-1], "patch_size")
    if "spatial_shapes" not in asked.names or not isinstance(patch, int):
        return False
    number = find(asked.vision[::-1], "num_patches", "max_num_patches")[0] or 256
    side = int(number**0.5)
    batch = asked.sizes.batch
    asked.add(
        Part("pixel_values", f"{side}x{side} patches of {patch}", (batch, side * side, channels(asked) * patch * patch))
    )
    mask = "pixel_attention_mask" if "pixel_attention_mask" in asked.names else "attention_mask"
    asked.add(ones(mask, (batch, side * side), "no padding"))
    asked.add(numbers("spatial_shapes", torch.tensor([[side, side]] * batch), "rows and columns of patches"))
    return True


def _add_masks(asked: Asked) -> None:
    pixels = asked.parts.get("pixel_values")
    if pixels is None or pixels.shape is None or len(pixels.shape) != 4:
        return
    if "pixel_mask" in asked.names:
        batch, _, height, width = pixels.shape
        asked.add(ones("pixel_mask", (batch, height, width), "its processor gives it: no padding"))


_PLACE_NAMES = (
    "image_token_id", "image_token_index", "media_placeholder_token_id", "im_patch_token_id", "image_pad_id"
)


def _add_places(asked: Asked) -> None:
    token, _ = find(list(inner_configs(asked.config)), *_PLACE_NAMES)
    queries, _ = find([asked.config], "num_query_tokens")
    if not isinstance(token, int) or "pixel_values" not in asked.parts or "input_ids" not in asked.names:
        return
    if isinstance(queries, int):  # BLIP-2: what its query transformer gives, whatever the image
        asked.places.append((token, queries))
        asked.kinds.append(1)
    elif asked.owner("get_image_features") is not None:
        if "image_sizes" in asked.names and "image_sizes" not in asked.parts and _wants_sizes(asked):
            _add_sizes(asked)
        pixels = [name for name in asked.parts if name.startswith(("pixel", "image", "spatial"))]
        asked.add_place(token, "get_image_features", 1, _COUNT_NAMES, ("pixel_values", *pixels))


_COUNT_NAMES = ("image_seq_length", "mm_tokens_per_image", "image_seq_len", "num_image_tokens", "image_token_len")


def _wants_sizes(asked: Asked) -> bool:
    """Whether the image tower itself takes the sizes (Pixtral's does, and cuts its patches by them)."""
    kinds = {type(module) for module in asked.model.modules() if "Vision" in type(module).__name__}
    return any("image_sizes" in inspect.signature(kind.forward).parameters for kind in kinds)


def _add_sizes(asked: Asked) -> None:
    shape = asked.parts["pixel_values"].shape or ()
    asked.add(
        numbers("image_sizes", torch.tensor([list(shape[-2:])] * asked.sizes.batch), "height and width of the image")
    )
