"""The graph of each of bench/predict_cases.py's runs as opscope captures it for a GPU, in a folder of files."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from memory_cuda import captured_as  # noqa: E402
from predict_cases import CASES, all_runs, made  # noqa: E402


def path_of(folder: Path, name: str, run: str) -> Path:
    return folder / f"{name}.{run}.json"


def graph_of(name: str, run: str) -> Any:
    """By abstract execution; by a real run on the CPU where the model looks at values."""
    import opscope

    model, given, options = captured_as(made, name, run)
    try:
        return opscope.capture(model, given, **options)
    except opscope.Error as problem:
        if not getattr(problem, "needs_values", False):
            raise
    model, _ = made(name, run)
    return opscope.capture(model, given, **options | {"tracer": "auto"})


def capture(names: list[str], options: argparse.Namespace) -> None:
    from opscope.engine import torchvision_ops

    torchvision_ops.prepare()
    options.to.mkdir(parents=True, exist_ok=True)
    failed = []
    for name, run in all_runs(names or list(CASES)):
        path = path_of(options.to, name, run)
        if (path.exists() and not options.again) or (options.runs and run not in options.runs.split(",")):
            continue
        begun = time.perf_counter()
        try:
            graph = graph_of(name, run)
            graph.save(path)
            print(name, run, f"{path.stat().st_size / 1e6:.1f} MB {time.perf_counter() - begun:.1f} s", flush=True)
        except Exception as problem:
            failed.append(f"{name} {run}: {type(problem).__name__}: {' '.join(str(problem).split())[:300]}")
            print(failed[-1], flush=True)
    print(f"{len(failed)} failed")
    print("\n".join(failed))
