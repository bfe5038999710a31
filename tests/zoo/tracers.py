"""The zoo through PyTorch's tracers: what works must give the engine's MACs, parameters and layers.

What a tracer cannot follow is no problem, as long as it says so with an opscope.Error. What differs needs a row in
tracers.csv: which models and tracer, which of the numbers, and the reason.
"""

from __future__ import annotations

import csv
import fnmatch
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from table import Row

FILE = Path(__file__).with_name("tracers.csv")
EVERY = ("fx", "export")
SAMPLED = ("fx", "export", "dynamo")  # for the rows of `make test`: Dynamo takes seconds for each
COMPARED = ("params", "macs", "modules", "layers")
#: How an error begins to tell that the graph was made, and then failed under the engine.
OURS = "its graph does not run"


@dataclass(frozen=True)
class Exception_:
    spec: str  # a pattern: "timm:vit*"
    tracer: str
    differs: str  # one of COMPARED, or "runs"
    reason: str

    def covers(self, row: Row, tracer: str, what: str) -> bool:
        return fnmatch.fnmatchcase(row.key, self.spec) and self.tracer in (tracer, "*") and self.differs == what


@dataclass
class Judged:
    row: Row
    tracer: str
    verdict: str  # "same", "cannot", or what differs
    text: str = ""
    exception: Exception_ | None = None

    @property
    def is_problem(self) -> bool:
        return self.verdict not in ("same", "cannot") and self.exception is None


def read(path: Path = FILE) -> list[Exception_]:
    with path.open(newline="", encoding="utf-8") as file:
        return [Exception_(**record) for record in csv.DictReader(file)]


def tracers_for(row: Row) -> tuple[str, ...]:
    return SAMPLED if row.fast else EVERY


def suitable(rows: list[Row]) -> list[Row]:
    """Those that are captured without data: not files, which hold a graph already, and not real runs."""
    return [row for row in rows if not row.error and row.group != "file" and "tracer=eager" not in row.options]


def judge(row: Row, answer: dict[str, Any], exceptions: list[Exception_]) -> list[Judged]:
    if "error" in answer:
        return [Judged(row, "engine", "failed", answer["error"])]
    if answer["engine"]["tracer"] != "static":
        return []
    return [_judge(row, each, answer["engine"], answer[each], exceptions) for each in tracers_for(row) if each in answer]


def _judge(row: Row, tracer: str, engine: dict[str, Any], found: dict[str, Any], exceptions: list[Exception_]) -> Judged:
    explained = found.get("error", "").startswith("Error: ") and not found["hint"].startswith(OURS)
    if explained:
        return Judged(row, tracer, "cannot", found["error"])
    differs = "runs" if "error" in found else next((key for key in COMPARED if found[key] != engine[key]), "")
    if not differs:
        return Judged(row, tracer, "same")
    text = found.get("error") or f"{differs}: {_shown(found[differs])}, the engine has {_shown(engine[differs])}"
    known = next((each for each in exceptions if each.covers(row, tracer, differs)), None)
    return Judged(row, tracer, differs, text, known)


def _shown(value: Any) -> str:
    return f"{len(value)} rows" if isinstance(value, list) else str(value)


def report(judged: list[Judged], exceptions: list[Exception_], partial: bool, seconds: float) -> tuple[str, bool]:
    """The text, and whether all is well."""
    lines = [f"exception  {each.row.key} by {each.tracer}: {each.text}; {each.exception.reason}" for each in judged if each.exception]
    used = {each.exception for each in judged}
    problems = [f"{each.row.key} by {each.tracer}: {each.text}" for each in judged if each.is_problem]
    if not partial:
        problems += [f"no model differs any more: {each.spec} {each.tracer} {each.differs}" for each in exceptions if each not in used]
    lines += [f"problem    {text}" for text in problems]
    for tracer in SAMPLED:
        of_it = [each for each in judged if each.tracer == tracer]
        same, cannot = (sum(each.verdict == verdict for each in of_it) for verdict in ("same", "cannot"))
        lines.append(f"{tracer:10} same as the engine on {same} of {len(of_it)}, cannot follow {cannot}")
        reasons = Counter(each.text.split(", at ")[0] for each in of_it if each.verdict == "cannot")
        lines += [f"           {count:4} {reason}"[:160] for reason, count in reasons.most_common(12)]
    lines.append(f"tracers: {len(judged)} graphs asked for, {len(problems) or 'no'} problems, {seconds:.0f} s")
    return "\n".join(lines), not problems
