"""The prediction of each measured run, and docs/predict_measured.md: both side by side."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
HOST_PACE = 1e-3  # seconds of predict_worker's host_pace on the host whose costs h200.toml has
MODES = {"graph": "device_seconds", "eager": "eager_seconds"}  # of opscope, and what was measured of it


def predict(measured: list[Row], graphs: Path, to: Path) -> None:
    """A line for each run that was measured and captured, in both modes."""
    import opscope
    from predict_graphs import path_of

    with to.open("w") as file:
        for row in measured:
            path = path_of(graphs, row["model"], row["run"])
            if not path.exists():
                continue
            graph = opscope.load(path)
            told: Row = {"model": row["model"], "run": row["run"]}
            host = f"{HOST_PACE / row['host_pace']:.4f}x"  # as fast as it was around the run
            for mode in MODES:
                told[mode] = json.loads(graph.profile(hardware="h200", mode=mode, host=host).to_json())["hardware"]["prediction"]
            file.write(json.dumps(told) + "\n")


class Pair:
    def __init__(self, real: Row, told: Row) -> None:
        self.model, self.run, self.kind = real["model"], real["run"], real["kind"]
        self.real = {mode: real.get(key) for mode, key in MODES.items()}
        self.told = {mode: told[mode] for mode in MODES}
        sources = told["graph"]["sources"]
        self.known = sources["measured"] / (sum(sources.values()) or 1)

    def error(self, mode: str) -> float:
        return float(self.told[mode]["predicted_seconds"] / self.real[mode] - 1)

    def is_inside(self, mode: str) -> bool:
        return bool(self.told[mode]["predicted_p10_seconds"] <= self.real[mode] <= self.told[mode]["predicted_p90_seconds"])


def pairs(real: list[Row], told: list[Row]) -> list[Pair]:
    by_run = {(row["model"], row["run"]): row for row in told}
    found = [Pair(row, by_run[row["model"], row["run"]]) for row in real if (row["model"], row["run"]) in by_run]
    return [pair for pair in found if all(pair.real.values())]


def summary(of: list[Pair], mode: str) -> str:
    errors = sorted(abs(pair.error(mode)) for pair in of)
    p90 = errors[int(0.9 * (len(errors) - 1))]
    within = sum(error <= 0.15 for error in errors) / len(errors)
    inside = sum(pair.is_inside(mode) for pair in of) / len(of)
    bias = statistics.median(pair.error(mode) for pair in of)
    return f"| {len(of)} | {statistics.median(errors):.1%} | {p90:.1%} | {errors[-1]:.0%} | {within:.0%} | {bias:+.1%} | {inside:.0%} |"


GROUPS: list[tuple[str, Callable[[Pair], bool]]] = [
    ("forward, float32", lambda pair: pair.run == "forward-fp32"),
    ("forward, bfloat16", lambda pair: pair.run == "forward-bf16"),
    ("training", lambda pair: pair.run.startswith("training")),
    ("decode", lambda pair: pair.run.startswith("decode")),
    ("all", lambda pair: True),
]


def summaries(of: list[Pair], mode: str) -> Iterator[str]:
    yield "| models | runs | | median | p90 | worst | within 15 % | bias | inside p10 to p90 |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    for kind, words in (("seen", "published sizes"), ("odd", "odd sizes")):
        for name, is_in in GROUPS:
            if part := [pair for pair in of if pair.kind == kind and is_in(pair)]:
                yield f"| {words} | {name} {summary(part, mode)}"


def table(of: list[Pair]) -> Iterator[str]:
    yield "| model | run | device: predicted ms | p10 to p90 | measured ms | | eager: predicted ms | measured ms | | timed alone |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for pair in sorted(of, key=lambda each: (each.kind != "seen", each.model, each.run)):
        cells = [pair.model, pair.run]
        for mode in MODES:
            told = pair.told[mode]
            cells.append(f"{told['predicted_seconds'] * 1e3:.4g}")
            if mode == "graph":
                cells.append(f"{told['predicted_p10_seconds'] * 1e3:.3g} to {told['predicted_p90_seconds'] * 1e3:.3g}")
            cells += [f"{pair.real[mode] * 1e3:.4g}", f"{pair.error(mode):+.1%}"]
        yield "| " + " | ".join([*cells, f"{pair.known:.0%}"]) + " |"


def write(page: Path, real: list[Row], told: list[Row]) -> None:
    found = pairs(real, told)
    text = page.read_text()
    for mark, block in (("device", summaries(found, "graph")), ("eager", summaries(found, "eager")), ("rows", table(found))):
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n" + "\n".join(block) + "\n" + end + rest.split(end)[1]
    page.write_text(text)
