"""Optimisers by name, as PyTorch has them, with the variants of their steps."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

import torch

from opscope._load import native
from opscope.engine.recipe import eight_bit
from opscope.errors import error

Make = Callable[..., Any]

#: By name: what makes the optimiser of a list of parameters; by default its step is what PyTorch takes for the device.
OPTIMIZERS: dict[str, Make | None] = {
    "sgd": lambda parameters, **how: torch.optim.SGD(parameters, lr=1e-3, **how),
    "sgd-momentum": lambda parameters, **how: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, **how),
    "adam": lambda parameters, **how: torch.optim.Adam(parameters, **how),
    "adamw": lambda parameters, **how: torch.optim.AdamW(parameters, **how),
    "adagrad": lambda parameters, **how: torch.optim.Adagrad(parameters, **how),
    "rmsprop": lambda parameters, **how: torch.optim.RMSprop(parameters, **how),
    "adafactor": lambda parameters, **how: torch.optim.Adafactor(parameters, **how),
    "muon": lambda parameters, embeds=(): MuonAndAdamW(parameters, embeds),
    "none": None,
}
_EIGHT_BIT: dict[str, Make] = {
    "sgd-momentum": functools.partial(eight_bit.EightBit, "SGD8bit", 1),
    "adam": functools.partial(eight_bit.EightBit, "Adam8bit", 2),
    "adamw": functools.partial(eight_bit.EightBit, "AdamW8bit", 2),
}


def embeddings_of(root: torch.nn.Module) -> set[int]:
    """By id, the weights of embeddings and of the output layer."""
    layers = [module for module in root.modules() if isinstance(module, torch.nn.Embedding)]
    output = getattr(root, "get_output_embeddings", lambda: None)()
    return {id(p) for layer in (*layers, output) if layer is not None for p in layer.parameters()}


def maker_of(optimizer: str) -> Make | None:
    """What makes the optimiser that is called so, 'adamw' or 'adamw:fused', of a list of parameters.

    Muon's is also told which of them are matrices of embeddings or of the output layer, by their places.
    """
    name, _, variant = optimizer.partition(":")
    make = OPTIMIZERS[name]
    if make is None or not variant:
        return make
    if variant == "8bit":
        return _EIGHT_BIT[name]
    loop = {"foreach": False} if name in ("rmsprop", "adafactor") else {"foreach": False, "fused": False}
    return functools.partial(make, **(loop if variant == "loop" else {variant: True}))


class MuonAndAdamW:
    """Muon for matrices, AdamW for the rest: vectors, and the matrices of embeddings and of the output layer."""

    name = "Muon"

    def __init__(self, parameters: list[torch.nn.Parameter], embeds: Collection[int]) -> None:
        matrices = [p for place, p in enumerate(parameters) if p.dim() == 2 and place not in embeds]
        taken = {id(p) for p in matrices}
        others = [p for p in parameters if id(p) not in taken]
        muon: Any = getattr(torch.optim, "Muon", None)
        if muon is None:
            raise error(f"torch {torch.__version__} has no Muon", "optimizer", "torch 2.9 has it")
        self._parts: list[Any] = [muon(matrices)] if matrices else []
        self._parts += [torch.optim.AdamW(others)] if others else []
        self.param_groups = [group for part in self._parts for group in part.param_groups]
        rest = f"AdamW the other {len(others)} parameters, embeddings and the output layer among them"
        native.note("assumption", "", f"Muon steps {len(matrices)} matrices, {rest}")

    @property
    def state(self) -> dict[Any, dict[str, Any]]:
        return {parameter: state for part in self._parts for parameter, state in part.state.items()}

    def step(self) -> None:
        for part in self._parts:
            part.step()
