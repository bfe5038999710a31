"""opscope.memory: what a model holds while each of its ops runs. Every number comes from C++."""

from __future__ import annotations

import os
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


@takes_options
def memory(model: Any, inputs: Any = None, *, top: int | None = None, no_advice: bool = False, **options: Any) -> Answer:
    """Memory over time: the peak, what is allocated at the peak, and what would lower it.

    `top`: Rows: storages allocated at the peak, and proposed changes. Default 10. `no_advice`: Without the proposed changes.
    """
    graph = capture(model, inputs, **options)._graph
    return Answer(native.memory(graph, "" if top is None else str(top), no_advice))
