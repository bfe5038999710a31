"""opscope.measure: real runs with times, of a model that is afterwards what it was. No test asserts how long anything takes."""

from __future__ import annotations

import gc
import itertools
import json
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import opscope
from opscope._load import native
from small_models import ConvNet, Raises, SharedBranches, Stateful
from test_untouched import MODELS, fingerprint, surroundings

QUICK = {"warmup": 1, "runs": 3}


def image() -> Tensor:
    return torch.rand(2, 3, 8, 8)


# --- what comes back


def test_every_op_has_a_time_and_every_view_the_same_total() -> None:
    measured = opscope.measure(ConvNet().eval(), image(), **QUICK)
    expected = opscope.profile(ConvNet().eval(), image(), tracer="eager")
    assert [row.op for row in measured.ops] == [row.op for row in expected.ops]
    assert measured.totals.flops == expected.totals.flops
    total = measured.totals.time_seconds
    for view in (measured.ops, measured.layers, measured.types):
        assert sum(row.time_seconds for row in view) == pytest.approx(total, rel=1e-9)
    assert measured.by_module()[""].time_seconds == total
    assert expected.measurement is None


def test_as_many_runs_as_asked_for() -> None:
    done: list[tuple[int, int]] = []
    measured = opscope.measure(ConvNet(), image(), warmup=2, runs=5, progress=lambda *told: done.append(told[:2]))
    samples = samples_of(measured)
    assert (samples["warmup"], samples["runs"]) == (2, 5)
    assert len(samples["plain_ns"]) == len(samples["timed_ns"]) == 5
    assert len(samples["host_ns"]) == 5 * measured.totals.ops
    assert [each for each in done if each[0] > 0] == [(run, 5) for run in range(1, 6)]


def test_runs_by_default_are_enough_and_not_too_many() -> None:
    measured = opscope.measure(nn.Linear(2, 2), torch.rand(1, 2))
    assert 10 <= samples_of(measured)["runs"] <= 200
    short = opscope.measure(nn.Linear(2, 2), torch.rand(1, 2), min_time=0)
    assert samples_of(short)["runs"] == 10


def samples_of(profile: opscope.Profile) -> dict[str, Any]:
    return dict(json.loads(profile._native.graph.to_json())["measurement"])


def test_the_environment_is_told() -> None:
    told = samples_of(opscope.measure(ConvNet().double(), image().double(), **QUICK))["environment"]
    assert told["device"] == "cpu" and told["torch"] == torch.__version__ and told["dtype"] == "float64"
    assert told["threads"] == torch.get_num_threads() and told["precision"] == torch.get_float32_matmul_precision()
    assert told["host"] == told["device_name"] != "" and told["memory_bytes"] > 0 and told["system"]


def test_real_memory_is_beside_the_predicted_one() -> None:
    model, x = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8)), torch.rand(16, 64)
    measured = opscope.measure(model, x, **QUICK)
    told = samples_of(measured)
    weights = sum(p.numel() * 4 for p in model.parameters())
    assert told["base_memory_bytes"] == weights + 16 * 64 * 4
    assert told["peak_memory_bytes"] == measured.memory.peak_memory_bytes


def test_real_memory_of_training_has_gradients_and_the_optimizers_state() -> None:
    model, x = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 8)), torch.rand(16, 64)
    told = samples_of(opscope.measure(model, x, training=True, optimizer="adam", **QUICK))
    weights = sum(p.numel() * 4 for p in model.parameters())
    assert told["base_memory_bytes"] == pytest.approx(3 * weights + 16 * 64 * 4, abs=64)  # and a step's number each
    assert told["peak_memory_bytes"] > 4 * weights


def test_a_module_called_twice_is_two_layers() -> None:
    measured = opscope.measure(SharedBranches(), torch.rand(4, 10), **QUICK)
    assert [row.name for row in measured.layers if row.type == "linear"] == ["shared", "shared#2"]


class Picks(nn.Module):
    """How many rows there are is in the data, and so is which branch is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        kept = x[x[:, 0] > 0.5]
        return self.fc(kept) if kept.shape[0] > 1 else kept * 2


def test_data_decides() -> None:
    many = opscope.measure(Picks(), torch.tensor([[1.0] * 4, [0.0] * 4, [1.0] * 4]), **QUICK)
    assert many.by_type()["linear"].macs == 2 * 4 * 4
    one = opscope.measure(Picks(), torch.tensor([[1.0] * 4, [0.0] * 4]), **QUICK)
    assert "linear" not in one.by_type()


class Alternates(nn.Module):
    """Does something else every other time; what it remembers is in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x.exp() if self.calls % 2 else x.sin().cos()


def test_runs_that_differ_are_told_of_and_left_as_found() -> None:
    model = Alternates()
    measured = opscope.measure(model, torch.rand(3), warmup=0, runs=4)
    assert measured.totals.ops in (1, 2) and model.calls == 0


