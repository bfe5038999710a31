"""Peaks that an H200 had, predicted here without one: bench/memory_cuda.py has how both are found, and all the rows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))
import memory_cuda  # noqa: E402

REAL = {(row["model"], row["run"]): row for row in memory_cuda._rows(BENCH / "h200_memory.jsonl")}
RUNS = [
    ("vgg16", "forward-fp32"),  # cuDNN's workspaces: were 36 %, 14 % and 12 % too low
    ("regnet_y_8gf", "forward-fp32"),
    ("inception_v3", "forward-fp32"),
    ("bert-large", "training-fp32-adamw"),  # attention that saves its scores: was 136 % too high
    ("gpt2-xl", "training-fp32-adamw"),
    ("llama-1b", "training-fp32-adamw"),
    ("whisper-tiny", "training-fp32-adamw"),
    ("resnet18", "training-amp-adamw"),
    ("bert-base", "training-fp32-adamwloop"),
    ("llama-odd", "training-bf16-adamw-lora"),
    ("qwen2", "training-bf16-adamw-checkpoint"),
    ("gpt2-odd", "training-bf16-sgd"),
]


@pytest.mark.parametrize(("model", "run"), RUNS)
def test_peak(model: str, run: str) -> None:
    pair = memory_cuda.Pair(REAL[model, run], memory_cuda.predicted(model, run))
    assert abs(pair.error) < 0.05, (pair.least, pair.most, pair.real)
    assert abs(pair.of_requested) < 0.05


def test_what_is_needed_is_enough() -> None:
    limits = memory_cuda._rows(BENCH / "h200_limits.jsonl")
    assert len(limits) >= 10
    for row in limits:
        if row["model"].startswith("t5"):  # whose attention later releases of transformers have in another layout
            continue
        needed = memory_cuda.predicted(row["model"], row["run"])["needed_bytes"]
        assert needed >= row["least"], row
