"""Ops replayed alone on a GPU. Run by `make test-cuda`, on a machine that has one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from opscope._load import native
from opscope.engine import torchvision_ops
from opscope.engine.abstract_run import capture
from opscope.engine.training import Training

torchvision_ops.prepare()
import torchvision  # noqa: E402


def repeated(graph):
    return native.repeat_ops(graph, store="", cache_bytes=50 << 20, min_seconds=0.0)


@pytest.mark.parametrize("name", ["resnet18", "vit_b_16"])
@pytest.mark.parametrize("training", [None, Training("sgd"), Training("adam")], ids=["forward", "sgd", "adam"])
def test_ops_are_replayed_without_gaps(name, training):
    model = torchvision.models.get_model(name, weights=None).eval().cuda()
    graph = capture(model, (torch.rand(4, 3, 224, 224, device="cuda"),), {}, tracer="eager", training=training)
    counts = repeated(graph)
    assert counts["failed"] == 0, counts["not_replayed"]
    assert counts["waited"] == 0
    assert counts["measured"] == counts["signatures"]


class Indexes(nn.Module):
    """A wrong index would end the whole process's use of the device."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(3, 8)

    def forward(self, ids):
        rows = self.embedding(ids)
        target = ids.reshape(-1) % 8
        loss = nn.functional.cross_entropy(rows.reshape(-1, 8), target)
        probabilities = rows.sigmoid()
        return loss, torch.bernoulli(probabilities), rows.gather(2, ids[..., None]), rows[:, ids[0] % 2]


def test_made_up_data_is_what_ops_accept():
    model = Indexes().cuda()
    graph = capture(model, (torch.tensor([[0, 1, 2], [2, 1, 0]], device="cuda"),), {}, tracer="eager")
    state = torch.cuda.get_rng_state()
    counts = repeated(graph)
    torch.cuda.synchronize()
    assert counts["failed"] == 0, counts["not_replayed"]
    assert torch.equal(torch.cuda.get_rng_state(), state)


def test_host_and_device_copies():
    graph = capture(lambda x: x.cpu().cuda() + 1, (torch.rand(1 << 20, device="cuda"),), {}, tracer="eager")
    counts = repeated(graph)
    assert counts["failed"] == 0, counts["not_replayed"]
