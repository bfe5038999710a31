"""What the answers of opscope have in common: each is shown, and written in the command line's formats, by C++."""

from __future__ import annotations

import functools
import json
import os
import tempfile
from typing import Any


class Report:
    """An answer of opscope. `print` shows what the command line prints; the same in other formats is below."""

    _view: dict[str, Any] = {}  # what of it is shown

    def __init__(self, found: Any) -> None:
        self._native = found

    def table(self, *, width: int = 100, color: bool = False) -> str:
        """The report that the command line prints, as text."""
        return self._in("txt", width=width, color=color)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python data: what to_json writes."""
        return dict(json.loads(self._in("json")))

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """All of it as JSON; written to `path` too if there is one."""
        return written(self._in("json"), path)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Its rows as CSV; written to `path` too if there is one."""
        return written(self._in("csv"), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as Markdown; written to `path` too if there is one."""
        return written(self._in("md"), path)

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as a page; written to `path` too if there is one."""
        return written(self._in("html"), path)

    def _in(self, format: str, **options: Any) -> str:
        return str(self._native.to_format(format, **self._view, **options))

    @functools.cached_property
    def _data(self) -> dict[str, Any]:
        return self.to_dict()

    def __str__(self) -> str:
        return self.table().rstrip("\n")

    def _repr_html_(self) -> str:
        return self._in("html")


def written(text: str, path: str | os.PathLike[str] | None) -> str:
    """Writes the whole file or none of it: to a neighbour first, then by renaming."""
    if path is None:
        return text
    folder, name = os.path.split(os.path.abspath(os.fspath(path)))
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    except OSError as problem:  # it would name the temporary file
        raise type(problem)(problem.errno, problem.strerror, os.fspath(path)) from None
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, os.path.join(folder, name))
    except BaseException:
        os.unlink(temporary)
        raise
    return text
