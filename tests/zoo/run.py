"""Captures every model of the zoo as a user would and holds it against the table.

    run.py                 all rows; what an earlier run of the same opscope has finished is kept
    run.py --fast          the part that `make test` runs
    run.py --only PATTERN  rows that match ('timm:*', 'bert'); may be repeated
    run.py --again         nothing is kept
    run.py --refresh       counts the references anew with FlopCounterMode and writes them into the table
    run.py --fill          the same, only for models that have no row or no number yet
    run.py --json FILE     what was found of each model too, for tools/compatibility.py
    run.py --tracers       PyTorch's tracers on the same models, held against the engine (tracers.py)
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import catalogue
import pool
import report
import table
import tracers
from table import Row

RESULTS = Path(__file__).parents[2] / "build" / "zoo_results"
LIBRARIES = ("torch", "torchvision", "timm", "transformers", "ultralytics", "onnx")


def main() -> int:
    options = _parse()
    began = time.perf_counter()
    rows = table.read()
    if options.refresh or options.fill:
        rows += table.select(catalogue.bare(rows), options.only, options.fast)
    chosen = table.select(rows, options.only, options.fast)
    if options.fill:
        chosen = [row for row in chosen if row.wanted_flops is None and not row.error]
    if not chosen:
        print("no row of the zoo's table matches", file=sys.stderr)
        return 1
    if options.refresh or options.fill:
        _refresh(rows, chosen, options)
    if options.tracers:
        return _compare_tracers(tracers.suitable(chosen), options, began)
    results = _profiled(chosen, options.workers, options.again and not options.refresh)
    judged = [report.judge(row, results[row.key]) for row in chosen]
    print(report.table_text(judged))
    print(report.totals_text(judged, time.perf_counter() - began))
    if options.json:
        options.json.write_text(json.dumps({each.row.key: _summary(each) for each in judged}))
    partial = options.only or options.fast or options.fill
    missing = [] if partial else catalogue.missing(rows)
    for text in missing:
        print(f"problem    the table lacks {text}: add a row and run with --refresh")
    return 1 if report.problems(judged) or missing else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--refresh", action="store_true")
    parser.add_argument("--fill", action="store_true")
    parser.add_argument("--tracers", action="store_true")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--workers", type=int, default=min(os.cpu_count() or 1, 2))
    return parser.parse_args()


def _summary(judged: report.Judged) -> dict[str, Any]:
    return {name: judged.result.get(name) for name in ("flops", "ops")} | {"problem": judged.problem}


def _task(command: str, row: Row, folder: Path) -> pool.Task:
    more = [tracers.tracers_for(row)] if command == "trace" else []
    return {"command": command, "spec": row.spec, "options": row.options, "key": row.key, "folder": str(folder), "more": more}


def _compare_tracers(rows: list[Row], options: argparse.Namespace, began: float) -> int:
    answers = _answers("trace", rows, options.workers, options.again)
    exceptions = tracers.read()
    judged = [each for row in rows for each in tracers.judge(row, answers[row.key], exceptions)]
    text, well = tracers.report(judged, exceptions, bool(options.only or options.fast), time.perf_counter() - began)
    print(text)
    return 0 if well else 1


# --- profiles, kept between runs -------------------------------------------------------------------------------


def _profiled(rows: list[Row], workers: int, again: bool) -> dict[str, dict[str, Any]]:
    return _answers("profile", rows, workers, again)


def _answers(command: str, rows: list[Row], workers: int, again: bool) -> dict[str, dict[str, Any]]:
    folder = _folder()
    mark = "" if command == "profile" else f"{command} "
    results = {} if again else {row.key: kept for row in rows if (kept := _kept(folder, mark + row.key)) is not None}
    tasks = [_task(command, row, folder) for row in rows if row.key not in results]
    show = _progress(f"{command}d", len(rows), len(results))

    def done(task: pool.Task, answer: dict[str, Any]) -> None:
        results[task["key"]] = answer
        _file(folder, mark + task["key"]).write_text(json.dumps(answer))
        show(task["key"])

    pool.run(tasks, workers, done)
    show("")
    return results


def _folder() -> Path:
    """Of the results and of the model files they are for; the files of earlier stamps, gigabytes, go after a day."""
    folder = RESULTS / _stamp()
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for files in RESULTS.glob("*/files"):
        if files.parent != folder and time.time() - files.parent.stat().st_mtime > 24 * 3600:
            shutil.rmtree(files, ignore_errors=True)
    return folder


def _stamp() -> str:
    """What the results depend on: opscope's own files, the zoo's and the libraries' versions."""
    import importlib.util

    spec = importlib.util.find_spec("opscope")
    assert spec is not None and spec.origin is not None
    digest = hashlib.sha256()
    for path in sorted(Path(spec.origin).parent.rglob("*")):
        if path.suffix in (".py", ".so", ".json"):
            digest.update(path.name.encode() + path.read_bytes())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + path.read_bytes())
    for name in LIBRARIES:
        digest.update(f"{name} {_version(name)}".encode())
    return digest.hexdigest()[:16]


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _file(folder: Path, key: str) -> Path:
    return folder / (hashlib.sha256(key.encode()).hexdigest()[:24] + ".json")


def _kept(folder: Path, key: str) -> dict[str, Any] | None:
    try:
        kept: dict[str, Any] = json.loads(_file(folder, key).read_text())
    except (OSError, ValueError):
        return None
    return None if "error" in kept else kept  # what failed is tried again


def _progress(verb: str, total: int, before: int) -> Callable[[str], None]:
    """One line that is written over; nothing where the output is not a terminal."""
    count = before
    live = sys.stderr.isatty()

    def show(key: str) -> None:
        nonlocal count
        count += bool(key)
        if live:
            text = f"{verb} {count} of {total}  {key}"[:100] if key else ""
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    return show


# --- references ------------------------------------------------------------------------------------------------


def _refresh(rows: list[Row], chosen: list[Row], options: argparse.Namespace) -> None:
    """Profiles give the inputs, FlopCounterMode the rest; the table is written as it fills."""
    profiles = _profiled(chosen, options.workers, options.again)
    by_key = {row.key: row for row in chosen}
    folder = _folder()
    tasks = [_task("refer", row, folder) for row in chosen if not row.error and "error" not in profiles[row.key]]
    show = _progress("counted", len(tasks), 0)

    def done(task: pool.Task, answer: dict[str, Any]) -> None:
        row = by_key[task["key"]]
        row.inputs = profiles[row.key]["inputs"]
        if "error" not in answer:
            row.params, row.flops, row.counted_on = answer["params"], answer["flops"], answer["counted_on"]
        table.write(rows)
        show(row.key)
        if answer.get("flops") != profiles[row.key]["flops"] and row.expected != profiles[row.key]["flops"]:
            why, own = answer.get("error") or answer.get("why"), profiles[row.key]["flops"]
            print(f"{row.key}: opscope {own}, FlopCounterMode {answer.get('flops')} ({why})", file=sys.stderr)

    pool.run(tasks, options.workers, done)
    show("")
    table.write(rows)


if __name__ == "__main__":
    sys.exit(main())
