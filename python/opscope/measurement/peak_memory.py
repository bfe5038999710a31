"""The most memory that a run really holds, from the allocators' own reports, to be put beside the prediction."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from opscope._load import native
from opscope.engine import torch_version

_TWO_PROFILERS = "Profiler is already enabled"  # PyTorch's own words


def peak_of(run: Callable[[], Any], there: Iterable[torch.Tensor], device: torch.device) -> tuple[int, int] | None:
    """(growth, base) of one more run, in bytes: base is `there`, weights, inputs and an optimiser's state, and growth the rest.

    None where another profiler is listening to the allocator, or one that the model itself starts.
    """
    base = native.held_bytes(list(there), str(device))
    try:
        with _no_collector():
            grown = _grown_on_cuda(run, device) if device.type == "cuda" else native.peak_growth(str(device), run)
    except RuntimeError as problem:
        if _TWO_PROFILERS not in str(problem):
            raise
        if torch_version.READY_PROFILERS_STAY:
            _end_ready_profiler()
        return None
    return None if grown is None else (grown, base)


def _end_ready_profiler() -> None:
    """The model's, which was made ready and then refused: it runs now, for no time."""
    profiler = torch.autograd.profiler.profile()
    with suppress(RuntimeError):  # there is one that is ready
        profiler._prepare_trace()
    torch.autograd._enable_profiler(profiler.config(), profiler.kineto_activities)
    torch.autograd._disable_profiler()


@contextmanager
def _no_collector() -> Iterator[None]:
    """What was garbage before the run stays for its time: given back in it, it would be taken off the peak."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _grown_on_cuda(run: Callable[[], Any], device: torch.device) -> int:
    """All threads' and all streams', cuBLAS's and cuDNN's own among it."""
    torch.cuda.synchronize(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    run()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before
