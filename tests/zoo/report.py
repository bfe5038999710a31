"""The zoo's answer: one table of models, then totals, exceptions with their reasons, and what went wrong."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass
from typing import Any

from table import Row

MOST_USED = 30


@dataclass
class Judged:
    row: Row
    result: dict[str, Any]
    verdict: str  # "equal", or in a word or two what it is instead
    problem: str = ""  # why this fails the zoo; empty if it does not
    exception: str = ""  # why the number is not FlopCounterMode's, with a reason from the table


def judge(row: Row, result: dict[str, Any]) -> Judged:
    if row.error:
        return _judge_refusal(row, result)
    if "error" in result:
        return Judged(row, result, "failed", problem=result["error"])
    for problem in _mismatches(row, result):
        return Judged(row, result, "wrong", problem=problem)
    if row.expected is None:
        return Judged(row, result, "equal")
    compared = f"{_difference(row, result)}" if row.flops is not None else "no reference"
    return Judged(row, result, compared, exception=row.reason)


def _judge_refusal(row: Row, result: dict[str, Any]) -> Judged:
    if row.error in result.get("error", ""):
        return Judged(row, result, "refused", exception=row.reason or row.error)
    got = result.get("error", "captured")
    return Judged(row, result, "wrong", problem=f"should be refused with '{row.error}': {got}")


def _mismatches(row: Row, result: dict[str, Any]) -> list[str]:
    found = []
    if row.inputs != result["inputs"]:
        found.append(f"inputs {result['inputs']}; the table has {row.inputs}")
    if row.params != result["params"]:
        found.append(f"{result['params']} parameters; the table has {row.params}")
    if row.wanted_flops != result["flops"]:
        found.append(f"{result['flops']} FLOPs; the table has {row.wanted_flops} ({row.counted_on or 'by hand'})")
    if result["unknown"]:
        found.append(f"unknown ops: {', '.join(result['unknown'])}")
    if result["partition"]["problems"]:
        found.append(f"subgraphs: {'; '.join(result['partition']['problems'])}")
    if row.wanted_flops is None or (row.expected is not None and not row.reason):
        found.append("the table gives neither a number nor a reason: run with --refresh, then say why")
    return found


def _difference(row: Row, result: dict[str, Any]) -> str:
    assert row.flops is not None
    part = f"{(result['flops'] - row.flops) / row.flops:+.2%}" if row.flops else "from none"
    return f"{(result['flops'] - row.flops) // 2:+,} ({part})"


def table_text(judged: list[Judged]) -> str:
    head = ("model", "ops", "how", "ms", "slow", "coverage", "MACs", "against FlopCounterMode")
    lines = [head, *(_cells(each) for each in judged)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(_line(cells, widths) for cells in lines)


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    sides = [str.ljust, str.rjust, str.ljust, str.rjust, str.rjust, str.rjust, str.rjust, str.ljust]
    return "  ".join(side(cell, width) for side, cell, width in zip(sides, cells, widths, strict=True)).rstrip()


def _cells(judged: Judged) -> tuple[str, ...]:
    result = judged.result
    if "ops" not in result:
        return (judged.row.key, "", "", "", "", "", "", judged.verdict)
    known = result["ops"] - sum(result["unknown"].values())
    coverage = 100 * known / max(result["ops"], 1)
    return (
        judged.row.key,
        str(result["ops"]),
        result["tracer"],
        f"{result['ms']:.1f}",
        str(sum(result["slow"].values())),
        f"{coverage:.4g} %",
        f"{result['flops'] // 2:,}",
        judged.verdict,
    )


def most_used(judged: list[Judged]) -> list[str]:
    used: Counter[str] = Counter()
    for each in judged:
        used.update(each.result.get("types", {}))
    return [name for name, _ in used.most_common(MOST_USED)]


def slow_ops(judged: list[Judged]) -> Counter[str]:
    slow: Counter[str] = Counter()
    for each in judged:
        slow.update(each.result.get("slow", {}))
    return slow


def problems(judged: list[Judged]) -> list[str]:
    found = [f"{each.row.key}: {each.problem}" for each in judged if each.problem]
    common = most_used(judged)
    slow = [op for op in slow_ops(judged) if _type_of(op) in common]
    return found + [f"{op} is among the {MOST_USED} most used ops and on the slow path" for op in slow]


def _type_of(op: str) -> str:
    return op.removeprefix("aten::").rstrip("_")


def totals_text(judged: list[Judged], seconds: float) -> str:
    captured = [each for each in judged if "ops" in each.result]
    how = Counter(each.result["tracer"] for each in captured)
    median = statistics.median(each.result["ms"] for each in captured) if captured else 0.0
    failed = problems(judged)
    lines = [f"exception  {each.row.key}: {each.verdict}; {each.exception}" for each in judged if each.exception]
    lines += [f"problem    {text}" for text in failed]
    lines += [
        f"models     {len(judged)}, captured {len(captured)} ({', '.join(f'{n} {name}' for name, n in how.most_common())})",
        f"coverage   100 % on {sum(not each.result['unknown'] for each in captured)}",
        f"subgraphs  {sum(each.result['partition']['subgraphs'] for each in captured)} of "
        f"{sum(each.result['partition']['working'] for each in captured)} ops that do work, each in one",
        f"MACs       equal to FlopCounterMode's on {sum(each.verdict == 'equal' for each in judged)}, "
        f"{sum(bool(each.exception) for each in judged)} exceptions with a reason",
        f"time       {median:.1f} ms a capture (median), {seconds:.0f} s in all",
        f"slow path  {', '.join(f'{op} {n}' for op, n in slow_ops(judged).most_common(10)) or 'no op'}",
        f"most used  {', '.join(most_used(judged))}",
        f"zoo: {len(judged)} models, {len(failed) or 'no'} problem{'' if len(failed) == 1 else 's'}",
    ]
    return "\n".join(lines)
