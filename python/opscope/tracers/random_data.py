"""Numbers for a check, in place of zeros and ones: a graph that leaves out an addition gives the same on an empty image.

Only what opscope itself made is filled: inputs that it worked out, and weights of a model built by its name, where they
are constant until a checkpoint is loaded. The same numbers at every run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch

from opscope.engine.nested import replace
from opscope.inputs import Inputs
from opscope.inputs.config import inner_configs, special_ids
from opscope.inputs.parts import Part
from opscope.inputs.plan import InputPlan

_FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_IDS = 50  # different tokens in a prompt
_NOISE = 0.1  # largest number added to a weight
_FEW = 64  # numbers that are looked at before all are


def fill_inputs(inputs: Inputs, plan: InputPlan, model: Any) -> Inputs:
    """The inputs of a plan with numbers in those that are all zeros, and with different tokens; a user's own stay."""
    filled = _Filled(model)
    if plan.arrange is not None:
        return Inputs(*filled.value(inputs.args), **filled.value(inputs.kwargs))
    positional = [part for part in plan.parts if part.positional]
    args = [filled.argument(part, value) for part, value in zip(positional, inputs.args, strict=True)]
    named = {part.name: part for part in plan.parts if not part.positional}
    return Inputs(*args, **{name: filled.argument(named[name], value) for name, value in inputs.kwargs.items()})


class _Filled:
    def __init__(self, model: Any) -> None:
        self._model, self._generator = model, torch.Generator().manual_seed(0)

    def argument(self, part: Part, value: Any) -> Any:
        if part.given:
            return value
        if "input_ids" in part.name and isinstance(value, torch.Tensor) and not value.is_meta:
            return self._tokens(value, part.fill or 0)
        return self.value(value)

    def value(self, value: Any) -> Any:
        return replace(value, "", lambda tensor, _: self._tensor(tensor))

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.is_meta or tensor.dtype not in _FLOATS or _constant(tensor) != 0:
            return tensor
        return uniform(torch.empty_like(tensor), self._generator)

    def _tokens(self, ids: torch.Tensor, plain: int) -> torch.Tensor:
        """Tokens without a meaning become several without one; marks and places of images stay where they are."""
        usable = torch.tensor(_plain_ids(self._model, plain), dtype=ids.dtype, device=ids.device)
        cycled = usable[torch.arange(ids.numel(), device=ids.device) % len(usable)].reshape(ids.shape)
        return torch.where(ids == plain, cycled, ids)


def _plain_ids(model: Any, plain: int) -> list[int]:
    config = getattr(model, "config", None)
    configs = list(inner_configs(config)) if hasattr(config, "to_dict") else []
    sizes = [size for each in configs if isinstance(size := getattr(each, "vocab_size", None), int)]
    if not sizes and isinstance(model, torch.nn.Module):
        sizes = [module.num_embeddings for module in model.modules() if isinstance(module, torch.nn.Embedding)]
    special = special_ids(config) if configs else frozenset[int]()
    limit = min([*sizes, plain + _IDS]) if sizes else plain + 1
    return [plain, *(number for number in range(plain + 1, limit) if number not in special)]


def stir(model: Any) -> None:
    """Weights that their initialisation leaves constant get small numbers on top: scales of zero hide whole branches.

    Only ever added, so that variances stay positive and roots exist.
    """
    if not isinstance(model, torch.nn.Module):
        return
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in _weights(model):
            if tensor.dtype in _FLOATS and not tensor.is_meta and _constant(tensor) is not None:
                tensor.add_(uniform(torch.empty_like(tensor), generator), alpha=_NOISE)


def _weights(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    for tensor in (*model.parameters(), *model.buffers()):
        if not torch.nn.parameter.is_lazy(tensor) and type(tensor) in (torch.Tensor, torch.nn.Parameter):
            yield tensor


def with_numbers(value: Any, device: torch.device) -> Any:
    """A nested value with numbers in its tensors that have only a shape; whole numbers are zeros."""
    generator = torch.Generator().manual_seed(0)
    return replace(value, "", lambda tensor, _: _with_numbers(tensor, device, generator) if tensor.is_meta else tensor)


def _with_numbers(tensor: torch.Tensor, device: torch.device, generator: torch.Generator) -> torch.Tensor:
    made = torch.zeros(tuple(tensor.shape), dtype=tensor.dtype, device=device)
    return uniform(made, generator) if tensor.dtype in _FLOATS else made


def give_buffers_numbers(model: Any, device: torch.device) -> None:
    """Buffers that have only a shape: a saved graph writes small ones out. Weights may be large, and are left."""
    generator = torch.Generator().manual_seed(0)
    for module in model.modules() if isinstance(model, torch.nn.Module) else ():
        for name, buffer in module._buffers.items():
            if buffer is not None and buffer.is_meta and not torch.nn.parameter.is_lazy(buffer):
                module._buffers[name] = _with_numbers(buffer, device, generator)


def uniform(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Filled with numbers from 0 to 1, the same whatever the device and dtype."""
    return tensor.copy_(torch.rand(tuple(tensor.shape), generator=generator))


def made_up_weight(tensor: torch.Tensor, seed: int) -> torch.Tensor:
    """Numbers for a weight that has none: of the size that an initialisation gives, and positive where it is a row."""
    made = torch.empty(tuple(tensor.shape), dtype=tensor.dtype)
    if tensor.dtype not in _FLOATS:
        return made.zero_()
    generator = torch.Generator().manual_seed(seed)
    if tensor.dim() < 2:
        return made.copy_(torch.rand(tuple(tensor.shape), generator=generator) + 0.5)
    spread = 1 / math.sqrt(max(tensor.numel() // max(tensor.shape[0], 1), 1))
    return made.copy_(torch.randn(tuple(tensor.shape), generator=generator) * spread)


def _constant(tensor: torch.Tensor) -> float | None:
    """The number that fills a tensor; None where there are several."""
    flat = tensor.detach().flatten()
    if not len(flat) or not bool((flat[:_FEW] == flat[0]).all()) or not bool((flat == flat[0]).all()):
        return None
    return float(flat[0])
