"""FusionPartitioner and GraphPartitioner: the core's subgraphs, from whatever can be profiled."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

import opscope
from opscope import FusionPartitioner, GraphPartitioner
from opscope.dynamo import trace_model_with_dynamo

X = torch.zeros(1, 3, 16, 16)


def conv_net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3)).eval()


def test_fused_is_fewer_than_layers() -> None:
    fused, layers = FusionPartitioner().partition(conv_net(), X), GraphPartitioner().partition(conv_net(), X)
    assert (fused.strategy, layers.strategy) == ("fused", "layer")
    assert (fused.total_subgraphs, layers.total_subgraphs) == (2, 4)
    assert fused.unfused_bytes == layers.unfused_bytes == layers.fused_bytes
    assert fused.fused_bytes < fused.unfused_bytes
    assert fused.saved_bytes == fused.unfused_bytes - fused.fused_bytes


def test_subgraphs_are_the_cores() -> None:
    report = FusionPartitioner().partition(conv_net(), X)
    assert len(report) == len(report.subgraphs) == 2
    assert sorted(op for row in report.subgraphs for op in row.ops) == [0, 1, 2, 3]
    assert sum(row.macs for row in report.subgraphs) == report.profile.totals.macs
    assert report.subgraph_of(2) == report.subgraphs[0] and report.subgraph_of(99) is None
    assert report.subgraphs[1].depends_on == [1]
    assert report.missed and report.missed[0].why == "anchor"


def test_the_text_is_what_the_program_prints() -> None:
    report = FusionPartitioner().partition(conv_net(), X, name="net")
    assert str(report) == report.to_text() and "net" in report.to_text()
    assert json.loads(report.to_json()) == report.to_dict()
    assert "2 subgraphs from 4 ops" in repr(report)


def test_descriptors_have_the_same_numbers() -> None:
    report = FusionPartitioner().partition(conv_net(), X)
    first = report.descriptors[0]
    assert first.macs == report.subgraphs[0].macs and first.bytes == report.subgraphs[0].memory_bytes
    assert [name.rpartition("::")[2] for name in first.operations] == ["conv2d", "batch_norm", "relu"]


def test_whatever_can_be_profiled_can_be_partitioned() -> None:
    model = conv_net()
    whole = FusionPartitioner().partition(model, X).total_subgraphs
    assert FusionPartitioner().partition(opscope.capture(model, X)).total_subgraphs == whole
    assert FusionPartitioner().partition(torch.fx.symbolic_trace(model), X).total_subgraphs == whole
    assert FusionPartitioner().partition(trace_model_with_dynamo(model, X)).total_subgraphs == whole


def test_each_op_by_itself() -> None:
    report = FusionPartitioner("none").partition(conv_net(), X)
    assert report.total_subgraphs == 4 and report.saved_bytes == 0


def test_what_does_not_fit_is_not_fused() -> None:
    limited = FusionPartitioner(fast_memory=1).partition(conv_net(), X)
    assert limited.total_subgraphs == 4
    assert any(row.why == "size_limit" for row in limited.missed)


@pytest.mark.parametrize("size", [0, -1, "256KiB", 1.5])
def test_wrong_sizes_are_refused(size: object) -> None:
    with pytest.raises(opscope.Error, match="number of bytes"):
        FusionPartitioner(fast_memory=size)  # type: ignore[arg-type]


def test_wrong_strategies_are_refused() -> None:
    with pytest.raises(opscope.Error, match="fusd"):
        FusionPartitioner("fusd").partition(conv_net(), X)
