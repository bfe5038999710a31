"""fvcore's FlopCountAnalysis: counts by module and operator, the operators that it has no handle for."""

from __future__ import annotations

from typing import Any

import torch

from opscope.peers.subject import Subject, inner_name

NAME, PACKAGE, UNIT = "fvcore", "fvcore", "macs"


def run(subject: Subject) -> dict[str, Any]:
    from fvcore.nn import FlopCountAnalysis, parameter_count

    model, tensors, prefix = subject.positional()
    analysis = FlopCountAnalysis(model, tensors).unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    with torch.no_grad():
        total = analysis.total()
    counts = []
    for module, by_operator in analysis.by_module_and_operator().items():
        name = inner_name(module, prefix)
        if name is None:
            continue
        counts += [{"module": name, "op": op, "count": _whole(count)} for op, count in by_operator.items()]
        unsupported = analysis.unsupported_ops(module)
        counts += [{"module": name, "op": op, "count": None, "calls": calls} for op, calls in unsupported.items()]
    not_called = [inner_name(name, prefix) for name in analysis.uncalled_modules()]
    return {
        "total": _whole(total),
        "params": parameter_count(model)[""],
        "inclusive": True,
        "counts": counts,
        "free_ops": sorted(analysis._ignored_ops),
        "not_called": sorted(name for name in not_called if name),
    }


def _whole(count: Any) -> int:
    """fvcore's einsum handle gives a float of a whole number."""
    return int(count)
