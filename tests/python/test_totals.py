"""Every view is a grouping of the same ops: they all have the same total, in every format."""

from __future__ import annotations

import csv
import io

import pytest
import torch

import opscope
import reference_models as reference

ADDITIVE = (
    "macs other_flops specials flops input_bytes output_bytes weight_bytes memory_bytes".split()
)
NAMES = "resnet18 mobilenet_v3_small vit_b_16 swin_t densenet121 fcn_resnet50 r3d_18 lraspp_mobilenet_v3_large".split()


def check(result: opscope.Profile) -> None:
    totals = result.totals
    rows = list(csv.DictReader(io.StringIO(result.to_csv())))
    frame = result.to_pandas("ops")
    for key in ADDITIVE:
        expected = totals[key]
        assert sum(row[key] for row in result.ops) == expected, f"ops: {key}"
        assert sum(row[key] for row in result.layers) == expected, f"layers: {key}"
        assert sum(row[key] for row in result.types) == expected, f"types: {key}"
        assert result.modules[0][key] == expected, f"root module: {key}"
        assert sum(int(row[key]) for row in rows) == expected, f"csv: {key}"
        assert int(frame[key].sum()) == expected, f"pandas: {key}"
    assert sum(row.ops for row in result.layers) == sum(row.ops for row in result.types) == totals.ops
    assert totals.memory_bytes == totals.input_bytes + totals.output_bytes + totals.weight_bytes
    assert totals.layers == len(result.layers) == len(rows) and totals.ops == len(result.ops)
    check_tree(result)


def check_tree(result: opscope.Profile) -> None:
    """A module's own ops and its children's rows add up to its row."""
    own: dict[str, dict[str, int]] = {row.path: dict.fromkeys(ADDITIVE, 0) for row in result.modules}
    for op in result.ops:
        for key in ADDITIVE:
            own[op.module][key] += op[key]
    for row in result.modules:
        inside = [path for path in own if path == row.path or path.startswith(f"{row.path}.") or not row.path]
        for key in ADDITIVE:
            assert sum(own[path][key] for path in inside) == row[key], f"{row.path}: {key}"


@pytest.mark.parametrize("name", NAMES)
def test_torchvision(name: str) -> None:
    check(opscope.profile(name))


@pytest.mark.parametrize("convention", ["macs", "torch", "fvcore"])
def test_conventions(convention: str) -> None:
    check(opscope.profile("resnet18", convention=convention))


def test_tokens() -> None:
    check(opscope.profile(reference.bert(2), {"input_ids": torch.zeros(1, 32, dtype=torch.long)}))


@pytest.mark.slow
@pytest.mark.parametrize("name", opscope.list_models())
def test_every_named_model(name: str) -> None:
    check(opscope.profile(name))