def test_training_has_its_phases() -> None:
    measured = opscope.measure(ConvNet(), image(), training=True, optimizer="adam", **QUICK)
    static = opscope.profile(ConvNet(), image(), training=True, optimizer="adam")
    assert [phase["name"] for phase in measured.memory.phases] == ["forward", "backward", "optimizer"]
    assert measured.totals.ops == static.totals.ops
    assert sum(row.time_seconds for row in measured.ops) == pytest.approx(measured.totals.time_seconds, rel=1e-9)


def test_a_name_is_built_with_data() -> None:
    measured = opscope.measure("resnet18", image_size=32, on="cpu", **QUICK)
    assert measured.inputs[0].shape == [1, 3, 32, 32] and measured.model == "resnet18"
    assert samples_of(measured)["runs"] == 3


def test_a_measurement_is_kept_and_read_without_the_model(tmp_path: Path) -> None:
    measured = opscope.measure(ConvNet(), image(), **QUICK)
    measured.save(tmp_path / "m.json")
    again = opscope.measure(tmp_path / "m.json")
    assert again.to_dict() == measured.to_dict() == opscope.load(tmp_path / "m.json").profile().to_dict()
    measured.trace(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    with pytest.raises(opscope.Error, match="runs that were made"):
        opscope.measure(tmp_path / "m.json", runs=3)
    opscope.capture(ConvNet(), image()).save(tmp_path / "c.json")
    with pytest.raises(opscope.Error, match="no times in it"):
        opscope.measure(tmp_path / "c.json")


# --- what it leaves


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("make", "inputs"), [row[1:] for row in MODELS], ids=[row[0] for row in MODELS])
def test_untouched(make: Callable[[], nn.Module], inputs: Callable[[], Tensor], training: bool) -> None:
    model, x = make().train(training), inputs()
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    copy, before, around = x.clone(), fingerprint(model), surroundings()
    for options in ({}, {"training": True, "optimizer": "adam"}):
        try:
            opscope.measure(model, x, **QUICK, **options)
        except opscope.Error:
            assert isinstance(model, Raises) or x.dtype == torch.long or options
        assert fingerprint(model) == before
        assert surroundings() == around
    assert torch.equal(x, copy)


