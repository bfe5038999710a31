"""Builds transformers models from configs: parameters without data, buffers real, tied weights tied.

Buffers (rotary frequencies, position ids, masks) stay real: they are small, and a capture knows their values.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from opscope._load import native
from opscope.engine import torchvision_ops
from opscope.errors import Error, error, first_line
from opscope.options import Options
from opscope.sources import building, hf_heads, hf_quantised

if TYPE_CHECKING:
    from opscope.sources.hf_models import Found

#: Tensors with more elements are made on the meta device at once: all experts of a layer may not fit the memory.
LARGE = 1 << 24

_MAKERS = frozenset((torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn))


@dataclass
class Builder:
    """A class and its config, to be built once without data and, for an eager run, once with."""

    name: str
    model_class: Any
    config: Any
    own_head: bool = False  # the head's weight is not the embedding's, whatever the class ties
    remote: bool = False  # the class is the model's own code, not transformers'
    download: bool = False  # parts that the config names may be fetched
    dtype: torch.dtype | None = None  # that its weights are cast to; None: as the class makes them
    notes: list[str] = field(default_factory=list)

    def build(self, *, with_data: bool = False) -> torch.nn.Module:
        try:
            with building.LOCK, _quiet(self.download):
                model: torch.nn.Module = self._with_data() if with_data else self._without_data()
        except Exception as problem:
            raise _not_built(f"{self.model_class.__name__} does not build", self.name, problem) from problem
        if self.own_head:
            _untie_head(model)
        if self.dtype is not None:
            model = model.to(self.dtype)
        model.eval()
        return model

    def _with_data(self) -> Any:
        with _no_losses():
            return self.model_class(self.config)

    def _without_data(self) -> Any:
        with _LargeOnMeta(), building.parameters_without_data(), _no_init_weights(), _no_losses():
            model = self.model_class(self.config)
        model.tie_weights()  # left out with the initialisation
        return model


def _not_built(what: str, where: str, problem: Exception) -> Exception:
    missing = type(problem).__name__ in ("OfflineModeIsEnabled", "LocalEntryNotFoundError", "ConnectError", "OSError")
    hint = "it names a part that is not on this machine: --download fetches it" if missing else ""
    return error(f"{what}: {first_line(problem)}", where, hint)


def _untie_head(model: Any) -> None:
    """T5's classes tie every head; the weights of v1.1, flan and mT5 have heads of their own, and say so."""
    head, embedding = model.get_output_embeddings(), model.get_input_embeddings()
    if head is not None and head.weight is embedding.weight:
        head.weight = torch.nn.Parameter(head.weight.detach().clone())


def builder(found: Found, class_name: str, request: Options) -> Builder:
    """The class that the user, the task, the table or the config names, in this order, and its config."""
    torchvision_ops.prepare()
    if not found.model_type:
        raise error("the config has no model_type", found.path or found.name, "is it a transformers config?")
    remote = _needs_remote_code(found)
    if remote and not request.trust:
        raise error(
            f"{found.name} is built by its own code ({', '.join(sorted(found.config['auto_map'].values()))})",
            found.path or "",
            "transformers has no such model; --trust runs that code",
        )
    try:
        with building.LOCK, _quiet(request.download):
            if remote:
                return _remote_builder(found, class_name)
            config = _config(found)
    except Error:
        raise
    except Exception as problem:
        raise _not_built("the config cannot be used", found.path or found.name, problem) from problem
    name = class_name or _class_name(found, request)
    model_class = hf_heads.class_named(name, found.model_type)
    own_head = _has_own_head(found.config, config)
    part = _part_for(model_class, config)
    dtype = _dtype_beside_quantised(found, request)
    return Builder(found.name, model_class, part, own_head, download=request.download, dtype=dtype, notes=_notes(found, request))


