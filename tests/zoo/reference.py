"""What PyTorch's own counter says about a model, with every matmul in its sight.

It is run on the meta device where the model runs there, because attention is then plain matmuls and nothing is
computed; else on the CPU with zeros, with the fused kernels that hide matmuls turned off.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import FlopCounterMode

#: A model larger than this is not run on the CPU.
CPU_PARAMETERS = 700_000_000

Call = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]


def count(open_model: Callable[[bool], Call]) -> tuple[int | None, str, str]:
    """FLOPs, how they were counted, and why not in the better ways. `open_model(with_data)` gives model and inputs."""
    reasons = []
    for how, run in _WAYS.items():
        try:
            return run(open_model), how, "; ".join(reasons)
        except Exception as problem:  # any model may refuse any of these ways in any manner
            first_line = next(iter(str(problem).strip().splitlines()), "")
            reasons.append(f"{how}: {type(problem).__name__}: {first_line}"[:160])
    return None, "", "; ".join(reasons)


def parameter_count(model: nn.Module) -> int:
    """Each parameter once, tied ones too."""
    return sum(parameter.numel() for parameter in model.parameters())


def _on_meta(open_model: Callable[[bool], Call]) -> int:
    model, args, kwargs = open_model(False)
    return _counted(model.to("meta"), *_to_meta((args, kwargs)))


def _on_meta_without_masks(open_model: Callable[[bool], Call]) -> int:
    """transformers looks at the values of a mask, and a mask of ones hides nothing."""
    model, args, kwargs = open_model(False)
    rest = {name: value for name, value in kwargs.items() if not name.endswith("mask")}
    if len(rest) == len(kwargs):
        raise ValueError("no masks")
    return _counted(model.to("meta"), *_to_meta((args, rest)))


def _on_meta_in_bfloat16(open_model: Callable[[bool], Call]) -> int:
    """The meta kernel of grouped matmuls takes bfloat16 only; the count does not depend on it."""
    model, args, kwargs = open_model(False)
    args, rest = _to_meta((args, {name: value for name, value in kwargs.items() if not name.endswith("mask")}))
    narrow = lambda x: x.bfloat16() if isinstance(x, torch.Tensor) and x.is_floating_point() else x  # noqa: E731
    return _counted(model.to("meta").bfloat16(), *tree_map(narrow, (args, rest)))


def _on_cpu(open_model: Callable[[bool], Call]) -> int:
    if parameter_count(open_model(False)[0]) > CPU_PARAMETERS:
        raise ValueError("too large to run")
    return _counted(*open_model(True))


_WAYS = {
    "meta": _on_meta,
    "meta, no masks": _on_meta_without_masks,
    "meta, bfloat16": _on_meta_in_bfloat16,
    "cpu": _on_cpu,
}


def _to_meta(tree: Any) -> Any:
    return tree_map(lambda value: value.to("meta") if isinstance(value, torch.Tensor) else value, tree)


def _counted(model: nn.Module, args: Any, kwargs: Any) -> int:
    model.requires_grad_(False)  # the counter's module tracker stumbles over parameters that come back as results
    with _matmuls_visible(model), torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(*args, **kwargs)
    return int(counter.get_total_flops())


@contextlib.contextmanager
def _matmuls_visible(model: nn.Module) -> Iterator[None]:
    """Fused attention, fused encoder layers and oneDNN's recurrent layers are one op without a formula each."""
    recurrent = any(isinstance(module, nn.RNNBase) for module in model.modules())
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), torch.backends.mkldnn.flags(enabled=not recurrent):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
