"""The kernels that torch.compile's Inductor makes of a model, for `opscope fuse --against inductor`.

Dynamo's graphs go through Inductor as torch.compile would send them, up to the point where its scheduler has decided what
is fused with what. Nothing is generated or compiled after that: the groups are all that is asked, and no compiler is needed.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch

from opscope._load import native
from opscope.errors import Error, error, first_line
from opscope.tracers import Traced, TracedPart
from opscope.tracers.inductor_kernels import Reasons, kernels_of
from opscope.tracers.silence import quiet

#: What `--against` takes. `inductor` is torch.compile as it is by default; with `inductor-max` weights are frozen and matrix
#: products come from Inductor's own templates, so that it fuses all that it can.
SETTINGS = ("inductor", "inductor-max")

_TEMPLATES = {"cpu": "CPP", "cuda": "TRITON"}

# A graph that Inductor finds in its cache never reaches the scheduler; workers and trial compilations would be for nothing.
_ALWAYS = {"force_disable_caches": True, "compile_threads": 1, "cpp.vec_isa_ok": True}


class _Scheduled(BaseException):
    """Ends Inductor's work once its scheduler has. No Exception, because Inductor words those anew."""


def write_kernels(source: Any, options: Any, setting: str, folder: str, status: Callable[[str], None]) -> None:
    """capture.json, by Dynamo's graphs, and kernels.json, whose nodes are those of the capture."""
    _check_device(options.device)
    graph, answer = find_kernels(source, None, options, setting, status)
    graph.save(os.path.join(folder, "capture.json"))
    with open(os.path.join(folder, "kernels.json"), "w", encoding="utf-8") as file:
        json.dump(answer, file)


def find_kernels(
    source: Any, inputs: Any, options: Any, setting: str, status: Callable[[str], None]
) -> tuple[Any, dict[str, Any]]:
    """The native graph with Dynamo's nodes, and the kernels that Inductor makes of them."""
    from opscope.api import Tracing

    config = _config(source.name)
    with config.patch(_settings(setting, options.device)), torch.no_grad():
        status(f"tracing {source.name}")
        graph, traced = Tracing(source, inputs, options, status).graph("dynamo")
        assert traced is not None
        status(f"asking Inductor for the kernels of {source.name}")
        return graph, {**_scheduled(traced, source.name), "setting": setting, "frozen": bool(config.freezing)}


def _config(name: str) -> Any:
    try:
        from torch._inductor import config
    except ImportError as problem:
        raise error(f"this torch has no Inductor: {first_line(problem)}", name, "install a torch with torch.compile") from problem
    return config


def _settings(setting: str, device: Any) -> dict[str, Any]:
    if setting not in SETTINGS:
        near = native.nearest(setting, list(SETTINGS))
        raise error(f"nothing called '{setting}' to compare with", "--against", f"choose {' or '.join(near or SETTINGS)}")
    if setting == "inductor":
        return dict(_ALWAYS)
    templates = _TEMPLATES.get(torch.device(device or "cpu").type, "ATEN")
    return {**_ALWAYS, "freezing": True, "max_autotune": True, "max_autotune_gemm_backends": templates}


def _check_device(device: Any) -> None:
    """A capture can pretend to have a GPU; Inductor asks it for its properties."""
    if torch.device(device or "cpu").type == "cuda" and not torch.cuda.is_available():
        raise error("Inductor schedules for a device of this machine, and it has no GPU", "--device", "leave it out: cpu")


def _scheduled(traced: Traced, name: str) -> dict[str, Any]:
    """The kernels of all of Dynamo's graphs. Nodes count through the graphs, as the capture's do."""
    kernels: list[dict[str, Any]] = []
    cuts: list[dict[str, Any]] = []
    numbers: dict[torch.fx.Node, int] = {}
    for part in traced.parts:
        for node in part.module.graph.nodes:
            numbers[node] = len(numbers)
    for index, part in enumerate(traced.parts):
        ids = {node.name: numbers[node] for node in part.module.graph.nodes if node.op.startswith("call_")}
        found, reasons = _schedule(part, name)
        begin = len(kernels)
        for scheduler in found:
            kernels += ({**kernel, "graph": index} for kernel in kernels_of(scheduler, ids))
        cuts += reasons.between([kernel["name"] for kernel in kernels[begin:]], begin)
    return {"torch": torch.__version__, "kernels": kernels, "cuts": cuts}


def _schedule(part: TracedPart, name: str) -> tuple[list[Any], Reasons]:
    from torch._inductor.compile_fx import compile_fx

    found: list[Any] = []
    reasons = Reasons()
    try:
        with quiet(), _stopped_after_scheduling(found, reasons), torch.random.fork_rng():
            compile_fx(part.module, list(part.args))
    except _Scheduled:
        pass
    except Error:
        raise
    except Exception as problem:
        made = error(f"Inductor cannot compile it: {first_line(problem)}", name, "torch.compile fails on it in the same way")
        raise made from problem
    return found, reasons


@contextlib.contextmanager
def _stopped_after_scheduling(found: list[Any], reasons: Reasons) -> Iterator[None]:
    from torch._inductor import scheduler

    def stop(self: Any) -> None:
        found.append(self)
        raise _Scheduled

    def note(self: Any, reason: str, *args: Any) -> None:
        reasons.note(self.name1, self.name2, reason, args)

    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(scheduler.Scheduler, "codegen", stop))
        if hasattr(scheduler, "WhyNoFuse"):
            stack.enter_context(mock.patch.object(scheduler.WhyNoFuse, "__call__", note))
        yield

