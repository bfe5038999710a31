"""The error that a wrong input raises: one line that says what, where it is, and what to do instead."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opscope._load import native

if TYPE_CHECKING:
    from opscope._native import Error as Error
else:
    Error = native.Error
# What an error has unless it says otherwise, those raised in C++ included: no real run would get further.
Error.where, Error.hint, Error.candidates = "", "", []
Error.is_final, Error.needs_values = True, False


def _notes(problem: Any) -> list[str]:
    """Place and hint, which Python shows under an error that nobody catches; those raised in C++ have them too."""
    if "_notes" not in problem.__dict__:
        guess = f"did you mean {', '.join(problem.candidates)}?" if problem.candidates else ""
        place = f"at {problem.where}" if problem.where else ""
        lines = (place, "   ".join(part for part in (guess, problem.hint) if part))
        problem.__dict__["_notes"] = [line for line in lines if line]
    notes: list[str] = problem.__dict__["_notes"]
    return notes


Error.__notes__ = property(_notes)  # type: ignore[assignment]


def error(what: str, where: str = "", hint: str = "", candidates: Sequence[str] = ()) -> Error:
    """`candidates` are the nearest of the names that would have done; place and hint are shown under the error."""
    made = Error(what)
    made.where, made.hint, made.candidates = where, hint, list(candidates)
    return made


def first_line(problem: BaseException) -> str:
    """'ValueError: expected 4D input', for the one-line errors; a SyntaxError's text has no file in it."""
    text = problem.msg if isinstance(problem, SyntaxError) else str(problem)
    lines = text.strip().splitlines()
    return f"{type(problem).__name__}: {lines[0]}" if lines else type(problem).__name__


def three_nearest(name: str, names: Sequence[str]) -> list[str]:
    """Those that a slip of the finger explains, then those that look most alike."""
    near = list(native.nearest(name, list(names)))
    alike = difflib.get_close_matches(name, names, 3 + len(near), cutoff=0.0)
    return [*near, *(each for each in alike if each not in near)][:3]