def _has_own_head(said: dict[str, Any], config: Any) -> bool:
    """Whether the file says that the head is not tied and the config class made it so (T5's does)."""
    parts = [(said, config), (said.get("text_config") or {}, getattr(config, "text_config", None))]
    return any(part.get("tie_word_embeddings") is False and made.tie_word_embeddings for part, made in parts if made)


def _class_name(found: Found, request: Options) -> str:
    if request.task is not None:
        return hf_heads.class_for_task(found.model_type, request.task)
    if found.row is not None:
        return found.row.class_name
    said = found.config.get("architectures") or []
    name = hf_heads.default_class(found.model_type, said)
    if name is not None and said and name not in said:
        found.notes.append(f"the config names {said[0]}, which transformers does not have: this is {name}")
    if name is None:
        raise error(f"which class of {found.model_type}?", found.path or "", f"name one: {found.name}#ClassName")
    return name


def _config(found: Found) -> Any:
    mapping = _auto_configs()
    if found.model_type not in mapping:
        near = list(native.nearest(found.model_type, list(mapping)))[:3]
        version = building.version_text("transformers")
        raise error(f"{version} has no model type '{found.model_type}'", found.path or found.name, "", near)
    return _without_pretrained_parts(mapping[found.model_type].from_dict(_with_backbone(found.config)))


def _with_backbone(config: dict[str, Any]) -> dict[str, Any]:
    """Older configs name a timm backbone; transformers asks the hub whether that name is a repository."""
    name, options = config.get("backbone"), config.get("backbone_kwargs") or {}
    if not isinstance(name, str) or not config.get("use_timm_backbone") or config.get("backbone_config"):
        return config
    backbone = {
        "model_type": "timm_backbone",
        "backbone": name,
        "features_only": True,
        "num_channels": options.get("in_chans", config.get("num_channels", 3)),
        "out_indices": options.get("out_indices", [1, 2, 3, 4]),
    }
    if config.get("dilation"):
        backbone["output_stride"] = options.get("output_stride", 16)
    said = ("backbone", "backbone_kwargs", "use_timm_backbone", "use_pretrained_backbone")
    return {key: value for key, value in config.items() if key not in said} | {"backbone_config": backbone}


def _part_for(model_class: Any, config: Any) -> Any:
    """The config itself, or the part of it that the class takes: CLIPTextModel is built from CLIP's text_config."""
    wanted = model_class.config_class
    fitting = [part for part in (config, *vars(config).values()) if wanted is None or isinstance(part, wanted)]
    if not fitting:
        raise error(
            f"{model_class.__name__} is not built from a {config.model_type} config",
            "",
            f"{config.model_type} has {', '.join(hf_heads.classes_of(config.model_type))}",
        )
    return fitting[0]


def _auto_configs() -> Any:
    return importlib.import_module("transformers.models.auto.configuration_auto").CONFIG_MAPPING


def _without_pretrained_parts(config: Any) -> Any:
    """A backbone from timm would fetch its weights."""
    for part in [config, *vars(config).values()]:
        if getattr(part, "use_pretrained_backbone", False):
            part.use_pretrained_backbone = False
    return config


def _needs_remote_code(found: Found) -> bool:
    if not found.config.get("auto_map"):
        return False
    return found.model_type not in _auto_configs() or (
        found.row is None and hf_heads.default_class(found.model_type, found.config.get("architectures") or []) is None
    )


def _remote_builder(found: Found, class_name: str) -> Builder:
    """The user trusts the model's own code: transformers finds and runs it."""
    from transformers import AutoConfig
    from transformers.dynamic_module_utils import get_class_from_dynamic_module

    place = os.path.dirname(found.path) if found.path else found.name
    config = AutoConfig.from_pretrained(place, trust_remote_code=True)
    code = found.config["auto_map"]
    wanted = next((each for each in code.values() if class_name and each.endswith(f".{class_name}")), None)
    model = wanted or next((code[auto] for auto in ("AutoModelForCausalLM", "AutoModel") if auto in code), None)
    if model is None:
        raise error(f"which class of {found.name}?", found.path or "", f"its code names {', '.join(code.values())}")
    note = f"built by the model's own code: {model}"
    return Builder(found.name, get_class_from_dynamic_module(model, place), config, remote=True, notes=[note])


