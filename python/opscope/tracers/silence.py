"""PyTorch's tracers talk while they work: warnings, logs, progress. What they say is kept, not shown."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

_lock = threading.Lock()
_said: dict[int, list[io.StringIO]] = {}  # by thread, the innermost last
_undo = contextlib.ExitStack()


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """What this thread prints meanwhile is in the result; warnings and logs are off, as long as any thread is quiet."""
    said, thread = io.StringIO(), threading.get_ident()
    with _lock:
        if not _said:
            _silence()
        _said.setdefault(thread, []).append(said)
    try:
        yield said
    finally:
        with _lock:
            _said[thread].remove(said)
            if not _said[thread]:
                del _said[thread]
            if not _said:
                _undo.close()


def _silence() -> None:
    ignored = warnings.catch_warnings()
    _undo.enter_context(ignored)
    warnings.simplefilter("ignore")
    _undo.callback(logging.disable, logging.root.manager.disable)
    logging.disable(logging.CRITICAL)
    _undo.enter_context(contextlib.redirect_stdout(_ByThread(sys.stdout)))
    _undo.enter_context(contextlib.redirect_stderr(_ByThread(sys.stderr)))


class _ByThread(io.TextIOBase):
    """A stream that keeps what quiet threads write, and passes on what the others do."""

    def __init__(self, shown: Any) -> None:
        self._shown = shown

    def write(self, text: str) -> int:
        kept = _said.get(threading.get_ident())
        return int((kept[-1] if kept else self._shown).write(text))

    def flush(self) -> None:
        if threading.get_ident() not in _said:
            self._shown.flush()

    def fileno(self) -> int:
        return int(self._shown.fileno())

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return str(getattr(self._shown, "encoding", "utf-8"))
