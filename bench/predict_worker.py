"""What bench/predict.py's workers do on the device: one run after another, a line on stdout for each.

Two stages, each in a process of its own. `times`: eager time, then replays of a CUDA graph. `kernels`: the sum of the
kernels by torch.profiler, which slows the host from then on, so that nothing else is timed there.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

sys.path.insert(0, str(Path(__file__).parent))
from memory_cases import PAST_TOKENS  # noqa: E402
from memory_cuda import Run  # noqa: E402
from predict import Key, Row  # noqa: E402
from predict_cases import CASES, kind_of, made  # noqa: E402

REPLAYED = 0.4  # seconds of graph replays for each second of eager runs


class BrokenError(Exception):
    """The process is of no more use; its row is written all the same."""


class Timed(Run):
    """A run that can be repeated: a decode step finds its cache as it was."""

    def __init__(self, name: str, run: str, device: str) -> None:
        with torch.device(device):
            model, inputs = made(name, run)
        super().__init__(model.to(device), inputs, run, device)
        if self.kind == "decode":
            self.fill_cache()
            self.layers: list[Any] = self.inputs["past_key_values"].layers  # type: ignore[attr-defined]
            self.kept = [(layer.keys, layer.values) for layer in self.layers]

    def again(self) -> None:
        """Whatever the last run changed and the next would find: not timed."""
        if self.kind != "decode":
            return
        for layer, (keys, values) in zip(self.layers, self.kept, strict=True):
            layer.keys, layer.values = keys, values
            if hasattr(layer, "cumulative_length") and self.cache_kind == "static":
                layer.cumulative_length.fill_(PAST_TOKENS)


# --- eager


def eager(run: Timed, patience: float) -> Row:
    before = host_pace(run.device)
    warm_up = [_seconds(run) for _ in range(3 if patience else 1)]
    while patience and sum(warm_up[1:]) < patience / 5 and len(warm_up) < 12:
        warm_up.append(_seconds(run))
    count = round(min(max(patience / min(warm_up), 7), 200)) if patience else 1
    taken = sorted(_seconds(run) for _ in range(count))
    pace = (before + host_pace(run.device)) / 2
    return {"eager_seconds": statistics.median(taken), "eager_spread": _spread(taken), "eager_least": taken[0], "eager_count": count, "host_pace": pace}


def host_pace(device: str) -> float:
    """Seconds of a program that only the host limits: how fast it is at this moment. A shared one changes."""
    x, weight, module = torch.ones(1, 8, 8, 8, device=device), torch.ones(8, 8, device=device), torch.nn.Identity()

    def batch() -> float:
        _wait(device)
        begun = time.perf_counter()
        with torch.no_grad():
            for _ in range(25):
                y = functional.relu(x)
                y = functional.linear(y.view(8, 8, 8), weight)
                y = module(y + y).transpose(0, 1)
        return time.perf_counter() - begun

    for _ in range(2):
        batch()
    return statistics.median(batch() for _ in range(9))


def _seconds(run: Timed) -> float:
    run.again()
    _wait(run.device)
    begun = time.perf_counter()
    run()
    _wait(run.device)
    return time.perf_counter() - begun


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _spread(taken: list[float]) -> float:
    """From the tenth to the ninetieth of a hundred, as a part of the median."""
    ordered = sorted(taken)
    return (ordered[round(0.9 * (len(ordered) - 1))] - ordered[round(0.1 * (len(ordered) - 1))]) / statistics.median(ordered)


# --- replays of a graph


class Ops(TorchDispatchMode):
    """Which ops run, on which shapes, and what scalars the host reads. Given answers, it reads those and not the device."""

    def __init__(self, answers: list[Any] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seen: list[str] = []
        self.scalars: list[Any] = []
        self.answers = None if answers is None else iter(answers)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        shapes = [tuple(arg.shape) for arg in args if isinstance(arg, torch.Tensor)]
        self.seen.append(f"{func} {shapes}")
        if func is not torch.ops.aten._local_scalar_dense.default or args[0].device.type == "cpu":
            return func(*args, **(kwargs or {}))
        self.scalars.append(next(self.answers) if self.answers else func(*args))
        return self.scalars[-1]


def ops_of(run: Timed, answers: list[Any] | None = None) -> Ops:
    run.again()
    ops = Ops(answers)
    with ops:
        run()
    return ops


class NoGraphError(Exception):
    """Why a run has none."""


def replayed(run: Timed, patience: float, side: torch.cuda.Stream) -> Row:
    if run.kind == "decode" and run.cache_kind == "static":
        raise NoGraphError("each replay would go on in its cache")
    eagerly = ops_of(run)
    torch.cuda.synchronize()
    try:
        torch.cuda.set_sync_debug_mode("error")
        with torch.cuda.stream(side):  # where it is captured: what autograd makes for a stream is there then
            again = ops_of(run, eagerly.scalars)
    except RuntimeError as problem:
        raise NoGraphError(f"it synchronises: {_short(problem)}") from problem
    finally:
        torch.cuda.set_sync_debug_mode("default")
    if again.seen != eagerly.seen:
        raise NoGraphError("no two runs of it are the same")
    if run.optimizer is not None:  # as it runs eagerly: the step's number is the host's, and frozen
        run.optimizer._accelerator_graph_capture_health_check = lambda: None  # type: ignore[method-assign]
        run.optimizer._cuda_graph_capture_health_check = lambda: None  # type: ignore[method-assign]
    with _not_told_of_capture():
        graph, captured = _captured(lambda: ops_of(run, eagerly.scalars), side)
        if captured.seen != eagerly.seen:
            first = next((pair for pair in zip(eagerly.seen, captured.seen, strict=False) if pair[0] != pair[1]), ("", ""))
            raise NoGraphError(f"a capture has other ops: {len(eagerly.seen)} and {len(captured.seen)}, {first[0]} and {first[1]}"[:300])
        if not eagerly.scalars:  # the same without a look at each op
            run.again()
            graph = _captured(run, side)[0]
    return _replays(graph, patience) | {"ops": len(eagerly.seen), "scalars": len(eagerly.scalars)}


@contextlib.contextmanager
def _not_told_of_capture() -> Iterator[None]:
    """transformers builds masks during a capture that it leaves out of an eager run."""
    module = sys.modules.get("transformers.utils.import_utils")
    kept = getattr(module, "is_cuda_stream_capturing", None)
    if kept is not None:
        module.is_cuda_stream_capturing = lambda: False  # type: ignore[union-attr]
    try:
        yield
    finally:
        if kept is not None:
            module.is_cuda_stream_capturing = kept  # type: ignore[union-attr]


def _captured(run: Callable[[], Any], side: torch.cuda.Stream) -> tuple[torch.cuda.CUDAGraph, Any]:
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    try:
        with torch.cuda.graph(graph, stream=side):
            result = run()
    except Exception as problem:
        raise BrokenError(f"the capture failed: {_short(problem)}") from problem
    torch.cuda.synchronize()
    return graph, result


def _replays(graph: torch.cuda.CUDAGraph, patience: float) -> Row:
    def seconds(count: int) -> float:
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            graph.replay()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3 / count

    first = seconds(2)
    each = max(1, round(patience * REPLAYED / 9 / max(first, 1e-6)))
    each = min(each, 500)
    seconds(each)
    taken = [seconds(each) for _ in range(7)]
    return {"device_seconds": statistics.median(taken), "device_by": "graph", "device_spread": (max(taken) - min(taken)) / statistics.median(taken), "device_count": 7 * each}


# --- kernels


def kernels(run: Timed) -> Row:
    from torch.profiler import ProfilerActivity, profile

    for _ in range(3):
        _seconds(run)
    sums, counts = [], []
    for _ in range(3):
        run.again()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA]) as profiler:
            run()
            torch.cuda.synchronize()
        spans = [(e.start_ns(), e.start_ns() + e.duration_ns()) for e in profiler.profiler.kineto_results.events() if _on_device(e)]
        sums.append(_covered(spans) * 1e-9)
        counts.append(len(spans))
    taken = statistics.median(sums)
    if not taken:
        raise RuntimeError("the profiler saw no kernels")
    return {"kernel_seconds": taken, "kernel_spread": (max(sums) - min(sums)) / taken, "kernels": counts[-1]}


_ANNOTATIONS = ("Optimizer.", "ProfilerStep", "## ")  # a device's line of a trace has these too
_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def _on_device(event: Any) -> bool:
    if event.device_type() != torch.autograd.DeviceType.CUDA or event.name().startswith(_ANNOTATIONS):
        return False
    return not hasattr(event, "activity_type") or event.activity_type() in _WORK


def _covered(spans: list[tuple[int, int]]) -> int:
    """Kernels that run beside others count once."""
    total, until = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


# --- one row after another


def work(runs: list[Key], options: argparse.Namespace) -> None:
    end = time.monotonic() + options.budget
    signal.signal(signal.SIGALRM, _too_long)
    _libraries()
    if options.stage == "times":
        _say("row", {"facts": facts(options)})
    side = torch.cuda.Stream() if options.device == "cuda" else None
    for name, run in runs:
        if time.monotonic() > end:
            break
        _say("start", [name, run])
        _say("row", _row(name, run, options, side))
    if options.stage == "times" and options.device == "cuda":
        _say("row", {"facts": {"after": True} | _now()})


def _row(name: str, run: str, options: argparse.Namespace, side: Any) -> Row:
    row: Row = {"model": name, "run": run}
    signal.setitimer(signal.ITIMER_REAL, options.limit)
    torch.manual_seed(0)
    begun = time.perf_counter()
    broken = False
    try:
        timed = Timed(name, run, options.device)
        if options.stage == "kernels":
            row |= kernels(timed)
        else:
            row |= {"kind": kind_of(name), "inputs": CASES[name][1]} | eager(timed, options.patience)
            if options.device == "cuda" and not options.eager:
                _say("part", row)
                row |= replayed(timed, options.patience, side)
    except NoGraphError as problem:
        row["no_graph"] = str(problem)
    except BrokenError as problem:
        row["no_graph"], broken = str(problem), True
    except Exception as problem:
        what = "device_error" if options.stage == "kernels" else "no_graph" if "eager_seconds" in row else "error"
        row[what] = f"{type(problem).__name__}: {_short(problem)}"
        broken = "CUDA error" in str(problem)
    signal.setitimer(signal.ITIMER_REAL, 0)
    timed = None  # type: ignore[assignment]
    row["took"] = round(time.perf_counter() - begun, 2)
    if broken:
        _say("row", row)
        sys.stdout.flush()
        _leave()
    _clean(options.device)
    return row


def _clean(device: str) -> None:
    gc.collect()
    if device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


def _leave() -> None:
    """Without the destructors of a device in an unknown state."""
    os._exit(3)


def _too_long(*_: Any) -> None:
    raise TimeoutError("it takes too long")


def _say(word: str, what: Any) -> None:
    print(word, json.dumps(what), flush=True)


def _short(problem: Exception) -> str:
    return " ".join(str(problem).split())[:200]


def _libraries() -> None:
    """Before the first run's time begins. torchvision may be of another torch than the one here: opscope, if here, fills in."""
    try:
        from opscope.engine import torchvision_ops

        torchvision_ops.prepare()
    except ImportError:
        pass
    for name in ("torchvision.models", "transformers"):
        with contextlib.suppress(Exception):  # the runs that need it will say so
            importlib.import_module(name)


