"""Names for users' own models: opscope.register_model("mine", factory), then `opscope profile mine`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

#: Every registered name and the factory that makes its model. A plain dict: it may be written to directly.
MODEL_REGISTRY: dict[str, Callable[[], Any]] = {}

_loaded: dict[str, tuple[int, int]] = {}  # registry file -> size and time when it was read


def register_model(name: str, factory: Callable[[], Any] | None = None) -> Any:
    """Gives a model a name. `factory` takes no arguments and returns a module, or a module and its inputs.

    As a decorator: @opscope.register_model("mine").
    """
    if factory is None:
        return lambda decorated: register_model(name, decorated)
    if not callable(factory):
        raise TypeError(f"register_model({name!r}, ...) needs a callable that makes the model")
    MODEL_REGISTRY[str(name)] = factory
    return factory


def load_registry(path: str | None) -> str | None:
    """Runs the registry file given, or $OPSCOPE_REGISTRY's, once; returns its path."""
    path = path or os.environ.get("OPSCOPE_REGISTRY") or None
    if path is None:
        return None
    from opscope.sources.user_code import run_file

    path = os.path.abspath(path)
    try:
        status = os.stat(path)
        stamp = (status.st_size, status.st_mtime_ns)
    except OSError:
        stamp = (-1, -1)  # run_file says what is wrong
    if _loaded.get(path) != stamp:
        module = run_file(path)
        MODEL_REGISTRY.update(_table_of(module))
        _loaded[path] = stamp
    return path


def _table_of(module: Any) -> dict[str, Callable[[], Any]]:
    """A registry file may also just define its own dict called MODEL_REGISTRY."""
    table = getattr(module, "MODEL_REGISTRY", None)
    if not isinstance(table, dict) or table is MODEL_REGISTRY:
        return {}
    return {str(name): factory for name, factory in table.items() if callable(factory)}
