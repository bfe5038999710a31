"""calflops: FLOPs of the module classes and functions that it replaces while the model runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from opscope.peers.subject import Subject

NAME, PACKAGE, UNIT = "calflops", "calflops", "flops"


def run(subject: Subject) -> dict[str, Any]:
    from calflops.calculate_pipline import CalFlopsPipline

    pipeline = CalFlopsPipline(model=subject.model, include_backPropagation=False, compute_bp_factor=2.0)
    pipeline.start_flops_calculate()
    try:
        with torch.no_grad():
            subject.model(*subject.args, **subject.kwargs)
        counts = list(_counts(subject.model))
        total, params = pipeline.get_total_flops(), pipeline.get_total_params()
    finally:
        pipeline.end_flops_calculate()
    return {"total": int(total), "params": int(params), "counts": counts}


def _counts(model: nn.Module) -> Iterator[dict[str, Any]]:
    """Each module as often as calflops meets it: under every name that it has."""
    for name, module in model.named_modules(remove_duplicate=False):
        count = getattr(module, "__flops__", 0)
        if count:
            yield {"module": name, "op": type(module).__name__, "count": int(count)}
