"""The questions that C++ has a row for: each is a function here, with the options of its command."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from opscope._load import native
from opscope.api import capture
from opscope.options import takes_options
from opscope.results.report import Report


class Answer(Report):
    """What the command of the same name prints: `print(answer)`; in other formats by `to_json`, `to_csv` and so on."""

    def draw(self, path: str | os.PathLike[str]) -> None:
        """A picture as .svg, .png or .pdf, where the question has one."""
        self._native.draw(os.fspath(path))


def _function(name: str, summary: str, own: list[tuple[str, bool, str]]) -> Callable[..., Answer]:
    switches = {option: is_switch for option, is_switch, _ in own}

    def ask(model: Any, inputs: Any = None, **options: Any) -> Answer:
        asked = {option: options.pop(option) for option in switches if option in options}
        given = {option: _text(value) for option, value in asked.items() if value is not None}
        return Answer(native.ask(name, capture(model, inputs, **options)._graph, given))

    model, inputs, more = inspect.signature(ask).parameters.values()
    keywords = [
        inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=False if is_switch else None)
        for option, is_switch, _ in own
    ]
    ask.__signature__ = inspect.Signature([model, inputs, *keywords, more], return_annotation="Answer")  # type: ignore[attr-defined]
    ask.__name__ = ask.__qualname__ = name
    ask.__doc__ = f"{summary}.\n\n" + " ".join(f"`{option}`: {help}." for option, _, help in own)
    return takes_options(ask)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def __getattr__(name: str) -> Callable[..., Answer]:
    row = native.questions().get(name)
    if row is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _function(name, *row)
