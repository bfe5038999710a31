"""PyTorch's tracers talk while they work: warnings, logs, progress. What they say is kept, not shown."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator


@contextlib.contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Nothing of Python's logging, warnings or printing gets out meanwhile; what was printed is in the result."""
    said = io.StringIO()
    level = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            warnings.simplefilter("ignore")
            yield said
    finally:
        logging.disable(level)
