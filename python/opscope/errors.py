"""The error that a wrong input raises: one line that says what, where it is, and what to do instead."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from opscope._load import native

Error = native.Error
# What an error has unless it says otherwise, those raised in C++ included: no real run would get further.
Error.where, Error.hint, Error.candidates = "", "", []
Error.is_final, Error.needs_values = True, False


def error(what: str, where: str = "", hint: str = "", candidates: Sequence[str] = ()) -> Exception:
    """`candidates` are the nearest of the names that would have done; place and hint are shown under the error."""
    made = Error(what)
    made.where, made.hint, made.candidates = where, hint, list(candidates)
    guess = f"did you mean {', '.join(candidates)}?" if candidates else ""
    if hasattr(made, "add_note"):  # Python 3.11
        for note in (f"at {where}" if where else "", "   ".join(part for part in (guess, hint) if part)):
            if note:
                made.add_note(note)
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
