"""A Profiler and its model: nothing is left of a pass, and what holds of the model holds of the Profiler."""

from __future__ import annotations

import copy
import io
import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import opscope
from opscope import Profiler
from profiler_helpers import Fails, Residual, X, generated, has_no_hooks, is_clean, names, small_llama, tokens

# --- the model stays what it is


def test_a_pass_leaves_no_trace() -> None:
    model = Residual().train()
    before = copy.deepcopy(model.state_dict())
    state = torch.random.get_rng_state()
    prof = Profiler(model, auto_profile=False)
    prof.profile_once(X)
    prof.profile_detail(X)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), state) and model.calls == 0
    assert is_clean() and has_no_hooks(model) and model.training


def test_a_cache_stays_as_it_was() -> None:
    import transformers

    cache = transformers.DynamicCache()
    prof = Profiler(small_llama().model, auto_profile=False)
    for length in (0, 6):
        prof.profile_once(**tokens(), past_key_values=cache)
        assert cache.get_seq_length() == length
        prof(input_ids=tokens()["input_ids"], past_key_values=cache)


def test_layers_that_are_made_by_the_first_call() -> None:
    prof = Profiler(nn.Sequential(nn.LazyLinear(4), nn.ReLU()), auto_profile=False)
    assert names(prof.profile_once(X)) == ["0", "1"] and isinstance(prof[0], nn.LazyLinear)
    assert prof(X).shape == (2, 4) and not isinstance(prof[0], nn.LazyLinear)


@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", dtype=torch.bfloat16)])
def test_modes_around_the_first_call_hold(around: Any) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
    prof = Profiler(model)
    with around():
        made, expected = prof(X), model(X)
    assert torch.equal(made, expected) and made.dtype == expected.dtype
    assert made.requires_grad == expected.requires_grad and made.is_inference() == expected.is_inference()


def losses(profiles: bool, auto: bool = False) -> list[float]:
    torch.manual_seed(3)
    model: Any = Residual().train()
    if profiles or auto:
        model = Profiler(model, auto_profile=auto, capture_ops=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    seen = []
    for step in range(6):
        x, y = torch.randn(16, 8), torch.randint(4, (16,))
        if profiles and step % 2:
            model.profile_once(x)
            model.profile_detail(x)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


def test_training_goes_on_bit_for_bit() -> None:
    plain = losses(False)
    assert losses(True) == plain
    assert losses(False, auto=True) == plain  # the profiled call is a step of the training


def test_the_first_call_is_the_callers_own() -> None:
    torch.manual_seed(1)
    plain, model = Residual().train(), Residual().train()
    model.load_state_dict(plain.state_dict())
    prof = Profiler(model)
    assert prof.graph is None
    torch.manual_seed(2)
    expected = plain(X)
    torch.manual_seed(2)
    made = prof(X)
    assert torch.equal(made, expected) and made.requires_grad and model.calls == 1
    assert torch.equal(model.norm.running_mean, plain.norm.running_mean)
    made.sum().backward()
    expected.sum().backward()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(model.parameters(), plain.parameters(), strict=True))
    graph = prof.graph
    assert graph is not None and [row.name for row in graph.inputs] == ["x"]
    prof(X)
    assert prof.graph is graph and is_clean()


def test_exceptions_are_the_models_and_all_is_put_back() -> None:
    for auto in (False, True):
        model = Fails()
        prof = Profiler(model, auto_profile=auto)
        for _ in range(3):
            with pytest.raises(KeyError, match="on purpose"):
                prof(X) if auto else prof.profile_once(X)
            assert is_clean() and has_no_hooks(model) and torch.is_grad_enabled() and prof.graph is None
        model.fails = False
        assert torch.equal(prof(X), model(X))
        assert (prof.graph is not None) == auto  # the first call that works


def test_a_thousand_passes() -> None:
    model = Residual().eval()
    prof, failing = Profiler(model, auto_profile=False), Profiler(Fails(), auto_profile=False)

    def passes(count: int) -> None:
        for _ in range(count):
            prof.profile_once(X)
            with pytest.raises(KeyError):
                failing.profile_once(X)

    passes(100)
    before = resident_bytes()
    passes(900)
    assert resident_bytes() - before < 16 << 20
    assert is_clean() and has_no_hooks(model) and len(names(prof.graph)) == 9


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_other_threads_are_not_seen() -> None:
    stop, started = threading.Event(), threading.Event()

    def work() -> None:
        layer = nn.Conv1d(8, 8, 1)
        while not stop.is_set():
            layer(torch.ones(1, 8, 4)).tanh()
            started.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        started.wait()
        prof = Profiler(Residual().eval(), auto_profile=False)
        alone = None
        for _ in range(20):
            types = [node.type for node in prof.profile_detail(X).nodes]
            assert "aten::tanh" not in types and not any("conv" in name for name in types)
            alone = alone or types
            assert types == alone
    finally:
        stop.set()
        thread.join()


