"""DistributedDataParallel and fully_shard: captured in one process, and the next real step works as if nothing had been."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import opscope

X = torch.rand(4, 6)


@pytest.fixture(autouse=True)
def group(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def plain() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def sharded() -> nn.Module:
    model: Any = plain()
    fully_shard(model[0])
    fully_shard(model)
    return model  # type: ignore[no-any-return]


WRAPPED = {
    "ddp": lambda: DistributedDataParallel(plain()),
    "ddp, static graph": lambda: DistributedDataParallel(plain(), static_graph=True),
    "ddp, unused": lambda: DistributedDataParallel(plain(), find_unused_parameters=True),
    "ddp, views": lambda: DistributedDataParallel(plain(), gradient_as_bucket_view=True),
    "fully_shard": sharded,
}


def train(model: nn.Module, steps: int) -> list[float]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(X).pow(2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("tracer", ["static", "eager"])
@pytest.mark.parametrize("kind", WRAPPED)
def test_a_step_costs_what_the_plain_model_costs(kind: str, tracer: str) -> None:
    alone = opscope.profile(plain(), X, training=True, optimizer="adam")
    profile = opscope.profile(WRAPPED[kind](), X, training=True, optimizer="adam", tracer=tracer)
    for number in ("params", "macs", "flops", "memory_bytes"):
        assert profile.totals[number] == alone.totals[number], number
    assert profile.memory.peak_memory_bytes == alone.memory.peak_memory_bytes or tracer == "eager"
    assert any("is not counted" in note.message for note in profile.diagnostics)


@pytest.mark.parametrize("kind", WRAPPED)
def test_training_goes_on_as_if_nothing_had_been(kind: str) -> None:
    expected = train(WRAPPED[kind](), 4)
    model: Any = WRAPPED[kind]()
    opscope.profile(model, X, training=True)
    opscope.profile(model, X)
    assert all(p.grad is None for p in model.parameters())
    first = train(model, 2)
    grads = [p.grad for p in model.parameters()]
    opscope.profile(model, X, training=True, tracer="eager")
    opscope.profile(model, X, training=True)
    assert all(p.grad is grad for p, grad in zip(model.parameters(), grads, strict=True))
    losses = first + train(model, 2)
    assert losses[:2] == expected[:2]
    assert all(value == value for value in losses)


def test_a_capture_between_forward_and_backward() -> None:
    model, other = WRAPPED["ddp"](), WRAPPED["ddp"]()
    loss = model(X).pow(2).mean()
    opscope.profile(model, X, training=True)
    loss.backward()
    other(X).pow(2).mean().backward()
    for ours, theirs in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(ours.grad, theirs.grad)


@pytest.mark.parametrize("kind", WRAPPED)
def test_nothing_of_it_is_changed(kind: str) -> None:
    model = WRAPPED[kind]()
    before = {name: (id(p), p._version, p.grad, p.requires_grad) for name, p in model.named_parameters()}
    buffers = {name: b.clone() for name, b in model.named_buffers()}
    attributes = [(id(m), sorted(map(str, vars(m))), len(m._forward_hooks), len(m._forward_pre_hooks), m.training) for m in model.modules()]
    opscope.profile(model, X, training=True)
    assert {name: (id(p), p._version, p.grad, p.requires_grad) for name, p in model.named_parameters()} == before
    assert all(torch.equal(b, buffers[name]) for name, b in model.named_buffers())
    assert [(id(m), sorted(map(str, vars(m))), len(m._forward_hooks), len(m._forward_pre_hooks), m.training) for m in model.modules()] == attributes


def test_modules_keep_their_paths() -> None:
    paths = list(opscope.profile(WRAPPED["ddp"](), X).by_module())
    assert paths == ["", "module", *(f"module.{index}" for index in range(4))]
    rows = opscope.profile(sharded(), X).by_module()
    assert list(rows) == ["", "0", "1", "2", "3"] and rows["0"].type == "Linear" and rows["0"].params == 6 * 8 + 8


def test_a_function_around_it() -> None:
    model = WRAPPED["ddp"]()
    profile = opscope.profile(lambda x: model(x).sum(), X, training=True)
    assert profile.totals.params == opscope.profile(plain(), X).totals.params
    train(model, 1)


def _work(rank: int, folder: str, answers: Any) -> None:
    """Only the first process captures: it must not wait for the other."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/pair", rank=rank, world_size=2)
    found: dict[str, Any] = {}
    for kind in ("ddp", "fully_shard"):
        model = WRAPPED[kind]()
        if rank == 0:
            step = opscope.profile(model, X, training=True)
            found[kind] = (step.totals.params, step.totals.macs, step.coverage.unknown)
        dist.barrier()
        train(model, 2)
        found[f"{kind} weights"] = [p.tolist() for p in model.parameters()] if kind == "ddp" else []
    answers.put((rank, found))
    dist.barrier()
    dist.destroy_process_group()


def test_one_of_two_processes(tmp_path: Path) -> None:
    alone = opscope.profile(plain(), X, training=True)
    context = torch.multiprocessing.get_context("spawn")
    answers = context.Queue()
    workers = [context.Process(target=_work, args=(rank, str(tmp_path), answers)) for rank in range(2)]
    for worker in workers:
        worker.start()
    found = dict(answers.get(timeout=240) for _ in workers)
    for worker in workers:
        worker.join(60)
    expected = (alone.totals.params, alone.totals.macs, 0)
    assert found[0]["ddp"] == found[0]["fully_shard"] == expected
    assert found[0]["ddp weights"] == found[1]["ddp weights"]
