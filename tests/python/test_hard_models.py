"""Every model of tests/models: captured with the right count, or refused for the exact reason; and left as it was."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

import opscope
from opscope.engine import abstract_run

sys.path.insert(0, str(Path(__file__).parents[1]))
from models import CASES, Case, control_flow, data_dependent, lazy, stateful, tensors, wrapped  # noqa: E402, F401


def capture(case: Case, tracer: str = "static") -> Any:
    return abstract_run.capture(case.model, case.args, case.kwargs, tracer=tracer, name="model", device=case.device)


def comes_in_order(wanted: tuple[str, ...], ops: list[str]) -> bool:
    rest = iter(ops)
    return all(any(op == name for op in rest) for name in wanted)


@pytest.mark.parametrize("name", CASES)
def test_captured_or_refused(name: str) -> None:
    case = CASES[name]()
    if case.error:
        with pytest.raises(opscope.Error, match=case.error):
            capture(case)
        return
    graph = capture(case)
    data = json.loads(graph.to_json())
    ops = [op["op"].split("::")[1] for op in data["ops"]]
    assert comes_in_order(case.ops, ops), ops
    if case.macs is not None:
        assert json.loads(graph.profile().to_json())["totals"]["macs"] == case.macs
    said = " ".join(row["message"] for row in data["diagnostics"])
    assert all(note in said for note in case.notes), said


# What FlopCounterMode sees otherwise, and why.
OTHERWISE = {
    "masks": "a real run keeps fewer rows",
    "detector": "a real run keeps fewer boxes",
    "random_numbers": "",
    "dynamically_quantised": "it does not count quantised products",
    "quantised_residual": "it does not count quantised products",
    "statically_quantised": "it does not count quantised products",
    "several_devices": "the second device is not there",
    "weights_on_meta": "no data",
    "sparse_coo": "it counts a sparse product as a dense one",
    "sparse_csr": "it counts a sparse product as a dense one",
    "spectral_norm": "it counts u . W v as nothing",
    "nested_input": "it does not count inside a nested tensor",
    "nested_jagged": "it does not count inside a nested tensor",
    "traced": "FlopCounterMode wants modules",
}


@pytest.mark.parametrize("name", [name for name in CASES if name not in OTHERWISE])
def test_the_count_is_flop_counter_modes(name: str) -> None:
    torch.manual_seed(0)  # how long a beam search runs hangs on its weights
    case = CASES[name]()
    if case.error or case.macs is None:
        assert case.error or case.ops
        return
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        case.model(*case.args, **case.kwargs)
    assert counter.get_total_flops() == 2 * case.macs


# --- the model afterwards


def seen_of(value: Any, seen: set[int]) -> Any:
    """Everything of a model that forward could change, as plain data."""
    if isinstance(value, torch.Tensor):
        lazy_one = "Uninitialized" in type(value).__name__
        shape = None if lazy_one else (tuple(value.shape) if not value.is_nested else None, value._version)
        return id(value), type(value).__name__, shape, value.requires_grad, id(value.grad)
    if id(value) in seen:
        return id(value)
    if isinstance(value, dict):
        seen.add(id(value))
        return [(str(key), seen_of(part, seen)) for key, part in value.items()]
    if isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        seen.add(id(value))
        return [seen_of(part, seen) for part in value]
    if isinstance(value, (set, frozenset)):
        return sorted(map(repr, value))
    if isinstance(value, torch.jit.ScriptModule):  # makes up what it is asked for
        return type(value).__name__
    if isinstance(value, nn.Module) or type(value).__module__.startswith("models"):
        seen.add(id(value))
        return type(value).__name__, seen_of(vars(value), seen)
    return repr(value) if isinstance(value, (int, float, str, bool, type(None))) else id(value)


def data_of(model: Any) -> dict[str, bytes]:
    state = model.state_dict() if isinstance(model, nn.Module) else {}
    plain = {name: t for name, t in state.items() if isinstance(t, torch.Tensor) and not nn.parameter.is_lazy(t)}
    known = {name: t.detach() for name, t in plain.items() if not t.is_meta and t.layout == torch.strided}
    return {name: t.clone().numpy().tobytes() for name, t in known.items() if not t.is_quantized}


def generators() -> Any:
    kind, keys, *rest = numpy.random.get_state()
    return torch.get_rng_state().tolist(), random.getstate(), keys.tolist(), rest


@pytest.mark.parametrize("tracer", ["static", "auto"])
@pytest.mark.parametrize("name", CASES)
def test_left_as_it_was(name: str, tracer: str) -> None:
    case = CASES[name]()
    stateful.COUNT = 0
    before, data, random_before = seen_of(case.model, set()), data_of(case.model), generators()
    try:
        capture(case, tracer)
    except opscope.Error:
        assert case.error
    assert generators() == random_before
    assert seen_of(case.model, set()) == before
    assert data_of(case.model) == data
    assert nn.Module.__call__ is nn.Module._wrapped_call_impl


@pytest.mark.parametrize("name", ["lazy_linear", "lazy_conv_and_norm", "layer_made_in_forward"])
def test_a_lazy_model_stays_lazy_and_counts_its_parameters(name: str) -> None:
    case = CASES[name]()
    hooks = [len(module._forward_pre_hooks) for module in case.model.modules()]
    profile = opscope.profile(case.model, case.args, tracer="static")
    assert [len(module._forward_pre_hooks) for module in case.model.modules()] == hooks
    again = opscope.profile(case.model, case.args, tracer="eager")
    case.model(*case.args)  # for real: now it has its shape
    expected = sum(parameter.numel() for parameter in case.model.parameters())
    assert profile.totals.params == again.totals.params == expected > 0
    assert profile.totals.macs == again.totals.macs == case.macs


def test_lazy_modules_share_what_they_have() -> None:
    model = nn.Sequential(nn.Linear(8, 6), nn.LazyLinear(4))
    weight = model[0].weight
    for _ in range(2):
        opscope.profile(model, lazy.X, tracer="static")
    assert model[0].weight is weight and isinstance(model[1], nn.LazyLinear)
    assert model(lazy.X).shape == (3, 4)


def test_lazy_and_big_takes_no_memory() -> None:
    model = nn.Sequential(nn.LazyLinear(2**20), nn.LazyLinear(2**20))
    assert opscope.profile(model, lazy.X, tracer="static").totals.params == 8 * 2**20 + 2**20 + 2**40 + 2**20


def test_a_model_that_cannot_be_copied_says_so() -> None:
    model = nn.Sequential(nn.LazyLinear(4))
    model.lock = (i for i in range(3))
    with pytest.raises(opscope.Error, match="has to be copied") as caught:
        opscope.profile(model, lazy.X, tracer="static")
    assert "call it once" in caught.value.hint


def test_modules_made_in_forward_have_a_path_each() -> None:
    data = json.loads(capture(CASES["modules_made_in_forward"]()).to_json())
    assert [module["path"] for module in data["modules"]][1:] == ["<ReLU>", "<ReLU>#2", "<ReLU>#3"]


def test_after_a_capture_the_model_runs() -> None:
    for name in CASES:
        torch.manual_seed(0)  # a detector whose weights find nothing has nothing to stack
        case = CASES[name]()
        if case.device or name == "weights_on_meta":
            continue
        try:
            capture(case)
        except opscope.Error:
            pass
        if name == "loop_until_small":
            continue
        case.model(*case.args, **case.kwargs)
