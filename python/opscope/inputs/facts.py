"""What is found by looking over a model's modules and code, and no size changes. Plain calls look each time: a model may
have been changed since. Inside `remembered`, which holds for many captures of one model in a row, it is looked for once."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_Found = TypeVar("_Found")
_here = threading.local()  # .facts: by function and model, in this thread


@contextmanager
def remembered() -> Iterator[None]:
    """For the time of a sweep; one inside another shares what is known."""
    before = getattr(_here, "facts", None)
    _here.facts = {} if before is None else before
    try:
        yield
    finally:
        _here.facts = before


def fact(find: Callable[[Any], _Found]) -> Callable[[Any], _Found]:
    """Of one model, given as it is: no size, dtype or device may go into it."""

    @functools.wraps(find)
    def known(model: Any) -> _Found:
        facts = getattr(_here, "facts", None)
        if facts is None:
            return find(model)
        key = (find, id(model))
        if key not in facts:
            facts[key] = (model, find(model))  # with the model, so that no other takes its id
        found: _Found = facts[key][1]
        return found

    return known
