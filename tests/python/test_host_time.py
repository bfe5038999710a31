"""The host's own time in a measurement: whose it is, on which line, where Python waits, what goes over to another device.

A sleep takes at least as long as it says; nothing else is asserted of any time.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import opscope

QUICK = {"warmup": 1, "runs": 3}
SLEEP = 0.02


class Sleepy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc(x)
        time.sleep(SLEEP)  # in a module
        return torch.relu(x)


class WithSleepy(nn.Module):
    def __init__(self, blocks: int = 1) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.blocks = nn.ModuleList(Sleepy() for _ in range(blocks))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x


class SleepsBetweenCalls(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        time.sleep(SLEEP)  # between calls
        return self.second(x)


class NoOps(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        time.sleep(SLEEP)  # without an op
        return x


class SleepsTwice(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        x = x + 1
        time.sleep(SLEEP)  # short
        time.sleep(3 * SLEEP)  # long
        return x + 1


class Reads(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum().item() > 1e9:  # an item
            x = x + 1
        rows = torch.nonzero(x > 0.5)  # a nonzero
        return x[x > 0.5].sum() + rows.sum()  # a mask


def image() -> Tensor:
    return torch.rand(4, 8, generator=torch.Generator().manual_seed(0))


def line_of(mark: str) -> str:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return f"{__file__}:{next(i for i, line in enumerate(lines, 1) if line.endswith('# ' + mark))}"


def report(measured: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(measured.to_json())
    return made


def modules(made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["path"]: row for row in made["modules"]}


def host(made: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = made["measurement"]["host_time"]
    return found


def check_sums(made: dict[str, Any]) -> None:
    rows = modules(made)
    total = rows[""]["wall_seconds"]
    assert sum(row["own_wall_seconds"] for row in rows.values()) == pytest.approx(total, rel=1e-9)
    assert total == pytest.approx(made["totals"]["time_seconds"] + rows[""]["outside_seconds"], rel=1e-9)
    summary = made["measurement"]["reconciliation"]
    assert summary["wall_seconds"] == pytest.approx(total, rel=1e-9)
    assert summary["outside_seconds"] == summary["idle_seconds"] == pytest.approx(rows[""]["outside_seconds"], rel=1e-9)
    assert summary["op_seconds"] == made["totals"]["time_seconds"]
    assert sum(line["seconds"] for line in host(made)["lines"]) == pytest.approx(summary["outside_seconds"], rel=1e-6)


def test_a_sleep_in_a_module_is_its_own_and_named_first() -> None:
    measured = opscope.measure(WithSleepy(), image(), **QUICK)
    made = report(measured)
    check_sums(made)
    rows = modules(made)
    assert rows["blocks.0"]["own_outside_seconds"] >= SLEEP
    assert rows["blocks"]["wall_seconds"] >= SLEEP
    assert rows["blocks"]["own_wall_seconds"] < SLEEP
    first = host(made)["lines"][0]
    assert (first["source"], first["module"], first["count"]) == (line_of("in a module"), "blocks.0", 1)
    assert first["seconds"] >= 0.9 * SLEEP
    ops = [row.op for row in measured.ops]
    assert (ops[first["after"]], ops[first["before"]]) == ("aten::linear", "aten::relu")
    finding = made["measurement"]["where_time_goes"]["findings"][0]
    assert (finding["kind"], finding["name"], finding["module"]) == ("host", first["source"], "blocks.0")
    assert "outside any op at test_host_time.py:" in finding["text"][0]


def test_one_line_in_several_modules_is_one_row() -> None:
    made = report(opscope.measure(WithSleepy(blocks=3), image(), **QUICK))
    check_sums(made)
    first = host(made)["lines"][0]
    assert (first["source"], first["modules"], first["count"]) == (line_of("in a module"), 3, 3)
    assert first["seconds"] >= 2.7 * SLEEP


def test_a_sleep_between_two_calls_is_the_callers() -> None:
    made = report(opscope.measure(SleepsBetweenCalls(), image(), **QUICK))
    check_sums(made)
    assert modules(made)[""]["own_outside_seconds"] >= SLEEP
    assert host(made)["lines"][0]["source"] == line_of("between calls")


def test_a_module_without_ops_has_its_time() -> None:
    model = nn.Sequential(nn.Linear(8, 8), NoOps(), nn.Linear(8, 8))
    made = report(opscope.measure(model, image(), **QUICK))
    check_sums(made)
    assert modules(made)["1"]["own_outside_seconds"] >= SLEEP
    assert host(made)["lines"][0] | {"seconds": 0} == {
        "source": line_of("without an op"), "module": "1", "modules": 1, "after": 0, "before": 1, "count": 1, "seconds": 0, "waits": False,
    }  # fmt: skip


def test_two_lines_without_an_op_between_them_are_told_apart() -> None:
    lines = host(report(opscope.measure(SleepsTwice(), image(), **QUICK)))["lines"]
    assert [line["source"] for line in lines[:2]] == [line_of("long"), line_of("short")]
    assert lines[0]["seconds"] >= 2 * SLEEP


def test_hooks_are_of_the_module_they_are_on() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))

    def hook(*_: Any) -> None:
        time.sleep(SLEEP)  # in a hook

    model[1].register_forward_hook(hook)
    made = report(opscope.measure(model, image(), **QUICK))
    check_sums(made)
    assert modules(made)["1"]["own_outside_seconds"] >= SLEEP
    assert host(made)["lines"][0]["source"] == line_of("in a hook")


def test_a_loop_in_python_is_named_without_a_sleep() -> None:
    class Loops(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x = x + 1
            number = sum(i * i for i in range(200_000))  # a loop
            return x + number

    lines = host(report(opscope.measure(Loops(), image(), **QUICK)))["lines"]
    assert lines[0]["source"] == line_of("a loop")


def test_training_has_the_sleep_in_its_forward() -> None:
    made = report(opscope.measure(WithSleepy(), image(), training=True, **QUICK))
    check_sums(made)
    assert modules(made)["blocks.0"]["own_outside_seconds"] >= SLEEP
    assert host(made)["lines"][0]["source"] == line_of("in a module")


def test_what_python_waits_for_is_listed_with_its_line() -> None:
    waits = host(report(opscope.measure(Reads(), image(), **QUICK)))["synchronisations"]
    assert {(row["op"], row["source"]) for row in waits} == {
        ("aten::item", line_of("an item")),
        ("aten::nonzero", line_of("a nonzero")),
        ("aten::index", line_of("a mask")),
    }
    assert all(len(row["ops"]) == 1 and row["seconds"] > 0 for row in waits)


def test_transfers_are_listed_with_their_line_and_bytes(tmp_path: Path) -> None:
    class Moves(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x = (x + 1).to(torch.float64)  # a cast, and a transfer where its result is on another device
            return x.to("cpu")

    measured = opscope.measure(Moves(), image(), **QUICK)
    assert host(report(measured))["transfers"] == []
    measured.save(tmp_path / "m.json")
    saved = json.loads((tmp_path / "m.json").read_text())
    cast = next(op for op in saved["ops"] if op["op"] == "aten::to")
    for value in saved["values"]:
        if value["id"] in cast["outputs"]:
            value["device"] = "cuda:0"
    (tmp_path / "moved.json").write_text(json.dumps(saved))
    transfers = host(report(opscope.measure(tmp_path / "moved.json")))["transfers"]
    line = line_of("a cast, and a transfer where its result is on another device")
    assert (transfers[0]["op"], transfers[0]["source"], transfers[0]["ops"]) == ("aten::to", line, [cast["id"]])
    assert (transfers[0]["from"], transfers[0]["to"], transfers[0]["bytes"]) == ("cpu", "cuda:0", 4 * 8 * 8)


def test_torch_synchronize_is_a_wait() -> None:
    names: dict[str, Any] = {"sleep": time.sleep}
    exec(compile(f"def synchronize(): sleep({SLEEP})", f"{Path(torch.__file__).parent}/cuda/__init__.py", "exec"), names)

    class Waits(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            x = x + 1
            names["synchronize"]()  # a wait
            return x + 1

    made = report(opscope.measure(Waits(), image(), **QUICK))
    check_sums(made)
    line = host(made)["lines"][0]
    assert (line["waits"], line["source"]) == (True, line_of("a wait"))
    findings = made["measurement"]["where_time_goes"]["findings"]
    assert all(finding["kind"] != "host" for finding in findings)


def test_a_debugger_keeps_its_lines_and_modules_are_still_told() -> None:
    seen: list[str] = []

    def trace(frame: Any, event: str, _: Any) -> Any:
        seen.append(event)
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        made = report(opscope.measure(WithSleepy(), image(), **QUICK))
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)
    assert seen
    lines = host(made)["lines"]
    assert all(line["source"] == "" for line in lines)
    assert lines[0]["module"] == "blocks.0"
    assert "outside any op" in made["measurement"]["where_time_goes"]["findings"][0]["text"][0]


def test_following_lines_ends_when_a_run_raises() -> None:
    class Fails(nn.Module):
        calls_left = 0

        def forward(self, x: Tensor) -> Tensor:
            if type(self).calls_left == 0:
                raise RuntimeError("enough")
            type(self).calls_left -= 1
            return x + 1

    before = sys.gettrace()
    for calls in range(20):  # the last runs of it pass
        Fails.calls_left = calls
        try:
            opscope.measure(Fails(), image(), **QUICK)
        except Exception as problem:
            assert "enough" in str(problem)
        assert sys.gettrace() is before


def test_the_times_come_back_from_a_file(tmp_path: Path) -> None:
    measured = opscope.measure(WithSleepy(), image(), **QUICK)
    measured.save(tmp_path / "m.json")
    again = report(opscope.measure(tmp_path / "m.json"))
    made = report(measured)
    assert host(again) == host(made)
    assert modules(again) == modules(made)


def test_the_report_names_module_and_line() -> None:
    text = str(opscope.measure(WithSleepy(), image(), **QUICK))
    assert "Wall" in text and "Self" in text and "Outside ops" in text
    assert f"test_host_time.py:{line_of('in a module').rpartition(':')[2]}" in text
