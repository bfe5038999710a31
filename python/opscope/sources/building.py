"""Builds models whose weights have shapes and no data: what a static capture needs, in a fraction of the time."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import threading
import warnings
from collections.abc import Callable, Iterator

import torch

#: Held while a model is built: what is replaced for that time is replaced for the whole process.
LOCK = threading.RLock()


def build(make: Callable[[], torch.nn.Module], *, with_data: bool = False) -> torch.nn.Module:
    """The model that `make` makes, for inference; a constructor that looks at its weights gets real ones."""
    with LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not with_data:
            try:
                with parameters_without_data():
                    return make().eval()
            except (RuntimeError, NotImplementedError):
                pass  # ssdlite, YOLO: they run themselves once to learn their sizes
        return make().eval()


@contextlib.contextmanager
def parameters_without_data() -> Iterator[None]:
    """Parameters that this thread's new modules register move to the meta device at once.

    Unlike `with torch.device("meta")` it leaves buffers and every other tensor alone: constructors may look
    at those (regnet computes its widths with tensors), and so may forward (anchors, relative positions).
    """
    thread = threading.get_ident()

    def register_on_meta(module: torch.nn.Module, name: str, parameter: torch.nn.Parameter | None) -> None:
        if parameter is not None and parameter.device.type != "meta" and threading.get_ident() == thread:
            parameter = torch.nn.Parameter(parameter.detach().to("meta"), requires_grad=parameter.requires_grad)
        register(module, name, parameter)

    with LOCK:
        register = torch.nn.Module.register_parameter
        torch.nn.Module.register_parameter = register_on_meta  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            torch.nn.Module.register_parameter = register  # type: ignore[method-assign]


def version_text(package: str, shown: str = "") -> str:
    """'timm 1.0.30', for a report's header."""
    return f"{shown or package} {importlib.metadata.version(package).split('+')[0]}"


def package_file(package: str, *parts: str) -> list[str]:
    """A file inside an installed package, found without importing it; nothing where there is none."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.origin:
        return []
    path = os.path.join(os.path.dirname(spec.origin), *parts)
    return [path] if os.path.exists(path) else []
