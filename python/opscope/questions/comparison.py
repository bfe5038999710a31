"""opscope.compare: models side by side. Every number, mark and sentence comes from C++."""

from __future__ import annotations

import os
from typing import Any

from opscope._load import native
from opscope.errors import error
from opscope.options import takes_options
from opscope.questions.costs import cost_settings, on_hardware
from opscope.questions.diff import handed_over
from opscope.results.profile import Row
from opscope.results.report import Report


class Comparison(Report):
    """Models side by side, as `opscope compare` shows them: `print(comparison)`.

    `models` has a row of every quantity for each model, `findings` says what the difference means, `notes` what makes
    the comparison less than fair. `by_type()` and `by_module()` show one quantity part by part.
    """

    def __init__(self, native_comparison: Any, view: dict[str, Any]) -> None:
        super().__init__(native_comparison)
        self._view = view  # what print shows: by, metric and depth

    @property
    def models(self) -> list[Row]:
        """A row a model: params, macs, flops, memory_bytes, peak_memory_bytes, ..., `ratio_to_first`, `best`, `types`."""
        return [Row(row) for row in self._data["models"]]

    @property
    def rows(self) -> list[Row]:
        """What is compared: the models, or with `by` the op types or modules, one column a model."""
        found = self._data
        return [Row(row) for row in found.get("rows", found["models"])]

    @property
    def findings(self) -> list[str]:
        """What the difference means, a sentence each."""
        return list(self._data["findings"])

    @property
    def notes(self) -> list[str]:
        """What makes the numbers hard to compare: different inputs, different conventions, unknown ops."""
        return list(self._data["notes"])

    def by_type(self, metric: str = "flops") -> Comparison:
        """The same models by op type: `metric` is flops, macs, memory_bytes, time_seconds, roofline_seconds or ops."""
        return Comparison(self._native, {"by": "type", "metric": metric})

    def by_module(self, metric: str = "flops", depth: int = 1) -> Comparison:
        """The same models by module, matched by path, down to `depth` levels; `params` is a metric here too."""
        return Comparison(self._native, {"by": "module", "metric": metric, "depth": depth})

    def pareto(self, path: str | os.PathLike[str], *, x: str = "params", y: str = "flops") -> None:
        """The Pareto front as a .svg, .png or .pdf; the area of each dot is the bytes moved."""
        self._native.pareto(os.fspath(path), x, y)

    def table(self, *, width: int = 100, color: bool = False, top: int = 15, verbose: bool = False) -> str:
        """The report that `opscope compare` prints, as text."""
        return self._in("txt", width=width, color=color, top=top, verbose=verbose)

    def __repr__(self) -> str:
        return f"<opscope.Comparison of {', '.join(row.label for row in self.models)}>"


@takes_options
def compare(
    *models: Any,
    inputs: Any = None,
    names: Any = (),
    by: str | None = None,
    metric: str = "flops",
    depth: int = 1,
    convention: str = "opscope",
    ridge: float | None = None,
    hardware: str | os.PathLike[str] | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
    **options: Any,
) -> Comparison:
    """Models side by side: costs, the best model for each metric, and what the differences mean.

    Each of `models` is whatever `profile` takes, a Graph, a Profile, or the path of a profile saved as JSON. `inputs` and
    the options (`batch`, `seq_len`, `dtype`, `training`, ...) hold for all that are captured here; graphs and profiles are
    as they are. `names` calls them something else than their own names. `hardware` is a device or several ('h100,l4'),
    for the time that each model is predicted to take there, in the `mode` and with the `host` of `opscope.predict`.
    `routing` is for mixtures of experts: see `Graph.profile`.
    With `by` 'type' or 'module', `metric` is shown part by part.
    """
    if len(models) < 2:
        raise error("nothing to compare", "models", "give two models or more")
    if names and len(names) != len(models):
        raise error(f"{len(names)} names for {len(models)} models", "names", "give one a model")
    given = [str(name) for name in names] or [""] * len(models)
    handed = [handed_over(model, inputs, on_hardware(options, hardware, model)) for model in models]
    settings = cost_settings(
        convention=convention, ridge=ridge, hardware=hardware, float32=float32, routing=routing, mode=mode, host=host
    )
    found = native.compare(given, handed, **settings)
    return Comparison(found, {} if by is None else {"by": by, "metric": metric, "depth": depth})
