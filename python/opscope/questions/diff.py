"""opscope.diff: two versions of a model. Every number and sentence comes from C++."""

from __future__ import annotations

import os
from typing import Any

from opscope._load import native
from opscope.api import Graph, capture
from opscope.options import takes_options
from opscope.questions.costs import cost_settings, on_hardware
from opscope.results.profile import Profile, Row
from opscope.results.report import Report


class Diff(Report):
    """What changed between two versions of a model, as `opscope diff` shows it: `print(diff)`.

    `changes` has a row for every module and op that was added, removed, changed or moved, with the change in its own
    costs, children excluded: they add up to `totals`.
    """

    @property
    def same(self) -> bool:
        """True where nothing changed."""
        return bool(self._native.same)

    @property
    def totals(self) -> Row:
        """By metric (params, macs, flops, ...): base, new and change."""
        return Row({name: Row(total) for name, total in self._data["totals"].items()})

    @property
    def changes(self) -> list[Row]:
        """A row a change: status, path, base_path, type, what changed, and the change in its own costs, children excluded."""
        return [Row(row) for row in self._data["changes"]]

    rows = changes

    @property
    def types(self) -> list[Row]:
        """The op types whose work changed, the largest change first: base, new and change."""
        return [Row(row) for row in self._data["types"]]

    def draw(self, path: str | os.PathLike[str], *, max_nodes: int = 60) -> None:
        """A picture of both graphs as .svg, .png, .pdf or .html: additions green, removals red, changes amber."""
        self._native.draw(os.fspath(path), max_nodes)

    def table(
        self, *, width: int = 100, color: bool = False, depth: int = -1, fold: bool = True, verbose: bool = False
    ) -> str:
        """The report that `opscope diff` prints, as text; `depth` is how many levels of modules it shows."""
        return self._in("txt", width=width, color=color, depth=depth, fold=fold, verbose=verbose)

    def __repr__(self) -> str:
        return f"<opscope.Diff: {self._data['summary']}>"


@takes_options
def diff(
    base: Any,
    new: Any,
    *,
    inputs: Any = None,
    convention: str = "opscope",
    hardware: str | os.PathLike[str] | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
    **options: Any,
) -> Diff:
    """What changed from `base` to `new`: parts added, removed, changed and moved, and what that costs.

    Each is whatever `profile` takes, a Graph, a Profile, or the path of a profile saved as JSON. `inputs` and the options
    (`batch`, `seq_len`, `dtype`, ...) hold for what is captured here. A git revision of a file needs a Python of its own:
    `opscope diff HEAD~1:model.py:build model.py:build` on the command line.
    """
    settings = cost_settings(convention=convention, hardware=hardware, float32=float32, routing=routing, mode=mode, host=host)
    old, later = (handed_over(each, inputs, on_hardware(options, hardware, each)) for each in (base, new))
    return Diff(native.diff(old, later, **settings))


def spec_of(model: Any) -> str:
    """What the user called a model that was given by name or path; empty for an object."""
    return os.fspath(model) if isinstance(model, (str, os.PathLike)) else ""


def handed_over(model: Any, inputs: Any, options: dict[str, Any]) -> tuple[str, Any, str]:
    """A name where the user gave one, a native graph, or the path of a saved profile."""
    if isinstance(model, Profile):
        return "", model._native.graph, ""
    if isinstance(model, Graph):
        return "", model._graph, ""
    spec = spec_of(model)
    kind = native.file_kind(spec) if spec and hasattr(native, "file_kind") else ""
    if kind == "profile":
        return spec, None, spec
    if kind == "capture":  # it has its inputs already
        inputs, options = None, {}
    return spec, capture(model, inputs, **options)._graph, ""
