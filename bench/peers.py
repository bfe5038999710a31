"""opscope beside other counters, in one process, on one thread: medians and ratios.

Each tool on each model: one run to warm up, which is not counted, then runs one after the other until there are --repeats
of them and half a second has passed, or the budget is spent; the median of these. Garbage is collected before the first
and the collector stays on, as in anyone's program. What tools and PyTorch print is dropped. opscope is asked for two
things: `profile(model, x).totals.flops`, and every value of all rows of `.layers`.

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
from collections.abc import Sequence
from pathlib import Path

import torch

from opscope.engine import torchvision_ops

torchvision_ops.prepare()  # before any peer imports torchvision

from bench_models import MODELS, BenchModel, build  # noqa: E402
from peer_tools import ROWS, TOOLS, TOTALS, Run, Tool, quiet  # noqa: E402

Times = dict[str, dict[str, float | None]]  # model -> tool -> seconds, None where the tool failed


def median_seconds(run: Run, repeats: int, budget: float) -> float:
    """The first run warms up, and is the only one where it alone takes the budget."""
    times: list[float] = []
    started = time.perf_counter()
    while True:
        passed = time.perf_counter() - started
        if times and (passed > budget or (len(times) > repeats and passed > 0.5)):
            return statistics.median(times[1:] or times)
        before = time.perf_counter()
        run()
        times.append(time.perf_counter() - before)


def measure(tool: Tool, bench: BenchModel, repeats: int, budget: float) -> float | None:
    gc.collect()
    with quiet():
        try:
            return median_seconds(tool.prepare(bench), repeats, budget)
        except Exception:
            return None


def measure_all(names: Sequence[str], repeats: int, budget: float) -> Times:
    times: Times = {}
    for name in names:
        with quiet():
            bench = build(name)
        times[bench.name] = {tool.name: measure(tool, bench, repeats, budget) for tool in TOOLS}
        print(row_text(bench.name, times[bench.name]), flush=True)
    return times


def ratio(row: dict[str, float | None], tool: str, to: str = TOTALS.name) -> float | None:
    mine, theirs = row[to], row[tool]
    return theirs / mine if mine and theirs else None


def cell(row: dict[str, float | None], tool: str) -> str:
    if tool in (TOTALS.name, ROWS.name):
        return f"{1000 * mine:.2f} ms" if (mine := row[tool]) else "FAIL"
    value = ratio(row, tool)
    return f"{value:.0f}x" if value else "FAIL"


def row_text(name: str, row: dict[str, float | None]) -> str:
    return f"{name:<16}" + "".join(f"{cell(row, tool.name):>{max(len(tool.name), 9) + 2}}" for tool in TOOLS)


def geometric_mean(times: Times, tool: str, to: str = TOTALS.name) -> float | None:
    ratios = [value for row in times.values() if (value := ratio(row, tool, to))]
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None


PROFILED, PREDICTED = "opscope profile resnet50 (cached)", "opscope predict resnet50 --hardware h200 (cached)"


def command_line() -> dict[str, float]:
    """Median seconds of cached commands, and of a Python that does nothing."""
    program = str(Path(sys.executable).parent / "opscope")
    commands = {
        "opscope profile resnet18 (cached)": [program, "profile", "resnet18"],
        "python3 -c pass": [sys.executable, "-c", "pass"],
        PROFILED: [program, "profile", "resnet50", "--device", "cuda"],
        PREDICTED: [program, "predict", "resnet50", "--hardware", "h200"],
    }
    for command in commands.values():
        wall(command)
    return {name: median_seconds(functools.partial(wall, command), 30, 20.0) for name, command in commands.items()}


def wall(command: list[str]) -> int:
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True).returncode


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


PEERS = [tool.name for tool in TOOLS[2:]]


def mean_cell(mean: float | None) -> str:
    return f"**{mean:.0f}x**" if mean else ""


def peers_section(times: Times) -> list[str]:
    heads = [TOTALS.name, *PEERS]
    lines = ["| model | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    lines += [f"| {name} | " + " | ".join(cell(row, head) for head in heads) + " |" for name, row in times.items()]
    lines.append("| **geometric mean** | | " + " | ".join(mean_cell(geometric_mean(times, peer)) for peer in PEERS) + " |")
    return lines


def rows_section(times: Times) -> list[str]:
    peer = PEERS[0]
    lines = [f"| model | {ROWS.name} | {peer} |", "|---|---:|---:|"]
    for name, row in times.items():
        value = ratio(row, peer, ROWS.name)
        lines.append(f"| {name} | {cell(row, ROWS.name)} | {f'{value:.0f}x' if value else 'FAIL'} |")
    return [*lines, f"| **geometric mean** | | {mean_cell(geometric_mean(times, peer, ROWS.name))} |"]


def core_section(rows: list[dict[str, float | str]]) -> list[str]:
    lines = ["| benchmark | time | items a second |", "|---|---:|---:|"]
    for row in rows:
        rate = f"{float(row['items_per_second']):,.0f}" if "items_per_second" in row else ""
        name = str(row["name"]).split("/min_")[0]  # without the settings behind the size
        lines.append(f"| {name} | {float(row['real_time']):,.1f} {row['time_unit']} | {rate} |")
    return lines


def command_section(times: dict[str, float]) -> list[str]:
    mine, python = list(times.values())[:2]
    lines = ["| command | median |", "|---|---:|"]
    lines += [f"| `{name}` | {1000 * seconds:.1f} ms |" for name, seconds in times.items()]
    predicted = f"A predicted time takes {times[PREDICTED] / times[PROFILED]:.2f} times as long as the profile."
    return [*lines, "", f"Ratio: {mine / python:.2f}. {predicted}"]


def page(times: Times, core_rows: list[dict[str, float | str]], commands: dict[str, float]) -> str:
    lines = [
        "# Benchmarks",
        "",
        f"`make bench` on {datetime.date.today().isoformat()}: {machine()}. One thread. Times are only good as",
        "ratios inside one run.",
        "",
        "## A model's FLOPs, in process",
        "",
        "The median of `opscope.profile(model, x).totals.flops`, capture and all, and how many times as long each",
        "other tool takes to count the same model. FAIL: the tool raises",
        "on that model. Inputs are 1x3x224x224 images or 128 tokens. opscope gets token models as they are, ids and",
        "mask by keyword; FlopCounterMode gets ids alone, since with a mask it fails on the meta device; the others",
        "get them through an adapter (one tensor in, one out), since most take nothing else. `fx.symbolic_trace`",
        "counts nothing: it is there as the cost of a trace alone.",
        "",
        *peers_section(times),
        "",
        "## All layers, in process",
        "",
        "The same with every value of every row of `.layers` read, beside FlopCounterMode, which counts by module too.",
        "",
        *rows_section(times),
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
    print(*peers_section(times)[-1:], *rows_section(times)[-1:], sep="\n")
    core_rows = core(options.core) if options.core else []
    print(*core_section(core_rows), sep="\n")
    commands = command_line()
    print(*command_section(commands), sep="\n")
    if options.write:
        Path(options.write).write_text(page(times, core_rows, commands))
    return 0


if __name__ == "__main__":
    sys.exit(main())