# --- facts of a sitting


def facts(options: argparse.Namespace) -> Row:
    known: Row = {"date": options.date, "torch": torch.__version__, "python": platform.python_version(), "cpu": _cpu(), "patience": options.patience}
    known |= {package: _version(package) for package in ("torchvision", "transformers")}
    if options.device != "cuda":
        return known | {"device": "cpu", "threads": torch.get_num_threads()}
    return known | {
        "device": torch.cuda.get_device_name(), "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
        "cudnn_benchmark": torch.backends.cudnn.benchmark, "matmul_tf32": torch.backends.cuda.matmul.allow_tf32, "cudnn_tf32": torch.backends.cudnn.allow_tf32,
    } | _now()  # fmt: skip


def _now() -> Row:
    """The host's speed and the device's clocks, which change from moment to moment."""
    small = torch.ones(1, device="cuda")
    for _ in range(1000):
        small.add_(1)
    torch.cuda.synchronize()
    begun = time.perf_counter()
    for _ in range(2000):
        small.add_(1)
    issued = time.perf_counter() - begun
    torch.cuda.synchronize()
    return {"add_seconds": issued / 2000} | _smi()


def _smi() -> Row:
    asked = ("driver_version", "clocks.sm", "clocks.mem", "clocks.max.sm", "power.draw", "power.limit", "temperature.gpu", "clocks_event_reasons.active")
    try:
        said = subprocess.run(["nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=20).stdout
        return dict(zip(asked, (part.strip() for part in said.splitlines()[0].split(",")), strict=True))
    except (OSError, subprocess.SubprocessError, IndexError, ValueError) as problem:
        return {"nvidia_smi": _short(problem)}


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
    return f"{name}, {sum(line.startswith('processor') for line in lines)} threads"


def _version(package: str) -> str:
    return str(getattr(sys.modules.get(package), "__version__", ""))
