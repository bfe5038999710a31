"""Which modules a model repeats: the layers of a transformer, the blocks of a ResNet's stages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch

_LISTS = (torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ModuleDict)


def repeated_blocks(root: torch.nn.Module) -> list[torch.nn.Module]:
    """All modules of the classes that lists repeat, those apart from them too; none that is inside of another."""
    kinds = {type(block) for block in _listed_blocks(root)}
    return list(_outermost(root, kinds)) if kinds else []


def _outermost(module: torch.nn.Module, kinds: set[type]) -> Iterator[torch.nn.Module]:
    for child in module.children():
        if type(child) in kinds:
            yield child
        else:
            yield from _outermost(child, kinds)


def _listed_blocks(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The children of lists that share a class and have parts; of a list of stages, the blocks in these."""
    blocks = _blocks_of(module)
    of_stages = len(blocks) == len(list(module.children())) and any(map(_is_stage, blocks))
    for child in module.children():
        if child in blocks and not of_stages and not isinstance(child, _LISTS):
            yield child
        else:
            yield from _listed_blocks(child)


def _blocks_of(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The children of a list that are of its most frequent class; none where each is of another."""
    children = list(module.children()) if isinstance(module, _LISTS) else []
    counts = Counter(type(child) for child in children if _matrices(child) > 1)
    kinds = {kind for kind, count in counts.most_common(1) if count > 1}
    return [child for child in children if type(child) in kinds]


def _matrices(module: torch.nn.Module) -> int:
    """A block has several; a convolution with its norm is none."""
    return sum(parameter.dim() > 1 for parameter in module.parameters())


def _is_stage(module: torch.nn.Module) -> bool:
    """Most of it is a list of blocks of one class."""
    own = _size(module)
    return any(2 * _size(child) >= own and 0 < len(list(child.children())) == len(_blocks_of(child)) for child in module.children())


def _size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
