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
        yield _wrap(mode, "__enter__", lambda enter, self: _counted(1, enter(self)))
        yield _wrap(mode, "__exit__", lambda leave, self, *problem: _counted(-1, leave(self, *problem)))
        yield _wrap(mode, "__torch_dispatch__", native.call_handler)


def _counted(count: int, result: Any) -> Any:
    native.add_caches(count)
    return result


def _wrap(owner: Any, name: str, ours: Callable[..., Any]) -> Undo:
    own = vars(owner).get(name)
    plain = getattr(owner, name)

    @functools.wraps(plain)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return ours(plain, *args, **kwargs) if native.capturing() else plain(*args, **kwargs)

    setattr(owner, name, wrapped)
    return lambda: delattr(owner, name) if own is None else setattr(owner, name, own)
