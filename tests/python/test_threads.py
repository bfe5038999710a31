"""Threads that a model starts: their ops are the capture's, under the module that started them."""

from __future__ import annotations

import _thread
import concurrent.futures
import json
import queue
import threading
from collections.abc import Callable
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest
import torch
import tqdm
from torch import nn

import opscope

X = torch.randn(2, 8)
BEFORE = concurrent.futures.ThreadPoolExecutor(1)
BEFORE.submit(int).result()  # its worker is there before any capture


def by_thread(function: Callable[[], Any]) -> Any:
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append(function()))
    thread.start()
    thread.join()
    return got[0]


def by_bare_thread(function: Callable[[], Any]) -> Any:
    got: queue.Queue[Any] = queue.Queue()
    _thread.start_new_thread(lambda: got.put(function()), ())
    return got.get(timeout=60)


def by_new_executor(function: Callable[[], Any]) -> Any:
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        return executor.submit(function).result()


def by_pool(function: Callable[[], Any]) -> Any:
    with ThreadPool(1) as pool:
        return pool.apply(function)


WAYS = [by_thread, by_bare_thread, by_new_executor, lambda function: BEFORE.submit(function).result(), by_pool]


class Branch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(x).relu())


class Forks(nn.Module):
    def __init__(self, way: Callable[[Callable[[], Any]], Any]) -> None:
        super().__init__()
        self.first, self.branch, self.way = nn.Linear(8, 8), Branch(), way

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return self.way(lambda: self.branch(x)) + x


class Straight(Forks):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        return self.branch(x) + x


def ops_by_module(graph: opscope.Graph) -> list[tuple[str, str]]:
    data = json.loads(graph.to_json())
    paths = [data["modules"][scope["module"]]["path"] for scope in data["scopes"]]
    return [(op["op"], paths[op["scope"]]) for op in data["ops"]]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("tracer", ["static", "eager"])
@pytest.mark.parametrize("training", [False, True])
def test_a_thread_is_part_of_the_capture(way: Any, tracer: str, training: bool) -> None:
    options: dict[str, Any] = {"tracer": tracer, "training": training}
    forked = opscope.capture(Forks(way), X, **options)
    straight = opscope.capture(Straight(way), X, **options)
    # autograd orders a backward pass by numbers that each thread counts for itself
    assert sorted(ops_by_module(forked)) == sorted(ops_by_module(straight))
    assert {row.confidence for row in forked.profile().layers} == {"exact"}


def test_a_measured_run_has_the_ops_of_its_threads() -> None:
    profile = opscope.measure(Forks(by_thread), X, runs=2, warmup=1)
    times = {row.name: row for row in profile.modules}
    assert {"branch", "branch.a", "branch.b"} <= {row.path for row in profile.modules}, times


def test_many_threads_at_once() -> None:
    class Many(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branches = nn.ModuleList(Branch() for _ in range(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            def many(branch: nn.Module) -> torch.Tensor:
                y = x
                for _ in range(30):
                    y = branch(y) + torch.arange(8).sum()
                return y

            with concurrent.futures.ThreadPoolExecutor(8) as executor:
                return sum(executor.map(many, self.branches))  # type: ignore[return-value]

    for tracer in ("static", "eager"):
        ops = ops_by_module(opscope.capture(Many(), X, tracer=tracer, source_lines=True))
        for index in range(8):
            assert sum(path == f"branches.{index}.a" for _, path in ops) == 30


def test_a_thread_that_needs_values_stops_a_static_capture() -> None:
    class Looks(Forks):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            thread = threading.Thread(target=lambda: float(self.branch(x).sum()))
            thread.start()
            thread.join()
            return x

    with pytest.raises(opscope.Error, match="needs values"):
        opscope.capture(Looks(by_thread), X, tracer="static")
    assert opscope.capture(Looks(by_thread), X).tracer == "eager"


def test_a_thread_that_is_left_behind_is_said() -> None:
    go_on = threading.Event()

    class Leaves(Forks):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.way(lambda: (go_on.wait(60), self.branch(x)))
            return self.first(x)

    threads: list[threading.Thread] = []

    def leave(function: Callable[[], Any]) -> None:
        threads.append(threading.Thread(target=function))
        threads[-1].start()

    model = Leaves(leave)
    profile = opscope.profile(model, X, tracer="eager")
    go_on.set()
    assert model(X).shape == X.shape  # as without a capture
    for thread in threads:
        thread.join()
    assert profile.totals["confidence"] == "unknown"
    assert any(note["kind"] == "stray" for note in profile.diagnostics)


def test_the_thread_of_progress_bars_is_no_part_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shows(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in tqdm.tqdm(range(3), disable=True):
                x = x + 1
            return x

    monkeypatch.setattr(tqdm.tqdm, "monitor", None)
    profile = opscope.profile(Shows(), X)
    tqdm.tqdm.monitor.exit()
    assert (profile.totals["ops"], profile.totals["confidence"]) == (3, "exact")


def test_a_thread_that_nobody_told_of_is_counted_and_said() -> None:
    tasks: queue.Queue[Any] = queue.Queue()
    results: queue.Queue[Any] = queue.Queue()

    def work() -> None:
        while task := tasks.get():
            results.put(task())

    worker = threading.Thread(target=work)
    worker.start()

    def by_worker(function: Callable[[], Any]) -> Any:
        tasks.put(function)
        return results.get(timeout=60)

    try:
        profile = opscope.profile(Forks(by_worker), X, tracer="static")
    finally:
        tasks.put(None)
        worker.join()
    straight = opscope.profile(Straight(by_worker), X)
    assert profile.totals["macs"] == straight.totals["macs"]
    assert profile.totals["confidence"] == "estimated"
    assert any(note["kind"] == "stray" for note in profile.diagnostics)


def test_threads_are_as_they_were_after_a_capture() -> None:
    before = threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit, _thread.start_new_thread
    opscope.capture(Forks(by_thread), X)
    assert before == (threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit, _thread.start_new_thread)
    assert by_thread(lambda: (torch.is_grad_enabled(), (X + 1).shape)) == (True, X.shape)
    assert BEFORE.submit(lambda: torch.ones(2).sum().item()).result() == 2
