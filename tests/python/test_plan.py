"""`opscope.plan`: models and graphs of costs, from Python as from the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import torch
from torch import nn

import opscope
from test_report_schemas import PROGRAM, ROOT, validator

COSTS = ROOT / "tests" / "readers" / "files" / "costs.json"


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.left, self.right, self.head = (nn.Linear(64, 64) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        return self.head(torch.relu(self.left(x)) + torch.tanh(self.right(x)))


def test_a_graph_of_costs() -> None:
    found = opscope.plan(costs=COSTS)
    validator("plan").validate(found.to_dict())
    assert found.proven and found.objective_value == pytest.approx(6.3) == found.lower_bound
    assert [stage["nodes"] for stage in found.stages] == [["stem", "left_1"], ["right_1", "right_2"], ["left_2", "join", "head"]]
    assert "proven: no plan is better" in str(found)
    front = opscope.plan(costs=COSTS, objective=["throughput", "latency"]).front
    assert [(round(plan["slowest_seconds"], 6), round(plan["latency_seconds"], 6)) for plan in front] == [(6.3, 17.8), (8.2, 17.6)]


def test_a_model() -> None:
    found = opscope.plan(Branches(), torch.zeros(8, 64), devices="2xl4,1xt4@cloud", links=["10GB/s,1us", "cloud=1GB/s,1ms"])
    report = found.to_dict()
    validator("plan").validate(report)
    assert found.proven and found.lower_bound == pytest.approx(found.objective_value)
    assert sum(len(stage["nodes"]) for stage in found.stages) == report["search"]["nodes"]
    assert {device["class"] for device in report["devices"]} == {"l4", "cloud"}
    one = opscope.plan(Branches(), torch.zeros(8, 64), devices=["2xl4", "1xt4@cloud"], links="10GB/s,1us", objective="latency")
    assert len(one.stages) == 1


def test_replicas() -> None:
    found = opscope.plan(Branches(), torch.zeros(8, 64), devices="4xl4", links="10MB/s,1ms", dp="auto").to_dict()
    assert found["replicas"]["count"] == 4
    assert found["replicas"]["period_seconds"] == pytest.approx(found["objective_value"] / 4)


def test_the_command_line_says_the_same(tmp_path: Path) -> None:
    path = tmp_path / "branches.json"
    opscope.capture(Branches(), torch.zeros(8, 64), device="cuda").save(path)
    words = ["plan", str(path), "--devices", "3xl4", "--link", "10GB/s,1us", "--format", "json"]
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True)
    said, found = json.loads(done.stdout), opscope.plan(str(path), devices="3xl4", links="10GB/s,1us").to_dict()
    for report in (said, found):
        del report["solve_seconds"]
    assert said == found


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({}, "no devices are named"),
        ({"devices": "2xl4"}, "the link of 'l4' is not given"),
        ({"devices": "2xl4", "links": "fast"}, "'fast' is no link"),
        ({"devices": "2xl4", "links": "1GB/s,1us", "pins": "input=moon"}, "no devices are called 'moon'"),
        ({"devices": "2xl4", "links": "1GB/s,1us", "objective": "speed"}, "no objective called 'speed'"),
        ({"devices": "2xl4", "links": "1GB/s,1us", "in_flight": 0}, "0"),
        ({"devices": "2xl4", "costs": COSTS}, "a graph of costs says that itself"),
    ],
)
def test_errors(options: dict[str, object], what: str) -> None:
    with pytest.raises(opscope.Error, match=what):
        opscope.plan(Branches(), torch.zeros(8, 64), **options)  # type: ignore[arg-type]
