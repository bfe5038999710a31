"""A sweep of 54 points beside one point of fvcore, in one process and on one thread; and the whole command.

`bench/sweep.py [--write FILE] [--command OPSCOPE]`. Times are of this machine: only the ratio means something.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import torch

import opscope
from bench_models import _bert
from opscope.engine import torchvision_ops

BATCHES, LENGTHS = "1:256:x2", "16:512:x2"
MARK = ("<!-- sweep -->", "<!-- /sweep -->")


def _median(call: Callable[[], object], runs: int) -> float:
    call()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _fvcore(case: object) -> Callable[[], object]:
    import logging

    from fvcore.nn import FlopCountAnalysis

    logging.getLogger("fvcore").setLevel(logging.ERROR)

    def once() -> object:
        analysis = FlopCountAnalysis(case.plain, (case.tensor,))  # type: ignore[attr-defined]
        return analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False).total()

    return once


def _command(program: str) -> float:
    start = time.perf_counter()
    arguments = [program, "sweep", "bert-base-uncased", "--batch", BATCHES, "--seq-len", LENGTHS, "--quiet"]
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, help="a Markdown file whose part about sweeps is replaced")
    parser.add_argument("--command", help="the opscope program, for the whole command")
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torchvision_ops.prepare()
    case = _bert()
    sweep = _median(lambda: opscope.sweep(case.model, batch=BATCHES, seq_len=LENGTHS), asked.runs)
    times = _median(lambda: opscope.sweep(case.model, batch=BATCHES, seq_len=LENGTHS, hardware="h200"), asked.runs)
    every = _median(lambda: opscope.sweep(case.model, batch=BATCHES, seq_len=LENGTHS, polynomial=False), asked.runs)
    fitted = _median(lambda: opscope.sweep(case.model, batch="1:256", seq_len="1:400", polynomial=True), asked.runs)
    one = _median(_fvcore(case), asked.runs)
    rows = [
        ("opscope, 54 points", sweep),
        ("opscope, 54 points, with predicted times", times),
        ("opscope, 54 points, every one captured", every),
        ("opscope, 102,400 points, by polynomials", fitted),
        ("fvcore, 1 point (1 x 128)", one),
    ]
    lines = ["| BERT-base, one thread, model built | ms |", "|---|---:|"]
    lines += [f"| {name} | {1e3 * seconds:.0f} |" for name, seconds in rows]
    lines += [
        "",
        f"54 points take {sweep / one:.2f} of what fvcore takes for one, {every / one:.2f} where every point is captured.",
        f"With predicted times a sweep takes {times / sweep:.2f} times as long.",
    ]
    if asked.command:
        lines.append(f"The whole command, Python's imports and building the model included: {_command(asked.command):.1f} s.")
    text = "\n".join(lines)
    print(text)
    if asked.write:
        page = asked.write.read_text(encoding="utf-8")
        found = re.compile(re.escape(MARK[0]) + ".*?" + re.escape(MARK[1]), re.DOTALL)
        part = f"{MARK[0]}\n{text}\n{MARK[1]}"
        page = found.sub(lambda _: part, page) if found.search(page) else f"{page.rstrip()}\n\n## Sweeps\n\n{part}\n"
        asked.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
