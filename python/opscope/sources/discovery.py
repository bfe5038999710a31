"""Finding models and opening them, under the names that earlier tools had for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opscope._load import native
from opscope.api import Graph, capture, trace
from opscope.errors import error, three_nearest
from opscope.options import Options
from opscope.sources import Known, hf_models, known_models, matches, timm_models, torchvision_models, yolo_models


def discover_models(pattern: str | None = None) -> list[str]:
    """Names of the torchvision, timm and ultralytics models that `profile` knows."""
    return _names(known_models(None, (yolo_models, torchvision_models, timm_models))[0], pattern)


def discover_transformers(pattern: str | None = None) -> list[str]:
    """Names of the transformers models that `profile` knows without a network."""
    return _names(known_models(None, (hf_models,))[0], pattern)


def show_model_list(pattern: str | None = None) -> None:
    """Prints every model that `profile` knows, with its source and family."""
    found = [known for known in known_models()[0] if matches(known.name, pattern)]
    rows = [[known.name, known.family, known.source] for known in found]
    print(native.format_listing("models", ["name", "family", "source"], rows), end="")


def load_yolo_model(model_path: str, *, trust: bool = False, download: bool = False) -> Any:
    """A YOLO model, ready for inference: the weights file with `trust`, else its architecture without weights' values."""
    found = yolo_models.find(model_path, Options(trust=trust, download=download, tracer="eager"), lambda _: None)
    if found is None:
        names = [name for name, _ in yolo_models.listed()]
        raise error(f"no YOLO model called '{model_path}'", "", "opscope list --source ultralytics", three_nearest(model_path, names))
    return found.model


def load_and_trace_model(model_name: str, **options: Any) -> tuple[Graph, str]:
    """The graph of any model that `profile` takes by the hybrid ladder, and how it was made.

    'fx', 'dynamo_export', 'export', or the engine's 'static' or 'eager'. A file that holds a graph is read as it is.
    """
    made = (capture if _is_graph_file(model_name) else trace)(model_name, **options)
    return made, made.tracer


def _is_graph_file(path: str) -> bool:
    """A saved capture, a .pt2 or an ONNX file: a graph already."""
    return hasattr(native, "file_kind") and native.file_kind(path) in ("capture", "pt2", "onnx")


def _names(models: Sequence[Known], pattern: str | None) -> list[str]:
    return [known.name for known in models if matches(known.name, pattern)]
