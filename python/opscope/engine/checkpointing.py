"""Selective checkpointing in a capture: an op that is answered from what was kept is not run, and so is not recorded."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from opscope._load import native

Undo = Callable[[], object]
_MODES = ("_CachingTorchDispatchMode", "_CachedTorchDispatchMode")


def shown() -> Iterator[Undo]:
    """Sets each switch and yields what undoes it."""
    module = sys.modules.get("torch.utils.checkpoint")
    for mode in (vars(module).get(name) for name in _MODES) if module else ():
        if mode is None:
            continue
        yield _wrap(mode, "__enter__", _entered)
        yield _wrap(mode, "__exit__", _left)
        yield _wrap(mode, "__torch_dispatch__", native.call_handler)


def _entered(enter: Callable[..., Any], mode: Any) -> Any:
    entered = enter(mode)
    native.add_caches(1)
    return entered


def _left(leave: Callable[..., Any], mode: Any, *problem: Any) -> Any:
    left = leave(mode, *problem)
    native.add_caches(-1)
    return left


def _wrap(owner: Any, name: str, ours: Callable[..., Any]) -> Undo:
    own = vars(owner).get(name)
    setattr(owner, name, _wrapped(getattr(owner, name), ours))
    return lambda: delattr(owner, name) if own is None else setattr(owner, name, own)


@functools.lru_cache(maxsize=16)  # made once and not in every capture
def _wrapped(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return ours(plain, *args, **kwargs) if native.capturing() else plain(*args, **kwargs)

    return wrapped
