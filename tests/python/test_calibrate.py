"""A calibration made, interrupted, gone on with, shown and predicted with: a handful of calls, and no test looks at a time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch import nn

import opscope
from opscope._load import native
from opscope.measurement import calibration

PROGRAM = os.environ.get("OPSCOPE_PROGRAM", str(Path(sys.executable).parent / "opscope"))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.stem(x)).mean((2, 3)))


def few_calls(folder: Path, times: int = 1) -> Path:
    """Those of a small model at a few sizes."""
    texts: dict[str, None] = {}
    for side in range(8, 8 + 4 * times):
        graph = opscope.capture(Net().eval(), torch.zeros(1, 3, side, side), tracer="static")
        texts |= dict.fromkeys(text for text, _ in native.call_texts(graph._graph))
    path = folder / "calls.txt"
    path.write_text(native.write_call_list(list(texts)))
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> opscope.Calibration:
    folder = tmp_path_factory.mktemp("calibration")
    return opscope.calibrate("cpu", folder / "cpu.toml", threads=1, calls=few_calls(folder))


def run(*arguments: str | Path, cache: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OPSCOPE_PYTHON": sys.executable} | ({"OPSCOPE_CACHE_DIR": str(cache)} if cache else {})
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False)


def test_a_calibration_says_what_it_is_of(made: opscope.Calibration) -> None:
    assert made.facts["torch"] == torch.__version__
    assert made.facts["threads"] == "1"
    assert {"date", "calls", "host", "steadiness"} <= set(made.facts)
    assert {row.family for row in made.families} >= {"conv", "matmul", "pointwise", "reduction"}
    assert all(row.points > 0 for row in made.families)
    assert "of ops that were left out in turn" in made.table()
    assert not Path(made.path + ".partial").exists()


def test_the_threads_are_put_back(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    calls = few_calls(tmp_path)
    opscope.calibrate("cpu", tmp_path / "a.toml", threads=1, calls=calls)
    assert torch.get_num_threads() == before


def test_a_model_is_predicted_with_it(made: opscope.Calibration) -> None:
    net, x = Net().eval(), torch.zeros(1, 3, 9, 9)
    predicted = opscope.predict(net, x, hardware=made.path)
    assert predicted.totals.predicted_seconds > 0
    ops = [row for row in predicted.ops if row.predicted_seconds]
    assert ops


def test_this_is_the_machine_at_hand(tmp_path: Path) -> None:
    calls, cache = few_calls(tmp_path), tmp_path / "cache"
    done = run("calibrate", "--on", "cpu", "--threads", "1", "--calls", calls, "--format", "json", cache=cache)
    assert done.returncode == 0, done.stderr
    assert (cache / "calibrations" / "cpu-1.toml").exists()
    shown = run("calibrate", "--show", "this", "--format", "json", cache=cache)
    assert shown.stdout == done.stdout
    predicted = run("predict", "resnet18", "--hardware", "this", "--format", "json", cache=cache)
    assert predicted.returncode == 0, predicted.stderr
    assert '"predicted_seconds"' in predicted.stdout
    # The same file where another processor made it.
    path = cache / "calibrations" / "cpu-1.toml"
    path.write_text(path.read_text().replace(f'device_name = "{calibration.cpu_name()}"', 'device_name = "Another CPU"'))
    other = run("predict", "resnet18", "--hardware", "this", cache=cache)
    assert other.returncode == 2
    assert "the calibration is of another device, Another CPU" in other.stderr


def test_what_was_interrupted_goes_on(tmp_path: Path) -> None:
    calls, path = few_calls(tmp_path, times=30), tmp_path / "cpu.toml"
    partial = tmp_path / "cpu.toml.partial"
    command = [PROGRAM, "calibrate", "--on", "cpu", "--threads", "1", "--calls", str(calls), "-o", str(path)]
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPSCOPE_PYTHON": sys.executable},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where the tests run in the background
    )
    try:
        end = time.monotonic() + 120
        while time.monotonic() < end and running.poll() is None and not (partial.exists() and partial.read_text().count("timed") > 3):
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 128 + signal.SIGINT, said
    assert "the same command goes on from there" in said
    assert not path.exists()
    known = sum(line.startswith(("timed", "refused")) for line in partial.read_text().splitlines())
    assert known > 3
    # Other threads are other times.
    other = run("calibrate", "--on", "cpu", "--threads", "2", "--calls", calls, "-o", path)
    assert other.returncode == 2
    assert "of another number of threads: 1; now it is 2" in other.stderr
    done = run("calibrate", "--on", "cpu", "--threads", "1", "--calls", calls, "-o", path)
    assert done.returncode == 0, done.stderr
    assert f"{known} are known from before" in done.stderr
    assert path.exists() and not partial.exists()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--on", "cpu", "--threads", "0"], "--threads"),
        (["--on", "tpu"], "no device called 'tpu' to calibrate"),
        ([], "a calibration is of a device, and none is named"),
        (["--on", "cuda", "--threads", "2"], "threads are of a CPU"),
        (["--on", "cpu", "-o", "no/such/folder/cpu.toml"], "no/such/folder"),
        (["--show", "nothing"], "no calibration called 'nothing'"),
        (["--show", "h200", "--on", "cpu"], "--show reads a calibration"),
    ],
)
def test_a_wrong_request_is_told_of_before_anything_runs(arguments: list[str], what: str) -> None:
    done = run("calibrate", *arguments)
    assert done.returncode == 2
    assert what in done.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="is about a machine without a GPU")
def test_no_gpu_is_said() -> None:
    with pytest.raises(opscope.Error, match="there is no CUDA device here"):
        opscope.calibrate("cuda", "unused.toml")


def test_a_file_that_is_no_calibration_is_said(tmp_path: Path, made: opscope.Calibration) -> None:
    (tmp_path / "a.toml").write_text("a = 1\n")
    assert "not a calibration" in run("calibrate", "--show", tmp_path / "a.toml").stderr
    text = Path(made.path).read_text()
    (tmp_path / "b.toml").write_text(text[: len(text) - 40])
    assert "the calibration is cut off" in run("calibrate", "--show", tmp_path / "b.toml").stderr
