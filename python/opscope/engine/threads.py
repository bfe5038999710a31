"""Threads that a model starts during a capture are part of it: what is started here runs there under the same module.

PyTorch's own threads get the capture with the rest of a thread's state; Python's begin with nothing.
"""

from __future__ import annotations

import _thread
import concurrent.futures
import functools
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from opscope._load import native

Undo = Callable[[], object]
_submitting = threading.local()  # .on: an executor or a pool starts threads for itself, which are for more than one task


def followed() -> Iterator[Undo]:
    """Sets each switch and yields what undoes it. Without a capture in the thread that starts another, all is as it was."""
    yield _replace(threading.Thread, "start", _started)
    yield _replace(_thread, "start_new_thread", _started_bare)
    yield _replace(concurrent.futures.ThreadPoolExecutor, "submit", _submitted)
    pools = sys.modules.get("multiprocessing.pool")
    if pools is not None:
        yield _replace(pools.Pool, "__init__", _for_itself)
        yield _replace(pools.Pool, "apply_async", _given_to_pool)
        yield _replace(pools.Pool, "_map_async", _given_to_pool)


def _replace(owner: Any, name: str, ours: Callable[..., Any]) -> Undo:
    plain = getattr(owner, name)
    setattr(owner, name, _replacement(plain, ours))
    return lambda: setattr(owner, name, plain)


@functools.lru_cache(maxsize=32)  # made once and not in every capture, whose set-up it would double
def _replacement(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        fork = native.fork_here()
        return plain(*args, **kwargs) if fork is None else ours(plain, fork, *args, **kwargs)

    return replaced


def _started(start: Callable[..., Any], fork: Any, thread: threading.Thread) -> Any:
    if getattr(_submitting, "on", False):
        return start(thread)
    run = thread.run

    def followed_run() -> None:
        vars(thread).pop("run", None)
        try:
            fork.call(run)
        except Exception:
            if not fork.failed:  # else the capture ends, and says why
                raise

    thread.run = followed_run  # type: ignore[method-assign]
    return start(thread)


def _started_bare(start: Callable[..., Any], fork: Any, function: Callable[..., Any], args: Any, kwargs: Any = None) -> Any:
    return start(fork.call, (function, *args), kwargs or {})


def _submitted(submit: Callable[..., Any], fork: Any, executor: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return _for_itself(submit, fork, executor, fork.call, function, *args, **kwargs)


def _for_itself(call: Callable[..., Any], fork: Any, *args: Any, **kwargs: Any) -> Any:
    """A call whose threads outlive it: what they are given is followed, the threads are not."""
    _submitting.on = True
    try:
        return call(*args, **kwargs)
    finally:
        _submitting.on = False


def _given_to_pool(give: Callable[..., Any], fork: Any, pool: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if isinstance(pool, sys.modules["multiprocessing.pool"].ThreadPool):
        function = functools.partial(fork.call, function)
    return give(pool, function, *args, **kwargs)
