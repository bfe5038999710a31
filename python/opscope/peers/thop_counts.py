"""thop: MACs, and operations that it adds to them, of the module classes that it has a rule for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn

from opscope.peers.subject import Subject, inner_name

NAME, PACKAGE, UNIT = "thop", "thop", "macs"


def run(subject: Subject) -> dict[str, Any]:
    import thop

    model, tensors, prefix = subject.positional()
    total, params, layers = thop.profile(model, inputs=tensors, verbose=False, ret_layer_info=True)
    modules = dict(model.named_modules(remove_duplicate=False))
    counts = [
        {"module": inner_name(path, prefix) or "", "op": _class_of(modules, path), "count": int(count)}
        for path, count in _leaves(layers, "")
    ]
    return {"total": int(total), "params": int(params), "counts": counts}


def _leaves(layers: dict[str, Any], above: str) -> Iterator[tuple[str, float]]:
    for name, (count, _, inside) in layers.items():
        path = f"{above}.{name}" if above else name
        if inside:
            yield from _leaves(inside, path)
        elif count:
            yield path, count


def _class_of(modules: dict[str, nn.Module], path: str) -> str:
    return type(modules[path]).__name__
