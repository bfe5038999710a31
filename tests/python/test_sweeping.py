"""Sweeps and fits of real models: what polynomials say is what captures say, to the last byte."""

from __future__ import annotations

import pytest
import torch

import opscope
from opscope.engine import torch_version
from opscope.errors import Error

_METRICS = ("params", "macs", "flops", "memory_bytes", "peak_memory_bytes", "attention_flops", "linear_flops",
            "activations_bytes", "workspace_bytes", "compute_bound_share", "ops")  # fmt: skip

# As many tokens as BERT has positions. Torch 2.8 leaves a slice that takes all of them out, and ops must be the same to be fitted.
_WHOLE = [512] if torch_version.RELEASE >= (2, 9) else []


def _same(fitted: opscope.Sweep, captured: opscope.Sweep) -> None:
    assert len(fitted.rows) == len(captured.rows)
    for left, right in zip(fitted.rows, captured.rows, strict=True):
        assert {name: left[name] for name in _METRICS} == {name: right[name] for name in _METRICS}
    assert any(row["state"] == "fitted" for row in fitted.rows)
    assert all(row["state"] == "captured" for row in captured.rows)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("bert-base-uncased", {"batch": [1, 2, 3, 5, 8, 13, 40], "seq_len": [1, 2, 7, 16, 64, 100, 511, *_WHOLE]}),
        ("gpt2", {"batch": [1, 2, 3, 4, 9, 20], "seq_len": [2, 3, 17, 64, 200, 1024]}),
        ("resnet18", {"batch": [1, 2, 3, 4, 8, 33, 64, 100, 128, 200, 256, 300, 511]}),
        ("vit_b_16", {"batch": list(range(1, 60))}),  # the first convolution's workspace: its weights, then its rows
        ("convnext_tiny", {"image_size": list(range(64, 2120, 32))}),
    ],
)
def test_polynomials_equal_captures(name: str, sizes: dict[str, list[int]]) -> None:
    _same(opscope.sweep(name, polynomial=True, **sizes), opscope.sweep(name, polynomial=False, **sizes))


def test_a_point_is_what_profile_says() -> None:
    found = opscope.sweep("resnet18", batch=[1, 4], hardware="l4")
    for row in found.rows:
        alone = opscope.profile("resnet18", batch=row["batch"], hardware="l4").to_dict()
        assert row["flops"] == alone["totals"]["flops"]
        assert row["memory_bytes"] == alone["totals"]["memory_bytes"]
        assert row["roofline_seconds"] == pytest.approx(alone["totals"]["roofline_seconds"], rel=1e-12)


def test_a_step_of_training() -> None:
    sizes = {"batch": list(range(2, 400, 3))}  # a convolution's workspace is its weights' size, from 94 rows on its rows'
    both = [opscope.sweep("resnet18", polynomial=way, training=True, optimizer="adam", **sizes) for way in (True, False)]
    _same(both[0], both[1])
    assert both[1].rows[0]["optimizer_state_bytes"] > 2 * 4 * 11_000_000


def test_windows_that_pad_are_captured() -> None:
    found = opscope.sweep("swin_t", image_size=list(range(64, 900, 32)), polynomial=True)
    assert {row["state"] for row in found.rows} == {"captured"}
    assert found.to_dict()["notes"] == ["image_size 64 to 896: not a polynomial, so every point was captured"]


def test_past_the_positions_are_rows_with_the_reason() -> None:
    rows = opscope.sweep("bert-base-uncased", batch=[1, 2], seq_len=[128, 512, 513, 1024]).rows
    assert [row["state"] for row in rows] == ["captured", "captured", "failed", "failed"] * 2
    assert all(row["problem"] for row in rows if row["state"] == "failed")


def test_a_module_with_inputs_of_ones_own() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    rows = opscope.sweep(model, torch.zeros(3, 8), batch=[1, 5, 10]).rows
    assert [row["macs"] for row in rows] == [32, 160, 320]
    with pytest.raises(Error, match="do not share a first dimension"):
        opscope.sweep(torch.nn.Bilinear(2, 3, 4), (torch.zeros(1, 2), torch.zeros(5, 3)), batch=[1, 2])


def test_nothing_varies() -> None:
    with pytest.raises(Error, match="nothing varies"):
        opscope.sweep("resnet18")


def test_it_prints_as_the_command_line_does() -> None:
    found = opscope.sweep("resnet18", batch="1,2,4,..,16", memory="1GiB")
    text = str(found)
    assert text.startswith("resnet18") and "Crossovers" in text
    header = found.to_csv().splitlines()[0].split(",")
    assert header[:2] == ["batch", "params"] and header.index("macs") < header.index("flops")
    assert found.to_dict()["schema_version"] == 1
    assert "points" in repr(found)


def test_the_largest_batch_that_fits() -> None:
    found = opscope.fit("resnet18", memory="2GiB")
    assert found.limited_by == "memory"
    report = found.to_dict()
    assert report["best"]["needed_bytes"] <= 2 << 30 < report["next"]["needed_bytes"]
    assert report["best"]["reserved_bytes"] > 0 and report["reserve"] == "default"
    assert report["grows"] == "activations" and report["growth_bytes"] > 0
    assert report["next"]["value"] == found.largest + 1
    peak = opscope.sweep("resnet18", batch=[found.largest]).rows[0]["peak_memory_bytes"]
    assert peak == report["best"]["peak_memory_bytes"]


def test_fits_that_end_elsewhere() -> None:
    assert opscope.fit("bert-base-uncased", memory="64GiB", variable="seq_len").largest == 512
    assert opscope.fit("bert-base-uncased", memory="64GiB", variable="seq_len").limited_by == "model"
    positions = opscope.fit("gpt2", memory="330MB", variable="seq_len", batch=1, dtype="bfloat16").to_dict()
    assert positions["limited_by"] == "memory"
    assert positions["second_limit"] == {"kind": "positions", "at": 1024}
    memory = opscope.fit("bert-base-uncased", memory="1GiB", variable="seq_len").to_dict()["second_limit"]
    assert memory["kind"] == "memory" and memory["at"] > 512
    nothing = opscope.fit("resnet18", memory="1MB")
    assert nothing.largest is None and nothing.limited_by == "nothing"
    trained = opscope.fit("resnet18", memory="2GiB", training=True, optimizer="adam").largest
    assert trained is not None and trained < opscope.fit("resnet18", memory="2GiB").largest
