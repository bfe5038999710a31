"""Forwards that yield, that are asynchronous, that take subclasses of tensors; what modules return; selective checkpointing."""

from __future__ import annotations

import asyncio
import copy
import functools
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

import opscope
from engine_helpers import called, ops_of

X = torch.randn(2, 8)


class Steps(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(8, 8)


class Yields(Steps):
    def forward(self, x: torch.Tensor) -> Iterator[torch.Tensor]:
        for _ in range(3):
            x = self.step(x)
            yield x


class Awaits(Steps):
    async def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.step(x)


class AwaitsEach(Steps):
    async def forward(self, x: torch.Tensor) -> AsyncIterator[torch.Tensor]:
        yield self.step(x)


@pytest.mark.parametrize("options", [{"tracer": "static"}, {"tracer": "eager"}, {"training": True, "optimizer": "none"}])
def test_a_generator_is_drained(options: dict[str, Any]) -> None:
    graph = opscope.capture(Yields(), X, **options)
    assert graph.profile().totals["macs"] >= 3 * 2 * 8 * 8
    assert len(json.loads(graph.to_json())["outputs"]) == 3


def test_a_measured_generator_is_drained() -> None:
    profile = opscope.measure(Yields(), X, runs=1, warmup=0)
    assert profile.totals["macs"] == 3 * 2 * 8 * 8
    assert all(row.time_seconds > 0 for row in profile.layers)


@pytest.mark.parametrize("model", [Awaits(), AwaitsEach()])
@pytest.mark.parametrize("tracer", ["auto", "eager"])
@pytest.mark.filterwarnings("error")
def test_a_coroutine_is_refused(model: nn.Module, tracer: str) -> None:
    with pytest.raises(opscope.Error, match="asynchronous") as problem:
        opscope.profile(model, X, tracer=tracer)
    assert "asyncio.run" in problem.value.hint


def test_a_coroutine_that_is_run_is_counted() -> None:
    model = Awaits()
    assert opscope.profile(lambda x: asyncio.run(model(x)), X).totals["macs"] == 2 * 8 * 8


# --- what modules return


class Logs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step, self.same, self.pair = nn.Linear(8, 4), nn.Identity(), nn.LSTM(4, 6)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        y = self.same(self.step(x))
        self.scale = y.abs().max()
        out, state = self.pair(y.unsqueeze(0))
        return {"y": y, "state": state, "out": out}


@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_the_output_is_what_a_module_returned(tracer: str) -> None:
    profile = opscope.profile(Logs().eval(), X, tracer=tracer)
    shapes = {row.path: row.output_shape for row in profile.modules}
    assert shapes[""] == [2, 4]  # the first of them, not the last op's
    assert shapes["same"] == [2, 4]
    text = profile.table(show_shapes=True)
    assert "(2x4, 1x2x6, 1x2x6, 1x2x6)" in text  # of the model
    assert "(1x2x6, 1x2x6, 1x2x6)" in text  # of the LSTM
    outputs = " ".join(text[text.index("\nOutputs") :].split())  # it goes on in a second line
    assert outputs.startswith("Outputs 4 y: 2x4 float32, state[0]: 1x2x6 float32, state[1]: 1x2x6 float32, out: 1x2x6 float32 ")


def test_the_output_survives_a_file(tmp_path: Any) -> None:
    graph = opscope.capture(Logs().eval(), X)
    graph.save(tmp_path / "capture.json")
    again = opscope.load(tmp_path / "capture.json")
    assert again.to_json() == graph.to_json()
    assert again.profile().table(show_shapes=True) == graph.profile().table(show_shapes=True)


# --- subclasses of tensors


class Scaled(torch.Tensor):
    scale: float
    labels: list[str]


def scaled(data: torch.Tensor) -> Scaled:
    made = data.as_subclass(Scaled)
    made.scale, made.labels = 3.0, ["a"]
    return made


@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_a_subclass_keeps_its_attributes(tracer: str) -> None:
    def run(x: Scaled) -> Any:
        assert type(x) is Scaled and x.labels == ["a"]
        copied = copy.deepcopy(x) if tracer == "static" else x  # PyTorch itself copies no such subclass
        assert type(copied) is Scaled and copied.scale == x.scale and (copied is x or copied.labels is not x.labels)
        return x.relu() * x.scale

    assert "relu" in ops_of(called(run), scaled(torch.randn(2, 8)), tracer=tracer)


def test_a_plain_tensor_keeps_its_attributes() -> None:
    x = torch.randn(2, 8)
    x.length = 5  # type: ignore[attr-defined]
    assert ops_of(called(lambda x: x[: x.length].relu()), x)[-1] == "relu"
    assert vars(x) == {"length": 5}


# --- selective checkpointing


class Checkpointed(nn.Module):
    def __init__(self, saved: tuple[Any, ...] | None) -> None:
        super().__init__()
        self.a, self.b, self.saved = nn.Linear(8, 8), nn.Linear(8, 8), saved

    def policy(self, _: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if op in (self.saved or ()) else CheckpointPolicy.PREFER_RECOMPUTE

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        contexts = functools.partial(create_selective_checkpoint_contexts, self.policy)
        chosen = {} if self.saved is None else {"context_fn": contexts}
        return checkpoint(lambda x: self.b(self.a(x).sin()).sin(), x, use_reentrant=False, **chosen)


MATMULS = (torch.ops.aten.mm.default, torch.ops.aten.addmm.default)


@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_selective_checkpointing_saves_what_its_policy_says(tracer: str) -> None:
    def costs(saved: tuple[Any, ...] | None) -> tuple[int, int]:
        profile = opscope.profile(Checkpointed(saved), X, training=True, optimizer="none", tracer=tracer)
        sines = sum(row.op == "aten::sin" for row in profile.ops)
        return profile.totals["macs"], sines

    linear = 2 * 8 * 8
    whole, _ = costs(None)
    assert whole == 2 * linear + 2 * linear + 3 * linear  # forward, all of it again, and backward: x needs none
    assert costs(())[0] == whole
    kept, sines = costs(MATMULS)
    assert kept == whole - 2 * linear
    assert sines == costs(())[1]  # these are computed again all the same


def test_selective_checkpointing_holds_what_it_saves() -> None:
    def peak(saved: tuple[Any, ...]) -> int:
        blocks = nn.Sequential(*(Checkpointed(saved) for _ in range(4)))  # of which one at a time is computed again
        profile = opscope.profile(blocks, torch.randn(4096, 8), training=True, optimizer="none")
        return int(profile.totals["peak_memory_bytes"])

    assert peak(MATMULS) > peak(())
