"""The most memory that a run really holds, from the allocators' own reports, to be put beside the prediction."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

import torch


def peak_of(run: Callable[[], Any], there: Iterable[torch.Tensor], device: torch.device) -> tuple[int, int] | None:
    """(peak, base) of one more run, in bytes: base is `there`, weights, inputs and an optimiser's state, and a part of both.

    None where this device does not tell, or another profiler is listening.
    """
    measures = {"cpu": _grown_on_cpu, "cuda": _grown_on_cuda}.get(device.type)
    if measures is None:
        return None
    base = _bytes(tensor for tensor in there if tensor.device == device)
    gc.collect()
    grown = measures(run, device)
    return None if grown is None else (base + grown, base)


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    held = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(held.values())


def _grown_on_cuda(run: Callable[[], Any], device: torch.device) -> int:
    torch.cuda.synchronize(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    run()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - before


def _grown_on_cpu(run: Callable[[], Any], _: torch.device) -> int | None:
    """By the allocator's reports to a profiler. They are of this thread and of autograd's on its behalf, no other's."""
    if torch.autograd._profiler_enabled():
        return None
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak
