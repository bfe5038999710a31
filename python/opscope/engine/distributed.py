"""Models that several processes train together, for a capture in one of them: copies that run alone.

DistributedDataParallel and fully_shard hang their communication on forward, on parameters and on gradients, and expect
every process to take part. The copy has the same modules and weights and none of that, so that a capture waits for
nobody and leaves the reducer, the shards and the gradients as they are.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from opscope._load import native
from opscope.engine.structural_copy import copy_with, modules_of
from opscope.errors import error

_STEPS = {
    "DistributedDataParallel": "an all-reduce of the gradients",
    "fully_shard": "an all-gather of the weights, twice, and a reduce-scatter of the gradients",
}


def is_distributed(model: Any) -> bool:
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return False
    return any(_wrapper_of(module) for module in modules_of(model))


def _wrapper_of(module: torch.nn.Module) -> str:
    if isinstance(module, torch.nn.parallel.DistributedDataParallel):
        return "DistributedDataParallel"
    sharded = getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", None)
    return "fully_shard" if sharded is not None and isinstance(module, sharded) else ""


def alone(model: Any, device: str, eager: bool) -> tuple[Any, list[str]]:
    """A copy that runs in one process, and what is to be said about it. Its weights are those of the model: of shards,
    as large as all of them together, without data."""
    shells: dict[int, Any] = {}
    wrappers: dict[str, None] = {}
    for module in modules_of(model):
        if kind := _wrapper_of(module):
            wrappers[kind] = None
            shells[id(module)] = _Replica.__new__(_Replica) if kind in _REPLICAS else object.__new__(type(module).__mro__[2])
    made = copy_with(model, lambda tensor: _own(tensor, device, eager), shells=shells, attributes=_attributes)
    count = torch.distributed.get_world_size()
    return made, [f"{kind} between {count} processes: {_STEPS[kind]} is not counted" for kind in wrappers]


class _Replica(torch.nn.Module):
    """In the place of DistributedDataParallel."""

    module: torch.nn.Module

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)


_Replica.__name__ = _Replica.__qualname__ = "DistributedDataParallel"
_REPLICAS = ("DistributedDataParallel",)


def _attributes(module: torch.nn.Module) -> dict[Any, Any]:
    """What a wrapper's shell is given: of fully_shard's, all but its state and hooks; of the other, what a module has."""
    if isinstance(module, torch.nn.parallel.DistributedDataParallel):
        plain = vars(torch.nn.Module())
        return {name: value for name, value in vars(module).items() if name in plain or name == "module"}
    kept = {name: value for name, value in vars(module).items() if not str(name).startswith("__composable_api")}
    for name, table in kept.items():
        if name.endswith("_hooks") and isinstance(table, dict):
            kept[name] = type(table)((key, hook) for key, hook in table.items() if not _is_fsdp(hook))
    return kept


def _is_fsdp(hook: Any) -> bool:
    function = getattr(hook, "func", hook)
    owner = getattr(function, "__self__", None)
    place = getattr(function, "__module__", "") if owner is None else type(owner).__module__
    return str(place).startswith("torch.distributed.")


def _own(tensor: torch.Tensor, device: str, eager: bool) -> torch.Tensor:
    """Another tensor on the same data, whose gradient is its own."""
    if _is_shard(tensor):
        tensor = _whole(tensor, device, eager)
    elif not isinstance(tensor, torch.nn.Parameter) or tensor.is_meta:
        return tensor
    return torch.nn.Parameter(tensor.detach(), tensor.requires_grad) if not native.is_abstract(tensor) else tensor


def _is_shard(tensor: torch.Tensor) -> bool:
    sharded = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    return sharded is not None and isinstance(tensor, sharded)


def _whole(shard: Any, device: str, eager: bool) -> torch.Tensor:
    if eager:
        if shard.device_mesh.size() > 1:
            what = f"a real run needs the weights of {shard.device_mesh.size()} processes, and a capture runs in one"
            raise error(what, "fully_shard", 'use tracer="static", which needs no data')
        return torch.nn.Parameter(shard.detach().to_local(), shard.requires_grad)
    made: torch.Tensor = native.abstract_like(torch.empty(shard.shape, dtype=shard.dtype, device="meta"), device)
    made.__class__ = torch.nn.Parameter  # its constructor would call an op
    return made.requires_grad_(shard.requires_grad)
