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
_POOLS = ("concurrent.futures.thread", "multiprocessing.pool")  # their threads are for more than one task
_PROGRESS = "tqdm._monitor"  # its thread is for every bar of the process, and starts with the first


def replaced(owner: Any, attribute: str, value: Any) -> Undo:
    """Sets an attribute; what puts back what was there."""
    before = getattr(owner, attribute)
    setattr(owner, attribute, value)
    return lambda: setattr(owner, attribute, before)


def followed() -> Iterator[Undo]:
    """Sets each switch and yields what undoes it. Without a capture in the thread that starts another, all is as it was."""
    yield _wrap(threading.Thread, "start", _started)
    yield _wrap(_thread, "start_new_thread", _started_bare)
    yield _wrap(concurrent.futures.ThreadPoolExecutor, "submit", _submitted)
    pools = sys.modules.get("multiprocessing.pool")
    if pools is not None:
        yield _wrap(pools.Pool, "apply_async", _given_to_pool)
        yield _wrap(pools.Pool, "_map_async", _given_to_pool)


def _wrap(owner: Any, name: str, ours: Callable[..., Any]) -> Undo:
    return replaced(owner, name, _wrapped(getattr(owner, name), ours))


@functools.lru_cache(maxsize=32)  # made once and not in every capture, whose set-up it would double
def _wrapped(plain: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(plain)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        fork = native.fork_here()
        return plain(*args, **kwargs) if fork is None else ours(plain, fork, *args, **kwargs)

    return wrapped


def _started(start: Callable[..., Any], fork: Any, thread: threading.Thread) -> Any:
    if getattr(getattr(thread, "_target", None), "__module__", "") in _POOLS or type(thread).__module__ == _PROGRESS:
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
    return submit(executor, fork.call, function, *args, **kwargs)


def _given_to_pool(give: Callable[..., Any], fork: Any, pool: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if isinstance(pool, sys.modules["multiprocessing.pool"].ThreadPool):
        function = functools.partial(fork.call, function)
    return give(pool, function, *args, **kwargs)
