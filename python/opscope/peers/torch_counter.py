"""PyTorch's own FlopCounterMode: every aten op that reaches it, with what it counts or that it counts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from opscope.peers.subject import Subject

NAME, PACKAGE, UNIT = "torch", "torch", "flops"


class _Scopes:
    """The names of the modules being called. Hooks for all modules: one on a module turns PyTorch's fast paths off."""

    def __init__(self, model: nn.Module) -> None:
        self.names = {id(module): name for name, module in model.named_modules()}
        self.stack = [""]

    @contextmanager
    def followed(self) -> Iterator[None]:
        before = nn.modules.module.register_module_forward_pre_hook(self._enter)
        after = nn.modules.module.register_module_forward_hook(self._leave, always_call=True)
        try:
            yield
        finally:
            before.remove()
            after.remove()

    def _enter(self, module: nn.Module, _: Any) -> None:
        self.stack.append(self.names.get(id(module), self.stack[-1]))

    def _leave(self, *_: Any) -> None:
        self.stack.pop()


class _Counter(FlopCounterMode):
    def __init__(self, scopes: _Scopes) -> None:
        super().__init__(display=False)
        self.scopes = scopes
        self.events: list[Any] = []

    def _count_flops(self, func_packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        formula = self.flop_registry.get(func_packet)
        count = None if formula is None else int(formula(*args, **kwargs, out_val=out))
        self.events.append({"module": self.scopes.stack[-1], "op": str(func_packet), "count": count})
        return super()._count_flops(func_packet, out, args, kwargs)  # type: ignore[no-untyped-call]


def run(subject: Subject) -> dict[str, Any]:
    scopes = _Scopes(subject.model)
    with torch.no_grad(), scopes.followed(), _Counter(scopes) as counter:
        subject.model(*subject.args, **subject.kwargs)
    return {"total": counter.get_total_flops(), "counts": counter.events}
