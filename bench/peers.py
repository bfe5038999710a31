"""opscope beside other counters, in one process, on one thread: medians and ratios.

Also runs the core's own benchmark and times the command line, and writes all of it as docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import gc
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch

from opscope.engine import torchvision_ops

torchvision_ops.prepare()  # before any peer imports torchvision

from bench_models import MODELS, BenchModel, build  # noqa: E402
from peer_tools import OPSCOPE, TOOLS, Run, Tool, quiet  # noqa: E402

Times = dict[str, dict[str, float | None]]  # model -> tool -> seconds, None where the tool failed


def median_seconds(run: Run, repeats: int, budget: float) -> float:
    """The first run warms up, and is the only one where it alone takes the budget."""
    times: list[float] = []
    started = time.perf_counter()
    while len(times) <= repeats and (len(times) < 1 or time.perf_counter() - started < budget):
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)
    return statistics.median(times[1:] or times)


def measure(tool: Tool, bench: BenchModel, repeats: int, budget: float) -> float | None:
    gc.collect()
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return median_seconds(tool.prepare(bench), repeats, budget)
        except Exception:
            return None


def measure_all(names: Sequence[str], repeats: int, budget: float) -> Times:
    times: Times = {}
    for name in names:
        bench = build(name)
        times[bench.name] = {tool.name: measure(tool, bench, repeats, budget) for tool in TOOLS}
        print(row_text(bench.name, times[bench.name]), flush=True)
    return times


def ratio(row: dict[str, float | None], tool: str) -> float | None:
    mine, theirs = row[OPSCOPE.name], row[tool]
    return theirs / mine if mine and theirs else None


def cell(row: dict[str, float | None], tool: str) -> str:
    if tool == OPSCOPE.name:
        return f"{1000 * mine:.2f} ms" if (mine := row[tool]) else "FAIL"
    value = ratio(row, tool)
    return f"{value:.0f}x" if value else "FAIL"


def row_text(name: str, row: dict[str, float | None]) -> str:
    return f"{name:<16}" + "".join(f"{cell(row, tool.name):>{max(len(tool.name), 9) + 2}}" for tool in TOOLS)


def geometric_means(times: Times) -> dict[str, float]:
    means = {}
    for tool in TOOLS[1:]:
        ratios = [value for row in times.values() if (value := ratio(row, tool.name))]
        if ratios:
            means[tool.name] = math.exp(statistics.fmean(map(math.log, ratios)))
    return means


def command_line() -> dict[str, float]:
    """Median seconds of a cached `opscope profile resnet18` and of a Python that does nothing."""
    program = str(Path(sys.executable).parent / "opscope")
    commands = {"opscope profile resnet18 (cached)": [program, "profile", "resnet18"], "python3 -c pass": [sys.executable, "-c", "pass"]}
    subprocess.run(commands["opscope profile resnet18 (cached)"], stdout=subprocess.DEVNULL, check=True)
    return {name: median_seconds(functools.partial(wall, command), 30, 20.0) for name, command in commands.items()}


def wall(command: list[str]) -> int:
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=True).returncode


def core(program: str) -> list[dict[str, float | str]]:
    """The measured rows of the Google Benchmark binary; its fitted ones are for reading on a terminal."""
    done = subprocess.run([program, "--benchmark_format=json"], capture_output=True, text=True, check=True)
    return [row for row in json.loads(done.stdout)["benchmarks"] if row["run_type"] == "iteration"]


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if os.path.exists("/proc/cpuinfo") else []:
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    return f"{cpu}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, torch {torch.__version__}"


def peers_section(times: Times) -> list[str]:
    heads = [tool.name for tool in TOOLS]
    lines = ["| model | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    lines += [f"| {name} | " + " | ".join(cell(row, head) for head in heads) + " |" for name, row in times.items()]
    means = geometric_means(times)
    lines.append("| **geometric mean** | | " + " | ".join(f"**{means[h]:.0f}x**" if h in means else "" for h in heads[1:]) + " |")
    return lines


def core_section(rows: list[dict[str, float | str]]) -> list[str]:
    lines = ["| benchmark | time | items a second |", "|---|---:|---:|"]
    for row in rows:
        rate = f"{float(row['items_per_second']):,.0f}" if "items_per_second" in row else ""
        lines.append(f"| {row['name']} | {float(row['real_time']):,.1f} {row['time_unit']} | {rate} |")
    return lines


def command_section(times: dict[str, float]) -> list[str]:
    mine, python = times.values()
    lines = ["| command | median |", "|---|---:|"]
    lines += [f"| `{name}` | {1000 * seconds:.1f} ms |" for name, seconds in times.items()]
    return [*lines, "", f"Ratio: {mine / python:.2f}."]


def page(times: Times, core_rows: list[dict[str, float | str]], commands: dict[str, float]) -> str:
    lines = [
        "# Benchmarks",
        "",
        f"`make bench` on {datetime.date.today().isoformat()}: {machine()}. One thread. Times are only good as",
        "ratios inside one run.",
        "",
        "## Capture and full profile, in process",
        "",
        "opscope's median, and how many times as long each other tool takes on the same model. FAIL: the tool raises",
        "on that model. Inputs are 1x3x224x224 images or 128 tokens. opscope gets token models as they are, ids and",
        "mask by keyword; FlopCounterMode gets ids alone, since with a mask it fails on the meta device; the others",
        "get them through an adapter (one tensor in, one out), since most take nothing else. `fx.symbolic_trace`",
        "counts nothing: it is there as the cost of a trace alone.",
        "",
        *peers_section(times),
        "",
        "## The core, from a graph in memory",
        "",
        *core_section(core_rows),
        "",
        "## The command line",
        "",
        *command_section(commands),
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help=f"of {' '.join(MODELS)}; all by default")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--budget", type=float, default=4.0, help="seconds for one tool on one model")
    parser.add_argument("--core", help="the core's Google Benchmark program")
    parser.add_argument("--write", help="where the Markdown page goes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'model':<16}" + "".join(f"{tool.name:>{max(len(tool.name), 9) + 2}}" for tool in TOOLS))
    times = measure_all(options.models or list(MODELS), options.repeats, options.budget)
    print(f"{'geometric mean':<16}", *(f"{name} {mean:.1f}x" for name, mean in geometric_means(times).items()), sep="  ")
    core_rows = core(options.core) if options.core else []
    print(*core_section(core_rows), sep="\n")
    commands = command_line()
    print(*command_section(commands), sep="\n")
    if options.write:
        Path(options.write).write_text(page(times, core_rows, commands))
    return 0


if __name__ == "__main__":
    sys.exit(main())
