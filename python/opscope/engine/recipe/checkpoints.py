"""Activation checkpointing of a copy of a model: what is asked for is run again in backward, by PyTorch's own code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from opscope.engine.recipe import patterns
from opscope.engine.recipe.blocks import repeated_blocks
from opscope.errors import error

#: What selective checkpointing keeps: what takes long to compute again.
_KEPT = (
    "mm", "addmm", "bmm", "baddbmm", "linear", "convolution", "_grouped_mm", "_scaled_mm",
    "_scaled_dot_product_flash_attention", "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_attention_math",
)  # fmt: skip


class Checkpointed:
    """A module's class with this before it in its bases: its call is checkpointed, where gradients are wanted."""

    _checkpoint: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        plain: Callable[..., Any] = super().__call__  # type: ignore[misc]
        if not (torch.is_grad_enabled() and self.training):  # type: ignore[attr-defined]
            return plain(*args, **kwargs)
        held = [list(value) if isinstance(value, list) else value for value in args]  # the caller may add to its own
        return self._checkpoint(functools.partial(plain, **kwargs), *held)


def set_checkpoints(root: torch.nn.Module, which: str) -> str:
    """Checkpoints a model of our own; what was done, in words."""
    settings: dict[str, Any] = {"use_reentrant": False}
    if which == "selective":
        settings["context_fn"] = functools.partial(create_selective_checkpoint_contexts, _policy)
    if which not in ("layers", "selective"):
        return _set(_fitting(root, which), settings)
    own = _by_itself(root, settings)
    if own is not None:
        return own
    blocks = repeated_blocks(root)
    if not blocks:
        what = f"{type(root).__name__} has no repeated blocks to checkpoint"
        raise error(what, "checkpoint", "name modules by their paths, for example --checkpoint 'features.*'")
    return _set(blocks, settings)


def _policy(_: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
    is_kept = op._schema.name.removeprefix("aten::") in _KEPT
    return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE


def _by_itself(root: torch.nn.Module, settings: dict[str, Any]) -> str | None:
    """Where the model is transformers' own and knows how; a part of it that is already done is not done again."""
    done: list[str] = []
    for module in root.modules():
        if getattr(module, "supports_gradient_checkpointing", False) and not getattr(module, "is_gradient_checkpointing", True):
            enable: Any = module.gradient_checkpointing_enable
            enable(settings)
            done.append(type(module).__name__)
    return f"as {done[0]}.gradient_checkpointing_enable sets it" if done else None


def _fitting(root: torch.nn.Module, which: str) -> list[torch.nn.Module]:
    """The modules that patterns name, by path or by class; of several that contain each other, the outermost."""
    named = {path: module for path, module in root.named_modules() if path}
    taken: dict[str, torch.nn.Module] = {}
    for pattern in patterns.split(which):
        fitting = {path: m for path, m in named.items() if patterns.fits(pattern, path) or type(m).__name__ == pattern}
        if not fitting:
            raise patterns.nothing_fits(pattern, "checkpoint", "module", [*named, *{type(m).__name__: 0 for m in named.values()}])
        taken |= fitting
    return [module for path, module in taken.items() if not any(path.startswith(f"{other}.") for other in taken)]


def _set(modules: Iterable[torch.nn.Module], settings: dict[str, Any]) -> str:
    function: Any = functools.partial(checkpoint, **settings)
    kinds: dict[str, int] = {}
    for module in modules:
        kind = type(module)
        kinds[kind.__name__] = kinds.get(kind.__name__, 0) + 1
        if any(base.__name__ == "GradientCheckpointingLayer" for base in kind.__mro__):
            module.gradient_checkpointing, module._gradient_checkpointing_func = True, function  # type: ignore[assignment]
            continue
        if isinstance(module, (torch.jit.ScriptModule, *_NEVER_CALLED)):
            raise error(f"a {kind.__name__} cannot be checkpointed", "checkpoint", "name the module that calls it")
        module.__class__ = type(kind.__name__, (Checkpointed, kind), {"_checkpoint": staticmethod(function)})
    return ", ".join(f"each {name} ({count})" if count > 1 else f"the {name}" for name, count in kinds.items())


_NEVER_CALLED = (torch.nn.ModuleList, torch.nn.ModuleDict)
