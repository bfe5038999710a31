"""Time of whole models on a GPU, measured there and predicted without one.

    python bench/predict.py measure --to bench/h200_times.jsonl [--models resnet50,unet-odd] [--budget 480] [--date 2026-01-31]
    python bench/predict.py measure --to build/cpu.jsonl --device cpu --patience 0
    python bench/predict.py capture --to build/predict_graphs   # without a GPU; with the package installed
    python bench/predict.py predict --from build/predict_graphs --to build/predicted_times.jsonl
    python bench/predict.py write docs/predict_measured.md --from build/predicted_times.jsonl
    python bench/predict.py list

`measure` needs torch, torchvision and transformers, and no opscope. A row has the eager time (wall clock around one
synchronised run, median of several) and the device's own time: replays of a CUDA graph of the very ops that eager runs, or,
where a run synchronises or cannot be captured, the sum of its kernels, which torch.profiler takes in a process of its own
after all eager times are taken. Rows are written as they come; a second call goes on with what is missing.

`capture` keeps the graph of each run as a file, so that predicting it again builds no model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import warnings
import zlib
from pathlib import Path
from queue import Empty, Queue
from typing import Any

Row = dict[str, Any]
Key = tuple[str, str]
HERE = Path(__file__).parent
START_LIMIT = 150.0  # seconds of a worker, until its first word
FOR_KERNELS = 0.12  # of the budget is kept for those that have no graph


# --- rows


def rows_of(path: Path) -> list[Row]:
    """What is known of each run: a later line of the same run adds to the earlier."""
    found: dict[Key, Row] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        key = (row.get("model", ""), row.get("run", f"facts {len(found)}"))
        found[key] = found.get(key, {}) | row
    return [_with_device(row) for row in found.values()]


def _with_device(row: Row) -> Row:
    """The kernels' sum is the device time where there is no graph's."""
    if "kernel_seconds" not in row or "device_seconds" in row:
        return row
    return row | {"device_seconds": row["kernel_seconds"], "device_by": "kernels", "device_spread": row["kernel_spread"]}


def _missing(rows: list[Row], runs: list[Key], again: bool) -> list[Key]:
    done = {(row["model"], row["run"]) for row in rows if "model" in row and ("error" not in row or not again)}
    return [key for key in runs if key not in done]


def _without_kernels(rows: list[Row], runs: list[Key], every: bool) -> list[Key]:
    """Those that have no graph; with `every`, the others too."""
    left = [row for row in rows if "eager_seconds" in row and "kernel_seconds" not in row and "device_error" not in row]
    keys = {(row["model"], row["run"]) for row in left if every or "device_seconds" not in row}
    return [key for key in runs if key in keys]


# --- the parent: workers one after another, none of which can stop the rest


class Sitting:
    def __init__(self, to: Path, options: argparse.Namespace) -> None:
        self.to, self.options = to, options
        self.number = sum("facts" in row for row in rows_of(to))
        self.end = time.monotonic() + options.budget
        to.parent.mkdir(parents=True, exist_ok=True)
        self.file = to.open("a")

    def write(self, row: Row, aloud: bool = True) -> None:
        self.file.write(json.dumps(row | {"sitting": self.number}) + "\n")
        self.file.flush()
        if not aloud:
            return
        print(*(f"{value:.3g}" if isinstance(value, float) else value for key, value in row.items() if key not in ("inputs", "kind")), flush=True)

    def work(self, stage: str, runs: list[Key], end: float) -> None:
        """Until nothing is left or the time is over; a worker that dies or hangs costs the run it was at."""
        while runs and time.monotonic() < end:
            runs = self._one_worker(stage, runs, end)

    def _one_worker(self, stage: str, runs: list[Key], end: float) -> list[Key]:
        options = self.options
        command = [sys.executable, __file__, "work", "--stage", stage, "--device", options.device, "--patience", str(options.patience), "--date", options.date, "--limit", str(options.limit)]
        command += ["--budget", str(end - time.monotonic()), *(["--eager"] if options.eager else [])]
        offline = os.environ | {"HF_HUB_OFFLINE": "1"}  # transformers would ask the network for kernels
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=offline)
        assert worker.stdin is not None
        worker.stdin.write(json.dumps(runs))
        worker.stdin.close()
        words, left = _lines(worker), list(runs)
        at: Key | None = None
        half = False  # its eager time is known
        while True:
            try:
                line = words.get(timeout=options.limit * 1.5 if at else START_LIMIT)
            except Empty:
                worker.kill()
                self._lost(stage, at, half, "it hangs")
                break
            if line is None:
                if worker.wait() != 0:
                    self._lost(stage, at, half, f"the process ended with {worker.returncode}")
                break
            word, _, rest = line.partition(" ")
            if word == "start":
                name, run = json.loads(rest)
                at, half = (name, run), False
                left.remove(at)
            elif word == "part":
                self.write(json.loads(rest), aloud=False)
                half = True
            elif word == "row":
                row = json.loads(rest)
                self.write(row)
                at = None if "model" in row else at
        if worker.wait() == 0:
            return []
        if left == runs:  # it did not even start: there is no sense in another
            raise SystemExit("the worker does not start")
        return left

    def _lost(self, stage: str, at: Key | None, half: bool, why: str) -> None:
        if at is not None:
            what = "device_error" if stage == "kernels" else "no_graph" if half else "error"
            self.write({"model": at[0], "run": at[1], what: why})


def _lines(worker: subprocess.Popen[str]) -> Queue[str | None]:
    queue: Queue[str | None] = Queue()

    def read() -> None:
        assert worker.stdout is not None
        for line in worker.stdout:
            queue.put(line.rstrip("\n"))
        queue.put(None)

    threading.Thread(target=read, daemon=True).start()
    return queue


def measure(names: list[str], options: argparse.Namespace) -> None:
    from predict_cases import CASES, all_runs

    mixed = sorted(names or CASES, key=lambda name: zlib.crc32(name.encode()))  # so that a cut-off sitting has some of each kind
    runs = [key for key in all_runs(mixed) if not options.runs or key[1] in options.runs.split(",")]
    sitting = Sitting(options.to, options)
    begun = time.monotonic()
    on_gpu = options.device == "cuda" and not options.eager
    sitting.work("times", _missing(rows_of(options.to), runs, options.again), sitting.end - (FOR_KERNELS * options.budget if on_gpu else 0.0))
    if on_gpu:
        sitting.work("kernels", _without_kernels(rows_of(options.to), runs, options.kernels), sitting.end)
    sitting.file.close()
    _tidy(options.to)
    _say(options.to, runs, time.monotonic() - begun)


def _tidy(path: Path) -> None:
    """One line for each run, in the order of the cases; facts first."""
    from predict_cases import CASES, all_runs

    place = {key: at for at, key in enumerate(all_runs(CASES))}
    rows = sorted(rows_of(path), key=lambda row: -1 if "facts" in row else place.get((row["model"], row["run"]), len(place)))
    text = "".join(json.dumps(row) + "\n" for row in rows)
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def _say(path: Path, runs: list[Key], seconds: float) -> None:
    rows = [row for row in rows_of(path) if "model" in row]
    by = {how: sum(row.get("device_by") == how for row in rows) for how in ("graph", "kernels")}
    failed = [f"{row['model']} {row['run']}: {row['error']}" for row in rows if "error" in row]
    left = len(_missing(rows, runs, again=False))
    print(f"{len(rows)} runs in {seconds:.0f} s; device time by graph {by['graph']}, by kernels {by['kernels']}; {len(failed)} failed; {left} not yet measured")
    print("\n".join(failed))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "work", "capture", "predict", "write", "list"])
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--from", dest="given", type=Path, help="the folder of graphs, or the file of predictions")
    parser.add_argument("--to", type=Path)
    parser.add_argument("--models", default="", help="names, separated by commas")
    parser.add_argument("--runs", default="", help="only these, such as forward-fp32")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--budget", type=float, default=480.0, help="seconds, the start of the processes with it")
    parser.add_argument("--patience", type=float, default=0.5, help="seconds of eager runs per row; 0: one run after one")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds of one run, building it with it")
    parser.add_argument("--date", default="", help="of the sitting, for its row of facts")
    parser.add_argument("--again", action="store_true", help="those that failed too")
    parser.add_argument("--eager", action="store_true", help="eager time alone, where the device's is known")
    parser.add_argument("--kernels", action="store_true", help="the kernels' sum of every run, beside its graph")
    parser.add_argument("--stage", default="times", choices=["times", "kernels"])
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if asked.what == "work":
        from predict_worker import work

        return work([tuple(key) for key in json.load(sys.stdin)], asked)
    names = [name for name in asked.models.split(",") if name]
    if asked.what == "list":
        return _list()
    if asked.what == "capture":
        from predict_graphs import capture

        return capture(names, asked)
    if asked.what in ("predict", "write"):
        import predict_page

        measured = [row for row in rows_of(HERE / "h200_times.jsonl") if "model" in row]
        if asked.what == "predict":
            return predict_page.predict(measured, asked.given, asked.to)
        return predict_page.write(asked.page, measured, rows_of(asked.given))
    measure(names, asked)


def _list() -> None:
    from predict_cases import CASES, kind_of, runs_of

    for name in CASES:
        print(kind_of(name), name, *runs_of(name))


if __name__ == "__main__":
    main(sys.argv[1:])
