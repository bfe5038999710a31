"""Captures of models whose weights are on a GPU. Run by `make test-cuda`, on a machine that has one."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn

from opscope.engine import abstract_run, torchvision_ops

torchvision_ops.prepare()
import torchvision  # noqa: E402


def graph_of(model, *args, **options):
    return json.loads(abstract_run.capture(model, args, {}, tracer="static", name="model", **options).to_json())


def ops_of(graph):
    return [op["op"].removeprefix("aten::") for op in graph["ops"]]


@pytest.mark.parametrize(("name", "ops"), [("resnet18", 69), ("vit_b_16", 274), ("swin_t", 782)])
def test_capture_takes_no_device_memory(name, ops):
    model = torchvision.models.get_model(name, weights=None).eval().cuda()
    x = torch.randn(1, 3, 224, 224, device="cuda")
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    graph = graph_of(model, x)
    assert torch.cuda.max_memory_allocated() == before
    assert len(graph["ops"]) == ops
    assert {graph["values"][i]["device"] for i in graph["inputs"] + graph["outputs"]} == {"cuda:0"}


def test_ids_and_masks_on_the_gpu_stay_known():
    class Embedded(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(100, 8)
            self.register_buffer("positions", torch.arange(16))

        def forward(self, ids, mask):
            assert ids.device.type == "cuda"
            limit = int(mask.sum())
            rows = self.table(ids) + self.table(self.positions[: ids.shape[1]])
            return rows[:, :limit] * torch.ones(limit, 8, device=ids.device)

    model = Embedded().cuda()
    graph = graph_of(model, torch.arange(8, device="cuda")[None], torch.tensor([1, 1, 1, 0], device="cuda"))
    assert graph["values"][graph["outputs"][0]]["shape"] == [1, 3, 8]


def test_autocast_on_the_gpu():
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)).cuda()

    class Cast(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = model

        def forward(self, x):
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return self.inner[0](x), self.inner(x)

    graph = graph_of(Cast(), torch.randn(2, 8, device="cuda"))
    assert [graph["values"][i]["dtype"] for i in graph["outputs"]] == ["bfloat16", "float32"]


def test_random_state_and_weights_are_left_alone():
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout()).cuda().train()
    x = torch.randn(2, 8, device="cuda")
    state, weights = torch.cuda.get_rng_state(), [p.clone() for p in model.parameters()]
    for tracer in ("static", "eager"):
        abstract_run.capture(model, (x,), {}, tracer=tracer)
        assert torch.equal(state, torch.cuda.get_rng_state())
        assert all(torch.equal(a, b) for a, b in zip(weights, model.parameters(), strict=True))


def test_a_real_run_on_the_gpu():
    graph = abstract_run.capture(nn.Linear(8, 4).cuda(), (torch.randn(2, 8, device="cuda"),), {}, tracer="eager")
    assert ops_of(json.loads(graph.to_json())) == ["linear"]


def test_the_gpu_works_as_before():
    model = nn.Linear(8, 4).cuda()
    x = torch.randn(2, 8, device="cuda")
    expected = model(x)
    graph_of(model, x)
    assert torch.equal(model(x), expected)
    assert torch.isfinite(torch.compile(model, backend="eager")(x)).all()
