"""What a tracer gives: fx GraphModules, what they were called with, and why there is more than one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class TracedPart:
    """One graph: the whole model, or what Dynamo made of it between two breaks."""

    name: str  # of the function it was made from
    module: torch.fx.GraphModule
    args: tuple[Any, ...]  # what its placeholders take, in order: module(*args) runs it
    roots: Mapping[str, Any] = field(default_factory=dict)  # what the paths in its module stacks begin with: {"": model}


@dataclass
class TracedBreak:
    """Where Dynamo left the code to Python."""

    text: str  # all that PyTorch says
    source: str = ""  # "model.py:42"
    after: int | None = None  # the part that ends there


@dataclass
class Traced:
    """A model as one of PyTorch's tracers sees it."""

    tracer: str  # "fx", "dynamo", "dynamo_export", "export"
    root: Any  # the module that was traced; it shares its tensors with the caller's
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    parts: list[TracedPart] = field(default_factory=list)
    breaks: list[TracedBreak] = field(default_factory=list)
    has_data: bool = True  # the weights hold numbers; else there is only memory for them
