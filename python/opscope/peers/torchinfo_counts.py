"""torchinfo's summary: mult-adds of each leaf module, worked out from its parameters and its output's size."""

from __future__ import annotations

from typing import Any

from opscope.peers.subject import Subject, inner_name

NAME, PACKAGE, UNIT = "torchinfo", "torchinfo", "macs"


def run(subject: Subject) -> dict[str, Any]:
    import torchinfo

    model, tensors, prefix = subject.positional()
    summary = torchinfo.summary(model, input_data=tensors, verbose=0)
    names = {id(module): name for name, module in model.named_modules()}
    leaves = [layer for layer in summary.summary_list if layer.is_leaf_layer]
    counts = [
        {"module": inner_name(names[id(layer.module)], prefix), "op": layer.class_name, "count": int(layer.macs)}
        for layer in leaves
        if layer.macs
    ]
    return {"total": int(summary.total_mult_adds), "params": int(summary.total_params), "counts": counts}
