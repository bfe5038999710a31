"""The zoo's judgement of tracers: what is the same, what may fail, and what needs a row with a reason."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "zoo"))

import table  # noqa: E402
import tracers  # noqa: E402

ROW = table.Row("timm:one")
SAME: dict[str, Any] = {"tracer": "static", "params": 3, "macs": 8, "modules": [["", 8]], "layers": [["fc", 8]]}
WHY = tracers.Exception_("timm:*", "export", "macs", "it is counted otherwise")


def judged(export: dict[str, Any], *exceptions: tracers.Exception_) -> tracers.Judged:
    (found,) = tracers.judge(ROW, {"engine": SAME, "export": export}, list(exceptions))
    return found


def well(*each: tracers.Judged, exceptions: tuple[tracers.Exception_, ...] = (), partial: bool = False) -> bool:
    return tracers.report(list(each), list(exceptions), partial, 1.0)[1]


def test_the_same_is_well_and_a_refusal_too() -> None:
    refused = judged({"error": "Error: the model loops, at a.py:3", "hint": "--tracer export"})
    assert judged(SAME).verdict == "same" and refused.verdict == "cannot"
    assert well(judged(SAME), refused)


def test_any_difference_is_a_problem_without_a_reason() -> None:
    for changed in ({"macs": 9}, {"params": 4}, {"modules": [["", 9]]}, {"layers": []}):
        assert not well(judged(SAME | changed)), changed
    excused = judged(SAME | {"macs": 9}, WHY)
    assert excused.exception == WHY and well(excused, exceptions=(WHY,))
    assert not well(judged(SAME | {"layers": []}, WHY))


def test_a_graph_that_does_not_run_is_a_problem() -> None:
    assert not well(judged({"error": "Error: no", "hint": f"{tracers.OURS} as the model does"}))
    assert not well(judged({"error": "RuntimeError: not one of ours", "hint": ""}))


def test_an_exception_that_excuses_nothing_is_a_problem() -> None:
    assert not well(judged(SAME, WHY), exceptions=(WHY,))
    assert well(judged(SAME, WHY), exceptions=(WHY,), partial=True)


def test_rows_that_run_for_real_or_are_files_are_left_out() -> None:
    rows = [ROW, table.Row("file:a.onnx"), table.Row("timm:two", "tracer=eager"), table.Row("timm:three", error="no")]
    assert tracers.suitable(rows) == [ROW]
    assert tracers.judge(ROW, {"engine": SAME | {"tracer": "eager"}, "fx": SAME}, []) == []


def test_every_exception_of_the_table_has_a_reason() -> None:
    for each in tracers.read():
        assert each.reason and each.differs in (*tracers.COMPARED, "runs") and each.tracer in (*tracers.SAMPLED, "*")
