"""Which modules a model repeats: the layers of a transformer, the blocks of a ResNet's stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch

_LISTS = (torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ModuleDict)


def repeated_blocks(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The children of lists that share a class and have parts; of a list of stages, the blocks in these."""
    blocks = list(_blocks_of(module))
    for child in module.children():
        if child not in blocks:
            yield from repeated_blocks(child)
        elif isinstance(child, _LISTS) or _is_stage(child):
            yield from repeated_blocks(child)
        else:
            yield child


def _blocks_of(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The children of a list that are of its most frequent class; none where each is of another."""
    if not isinstance(module, _LISTS):
        return
    with_parts = [child for child in module.children() if next(child.children(), None) is not None]
    ((kind, count),) = Counter(map(type, with_parts)).most_common(1) or [(type(None), 0)]
    if count > 1:
        yield from (child for child in with_parts if type(child) is kind)


def _is_stage(module: torch.nn.Module) -> bool:
    """Most of it is a list of blocks of one class."""
    own = _size(module)
    for child in module.children():
        parts = list(child.children()) if isinstance(child, _LISTS) else []
        if len(set(map(type, parts))) == 1 and len(list(_blocks_of(child))) == len(parts) and 2 * _size(child) >= own:
            return True
    return False


def _size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
