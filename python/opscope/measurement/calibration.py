"""`opscope calibrate`: what a device takes for its ops and what its host takes to call them, timed once and kept in a file.

C++ chooses, times and fits. Here is what only Python can run: its own programs, whose calls are what eager PyTorch
takes beside its ops.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from opscope._load import native
from opscope.engine.abstract_run import capture, without_dispatch_modes
from opscope.errors import error
from opscope.measurement.environment import clocks_of, cpu_name, driver_of
from opscope.results.profile import Row
from opscope.results.report import Report

SECONDS = {"cuda": 270.0, "cpu": 50.0}  # of timing ops; what follows takes a few more
QUICK_SECONDS = {"cuda": 45.0, "cpu": 14.0}
_REPEATS = 16  # of what a program does


def calibrate_device(
    on: str,
    output: str = "",
    *,
    quick: bool = False,
    threads: int | None = None,
    seconds: float | None = None,
    calls: str = "",
    status: Callable[[str], None] = lambda text: None,
    progress: Callable[[int, int, str], None] | None = None,
) -> str:
    """Times ops and the host, and writes the file, whose path it gives. A second call goes on after an interruption."""
    device = _device(on)
    before = torch.get_num_threads()
    if threads is not None:
        torch.set_num_threads(threads)
    try:
        with without_dispatch_modes(), torch.no_grad():
            return _calibrate(device, output, seconds or (QUICK_SECONDS if quick else SECONDS)[device.type], calls, status, progress)
    finally:
        torch.set_num_threads(before)
        if device.type == "cuda":
            torch.cuda.empty_cache()


def _device(on: str) -> torch.device:
    if on.partition(":")[0] not in SECONDS:
        raise error(f"no calibration of '{on}'", "on", "choose cpu or cuda")
    device = torch.device(on)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise error(
            "there is no CUDA device here",
            "on",
            "on cpu calibrates the processor; torch.cuda.is_available() says whether PyTorch sees a GPU",
        )
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise error(f"there is no {device} here", "on", f"there are {torch.cuda.device_count()}")
    return device


def _calibrate(
    device: torch.device,
    output: str,
    seconds: float,
    calls: str,
    status: Callable[[str], None],
    progress: Callable[[int, int, str], None] | None,
) -> str:
    run = native.CalibrationRun(device.type, _name(device), torch.get_num_threads(), _facts(device), output, calls, _cache_bytes(device))
    status(f"[1/3] timing ops on {_name(device)}" + (f", {run.continued} are known from before" if run.continued else ""))
    before = clocks_of(device, "before")
    run.time_ops(seconds, None if progress is None else lambda done, total, timed: progress(int(done), int(total), f"seconds, {timed} ops"))
    clocks = [f"{name} {clock:g} MHz" for name, clock in (before | clocks_of(device, "after")).items()]
    if clocks:
        run.add_fact("clocks", ", ".join(clocks))
    status("[2/3] timing the host")
    _time_host(run, device)
    status("[3/3] fitting")
    run.finish()
    return str(run.path)


def _name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else cpu_name()


def _cache_bytes(device: torch.device) -> int:
    """Of the device's last cache; 0 where only the engine can tell."""
    return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)) if device.type == "cuda" else 0


def _facts(device: torch.device) -> list[tuple[str, str]]:
    facts = [("date", datetime.date.today().isoformat()), ("torch", torch.__version__)]
    if device.type == "cuda":
        facts += [
            ("cuda", str(torch.version.cuda or torch.version.hip)),
            ("cudnn", str(torch.backends.cudnn.version())),
            ("driver", driver_of(device)),
        ]
    else:
        facts += [("threads", str(torch.get_num_threads())), ("instructions", torch.backends.cpu.get_cpu_capability())]
    return [(name, value) for name, value in facts if value] + [("host", cpu_name())]


# --- the host


