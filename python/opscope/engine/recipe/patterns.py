"""Which modules and parameters a user means by a pattern: paths, parts of paths, names with wildcards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from opscope.errors import error, three_nearest


def fits(pattern: str, path: str) -> bool:
    """Whether a pattern, name by name, is the whole path or the end of it: `layer.*` fits `encoder.layer.0`."""
    wanted, names = pattern.split("."), path.split(".")
    if len(wanted) > len(names) or not path:
        return False
    return all(fnmatchcase(name, each) for each, name in zip(wanted, names[-len(wanted) :], strict=True))


def fits_inside(pattern: str, path: str) -> bool:
    """Whether it fits the path, or what the path is inside of."""
    names = path.split(".")
    return any(fits(pattern, ".".join(names[:count])) for count in range(1, len(names) + 1))


def split(patterns: str) -> list[str]:
    return [each.strip() for each in patterns.split(",")]


def nothing_fits(pattern: str, option: str, what: str, names: Sequence[str]) -> Exception:
    """`names`: those that would have done."""
    ends = list(dict.fromkeys([*(name.rsplit(".", 1)[-1] for name in names), *names]))
    return error(f"no {what} of the model fits '{pattern}'", option, "" if ends else f"it has no {what}s", three_nearest(pattern, ends))


def chosen(patterns: str, paths: Iterable[str], option: str, what: str) -> set[str]:
    """The paths that the patterns name, inside of modules too; where all begin with '!', all others."""
    known, each = list(paths), split(patterns)
    found: set[str] = set()
    for pattern in each:
        fitting = {path for path in known if fits_inside(pattern.removeprefix("!"), path)}
        if not fitting:
            raise nothing_fits(pattern.removeprefix("!"), option, what, known)
        found |= fitting
    if any(pattern.startswith("!") for pattern in each):
        if not all(pattern.startswith("!") for pattern in each):
            raise error(f"'{patterns}' has patterns with and without '!'", option, "'!head' is all but the head; write one kind")
        return set(known) - found
    return found
