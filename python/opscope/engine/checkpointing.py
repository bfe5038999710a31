"""Selective checkpointing in a capture: an op that is answered from what was kept is not run, and so is not recorded."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from opscope._load import native

_MODES = ("_CachingTorchDispatchMode", "_CachedTorchDispatchMode")
_shown = False


def show() -> None:
    """Has the modes of selective checkpointing tell the engine of themselves, from now on: outside captures they do not."""
    global _shown
    module = sys.modules.get("torch.utils.checkpoint")
    if _shown or module is None:
        return
    _shown = True
    ours = {"__enter__": _entered, "__exit__": _left, "__torch_dispatch__": native.call_handler}
    for mode in (getattr(module, name) for name in _MODES if hasattr(module, name)):
        for name, function in ours.items():
            setattr(mode, name, _while_capturing(getattr(mode, name), function))


def _entered(enter: Callable[..., Any], mode: Any) -> Any:
    entered = enter(mode)
    native.add_caches(1)
    return entered


def _left(leave: Callable[..., Any], mode: Any, *problem: Any) -> Any:
    left = leave(mode, *problem)
    native.add_caches(-1)
    return left


def _while_capturing(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return ours(plain, *args, **kwargs) if native.capturing() else plain(*args, **kwargs)

    return wrapped
