"""After a capture the user's model and process are what they were, also when the model raised."""

from __future__ import annotations

import hashlib
import random
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import opscope
from opscope.engine import torchvision_ops
from opscope.engine.surroundings import Surroundings
from small_models import ConvNet, Raises, Stateful, TiedWeights


def fingerprint(model: nn.Module) -> dict[str, object]:
    """Everything of a model that a capture could change."""
    digest = hashlib.sha256()
    for name, tensor in model.state_dict(keep_vars=True).items():
        digest.update(name.encode() + tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return {
        "state": digest.hexdigest(),
        "pointers": [(name, p.data_ptr(), p._version, p.requires_grad) for name, p in model.named_parameters()],
        "grads": [None if p.grad is None else p.grad.sum().item() for p in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "hooks": [(len(m._forward_hooks), len(m._forward_pre_hooks), len(m._backward_hooks)) for m in model.modules()],
        "attributes": [sorted(vars(module)) for module in model.modules()],
    }


def surroundings() -> dict[str, object]:
    return {
        "rng": torch.get_rng_state().tolist(),
        "grad": torch.is_grad_enabled(),
        "dtype": torch.get_default_dtype(),
        "fastpath": torch.backends.mha.get_fastpath_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
        "hooks": len(nn.modules.module._global_forward_hooks) + len(nn.modules.module._global_forward_pre_hooks),
        "string": torch._tensor_str._str,
        "deepcopy": torch.Tensor.__deepcopy__,
        "compile": torch.compile,
        "tolist": torch.Tensor.tolist,
        "cuda": torch.cuda._lazy_init,
        "threads": torch.get_num_threads(),
        "optimised": torch._C._get_graph_executor_optimize(),
    }


MODELS: list[tuple[str, Callable[[], nn.Module], Callable[[], torch.Tensor]]] = [
    ("convnet", ConvNet, lambda: torch.rand(2, 3, 8, 8)),
    ("stateful", Stateful, lambda: torch.rand(4, 6)),
    ("tied", TiedWeights, lambda: torch.zeros(2, 3, dtype=torch.long)),
    ("raises", Raises, lambda: torch.rand(2, 4)),
    ("encoder", lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), lambda: torch.rand(2, 5, 16)),
    ("lstm", lambda: nn.LSTM(4, 8, 2), lambda: torch.rand(3, 2, 4)),
]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("make", "inputs"), [row[1:] for row in MODELS], ids=[row[0] for row in MODELS])
def test_untouched(make: Callable[[], nn.Module], inputs: Callable[[], torch.Tensor], training: bool) -> None:
    model = make().train(training)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    x = inputs()
    copy = x.clone()
    before, around = fingerprint(model), surroundings()
    try:
        opscope.profile(model, x)
    except (opscope.Error, ValueError):
        assert isinstance(model, Raises)
    assert fingerprint(model) == before
    assert surroundings() == around
    assert torch.equal(x, copy)


def test_results_after_a_capture_are_those_before() -> None:
    model, x = ConvNet().eval(), torch.rand(2, 3, 8, 8)
    before = model(x)
    opscope.profile(model, x)
    after = model(x)
    assert torch.equal(before, after) and after.requires_grad


def test_the_models_own_error_comes_with_its_module() -> None:
    with pytest.raises((opscope.Error, ValueError)) as caught:
        opscope.profile(Raises(), torch.zeros(1, 4))
    assert "the model's own complaint" in str(caught.value)
    assert "inner" in str(getattr(caught.value, "where", caught.value.__dict__))


def test_wrong_shapes_give_the_models_own_error() -> None:
    with pytest.raises(Exception) as caught:
        opscope.profile("resnet18", input_shape=(1, 4, 224, 224))
    assert "conv1" in f"{caught.value} {getattr(caught.value, 'where', '')}"
    assert "4 channels" in str(caught.value)


# --- containers that guard themselves


