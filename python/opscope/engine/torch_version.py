"""What differs between the releases of torch that opscope supports: each fact once, with the release that changed it."""

from __future__ import annotations

from typing import Any

import torch

from opscope import engines

RELEASE = engines.numbers(torch.__version__)

# The cache of a function compares the backends of its entries with another at every look-up, but does not own them:
# what else Dynamo keeps of a backend must stay.
DYNAMO_BORROWS_BACKENDS = RELEASE < (2, 9)

# To import Dynamo runs ops, and an optimiser's first step imports it.
IMPORTING_DYNAMO_RUNS_OPS = RELEASE < (2, 9)

# A profiler that was made ready and never ran is in the way of all later ones.
READY_PROFILERS_STAY = RELEASE < (2, 12)


def parts_of(spec: Any) -> list[Any]:
    """The children of a TreeSpec, which has a method for them since torch 2.10."""
    return list(spec.children() if hasattr(spec, "children") else spec.children_specs)
