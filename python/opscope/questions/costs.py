"""What a profile depends on beside the model, as the native functions take it: text, and only what was given."""

from __future__ import annotations

import os
from typing import Any

from opscope._load import native


def cost_settings(
    *,
    convention: str = "opscope",
    ridge: float | None = None,
    hardware: str | os.PathLike[str] | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
) -> dict[str, Any]:
    given: dict[str, Any] = {"ridge": ridge, "float32": float32, "mode": mode}
    given |= {name: None if value is None else str(value) for name, value in (("routing", routing), ("host", host))}
    given["hardware"] = None if hardware is None else os.fspath(hardware)
    return {"convention": convention, **{name: value for name, value in given.items() if value is not None}}


def on_hardware(
    options: dict[str, Any], hardware: str | os.PathLike[str] | None, model: Any, *, as_gpu: bool = False
) -> dict[str, Any]:
    """The options of a capture for the device that costs are asked of: its kernels, where it is a CUDA device.

    `as_gpu`: what a GPU is asked about is captured as on a GPU, unless `device` says otherwise.
    """
    if hardware is None or is_graph_file(model):
        return options
    name = os.fspath(hardware)
    if as_gpu and options.get("device") is None and native.is_gpu(name):
        options = {**options, "device": "cuda"}
    device = options.get("device")
    if options.get("gpu") is None and device is not None and str(device).startswith("cuda") and (gpu := native.cuda_of(name)):
        options = {**options, "gpu": gpu}
    return options


def is_graph_file(model: Any) -> bool:
    """A graph in a file, which is not captured anew."""
    path = os.fspath(model) if isinstance(model, (str, os.PathLike)) else ""
    return bool(path) and hasattr(native, "file_kind") and native.file_kind(path) in ("capture", "pt2", "onnx")