def test_two_threads_at_once() -> None:
    seen: dict[str, list[str]] = {}

    def profile(name: str, model: nn.Module) -> None:
        prof = Profiler(model.eval(), auto_profile=False)
        for _ in range(10):
            seen[name] = [node.type for node in prof.profile_detail(X).nodes]

    models = {"tanh": nn.Sequential(nn.Linear(8, 8), nn.Tanh()), "sigmoid": nn.Sequential(nn.Sigmoid(), nn.Linear(8, 8))}
    threads = [threading.Thread(target=profile, args=item) for item in models.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"tanh": ["aten::linear", "aten::tanh"], "sigmoid": ["aten::sigmoid", "aten::linear"]}
    assert is_clean()


# --- a Profiler is a model, and a part of one


def test_inside_a_model_that_generates() -> None:
    model = small_llama()
    expected = generated(model)
    keys, parameters = list(model.state_dict()), dict(model.named_parameters())
    inner = model.model
    model.model = Profiler(model.model, granularity="module", token_kwarg="input_ids", auto_profile=False)
    assert list(model.state_dict()) == keys
    assert {name: id(p) for name, p in model.named_parameters()} == {name: id(p) for name, p in parameters.items()}
    model.model.profile_once(**tokens())
    assert generated(model) == expected
    found = names(model.model.graph)
    assert {"embed_tokens", "layers.0", "layers.1", "norm", "rotary_emb"} <= set(found)
    model.model.profile_detail(**tokens())
    assert generated(model) == expected and is_clean() and has_no_hooks(model)
    model.load_state_dict({key: value.clone() for key, value in model.state_dict().items()})
    assert generated(model) == expected
    model.model = model.model.unwrap()
    assert model.model is inner and generated(model) == expected


def test_the_first_call_inside_generate() -> None:
    model = small_llama()
    expected = generated(model)
    model.model = Profiler(model.model, token_kwarg="input_ids", capture_ops=True)
    assert generated(model) == expected
    assert "layers.1" in names(model.model.graph) and model.model.detail_graph is not None
    assert any(row.name == "input_ids" and row.shape == (1, 6) for row in model.model.graph.inputs)


def test_the_tokens_are_marked(tmp_path: Path) -> None:
    prof = Profiler(small_llama().model, token_kwarg="input_ids", auto_profile=False)
    prof.profile_once(tokens()["input_ids"])
    prof.export(tmp_path / "llama")
    assert "input_ids (tokens)   1x6 int64" in (tmp_path / "llama_module.txt").read_text()


def test_passes_through_what_a_module_has() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.LSTM(8, 4))
    model.note = "mine"  # type: ignore[assignment]
    prof = Profiler(model, auto_profile=False)
    assert isinstance(prof, nn.Module) and prof.note == "mine" and len(prof) == 2 and prof[0] is model[0]
    assert prof.eval() is prof and not model.training and prof.train() is prof and model.training
    assert prof.to(torch.float64) is prof and model[0].weight.dtype == torch.float64
    assert prof.requires_grad_(False) is prof and not model[0].weight.requires_grad
    prof.extra = nn.Linear(1, 1)
    assert dict(model.named_modules())["extra"] is prof.extra
    del prof.extra
    prof.register_buffer("table", torch.ones(3))
    assert list(prof.state_dict()) == list(model.state_dict()) and "table" in model.state_dict()
    seen: list[Any] = []
    handle = prof.register_forward_hook(lambda module, *_: seen.append(module))
    prof(torch.ones(2, 8, dtype=torch.float64))
    handle.remove()
    assert seen == [model]
    assert next(iter(prof.modules())) is prof and prof.forward == model.forward
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'missing'"):
        _ = prof.missing


def test_copies_and_pickles() -> None:
    prof = Profiler(nn.Sequential(nn.Linear(8, 8)), granularity="layer", auto_profile=True)
    prof(X)
    for made in (copy.deepcopy(prof), pickle.loads(pickle.dumps(prof))):
        assert type(made) is Profiler and made.unwrap() is not prof.unwrap() and made.graph is None
        assert torch.equal(made(X), prof(X)) and made.graph is None  # what was profiled once is not due again
        assert names(made.profile_once(X)) == ["0"]
    file = io.BytesIO()
    torch.save(prof, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(X), prof(X))


def test_one_profiler_inside_another() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    model[0] = Profiler(model[0])  # due at its first call, and that is in the other's pass
    outer = Profiler(model, granularity="layer", auto_profile=False)
    assert names(outer.profile_once(X)) == ["0", "1"]
    assert model[0].graph is None
    outer(X)
    assert model[0].graph is not None


def test_captures_of_a_model_with_a_profiler_inside() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    plain = opscope.profile(model, X).totals
    model[0] = Profiler(model[0])
    found = opscope.profile(model, X)
    assert found.totals.macs == plain.macs and [layer.name for layer in found.layers] == ["0", "1"]
    assert model[0].graph is None


@pytest.mark.parametrize("call", ["compile", "trace", "meta"])
def test_calls_that_only_look_are_not_profiled(call: str) -> None:
    prof = Profiler(nn.Sequential(nn.Linear(8, 8)))
    if call == "compile":
        torch.compile(prof, backend="eager", fullgraph=True)(X)
    elif call == "trace":
        prof.requires_grad_(False)
        assert torch.jit.trace(lambda x: prof(x), X, check_trace=False)(X).shape == (2, 8)
    else:
        Profiler(nn.Sequential(nn.Linear(8, 8, device="meta")))(X.to("meta"))
    assert prof.graph is None
    prof(X)
    assert prof.graph is not None
