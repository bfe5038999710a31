"""What a capture costs beyond the forward that it follows: the floor is the same forward with every op returning its
output of an earlier run and nothing else done.

Both in turns in one process, on one thread; times are the thread's own, medians. Run as
`python bench/capture_floor.py [--models resnet18,bert] [--rounds N]`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from bench_models import BenchModel, build
from opscope._load import native
from opscope.engine.abstract_run import capture
from opscope.engine.nested import replace
from opscope.engine.surroundings import Surroundings

MODELS = "resnet18 vit_b_16 bert gpt2".split()


def seconds(run: Callable[[], object]) -> float:
    before = time.thread_time()
    run()
    return time.thread_time() - before


def call(model: BenchModel) -> tuple[tuple[object, ...], dict[str, object]]:
    return ((), model.inputs) if isinstance(model.inputs, dict) else ((model.inputs,), {})


class Floor:
    """The forward alone. The first run is an ordinary capture, whose results the others give."""

    def __init__(self, model: BenchModel) -> None:
        args, kwargs = call(model)
        self._model, self._echo = model.model, native.Echo("cpu")
        self._args, self._kwargs = replace((args, kwargs), "", lambda tensor, _: self._echo.add_input(tensor))
        self.run()

    def run(self) -> float:
        with Surroundings("cpu"):
            self._echo.start()
            try:
                return seconds(lambda: self._model(*self._args, **self._kwargs))
            finally:
                self._echo.stop()


def measured(name: str, rounds: int) -> tuple[float, float]:
    """Median seconds of the forward alone and of a capture."""
    model = build(name)
    floor, (args, kwargs) = Floor(model), call(model)
    pairs = [(floor.run(), seconds(lambda: capture(model.model, args, kwargs))) for _ in range(rounds)]
    alone, captured = zip(*pairs[rounds // 10 :], strict=True)
    return statistics.median(alone), statistics.median(captured)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=200)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'model':<12} {'forward alone':>14} {'capture':>10} {'ratio':>7}")
    for name in asked.models.split(","):
        alone, captured = measured(name, asked.rounds)
        print(f"{name:<12} {1e3 * alone:>11.3f} ms {1e3 * captured:>7.3f} ms {captured / alone:>6.2f}x", flush=True)


if __name__ == "__main__":
    main()