class Guarded(OrderedDict[Any, Any]):
    """Items are attributes too, and can be set but not taken away, as in transformers' outputs."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.__dict__[key] = value

    def refuse(self, *_: Any, **__: Any) -> None:
        raise TypeError("refused")

    clear = update = pop = refuse  # type: ignore[assignment]


class GuardedSet(set[int]):
    def clear(self) -> None:
        raise TypeError("refused")


class GuardedDict(dict[str, Any]):
    def clear(self) -> None:
        raise TypeError("refused")


class KeepsLast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.last, self.table, self.seen = Guarded(), GuardedDict(a=1), GuardedSet([1])
        self.last["a"] = torch.ones(1)
        self.later: dict[str, Any] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.last["a"] = self.table["a"] = self.later["a"] = y = self.layer(x)
        self.seen.add(2)
        return y


def test_containers_whose_methods_refuse_are_put_back() -> None:
    model = KeepsLast()
    kept = model.last["a"]
    opscope.profile(model, torch.ones(1, 2))
    assert list(model.last) == ["a"] and model.last["a"] is kept and vars(model.last) == {"a": kept}
    assert model.table == {"a": 1} and model.seen == {1} and model.later == {}


def test_what_cannot_be_put_back_does_not_keep_the_rest_from_it() -> None:
    class Key:
        broken = False

        def __hash__(self) -> int:
            if self.broken:
                raise TypeError("the key's own complaint")
            return 1

    class Breaks(KeepsLast):
        def __init__(self) -> None:
            super().__init__()
            key = Key()
            self.__dict__ = {"keys": OrderedDict({key: 1}), "key": key} | self.__dict__  # first to be put back

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.keys[self.key] = 2
            self.key.broken = True
            return super().forward(x)

    model, around = Breaks(), surroundings()
    kept = model.last["a"]
    with pytest.raises(TypeError, match="the key's own complaint"):
        opscope.profile(model, torch.ones(1, 2))
    assert model.last["a"] is kept and model.table == {"a": 1} and model.seen == {1} and model.later == {}
    assert surroundings() == around


# --- generators that are not PyTorch's own


class Draws(nn.Module):
    def __init__(self, draw: Callable[[], object]) -> None:
        super().__init__()
        object.__setattr__(self, "draw", draw)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.draw()
        return x + 1


@pytest.mark.parametrize("draw", ["random", "gauss"])
def test_pythons_generator_is_put_back(draw: str) -> None:
    for _ in range(3):  # from a state that was seen before, and from others
        random.gauss(0, 1)
        before = random.getstate()
        arguments = (0, 1) if draw == "gauss" else ()
        opscope.profile(Draws(lambda arguments=arguments: getattr(random, draw)(*arguments)), torch.ones(1, 2))
        assert random.getstate() == before


@pytest.mark.parametrize("draw", ["rand", "randn"])
def test_numpys_generator_is_put_back(draw: str) -> None:
    numpy = pytest.importorskip("numpy")
    for _ in range(3):  # every other time a second normal number is kept, which no word of the state tells
        numpy.random.randn()
        before = numpy.random.get_state()
        opscope.profile(Draws(lambda: getattr(numpy.random, draw)()), torch.ones(1, 2))
        after = numpy.random.get_state()
        assert (before[1] == after[1]).all() and before[2:] == after[2:]


# --- other threads, and captures that do not begin


def test_a_capture_that_cannot_begin_leaves_nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Any:
        raise AttributeError("another torchvision")
        yield

    model, x = nn.Linear(2, 2), torch.ones(1, 2)
    opscope.profile(model, x)
    around = surroundings()
    with monkeypatch.context() as patch:
        patch.setattr(torchvision_ops, "answers", unknown)
        for _ in range(2):
            with pytest.raises(AttributeError, match="another torchvision"):
                opscope.profile(model, x)
            assert surroundings() == around
    assert opscope.profile(model, x).totals.ops == 1
    assert surroundings() == around


def test_overlapping_captures_leave_nothing_set() -> None:
    around = surroundings()
    begun, joined, ended = threading.Event(), threading.Event(), threading.Event()

    def first() -> None:
        with Surroundings("cuda:0"):
            begun.set()
            joined.wait(30)
        ended.set()

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(30)
    with Surroundings("cuda:0"):
        joined.set()
        assert ended.wait(30)
    thread.join()
    assert surroundings() == around


class Waits(nn.Module):
    """Has another thread do something in the middle of its forward."""

    def __init__(self, meanwhile: Callable[[], None], lazy: bool) -> None:
        super().__init__()
        self.layer = nn.LazyLinear(4) if lazy else nn.Linear(2, 4)
        object.__setattr__(self, "meanwhile", meanwhile)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        thread = threading.Thread(target=self.meanwhile)
        thread.start()
        thread.join()
        return self.layer(x)


def test_another_threads_lazy_layer_gets_its_data() -> None:
    sums = []

    def meanwhile() -> None:
        sums.append(0.0)
        layer = nn.LazyLinear(3)
        layer(torch.ones(1, 2))
        sums[-1] = layer.weight.abs().sum().item()

    opscope.profile(Waits(meanwhile, lazy=True), torch.ones(1, 2))
    assert sums and all(total > 0 for total in sums)


def test_another_thread_keeps_its_number_of_threads() -> None:
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(3)
    try:
        opscope.profile(Waits(lambda: seen.append(torch.get_num_threads()), lazy=False), torch.ones(1, 2))
        assert seen == [3] and torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
