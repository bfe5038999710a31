"""ptflops: MACs of the module classes that it has a rule for, and of the functions that it replaces while it runs."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import nn

from opscope.peers.subject import Subject, inner_name

NAME, PACKAGE, UNIT = "ptflops", "ptflops", "macs"


class _OneArgument(nn.Module):
    """ptflops calls a model with one argument, or with a dict."""

    def __init__(self, model: nn.Module, tensors: tuple[Any, ...]) -> None:
        super().__init__()
        self.model, self._tensors = model, tensors

    def forward(self, first: Any) -> Any:
        return self.model(first, *self._tensors[1:])


def run(subject: Subject) -> dict[str, Any]:
    from ptflops import get_model_complexity_info

    model, tensors, prefix = subject.positional()
    if len(tensors) > 1:
        model, prefix = _OneArgument(model, tensors).eval(), f"model.{prefix}".rstrip(".")
    counts: list[dict[str, Any]] = []
    with _noting(model, prefix, counts):
        total, params = get_model_complexity_info(
            model, tuple(tensors[0].shape[1:]), input_constructor=lambda _: tensors[0], as_strings=False, backend="pytorch"
        )
    if total is None:
        raise RuntimeError("it gave up on the model without a number")
    return {"total": int(total), "params": int(params), "counts": counts, "divided_by": len(tensors[0])}


@contextlib.contextmanager
def _noting(model: nn.Module, prefix: str, counts: list[dict[str, Any]]) -> Iterator[None]:
    """What each module was found to do, at the moment when ptflops prints it; it forgets that afterwards."""
    from ptflops import pytorch_engine

    def note(*_: Any, **__: Any) -> None:
        for name, module in model.named_modules():
            count = getattr(module, "__flops__", 0)
            if count:
                counts.append({"module": inner_name(name, prefix) or "", "op": type(module).__name__, "count": int(count)})

    shown = pytorch_engine.print_model_with_flops
    pytorch_engine.print_model_with_flops = note
    try:
        yield
    finally:
        pytorch_engine.print_model_with_flops = shown
