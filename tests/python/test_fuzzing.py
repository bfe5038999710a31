"""Random programs through the engine, many captures in one process, and threads that share a module."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from torch import nn

import opscope
from small_models import ConvNet
from test_measure import resident

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "fuzz"))
import engine_fuzzer  # noqa: E402

SHORT, LONG = "0:150", "10000:14000"


@pytest.mark.parametrize("seeds", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)])
def test_random_programs(seeds: str, capsys: pytest.CaptureFixture[str]) -> None:
    threads = torch.get_num_threads()
    assert engine_fuzzer.main(["--seeds", seeds]) == 0, capsys.readouterr().out
    torch.set_num_threads(threads)


def test_a_program_is_the_same_again() -> None:
    ops = engine_fuzzer.known_ops()
    first, second = (list(engine_fuzzer.listed(engine_fuzzer.made(7, ops))) for _ in "ab")
    assert first == second and len(ops) > 400


def test_the_fuzzer_sees_what_is_left_behind() -> None:
    maker = engine_fuzzer.made(3, engine_fuzzer.known_ops())
    program, inputs = maker.program, maker.inputs
    before = engine_fuzzer.state_of(program, inputs)
    with torch.no_grad():
        inputs[0].fill_(1)
    torch.rand(1)
    assert {line.split()[0] for line in engine_fuzzer.differences(before, engine_fuzzer.state_of(program, inputs))} >= {"data", "random", "forms"}


@pytest.mark.parametrize("count", [600, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_captures_leave_nothing(count: int) -> None:
    model, x = ConvNet(), torch.rand(2, 3, 8, 8)

    def captures(times: int) -> tuple[int, int]:
        for index in range(times):
            opscope.profile(model, x, training=index % 4 == 3)
        gc.collect()
        return resident(), sum(isinstance(each, torch.Tensor) for each in gc.get_objects())

    rounds = [captures(count // 6) for _ in range(6)]
    assert len({tensors for _, tensors in rounds[1:]}) == 1
    growth = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(rounds[1:])]
    assert min(growth) < 1 << 20 and sum(growth) < 8 << 20  # what leaks does so in every round


def test_threads_that_capture_and_train_at_once() -> None:
    command = [sys.executable, str(TESTS / "tsan" / "threads.py"), "--rounds", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_captures_of_one_module_take_turns() -> None:
    """Also where one is part of the other; a capture inside a capture's thread does not wait for itself."""

    class Slow(nn.Module):
        inside = most = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            Slow.inside += 1
            Slow.most = max(Slow.most, Slow.inside)
            threading.Event().wait(0.02)
            Slow.inside -= 1
            return x + 1

    part = Slow()
    models = [part, nn.Sequential(part), nn.Sequential(nn.Linear(2, 2), part)]
    threads = [threading.Thread(target=opscope.profile, args=(models[i % 3], torch.rand(1, 2))) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert Slow.most == 1 and not any(thread.is_alive() for thread in threads)
