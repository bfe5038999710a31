"""The tools that the benchmarks compare, each as one function from a model to the number it reports."""

from __future__ import annotations

import contextlib
import copy
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from bench_models import BenchModel

Run = Callable[[], float | int]


@dataclass(frozen=True)
class Tool:
    name: str
    prepare: Callable[[BenchModel], Run]  # what is not timed: copies, moving to the meta device
    factor: int = 1  # 2 where the tool reports MACs; times this it is FLOPs


def _totals(bench: BenchModel) -> Run:
    import opscope

    return lambda: opscope.profile(bench.model, bench.inputs).totals.flops


def _rows(bench: BenchModel) -> Run:
    """Every value of every layer's row, as a loop over them reads it."""
    import opscope

    return lambda: len([tuple(row.values()) for row in opscope.profile(bench.model, bench.inputs).layers])


def _flop_counter(bench: BenchModel) -> Run:
    return lambda: _count(bench, bench.model, bench.tensor)


def _flop_counter_meta(bench: BenchModel) -> Run:
    """A copy of the model on the meta device, without copying its data first."""
    twins: dict[int, object] = {id(p): nn.Parameter(p.detach().to("meta")) for p in bench.model.parameters()}
    twins |= {id(buffer): buffer.to("meta") for buffer in bench.model.buffers()}
    model = copy.deepcopy(bench.model, twins)
    return lambda: _count(bench, model, bench.tensor.to("meta"))


def _count(bench: BenchModel, model: nn.Module, tensor: torch.Tensor) -> int:
    """Token models get their ids by keyword and no mask, whose values transformers would look at."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(input_ids=tensor) if isinstance(bench.inputs, dict) else model(tensor)
    return counter.get_total_flops()


def _fvcore(bench: BenchModel) -> Run:
    from fvcore.nn import FlopCountAnalysis

    def run() -> float:
        analysis = FlopCountAnalysis(bench.plain, bench.tensor)
        return analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False).total()

    return run


def _torchinfo(bench: BenchModel) -> Run:
    import torchinfo

    return lambda: torchinfo.summary(bench.plain, input_data=(bench.tensor,), verbose=0).total_mult_adds


def _ptflops(bench: BenchModel) -> Run:
    from ptflops import get_model_complexity_info

    def run() -> float:
        macs, _ = get_model_complexity_info(
            bench.plain,
            tuple(bench.tensor.shape[1:]),
            input_constructor=lambda _: bench.tensor,
            as_strings=False,
            print_per_layer_stat=False,
            verbose=False,
            backend="pytorch",
        )
        return macs

    return run


def _thop(bench: BenchModel) -> Run:
    import thop

    return lambda: thop.profile(bench.plain, inputs=(bench.tensor,), verbose=False)[0]


def _calflops(bench: BenchModel) -> Run:
    from calflops import calculate_flops

    def run() -> float:
        return calculate_flops(
            model=bench.plain, args=[bench.tensor], print_results=False, print_detailed=False, output_as_string=False
        )[0]

    return run


def _symbolic_trace(bench: BenchModel) -> Run:
    return lambda: len(torch.fx.symbolic_trace(bench.plain).graph.nodes)


TOTALS = Tool("opscope", _totals)  # profile(model, x).totals.flops
ROWS = Tool("opscope, rows", _rows)  # profile(model, x).layers, all read
TOOLS = (
    TOTALS,
    ROWS,
    Tool("FlopCounterMode, meta", _flop_counter_meta),
    Tool("FlopCounterMode, CPU", _flop_counter),
    Tool("fvcore", _fvcore),
    Tool("torchinfo", _torchinfo),
    Tool("ptflops", _ptflops),
    Tool("calflops", _calflops),
    Tool("thop", _thop),
    Tool("fx.symbolic_trace", _symbolic_trace),
)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Peers, and PyTorch's own C++, print and log as they like; the benchmark's output is the table."""
    logging.disable(logging.CRITICAL)
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [(number, os.dup(number)) for number in (1, 2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for number, _ in kept:
            os.dup2(nowhere, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, copy_of_it in kept:
            os.dup2(copy_of_it, number)
            os.close(copy_of_it)
        os.close(nowhere)
        logging.disable(logging.NOTSET)
