"""Predicted time from Python: a Profile whose rows have it, and every question that takes a device."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import opscope

ROWS = ("modules", "layers", "ops", "types")


def net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(16 * 30 * 30, 10)).eval()


def run(**options: Any) -> opscope.Profile:
    return opscope.predict(net(), torch.zeros(8, 3, 32, 32), hardware="h200", **options)


@pytest.mark.parametrize("mode", ["eager", "graph", "compiled"])
def test_every_row_has_a_time_and_its_interval(mode: str) -> None:
    found = run(mode=mode)
    assert found.prediction.mode == mode
    for rows in ([found.totals], *(getattr(found, name) for name in ROWS)):
        for row in rows:
            if row.predicted_seconds:
                assert row.predicted_p10_seconds < row.predicted_seconds < row.predicted_p90_seconds
    total = found.totals.predicted_seconds
    for name in ("layers", "ops", "types"):
        assert math.isclose(sum(row.predicted_seconds for row in getattr(found, name)), total, rel_tol=1e-9), name
    assert found.modules[0].predicted_seconds == total
    assert {row["predicted_from"] for row in found.ops} <= {"measured", "interpolated", "family", "related device", "roofline", "unknown"}


def test_modes_hosts_and_training() -> None:
    eager, graph, fast = run(), run(mode="graph"), run(host=4)
    assert graph.totals.predicted_seconds < fast.totals.predicted_seconds < eager.totals.predicted_seconds
    step = run(training=True, optimizer="adamw")
    assert step.totals.predicted_seconds > eager.totals.predicted_seconds
    assert [row["phase"] for row in step.prediction.phases] == ["forward", "backward", "optimizer"]


def test_a_device_without_a_calibration_borrows_and_says_so() -> None:
    found = opscope.predict(net(), torch.zeros(8, 3, 32, 32), hardware="rtx-a6000")
    assert any("has no calibration" in note for note in found.prediction.notes)
    assert any("host" in note for note in found.prediction.notes)
    device = opscope.predict(net(), torch.zeros(8, 3, 32, 32), hardware="rtx-a6000", mode="graph")
    assert device.totals.predicted_p90_seconds > 1.3 * device.totals.predicted_seconds


def test_what_is_asked_about_a_gpu_is_captured_as_on_one() -> None:
    assert opscope.predict("resnet18", hardware="l4").prediction is not None
    assert opscope.profile("resnet18").prediction is None


def test_mistakes() -> None:
    x = torch.zeros(8, 3, 32, 32)
    for call, where in (
        (lambda: opscope.predict(net(), x, hardware="h2000"), "hardware"),
        (lambda: opscope.predict(net(), x, hardware="h200", mode="nonsense"), "mode"),
        (lambda: opscope.predict(net(), x, hardware="h200", host="fast"), "host"),
        (lambda: opscope.profile(net(), x, mode="graph"), "mode"),
        (lambda: opscope.fit("resnet18", max_time="20ms"), "max_time"),
        (lambda: opscope.fit("resnet18", hardware="h200", max_time="abc"), "max_time"),
        (lambda: opscope.fit("resnet18", hardware="h200", max_time="0"), "max_time"),
        (lambda: opscope.sweep("resnet18", batch="1,2", metric="predicted"), "metric"),
    ):
        with pytest.raises(opscope.Error) as caught:
            call()
        assert caught.value.where == where
    with pytest.raises(TypeError):
        opscope.predict(net(), x)  # type: ignore[call-arg]


def test_fit_within_a_time() -> None:
    found = opscope.fit("resnet18", hardware="h200", mode="graph", max_time="5ms")
    assert found.limited_by == "time"
    assert found.best is not None and found.next is not None
    assert found.best.predicted_seconds <= 5e-3 < found.next.predicted_seconds
    largest = opscope.predict("resnet18", hardware="h200", mode="graph", batch=found.largest)
    assert math.isclose(largest.totals.predicted_seconds, found.best.predicted_seconds, rel_tol=1e-9)
    tight = opscope.fit("resnet18", hardware="h200", mode="graph", max_time="5ms", memory="300MB")
    assert (tight.limited_by, tight.second_limit["kind"]) == ("memory", "time")


def test_sweep_tells_what_predict_tells() -> None:
    found = json.loads(opscope.sweep("resnet18", batch="1:64", hardware="h200,l4", mode="graph").to_json())
    points = {point["batch"]: point for point in found["points"]}
    assert sum(point["state"] == "fitted" for point in points.values()) > 30
    for batch in (1, 7, 33, 64):
        for device, key in (("h200", "predicted_seconds"), ("l4", "l4.predicted_seconds")):
            one = opscope.predict("resnet18", hardware=device, mode="graph", device="cpu", batch=batch)
            assert math.isclose(one.totals.predicted_seconds, points[batch][key], rel_tol=1e-9), (batch, device)
    assert "device" in {turn["kind"] for turn in found["turning_points"]}


def test_check_compare_and_diff_take_it() -> None:
    kept = opscope.check("resnet18", max={"predicted_seconds": "1s"}, hardware="h200")
    assert kept.kept
    assert not opscope.check("resnet18", max={"predicted_seconds": "1us"}, hardware="h200", mode="graph").kept
    unknown = opscope.check("resnet18", max={"predicted_seconds": "1s"})
    assert not unknown.kept and "--hardware h200" in str(unknown)
    compared = opscope.compare("resnet18", "resnet34", hardware="h200", mode="graph").to_json()
    assert '"predicted_seconds"' in compared
    assert "predicted_seconds" in opscope.diff("resnet18", "resnet34", hardware="h200").to_json()


def test_pages_of_language_models_are_predicted(tmp_path: Path) -> None:
    page = opscope.llm("gpt2", hardware="h200", batch=[1, 8], prompt=64, generate=32, plot=True)
    row = page.devices[0]["batches"][1]
    assert row["first_token_roofline_seconds"] < row["first_token_p10_seconds"] < row["first_token_seconds"]
    assert row["next_token_roofline_seconds"] < row["next_token_seconds"] < row["next_token_p90_seconds"]
    assert math.isclose(row["tokens_per_second"], 8 / row["next_token_seconds"], rel_tol=1e-9)
    eager = opscope.llm("gpt2", hardware="h200", batch=[1], prompt=64, generate=32, mode="eager")
    assert eager.devices[0]["batches"][0]["next_token_seconds"] > row["next_token_seconds"]
    page.plot(tmp_path / "page.svg")
    assert "predicted, graph" in (tmp_path / "page.svg").read_text()


def test_a_drawing_and_a_trace(tmp_path: Path) -> None:
    opscope.capture("resnet18").save(tmp_path / "r.json")
    found = opscope.load(tmp_path / "r.json").profile(hardware="h200")
    assert "predicted" in found.to_json()
