"""The zoo's table: one row a model, with what opscope must say about it and where that number comes from."""

from __future__ import annotations

import csv
import dataclasses
import fnmatch
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("models.csv")


@dataclass
class Row:
    """`flops` is FlopCounterMode's count; `expected` is opscope's where it rightly differs, and `reason` says why."""

    spec: str  # "timm:resnet18"; "small:bert" is transformers_configs.py's; "file:resnet18.onnx" is file_models.py's
    options: str = ""  # "tracer=eager": what a user would say beside the name
    fast: bool = False  # part of `make test`
    inputs: str = ""  # "x 1x3x224x224 float32", as opscope worked them out
    params: int | None = None
    flops: int | None = None
    counted_on: str = ""  # how FlopCounterMode was run; empty where it does not
    expected: int | None = None
    error: str = ""  # what the message must contain, where the model is refused
    reason: str = ""

    @property
    def key(self) -> str:
        return f"{self.spec} {self.options}".strip()

    @property
    def group(self) -> str:
        return self.spec.partition(":")[0]

    @property
    def wanted_flops(self) -> int | None:
        return self.flops if self.expected is None else self.expected


def read(path: Path = FILE) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [_row(record) for record in csv.DictReader(file)]


def _row(record: dict[str, str]) -> Row:
    numbers = {name: int(record[name]) if record[name] else None for name in ("params", "flops", "expected")}
    texts = {name: record[name] for name in ("spec", "options", "inputs", "counted_on", "error", "reason")}
    return Row(**texts, **numbers, fast=record["fast"] == "yes")


def write(rows: list[Row], path: Path = FILE) -> None:
    names = [field.name for field in dataclasses.fields(Row)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            values = [getattr(row, name) for name in names]
            writer.writerow([("yes" if v else "") if isinstance(v, bool) else "" if v is None else v for v in values])


def select(rows: list[Row], patterns: list[str], fast: bool) -> list[Row]:
    """Rows that match any pattern ('timm:*', 'bert') and, with `fast`, are part of `make test`."""
    wanted = [pattern if any(c in pattern for c in "*?[") else f"*{pattern}*" for pattern in patterns]
    return [
        row
        for row in rows
        if (row.fast or not fast) and (not wanted or any(fnmatch.fnmatchcase(row.key, each) for each in wanted))
    ]
