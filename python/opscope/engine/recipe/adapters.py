"""Parts of a model that are not trained, and low-rank adapters on its linear layers, as peft makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from opscope.engine.recipe import patterns
from opscope.errors import error

_HALF = (torch.float16, torch.bfloat16)
_READ_BY_ATTENTION = torch.nn.modules.linear.NonDynamicallyQuantizableLinear  # which never calls it


@dataclass(frozen=True)
class Lora:
    rank: int
    alpha: int
    dropout: float
    targets: str

    @staticmethod
    def read(text: str) -> Lora:
        """'r=16,alpha=16,dropout=0,targets=q_proj,v_proj', as the request has it."""
        rank, alpha, dropout, targets = (part.partition("=")[2] for part in text.split(",", 3))
        return Lora(int(rank), int(alpha), float(dropout), targets)


class Adapted:
    """A linear layer's class with this before it in its bases: what its adapters give is added to what it gives."""

    lora_A: torch.nn.Module
    lora_B: torch.nn.Module
    lora_dropout: torch.nn.Module
    scaling: float

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = super().forward(x)  # type: ignore[misc]
        inner: torch.Tensor = self.lora_dropout(x.to(self.lora_A.weight.dtype))  # type: ignore[arg-type]
        adapted: torch.Tensor = made + self.lora_B(self.lora_A(inner)) * self.scaling
        return adapted.to(made.dtype)


def linears_of(root: torch.nn.Module, targets: str) -> dict[str, torch.nn.Module]:
    """Linear layers by the ends of their paths, or all but that of the output embeddings."""
    linears = {path: module for path, module in root.named_modules() if _sizes(module) is not None}
    if targets == "all-linear":
        output = getattr(root, "get_output_embeddings", lambda: None)()
        found = {path: module for path, module in linears.items() if module is not output}
        return found or linears
    modules = dict(root.named_modules())
    taken: dict[str, torch.nn.Module] = {}
    for target in patterns.split(targets):
        fitting = {path: module for path, module in linears.items() if patterns.fits(target, path)}
        if not fitting:
            other = next((module for path, module in modules.items() if patterns.fits(target, path)), None)
            if other is not None:
                what = f"'{target}' names a module of class {type(other).__name__}, and adapters are for linear layers"
                raise error(what, "lora", "targets=all-linear takes all that can have them")
            raise patterns.nothing_fits(target, "lora", "linear layer", list(linears))
        taken |= fitting
    return taken


def _sizes(module: torch.nn.Module) -> tuple[int, int] | None:
    """Of its input and output: PyTorch's linear layer, or transformers' Conv1D, whose weight is the other way round."""
    weight = getattr(module, "weight", None)
    if not isinstance(weight, torch.Tensor) or weight.dim() != 2 or isinstance(module, _READ_BY_ATTENTION):
        return None
    if isinstance(module, torch.nn.Linear):
        return module.in_features, module.out_features
    return (weight.shape[0], weight.shape[1]) if type(module).__name__ == "Conv1D" else None


def add_adapters(linears: Mapping[str, torch.nn.Module], lora: Lora) -> str:
    """Adapters in float32 for weights of half precision, as peft has them; what was added, in words."""
    added = 0
    for module in linears.values():
        inputs, outputs = _sizes(module) or (0, 0)
        kind = type(module)
        module.lora_A, module.lora_B = _linear(inputs, lora.rank, module), _linear(lora.rank, outputs, module)
        module.lora_dropout = torch.nn.Dropout(lora.dropout) if lora.dropout else torch.nn.Identity()
        module.scaling = lora.alpha / lora.rank  # type: ignore[assignment]
        module.__class__ = type(kind.__name__, (Adapted, kind), {})
        added += (inputs + outputs) * lora.rank
    return f"adapters of rank {lora.rank} on {len(linears)} linear layers, {added:,} parameters"


def _linear(inputs: int, outputs: int, beside: Any) -> torch.nn.Linear:
    dtype = torch.float32 if beside.weight.dtype in _HALF or not beside.weight.is_floating_point() else beside.weight.dtype
    made = torch.nn.Linear(inputs, outputs, bias=False, device="meta")
    made.weight = torch.nn.Parameter(torch.zeros(outputs, inputs, dtype=dtype, device=beside.weight.device))
    return made.train(beside.training)
