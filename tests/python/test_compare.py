"""opscope.compare: modules, names, graphs, profiles and files side by side, as the command shows them."""

from __future__ import annotations

import json

import pytest
import torch

import opscope
from opscope._load import native


class Net(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem = torch.nn.Linear(8, width)
        self.head = torch.nn.Linear(width, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.stem(x).relu())


X = torch.zeros(3, 8)


def macs(width: int) -> int:
    return 3 * 8 * width + 3 * width * 4


def test_modules_side_by_side() -> None:
    found = opscope.compare(Net(16), Net(64), inputs=X, names=("narrow", "wide"))
    narrow, wide = found.models
    assert [narrow.label, wide.label] == ["narrow", "wide"]
    assert (narrow.macs, wide.macs) == (macs(16), macs(64))
    assert wide.ratio_to_first["macs"] == macs(64) / macs(16)
    assert "flops" in narrow.best and "flops" not in wide.best
    assert found.notes == []
    assert any("wide" in sentence for sentence in found.findings)
    assert "narrow" in str(found) and "*" in str(found)
    assert "Comparison of narrow, wide" in repr(found)
    assert found._repr_html_().startswith('<div class="opscope">')


def test_labels_are_told_apart() -> None:
    found = opscope.compare(Net(16), Net(16), inputs=X)
    assert [row.label for row in found.models] == ["Net", "Net (2)"]


def test_graphs_profiles_and_files(tmp_path) -> None:
    graph = opscope.capture(Net(16), X)
    profile = graph.profile()
    profile.to_json(tmp_path / "saved.json")
    graph.save(tmp_path / "capture.json")
    models = [graph, profile, tmp_path / "capture.json"]
    if hasattr(native, "file_kind"):
        models.append(tmp_path / "saved.json")
    found = opscope.compare(*models)
    for row in found.models:
        assert (row.macs, row.params, row.peak_memory_bytes) == tuple(
            profile.totals[key] for key in ("macs", "params", "peak_memory_bytes")
        )
        assert row.best == []


def test_parts() -> None:
    found = opscope.compare(Net(16), Net(64), inputs=X, names=("narrow", "wide"))
    by_type = {row.name: row for row in found.by_type("macs").rows}
    assert (by_type["linear"]["narrow"], by_type["linear"]["wide"]) == (macs(16), macs(64))
    by_module = {row.name: row for row in found.by_module("params").rows}
    assert by_module["stem"]["wide"] == 8 * 64 + 64
    same = opscope.compare(Net(16), Net(64), inputs=X, names=("narrow", "wide"), by="module", metric="params")
    assert str(same) == str(found.by_module("params"))


def test_hardware_and_formats(tmp_path) -> None:
    found = opscope.compare(Net(16), Net(64), inputs=X, hardware="h100,l4")
    assert found.models[0]["h100-sxm.roofline_seconds"] > 0
    assert found.models[0]["l4.roofline_seconds"] > found.models[0]["h100-sxm.roofline_seconds"]
    assert json.loads(found.to_json()) == found.to_dict()
    assert found.to_csv(tmp_path / "models.csv").count("\n") == 3
    assert found.to_markdown().startswith("# 2 models")
    found.pareto(tmp_path / "pareto.svg", x="flops", y="memory_bytes")
    assert "Bytes moved against FLOPs" in (tmp_path / "pareto.svg").read_text()


@pytest.mark.parametrize(
    ("models", "options", "says"),
    [
        ((Net(4),), {}, "nothing to compare"),
        ((Net(4), Net(8)), {"names": ("one",)}, "1 names for 2 models"),
        ((Net(4), Net(8)), {"hardware": "abacus"}, "abacus"),
        ((Net(4), 3), {}, "is not a model"),
    ],
)
def test_errors(models, options, says) -> None:
    with pytest.raises(opscope.Error, match=says):
        opscope.compare(*models, inputs=X, **options)


def test_error_of_a_part() -> None:
    found = opscope.compare(Net(4), Net(8), inputs=X)
    with pytest.raises(opscope.Error, match="no metric called"):
        print(found.by_type("speed"))
    with pytest.raises(opscope.Error, match="op types have no parameters"):
        print(found.by_type("params"))


def test_a_saved_capture_keeps_its_own_inputs(tmp_path) -> None:
    opscope.capture(Net(16), X).save(tmp_path / "narrow.json")
    found = opscope.compare(tmp_path / "narrow.json", Net(64), inputs=X)
    assert "narrow" in str(found)
