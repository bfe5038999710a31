"""opscope.profile and what it returns."""

from __future__ import annotations

import copy
import csv
import io
import json
import pickle
from pathlib import Path

import pandas
import pytest
import torch
from torch import nn

import opscope
from small_models import ConvNet, SharedBranches, TiedWeights


@pytest.fixture(scope="module")
def convnet() -> opscope.Profile:
    return opscope.profile(ConvNet().eval(), input_shape=(2, 3, 5, 5), name="convnet")


def test_totals_by_hand(convnet: opscope.Profile) -> None:
    conv, fc = 2 * 8 * 5 * 5 * 3 * 3 * 3, 2 * 8 * 4
    assert convnet.totals.macs == conv + fc
    assert convnet.totals["macs"] == convnet.totals.macs
    assert convnet.totals.params == 3 * 3 * 3 * 8 + 8 + 8 + 8 + 8 * 4 + 4
    assert convnet.totals.flops == 2 * convnet.totals.macs + convnet.totals.other_flops + convnet.totals.specials
    assert convnet.coverage.unknown == 0


@pytest.mark.parametrize(
    ("model", "shape", "macs", "params"),
    [
        (nn.Linear(8, 4), (5, 8), 5 * 8 * 4, 8 * 4 + 4),
        (nn.Conv2d(1, 1, 3, padding=1), (1, 1, 3, 3), 81, 10),  # padded taps are counted
        (SharedBranches(), (1, 10), 2 * 10 * 10, 110),
    ],
)
def test_checkable_by_hand(model: nn.Module, shape: tuple[int, ...], macs: int, params: int) -> None:
    totals = opscope.profile(model, input_shape=shape).totals
    assert (totals.macs, totals.params) == (macs, params)


def test_attention_by_hand() -> None:
    q = torch.zeros(1, 12, 64, 64)
    attend = nn.functional.scaled_dot_product_attention
    assert opscope.profile(attend, (q, q, q), convention="torch").totals.flops == 12_582_912


def test_tied_weights_count_once() -> None:
    totals = opscope.profile(TiedWeights(), torch.zeros(1, 7, dtype=torch.long)).totals
    assert (totals.params, totals.macs) == (50 * 16, 7 * 16 * 50)


def test_a_module_called_twice_has_one_row_and_two_calls() -> None:
    row = opscope.profile(SharedBranches(), input_shape=(1, 10)).by_module()["shared"]
    assert (row.calls, row.macs, row.params) == (2, 200, 110)


def test_views_and_their_keys(convnet: opscope.Profile) -> None:
    assert list(convnet.by_module()) == ["", "conv", "bn", "relu", "fc"]
    assert convnet.by_module()["conv"].type == "Conv2d"
    assert {"conv2d", "linear", "mean"} <= set(convnet.by_type())
    assert [layer.type for layer in convnet.layers][:1] == ["conv2d"]
    assert convnet.model == "convnet"
    assert convnet.capture.tracer == "static" and convnet.capture.ops == len(convnet.ops)


def test_rows_are_mappings_with_attributes(convnet: opscope.Profile) -> None:
    row = convnet.layers[0]
    assert dict(row)["name"] == row.name == row["name"] == "conv"
    assert "macs=" in repr(row) and "name" in dir(row)
    with pytest.raises(AttributeError, match="no 'flop' here"):
        row.flop  # noqa: B018


def test_json_has_the_documented_keys(convnet: opscope.Profile) -> None:
    data = convnet.to_dict()
    assert data == json.loads(convnet.to_json())
    assert {"schema_version", "model", "total_flops", "total_memory", "totals", "inputs", "capture"} <= set(data)
    assert {"coverage", "modules", "layers", "ops", "diagnostics"} <= set(data)
    assert {"name", "type", "flops", "memory", "arithmetic_intensity", "bottleneck"} <= set(data["layers"][0])
    assert (data["total_flops"], data["total_memory"]) == (convnet.totals.flops, convnet.totals.memory_bytes)


def test_files_are_written_whole(convnet: opscope.Profile, tmp_path: Path) -> None:
    for write, name in ((convnet.to_json, "p.json"), (convnet.to_csv, "p.csv"), (convnet.to_markdown, "p.md")):
        text = write(tmp_path / name)
        assert (tmp_path / name).read_text() == text == write()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.csv", "p.json", "p.md"]
    with pytest.raises(FileNotFoundError):
        convnet.to_json(tmp_path / "missing" / "p.json")


def test_csv_is_the_layers(convnet: opscope.Profile) -> None:
    rows = list(csv.DictReader(io.StringIO(convnet.to_csv())))
    assert [row["name"] for row in rows] == [layer.name for layer in convnet.layers]
    assert sum(int(row["flops"]) for row in rows) == convnet.totals.flops


@pytest.mark.parametrize("view", ["layers", "modules", "ops", "types"])
def test_pandas(convnet: opscope.Profile, view: str) -> None:
    frame = convnet.to_pandas(view)
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(getattr(convnet, view))
    with pytest.raises(ValueError, match="no view called 'rows'"):
        convnet.to_pandas("rows")


