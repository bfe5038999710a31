"""PyTorch's operator database as cases: each op with its first samples, run for real and captured without data.

The rule for the calls: every entry of `op_db`, every dtype of DTYPES that it supports on the CPU, the first three of
its sample inputs. torch 2.13 has 702 entries, which make 5,218 calls that run on the CPU.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from opscope.engine import abstract_run
from opscope.engine.nested import tensors_in

DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bool)
SAMPLES = 3


@functools.cache
def entries() -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def name_of(entry: Any) -> str:
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else str(entry.name)


class Called(nn.Module):
    """An entry as a model without parameters."""

    def __init__(self, entry: Any) -> None:
        super().__init__()
        self.entry = (entry,)  # in a tuple: some entries are modules' functions, and none is a part of this one

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.entry[0](*args, **kwargs)


@dataclass(frozen=True)
class Form:
    """What a real and an abstract result agree in. Strides of dimensions of size 1, and of nothing, mean nothing."""

    shape: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None

    @classmethod
    def of(cls, shape: Any, dtype: str, strides: Any) -> Form:
        matter = tuple(stride for size, stride in zip(shape, strides, strict=True) if size != 1) if strides is not None else None
        return cls(tuple(shape), dtype, None if 0 in shape else matter)


@dataclass
class Outcome:
    """One call, both ways."""

    name: str
    dtype: torch.dtype
    sample: int
    real: list[Form] | None = None  # None: the real call fails too
    abstract: list[Form] | None = None  # None: the static capture was refused
    error: str = ""
    unknown: list[str] = field(default_factory=list)  # ops without a cost
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.name} {str(self.dtype)[6:]} #{self.sample}"


def form_of(tensor: torch.Tensor) -> Form:
    strides = tensor.stride() if tensor.layout == torch.strided else None
    return Form.of(tensor.shape, str(tensor.dtype)[6:], strides)


def run_real(entry: Any, sample: Any) -> list[Form] | None:
    """On copies, since some ops write to their inputs."""

    def own(value: Any) -> Any:
        return value if isinstance(value, torch.Tensor) and value.layout != torch.strided else copy.deepcopy(value)

    torch.manual_seed(0)
    args = [own(value) for value in (sample.input, *sample.args)]
    try:
        with torch.no_grad():
            result = entry(*args, **{name: own(value) for name, value in sample.kwargs.items()})
    except Exception:
        return None
    return [form_of(tensor) for tensor in tensors_in(result)]


def run_captured(entry: Any, sample: Any, outcome: Outcome) -> None:
    arguments = (sample.input, *sample.args)
    try:
        graph = abstract_run.capture(Called(entry), arguments, dict(sample.kwargs), tracer="static", name=outcome.name)
    except Exception as problem:
        outcome.error = str(problem)
        return
    saved = json.loads(graph.to_json())
    values = [saved["values"][i] for i in saved["outputs"]]
    outcome.abstract = [Form.of(value["shape"], value["dtype"], value.get("strides")) for value in values]
    outcome.notes = [note["message"] for note in saved.get("diagnostics", [])]
    outcome.unknown = [row["op"] for row in graph.profile().to_dict()["coverage"]["unknown_ops"]]


def outcomes(chosen: list[Any]) -> Iterator[Outcome]:
    for entry, dtype in itertools.product(chosen, DTYPES):
        if dtype not in entry.supported_dtypes("cpu"):
            continue
        torch.manual_seed(0)
        samples = itertools.islice(entry.sample_inputs("cpu", dtype, requires_grad=False), SAMPLES)
        for number, sample in enumerate(list(samples)):
            outcome = Outcome(name_of(entry), dtype, number, real=run_real(entry, sample))
            if outcome.real is not None:
                run_captured(entry, sample, outcome)
                yield outcome