def _programs(x: torch.Tensor) -> list[tuple[Callable[[], Any], str]]:
    """Small ops of several kinds, called as layers call them, each with its text."""
    kernel, matrix, scale = (nn.Parameter(torch.randn(shape, device=x.device)) for shape in ((8, 8, 3, 3), (8, 8), (8,)))
    calls: list[Callable[[], Any]] = [
        lambda: functional.conv2d(x, kernel, None, 1, 1),
        lambda: functional.relu(x),
        lambda: x + x,
        lambda: functional.linear(x, matrix, scale),
        lambda: functional.layer_norm(x, (8,), scale, scale),
        lambda: functional.softmax(x, -1),
    ]
    return [(call, native.call_texts(capture(call, (), {}, tracer="static"))[0][0]) for call in calls]


def _time_host(run: Any, device: torch.device) -> None:
    wait = (lambda: torch.cuda.synchronize(device)) if device.type == "cuda" else None
    x = torch.randn(1, 8, 8, 8, device=device)
    views: list[Callable[[], Any]] = [
        lambda: x.view(8, 64),
        lambda: x.transpose(1, 2),
        lambda: x.permute(0, 2, 3, 1),
        lambda: x.unsqueeze(0),
        lambda: x[0],
    ]
    run.set_host("view", run.time_programs([(view, "") for view in views], wait))
    identity = nn.Identity()
    run.set_host("module_call", run.time_programs([(lambda: identity(x), "")], wait))
    run.set_host("op", run.time_programs(_programs(x), wait))
    run.set_host("backward_op", _backward_seconds(run, x, wait))
    run.set_host("allocation", run.time_call(lambda: torch.empty(1 << 20, device=device), wait))
    if wait is not None:
        _time_device(run, x, wait)


def _backward_seconds(run: Any, x: torch.Tensor, wait: Any) -> float:
    """What autograd takes for an op of the backward pass beside the op: a chain of ops that have one each."""
    leaf, ends = x.clone().requires_grad_(True), torch.ones_like(x)

    def forward() -> torch.Tensor:
        y = leaf
        with torch.enable_grad():
            for _ in range(_REPEATS):
                y = functional.relu(y)
        return y

    size = "float32[1,8,8,8]"
    op = f"aten::threshold_backward(grad_output: {size}, self: {size}, threshold: 0) on {x.device.type} -> {size}"
    return float(run.time_backward(forward, lambda: forward().backward(ends), op, _REPEATS, wait))


def _time_device(run: Any, x: torch.Tensor, wait: Any) -> None:
    def one() -> None:
        torch.relu(x)
        wait()

    op = "aten::relu(self: float32[1,8,8,8]) on cuda -> float32[1,8,8,8]"
    run.time_device(one, lambda: torch.relu(x), op, wait)


class Calibration(Report):
    """A calibration: how long ops take on a device, and how sure of it one can be. `opscope.calibrate` makes one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(native.read_calibration(os.fspath(path)))
        self.path = os.fspath(path)

    @property
    def families(self) -> list[Row]:
        """By family of ops and dtype: `flop_rate`, `byte_rate`, `least_seconds`, and the error on ops left out."""
        return [Row(family) for family in self._data["families"]]

    @property
    def facts(self) -> dict[str, str]:
        """Where and how it was measured: `date`, `torch`, `driver`, clocks."""
        return dict(self._data["facts"])

    def __repr__(self) -> str:
        return f"<opscope.Calibration of {self._data['device_name']}: {self._data['measured_ops']:,} ops, {self.path}>"


def calibrate(
    on: str,
    path: str | os.PathLike[str] | None = None,
    *,
    quick: bool = False,
    threads: int | None = None,
    seconds: float | None = None,
    calls: str | os.PathLike[str] | None = None,
) -> Calibration:
    """Times a device's ops, 'cpu' or 'cuda', once, so that the time of any model can be predicted on it.

    The file goes to `path`, else to where `hardware="this"` looks. It takes five minutes on a GPU and one on a CPU, with
    `quick` one and 20 seconds; `seconds` are of timing ops. What was interrupted goes on with the next call. `threads` are
    of a CPU. `calls` is a file with another list of calls to time.
    """
    if threads is not None and threads < 1:
        raise error(f"threads is {threads}", "threads", "a whole number of 1 or more")
    output = "" if path is None else os.path.abspath(os.fspath(path))
    listed = "" if calls is None else os.path.abspath(os.fspath(calls))
    return Calibration(calibrate_device(on, output, quick=quick, threads=threads, seconds=seconds, calls=listed))
