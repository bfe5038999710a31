"""Profiles and graphs travel between processes: pickled, copied, made again elsewhere."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from typing import Any

import pytest
import torch

import opscope
from small_models import ConvNet

IMAGE = torch.rand(2, 3, 8, 8)


def travelled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("again", [travelled, copy.copy, copy.deepcopy], ids=["pickle", "copy", "deepcopy"])
@pytest.mark.parametrize("options", [{}, {"convention": "macs"}, {"hardware": "h200", "ridge": 3.0}], ids=str)
def test_a_profile_is_the_same(again: Any, options: dict[str, Any]) -> None:
    profile = opscope.profile(ConvNet(), IMAGE, **options)
    other = again(profile)
    assert other is not profile and other.to_json() == profile.to_json()
    assert str(other) == str(profile) and other.totals.flops == profile.totals.flops
    assert [dict(row) for row in other.layers] == [dict(row) for row in profile.layers]


def test_rows_and_totals() -> None:
    profile = opscope.profile(ConvNet(), IMAGE)
    assert dict(travelled(profile.layers[0])) == dict(profile.layers[0])
    assert travelled(profile.totals).macs == profile.totals.macs


def test_a_training_capture_is_the_same() -> None:
    graph = opscope.capture(ConvNet(), IMAGE, training=True, source_lines=True)
    other = travelled(graph)
    assert other.to_json() == graph.to_json()
    assert other.profile().to_json() == graph.profile().to_json()
    assert copy.deepcopy(graph).to_json() == graph.to_json()


def test_a_tracers_graph_is_the_same() -> None:
    graph = opscope.trace(ConvNet().eval(), IMAGE, tracer="fx")
    other = travelled(graph)
    assert other.tracer == "fx" and [dict(node) for node in other.nodes] == [dict(node) for node in graph.nodes]


def macs_of(profile: opscope.Profile) -> int:
    return int(profile.totals.macs)


def test_another_process_reads_it() -> None:
    profile = opscope.profile(ConvNet(), IMAGE)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(macs_of, [profile]) == [profile.totals.macs]