class Noisy(nn.Module):
    """Batch norm's statistics, dropout's random numbers and a counter of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.ReLU(), nn.Linear(16, 1))
        self.state = Stateful()

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x) + self.state(x[:, :6]).mean()


def losses(measuring: Callable[[nn.Module, Tensor], Any] | None) -> list[float]:
    torch.manual_seed(3)
    model = Noisy().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    made = []
    for step in range(12):
        x = torch.rand(10, 8)
        optimizer.zero_grad()
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        if measuring is not None and step % 3 == 0:
            measuring(model, x)
        optimizer.step()
        made.append(loss.item())
    return made


def test_training_goes_on_as_if_nothing_had_been_measured() -> None:
    plain = losses(None)
    assert losses(lambda model, x: opscope.measure(model, x, **QUICK)) == plain
    assert losses(lambda model, x: opscope.measure(model, x, training=True, optimizer="adam", **QUICK)) == plain
    assert len(set(plain)) > 6


def hooks() -> int:
    tables = [value for name, value in vars(nn.modules.module).items() if name.startswith("_global_") and hasattr(value, "__len__")]
    return sum(map(len, tables)) + torch._C._len_torch_dispatch_stack() + torch._C._len_torch_function_stack()


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_a_thousand_passes_leave_nothing() -> None:
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.rand(2, 4)
    before = hooks()

    def passes(count: int) -> tuple[int, int]:
        for _ in range(count):
            opscope.measure(model, x, warmup=0, runs=1)
        gc.collect()
        return resident(), sum(isinstance(each, torch.Tensor) for each in gc.get_objects())

    rounds = [passes(300) for _ in range(4)]
    assert hooks() == before and len({tensors for _, tensors in rounds}) == 1
    growth = [later - earlier for (earlier, _), (later, _) in itertools.pairwise(rounds)]
    assert min(growth) < 1 << 20  # what leaks does so in every round; the allocator takes more now and then


# --- what goes wrong


def test_an_exception_comes_with_its_module_and_line() -> None:
    model, x = Raises(), torch.rand(2, 4)
    before, around = fingerprint(model), surroundings()
    with pytest.raises(opscope.Error, match="the model's own complaint") as caught:
        opscope.measure(model, x, **QUICK)
    assert "inner" in caught.value.where and "small_models.py" in caught.value.where
    assert fingerprint(model) == before and surroundings() == around


class FailsLater(nn.Module):
    def __init__(self, good: int) -> None:
        super().__init__()
        self.fc, self.good, self.calls = nn.Linear(4, 4), good, 0

    def forward(self, x: Tensor) -> Tensor:
        FailsLater.seen += 1
        if FailsLater.seen > self.good:
            raise ValueError("enough")
        return self.fc(x)

    seen = 0


@pytest.mark.parametrize("good", range(7))
def test_an_exception_in_any_of_the_runs(good: int) -> None:
    FailsLater.seen = 0
    model, x = FailsLater(good), torch.rand(2, 4)
    before, around = fingerprint(model), surroundings()
    with pytest.raises(opscope.Error, match="enough"):
        opscope.measure(model, x, warmup=1, runs=5)
    assert fingerprint(model) == before and surroundings() == around and hooks() == 0


def test_another_threads_ops_are_not_seen() -> None:
    stop, ran = threading.Event(), threading.Event()

    def busy() -> None:
        x = torch.rand(32, 32)
        while not stop.is_set():
            x = torch.tanh(x @ x)
            ran.set()

    other = threading.Thread(target=busy)
    other.start()
    ran.wait()
    try:
        measured = opscope.measure(nn.Linear(4, 4), torch.rand(2, 4), warmup=1, runs=20)
    finally:
        stop.set()
        other.join()
    assert [row.op for row in measured.ops] == ["aten::linear"]
    assert "unmatched" not in samples_of(measured)


def test_two_threads_measure_at_once() -> None:
    found: dict[int, list[str]] = {}

    def work(index: int) -> None:
        model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(index + 1)])
        found[index] = [row.op for row in opscope.measure(model, torch.rand(2, 8), warmup=1, runs=10).ops]

    threads = [threading.Thread(target=work, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {index: ["aten::linear"] * (index + 1) for index in range(3)}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"runs": 0}, "0 is not a number of runs"),
        ({"runs": 2.5}, "2.5 is not a number of runs"),
        ({"warmup": -1}, "-1 is not a number of warm-up runs"),
        ({"min_time": math.nan}, "nan is not a duration"),
        ({"runs": 5_000_000_000}, "would not end"),
        ({"warmup": 1 << 40}, "would not end"),
        ({"min_time": -1}, "-1 is not a duration"),
        ({"min_time": math.inf}, "inf is not a duration"),
        ({"on": "gpu"}, "no device called 'gpu'"),
        ({"on": "meta"}, "nothing runs on the meta device"),
        ({"tracer": "fx"}, "real runs of the model itself"),
        ({"device": "cpu"}, "where it runs"),
        ({"optimizer": "adam"}, "a part of training"),
        ({"training": True, "optimizer": "adan"}, "no optimizer called 'adan'"),
    ],
)
def test_what_cannot_be_asked_for(options: dict[str, Any], says: str) -> None:
    with pytest.raises(opscope.Error, match=says) as caught:
        opscope.measure(nn.Linear(2, 2), torch.rand(1, 2), **options)
    assert caught.value.hint


@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_cuda_where_there_is_none() -> None:
    for model in ("resnet18", nn.Linear(2, 2)):
        with pytest.raises(opscope.Error, match="there is no cuda device here") as caught:
            opscope.measure(model, on="cuda")
        assert torch.__version__ in caught.value.hint


def test_weights_without_data() -> None:
    with pytest.raises(opscope.Error, match="0.weight and 3 others are on the meta device"):
        opscope.measure(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).to("meta"), torch.rand(1, 2))
    with pytest.raises(opscope.Error, match="input input is on the meta device"):
        opscope.measure(nn.Linear(2, 2), torch.rand(1, 2, device="meta"))


def test_two_devices() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = as_if_on("cuda:1", model[1].weight)
    with pytest.raises(opscope.Error, match="the model is on 2 devices") as caught:
        opscope.measure(model, torch.rand(1, 2))
    assert "0.weight and 3 others are on cpu" in caught.value.where and "1.weight is on cuda:1" in caught.value.where


def as_if_on(device: str, parameter: nn.Parameter) -> nn.Parameter:
    """One that shows another device, on any machine."""
    made: nn.Parameter = native.abstract_like(parameter, device)
    made.__class__ = nn.Parameter
    return made


class Hungry(nn.Module):
    """Wants more memory than any machine has."""

    class Inner(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.expand(1 << 50).clone()

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.inner = nn.Linear(1000, 1000), Hungry.Inner()

    def forward(self, x: Tensor) -> Tensor:
        kept = [self.fc(x) for _ in range(20)]
        return self.inner(kept[0].sum().reshape(1))


def test_out_of_memory() -> None:
    model, x = Hungry(), torch.rand(100, 1000)
    gc.collect()
    before = sum(isinstance(each, torch.Tensor) for each in gc.get_objects())
    with pytest.raises(opscope.Error, match="cpu ran out of memory in aten::clone") as caught:
        opscope.measure(model, x, **QUICK)
    assert "inner" in caught.value.where and "test_measure.py" in caught.value.where
    assert "predicted to need 4.50PB" in caught.value.hint and "free" in caught.value.hint
    assert caught.value.__cause__ is None
    gc.collect()
    assert sum(isinstance(each, torch.Tensor) for each in gc.get_objects()) == before
