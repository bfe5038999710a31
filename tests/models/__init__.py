"""One small model for each way in which a model can be hard to capture.

Each function returns a Case: the model, its inputs and what a capture of it must show. `CASES` has them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Case:
    model: Any
    args: tuple[Any, ...]
    macs: int | None = None  # what FlopCounterMode counts, where that can run it; else as worked out by hand
    ops: tuple[str, ...] = ()  # that must be among those recorded, in this order
    error: str = ""  # the reason given where a static capture cannot be had
    notes: tuple[str, ...] = ()  # words that its diagnostics must have
    kwargs: dict[str, Any] = field(default_factory=dict)
    device: str | None = None
    repeatable: bool = True  # a second call gives the same as the first


CASES: dict[str, Callable[[], Case]] = {}


def case(function: Callable[[], Case]) -> Callable[[], Case]:
    CASES[function.__name__] = function
    return function
