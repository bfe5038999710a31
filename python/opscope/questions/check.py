"""opscope.check: a model against its budget. Every number and verdict comes from C++."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from opscope._load import native
from opscope.options import takes_options
from opscope.questions.costs import cost_settings, on_hardware
from opscope.questions.diff import handed_over
from opscope.results.profile import Row
from opscope.results.report import Report


class Check(Report):
    """The limits of a budget and which are exceeded, as `opscope check` shows them: `print(check)`.

    True where all are kept: `assert opscope.check(model, max={"flops": "4.2G"})`.
    """

    @property
    def kept(self) -> bool:
        """True if no limit is exceeded; an unknown cost counts as exceeded, unless `allow_unknown` was given."""
        return bool(self._native.kept)

    @property
    def limits(self) -> list[Row]:
        """A row a limit: metric, kind, value, allowed, verdict, contributors, and a sentence in `text`."""
        return [Row(row) for row in self._data["models"][0]["limits"]]

    rows = limits

    @property
    def broken(self) -> list[Row]:
        """The limits that are exceeded."""
        return [row for row in self.limits if not row.passes]

    def __bool__(self) -> bool:
        return self.kept

    def __repr__(self) -> str:
        return f"<opscope.Check: {'kept' if self.kept else 'not kept: ' + ', '.join(row.metric for row in self.broken)}>"


@takes_options
def check(
    model: Any,
    inputs: Any = None,
    *,
    max: Mapping[str, Any] | str = "",
    min: Mapping[str, Any] | str = "",
    budget: str | os.PathLike[str] | None = None,
    against: Any = None,
    max_increase: Mapping[str, Any] | str = "",
    allow_unknown: bool = False,
    convention: str = "opscope",
    hardware: str | os.PathLike[str] | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
    **options: Any,
) -> Check:
    """Checks a model against a budget: which limits are exceeded, by how much, and by which modules.

    `max` and `min` are limits by metric: {"flops": "4.2G", "params": 12_000_000}, or "flops=4.2G,params=12M". `budget` is
    a TOML file with limits of the whole model, of modules and of op types. `against` is an earlier version (a model, a
    Graph, a Profile, or the path of a saved one) and `max_increase` what may be added to it: "2%", or {"flops": "2%",
    "params": 0}; nothing, where it is left out. Ops of unknown cost leave a limit of FLOPs open, which is not kept unless
    `allow_unknown`. A limit of `predicted_seconds` needs a `hardware`, and is of the `mode` and `host` of
    `opscope.predict`. The other options are those of `profile`.
    """
    options = on_hardware(options, hardware, model)
    asked = handed_over(model, inputs, options)
    base = None if against is None else handed_over(against, inputs, options)
    return Check(
        native.check(
            asked,
            against=base,
            budget="" if budget is None else os.fspath(budget),
            max=_written_out(max),
            min=_written_out(min),
            max_increase=_written_out(max_increase),
            allow_unknown=allow_unknown,
            **cost_settings(
                convention=convention, hardware=hardware, float32=float32, routing=routing, mode=mode, host=host
            ),
        )
    )


def _written_out(limits: Mapping[str, Any] | str) -> str:
    """As on the command line: "flops=4.2G,params=12M"."""
    if isinstance(limits, Mapping):
        return ",".join(f"{metric}={amount}" for metric, amount in limits.items())
    return str(limits)