def test_pandas_columns_are_what_the_rows_are() -> None:
    found = opscope.measure(ConvNet().eval(), input_shape=(2, 3, 5, 5), runs=2)
    for profile in (found, opscope.trace(ConvNet().eval(), input_shape=(2, 3, 5, 5), tracer="fx").profile(hardware="h100-sxm")):
        for view in ("layers", "modules", "ops", "types"):
            rows = [dict(row) for row in getattr(profile, view)]
            pandas.testing.assert_frame_equal(profile.to_pandas(view), pandas.DataFrame(rows))


def test_totals_are_read_one_by_one_and_as_a_row(convnet: opscope.Profile) -> None:
    totals, written = convnet.totals, convnet.to_dict()["totals"]
    assert {key: totals[key] for key in written} == dict(totals) == written
    assert list(totals) == list(totals.keys()) == list(written) and "flops" in totals and "flop" not in totals
    assert pickle.loads(pickle.dumps(totals)) == totals == copy.deepcopy(totals)
    with pytest.raises(AttributeError, match="no 'flop' here: there is params"):
        totals.flop  # noqa: B018
    with pytest.raises(KeyError):
        totals["flop"]


def test_views_may_be_changed_by_who_asked(convnet: opscope.Profile) -> None:
    convnet.layers.clear()
    assert len(convnet.layers) == len(convnet.to_dict()["layers"])


def test_text(convnet: opscope.Profile) -> None:
    assert str(convnet) == convnet.table() and "conv" in str(convnet)
    assert all(len(line) <= 100 for line in str(convnet).splitlines())
    assert "2x8x5x5" in convnet.table(show_shapes=True)
    assert "\033[" not in str(convnet) and "\033[" in convnet.table(color=True)
    assert repr(convnet).startswith("<opscope.Profile of convnet: params=")
    assert "<table" in convnet._repr_html_()


def test_explain_puts_the_values_in(convnet: opscope.Profile) -> None:
    text = convnet.explain("conv")
    assert "aten::conv2d" in text and text == opscope.explain(ConvNet().eval(), "conv", input_shape=(2, 3, 5, 5))
    with pytest.raises(opscope.Error):
        convnet.explain("no such node")


def test_conventions() -> None:
    flops = {
        convention: opscope.profile(nn.Linear(8, 4), input_shape=(5, 8), convention=convention).totals.flops
        for convention in ("opscope", "macs", "torch", "fvcore")
    }
    assert flops == {"opscope": 2 * 160 + 20, "macs": 160, "torch": 320, "fvcore": 160}
    with pytest.raises(opscope.Error, match="convention"):
        opscope.profile(nn.Linear(8, 4), input_shape=(5, 8), convention="fast")


def test_profile_model_prints_three_sections(capsys: pytest.CaptureFixture[str]) -> None:
    result = opscope.profile_model(ConvNet(), input_shape=(1, 3, 8, 8), model_name="mine", show_shapes=True)
    printed = capsys.readouterr().out
    assert isinstance(result, opscope.Profile) and result.model == "mine"
    assert "1x8x8x8" in printed and "conv" in printed
    opscope.show_table("resnet18")
    assert "resnet18" in capsys.readouterr().out


def test_saved_captures_profile_the_same(tmp_path: Path) -> None:
    captured = opscope.capture(ConvNet().eval(), input_shape=(1, 3, 8, 8))
    captured.save(tmp_path / "convnet.json")
    again = opscope.load(tmp_path / "convnet.json")
    assert again.to_json() == captured.to_json()
    assert again.profile().to_json() == captured.profile().to_json()
    assert opscope.profile(str(tmp_path / "convnet.json")).totals.macs == captured.profile().totals.macs
    with pytest.raises(opscope.Error):
        captured.save(tmp_path / "missing" / "convnet.json")


def test_two_captures_are_the_same_bytes() -> None:
    def text() -> str:
        data = opscope.profile("mobilenet_v2").to_dict()
        data["capture"].pop("seconds")
        return json.dumps(data)

    assert text() == text()


def test_a_callable_is_a_model_too() -> None:
    result = opscope.profile(lambda x: x @ x, torch.zeros(6, 6))
    assert result.totals.macs == 6 * 6 * 6 and result.totals.params == 0


def test_a_saved_capture_takes_no_inputs(tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    opscope.capture(ConvNet(), input_shape=(2, 3, 5, 5)).save(path)
    with pytest.raises(opscope.Error, match="cannot be changed"):
        opscope.profile(path, batch=2)
    with pytest.raises(opscope.Error, match="cannot read the file"):
        opscope.profile(tmp_path / "missing.json")
    profile = tmp_path / "profile.json"
    opscope.profile(path).to_json(profile)
    with pytest.raises(opscope.Error):
        opscope.profile(profile)


def test_what_is_not_a_model() -> None:
    with pytest.raises(opscope.Error, match="3 is not a model"):
        opscope.profile(3, torch.zeros(1))


def test_a_path_that_cannot_be_written(convnet: opscope.Profile, tmp_path: Path) -> None:
    path = tmp_path / "no" / "folder.csv"
    with pytest.raises(FileNotFoundError) as caught:
        convnet.to_csv(path)
    assert caught.value.filename == str(path)
