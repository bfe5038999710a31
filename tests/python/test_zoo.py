"""The zoo's judgement: what it calls equal, what it excuses and what it does not let pass."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "zoo"))

import report  # noqa: E402
import table  # noqa: E402

ROW = table.Row("timm:one", inputs="x 1x3 float32", params=10, flops=40, counted_on="meta")
RESULT: dict[str, Any] = {
    "inputs": "x 1x3 float32",
    "params": 10,
    "flops": 40,
    "ops": 3,
    "tracer": "static",
    "ms": 1.0,
    "slow": {},
    "unknown": {},
    "types": {"linear": 3},
    "partition": {"subgraphs": 1, "working": 3, "problems": []},
}


def judged(row: dict[str, Any] | None = None, **result: Any) -> report.Judged:
    return report.judge(table.Row(**(vars(ROW) | (row or {}))), RESULT | result)


def test_equal_is_well() -> None:
    assert judged().verdict == "equal"
    assert report.problems([judged()]) == []
    assert "zoo: 1 models, no problems" in report.totals_text([judged()], 1.0)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"flops": 42}, "42 FLOPs; the table has 40"),
        ({"params": 11}, "11 parameters; the table has 10"),
        ({"inputs": "x 1x4 float32"}, "inputs x 1x4 float32"),
        ({"unknown": {"my::op": 1}}, "unknown ops: my::op"),
        ({"partition": {"subgraphs": 1, "working": 3, "problems": ["op 2 is in none"]}}, "subgraphs: op 2 is in none"),
        ({"error": "ValueError: no"}, "ValueError: no"),
    ],
)
def test_any_difference_is_a_problem(changed: dict[str, Any], said: str) -> None:
    (problem,) = report.problems([judged(**changed)])
    assert said in problem


def test_a_difference_with_a_number_and_a_reason_is_an_exception() -> None:
    excused = judged({"expected": 44, "reason": "four boxes"}, flops=44)
    assert report.problems([excused]) == [] and excused.verdict == "+2 (+10.00%)"
    assert "four boxes" in report.totals_text([excused], 1.0)
    assert report.problems([judged({"expected": 44, "reason": "four boxes"}, flops=46)])
    assert report.problems([judged({"expected": 44}, flops=44)])  # no reason


def test_a_refusal_is_held_to_its_words() -> None:
    assert report.problems([judged({"error": "needs scipy"}, error="ImportError: it needs scipy")]) == []
    assert report.problems([judged({"error": "needs scipy"}, error="ImportError: something else")])
    assert report.problems([judged({"error": "needs scipy"})])  # captured after all


def test_no_common_op_may_be_slow() -> None:
    (problem,) = report.problems([judged(slow={"aten::linear": 1})])
    assert "aten::linear is among the 30 most used ops" in problem
    rare = judged(slow={"aten::rare": 1}, types={f"op{i}": 9 for i in range(30)} | {"rare": 1})
    assert report.problems([rare]) == []


def test_rows_keep_what_they_say(tmp_path: Path) -> None:
    rows = [ROW, table.Row("small:two", "tracer=eager", True, expected=3, reason="a, b\nand c", error="no")]
    table.write(rows, tmp_path / "models.csv")
    assert table.read(tmp_path / "models.csv") == rows
    assert table.select(rows, ["two"], fast=False) == table.select(rows, [], fast=True) == rows[1:]
    assert table.select(rows, ["timm:*"], fast=False) == rows[:1]