def published_dtype(config: dict[str, Any]) -> str | None:
    """The dtype that the weights were published in; a config of several parts may say it in the one that reads tokens."""
    for part in (config, config.get("text_config") or {}):
        dtype = part.get("dtype") or part.get("torch_dtype")
        if isinstance(dtype, str) and dtype != "auto":
            return dtype.removeprefix("torch.")
    return None


def _dtype_beside_quantised(found: Found, request: Options) -> torch.dtype | None:
    """Where linears are quantised, all else is in the dtype that the config says: there is no float32 form of it."""
    if request.dtype is not None or hf_quantised.published(found.config) is None:
        return None
    dtype = getattr(torch, published_dtype(found.config) or "bfloat16", None)
    return dtype if isinstance(dtype, torch.dtype) and dtype.is_floating_point else None


def _notes(found: Found, request: Options) -> list[str]:
    dtype = published_dtype(found.config)
    if _dtype_beside_quantised(found, request) is not None:
        return [f"what is not quantised is in {dtype or 'bfloat16'}, as published"]
    if dtype and dtype != "float32" and request.dtype is None:
        return [f"profiled in float32; the published weights are {dtype} (--dtype {dtype})"]
    return []


def input_type(model: Any) -> str:
    """What goes in, by what forward takes and what the config says: the seeds' 'tokens' and 'detr', and the like."""
    takes = set(inspect.signature(model.forward).parameters)
    main = str(getattr(model, "main_input_name", "input_ids"))
    images = {name for name in takes if name.startswith("pixel_values")}
    if images and "input_ids" in takes:
        return "image+tokens"
    if images and ("pixel_mask" in takes or hf_heads.detects_objects(type(model).__name__)):
        return "detr"
    if images:
        is_video = main == "pixel_values_videos" or getattr(model.config, "num_frames", None) is not None
        return "video" if is_video else "image"
    return "audio" if main in ("input_features", "input_values") else "tokens"


class _LargeOnMeta(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _MAKERS and kwargs.get("device") is None and _elements(args, kwargs) > LARGE:
            kwargs["device"] = "meta"
        return func(*args, **kwargs)


def _elements(args: Any, kwargs: dict[str, Any]) -> int:
    shape = kwargs.get("size", args[0] if args and isinstance(args[0], (tuple, list)) else args)
    count = 1
    for size in shape:
        count *= size if isinstance(size, int) else 1
    return count


def _no_init_weights() -> Any:
    """Filling weights that have no data costs time for nothing; versions that cannot leave it out do it."""
    initialization = importlib.import_module("transformers.initialization")
    return getattr(initialization, "no_init_weights", contextlib.nullcontext)()


@contextlib.contextmanager
def _no_losses() -> Iterator[None]:
    """Mask2Former asks for scipy as it is made, for a loss that inference never computes."""
    backends = importlib.import_module("transformers.utils.import_utils").BACKENDS_MAPPING
    asked = backends.get("scipy")
    if asked is not None:
        backends["scipy"] = (lambda: True, asked[1])
    try:
        yield
    finally:
        if asked is not None:
            backends["scipy"] = asked


@contextlib.contextmanager
def _quiet(download: bool) -> Iterator[None]:
    """Without transformers' own warnings about configs and kernels, and without the network unless asked for."""
    logging = importlib.import_module("transformers.utils.logging")
    hub: Any = importlib.import_module("huggingface_hub.constants")
    level, offline = logging.get_verbosity(), hub.HF_HUB_OFFLINE
    logging.set_verbosity_error()
    hub.HF_HUB_OFFLINE = offline or not download
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        hub.HF_HUB_OFFLINE = offline
