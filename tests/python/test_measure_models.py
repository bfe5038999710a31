"""opscope.measure of models that change what they are given, that meet other tools, and that are no plain modules."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo import eval_frame

import opscope
from opscope._load import native
from test_measure import QUICK, samples_of


def has_all_samples(profile: opscope.Profile) -> bool:
    return None not in samples_of(profile)["host_ns"]


# --- what runs find


class Counts(nn.Module):
    """Writes to the tokens that it is given, as a step of a generation does."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(2, 3)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens.add_(1)
        return self.table(tokens)


def test_each_run_finds_its_inputs_as_the_first_did() -> None:
    tokens = torch.zeros(3, dtype=torch.long)
    opscope.measure(Counts(), tokens, **QUICK)  # a second step would be out of the table
    assert tokens.tolist() == [0, 0, 0]


class WritesLater(nn.Module):
    """Writes to what it has and to what it is given, and not yet in its first two calls."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("buffer", torch.zeros(3))
        self.attribute, self.several, self.calls = torch.zeros(3), [torch.zeros(3)], [0]

    def forward(self, x: Tensor) -> Tensor:
        self.calls[0] += 1
        if self.calls[0] > 2:
            for tensor in (self.buffer, self.attribute, self.several[0], x):
                tensor.add_(1)
        return self.layer(x)


def test_what_only_later_runs_write_to_is_put_back() -> None:
    model, x = WritesLater(), torch.zeros(2, 3)
    opscope.measure(model, x, **QUICK)
    assert model.calls == [0]
    for tensor in (model.buffer, model.attribute, model.several[0], x):
        assert not tensor.any()


def test_weights_that_only_later_runs_write_to_are_told_of() -> None:
    class Trains(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            self.calls = getattr(self, "calls", 0) + 1
            if self.calls > 2:
                self.weight.add_(1)
            return super().forward(x)

    measured = opscope.measure(Trains(2, 2), torch.rand(1, 2), **QUICK)
    assert any("wrote to weight" in each.message for each in measured.diagnostics)


def test_an_empty_cache_stays_empty() -> None:
    class Remembers(nn.Module):
        def forward(self, x: Tensor, seen: Any) -> Tensor:
            seen.setdefault("all", []).append(x + 1)
            return torch.cat(seen["all"])

    for run in (lambda *given: opscope.measure(*given, **QUICK), opscope.profile):
        seen: dict[str, Any] = {}
        profile = run(Remembers(), opscope.Inputs(torch.rand(2, 2), seen))
        assert seen == {}
        assert profile.totals.ops == 2


def test_a_generator_stays_where_it_is() -> None:
    def noisy(x: Tensor, generator: torch.Generator) -> Tensor:
        return x + torch.rand(x.shape, generator=generator)

    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    opscope.measure(noisy, opscope.Inputs(torch.rand(2), generator), **QUICK)
    opscope.profile(noisy, opscope.Inputs(torch.rand(2), generator))
    assert torch.equal(generator.get_state(), before)


def test_a_models_own_generator_stays_where_it_is() -> None:
    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.generator = torch.Generator().manual_seed(3)

        def forward(self, x: Tensor) -> Tensor:
            return x + torch.rand(x.shape, generator=self.generator)

    model = Noisy()
    before = model.generator.get_state()
    opscope.measure(model, torch.rand(2), **QUICK)
    opscope.profile(model, torch.rand(2))
    assert torch.equal(model.generator.get_state(), before)


@pytest.mark.parametrize("training", [False, True])
def test_every_run_under_autocast_casts_its_weights(training: bool) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        measured = opscope.measure(model, torch.rand(4, 8), training=training, **QUICK)
    assert has_all_samples(measured)


# --- kinds of models


def lazy() -> nn.Module:
    return nn.Sequential(nn.LazyLinear(3), nn.ReLU())


def scripted() -> nn.Module:
    return torch.jit.script(nn.Sequential(nn.Linear(5, 3), nn.ReLU()))


def compiled() -> Any:
    return torch.compile(nn.Sequential(nn.Linear(5, 3), nn.ReLU()))


def parallel() -> nn.Module:
    return nn.DataParallel(nn.Sequential(nn.Linear(5, 3), nn.ReLU()))


def function() -> Callable[[Tensor], Tensor]:
    weight = torch.rand(3, 5)
    return lambda x: nn.functional.linear(x, weight).relu()


@pytest.mark.parametrize("make", [lazy, scripted, compiled, parallel, function])
def test_a_linear_layer_and_a_relu(make: Callable[[], Any]) -> None:
    measured = opscope.measure(make(), torch.rand(2, 5), **QUICK)
    assert [op.op for op in measured.ops] == ["aten::linear", "aten::relu"]
    assert has_all_samples(measured)


def test_a_lazy_model_stays_one() -> None:
    model = lazy()
    opscope.measure(model, torch.rand(2, 5), **QUICK)
    assert torch.nn.parameter.is_lazy(model[0].weight)


def test_sparse_weights_have_their_bytes() -> None:
    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("matrix", torch.eye(3).to_sparse())

        def forward(self, x: Tensor) -> Tensor:
            return torch.sparse.mm(self.matrix, x)

    samples = samples_of(opscope.measure(Sparse(), torch.rand(3, 3), **QUICK))
    indices, values, x = 2 * 3 * 8, 3 * 4, 3 * 3 * 4
    assert samples["base_memory_bytes"] == indices + values + x


def test_a_model_without_ops() -> None:
    measured = opscope.measure(nn.Identity(), torch.rand(2, 2), **QUICK)
    assert measured.totals.ops == 0
    assert "Identity" in str(measured)


# --- others


def test_a_profiler_inside_keeps_its_first_call() -> None:
    profiler = opscope.Profiler(nn.Linear(2, 2))
    for model in (profiler, nn.Sequential(profiler, nn.ReLU())):
        measured = opscope.measure(model, torch.rand(1, 2), **QUICK)
        assert profiler.graph is None
        assert measured.by_module()[""].ops == measured.totals.ops
    profiler(torch.rand(1, 2))
    assert profiler.graph is not None


def test_a_model_that_profiles_itself() -> None:
    def profiled(x: Tensor) -> Tensor:
        with torch.profiler.profile():
            return x + 1

    measured = opscope.measure(profiled, torch.rand(2), **QUICK)
    assert measured.totals.ops == 1
    assert measured.measurement is not None


def test_what_progress_raises_is_the_callers_own() -> None:
    class Enough(Exception):
        pass

    def stop(done: int, _: int, __: str) -> None:
        if done == 2:
            raise Enough

    with pytest.raises(Enough):
        opscope.measure(nn.Linear(2, 2), torch.rand(1, 2), progress=stop, **QUICK)
    assert not native.capturing()
    assert nn.Module.__call__ is nn.Module._wrapped_call_impl


def test_measurements_that_overlap_leave_nothing_set() -> None:
    class Slow(nn.Module):
        def __init__(self, seconds: float) -> None:
            super().__init__()
            self.seconds = seconds

        def forward(self, x: Tensor) -> Tensor:
            time.sleep(self.seconds)
            return x + 1

    def around() -> tuple[Any, ...]:
        return torch.compile, eval_frame._stance, torch._C._get_graph_executor_optimize(), nn.Module.__call__

    before = around()
    threads = [
        threading.Thread(target=lambda s=seconds: opscope.measure(Slow(s), torch.rand(2), **QUICK)) for seconds in (0.01, 0.03)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert around() == before


def test_a_call_of_modules_that_was_put_away_still_calls() -> None:
    kept: list[Any] = []

    class Keeps(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            kept.append(nn.Module.__call__)
            return x + 1

    opscope.measure(Keeps(), torch.rand(2), **QUICK)
    layer, x = nn.Linear(2, 2), torch.rand(1, 2)
    assert torch.equal(kept[0](layer, x), layer(x))
    before = nn.Module.__call__
    nn.Module.__call__ = kept[0]
    try:
        assert opscope.measure(layer, x, **QUICK).totals.ops == 1
    finally:
        nn.Module.__call__ = before


def test_symbolic_tracing_waits_for_a_measurement() -> None:
    """It replaces Module.__call__ for all threads."""
    failures: list[BaseException] = []

    def trace() -> None:
        try:
            for _ in range(5):
                opscope.profile(nn.Linear(2, 2), torch.rand(1, 2), tracer="fx")
        except BaseException as problem:
            failures.append(problem)

    thread = threading.Thread(target=trace)
    thread.start()
    for _ in range(5):
        opscope.measure(nn.Sequential(nn.Linear(2, 2), nn.ReLU()), torch.rand(1, 2), **QUICK)
    thread.join()
    assert not failures
    assert nn.Module.__call__ is nn.Module._wrapped_call_impl
