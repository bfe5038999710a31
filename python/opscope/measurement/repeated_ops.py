"""`--repeat-ops`: each distinct op of a measured graph run again, alone, for a time with little noise in it.

The engine makes up the inputs, runs the ops, and keeps their times in a small database for other models; here it is
only told of the device.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch

from opscope._load import native
from opscope.engine.abstract_run import without_dispatch_modes


def repeat_ops(
    graph: Any,
    device: torch.device,
    progress: Callable[[int, int, str], None] | None = None,
    store: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Fills in a native graph's repeated times. How many distinct ops there are, and where their times are from.

    `store` is the file that keeps times; by default the one in the cache folder, and "" for none. What was not
    replayed, and why, is in the graph's diagnostics.
    """
    path = None if store is None else os.fspath(store)
    try:
        with without_dispatch_modes():
            counts: dict[str, Any] = native.repeat_ops(
                graph, store=path, cache_bytes=_cache_bytes(device), progress=progress
            )
    finally:
        if device.type == "cuda":
            torch.cuda.empty_cache()
    return counts


def _cache_bytes(device: torch.device) -> int:
    """Of the device's last cache; 0 where only the engine can tell."""
    if device.type != "cuda":
        return 0
    return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0))
