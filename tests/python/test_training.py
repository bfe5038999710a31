"""Training captures: real autograd, an optimiser's step, whose op it is, and nothing of the user's changed."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

import opscope
from opscope.engine.recipe.optimizers import OPTIMIZERS
from small_models import ConvNet, Stateful, TiedWeights
from test_untouched import fingerprint, surroundings

IMAGE = torch.rand(2, 3, 8, 8)


def trained(model: nn.Module, *inputs: torch.Tensor, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(opscope.capture(model, inputs, training=True, **options).to_json())
    return found


def phase(found: dict[str, Any], name: str) -> list[dict[str, Any]]:
    begins = [*(part["begin"] for part in found["phases"]), len(found["ops"])]
    index = [part["name"] for part in found["phases"]].index(name)
    ops: list[dict[str, Any]] = found["ops"][begins[index] : begins[index + 1]]
    return ops


def named(found: dict[str, Any], kind: str) -> set[str]:
    return {value["name"] for value in found["values"] if value["kind"] == kind and value.get("name")}


def test_phases_gradients_and_state() -> None:
    found = trained(ConvNet(), IMAGE, optimizer="adam")
    assert [part["name"] for part in found["phases"]] == ["forward", "backward", "optimizer"]
    parameters = named(found, "parameter")
    assert named(found, "gradient") == {f"{name}.grad" for name in parameters}
    assert named(found, "optimizer_state") == {
        f"{name}.{part}" for name in parameters for part in ("step", "exp_avg", "exp_avg_sq")
    }
    state = [v["storage"] for v in found["values"] if v["kind"] == "optimizer_state"]
    assert all(found["lifetimes"][storage] == [None, None] for storage in state)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer(optimizer: str) -> None:
    found = trained(nn.Linear(4, 4), torch.rand(2, 4), optimizer=optimizer)
    assert ("optimizer" in [part["name"] for part in found["phases"]]) == (optimizer != "none")


def test_backward_is_of_the_module_whose_forward_it_undoes() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 2)))
    found = trained(model, torch.rand(3, 4), optimizer="none")
    paths = [found["modules"][scope["module"]]["path"] for scope in found["scopes"]]
    where = {(op["op"].removeprefix("aten::"), paths[op["scope"]]) for op in phase(found, "backward")}
    assert {("mm", "1.1"), ("threshold_backward", "1.0"), ("mm", "0"), ("detach", "0")} <= where


def test_recomputed_modules_are_their_own() -> None:
    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.block, x, use_reentrant=False).exp()  # type: ignore[no-any-return]

    found = trained(Checkpointed(), torch.rand(2, 4))
    paths = [found["modules"][scope["module"]]["path"] for scope in found["scopes"]]
    assert ("aten::linear", "block.0") in {(op["op"], paths[op["scope"]]) for op in phase(found, "backward")}


def test_work_is_what_pytorch_counts() -> None:
    model = ConvNet()
    ours = json.loads(opscope.profile(model, IMAGE, training=True, optimizer="none", convention="torch").to_json())
    with FlopCounterMode(display=False) as counter:
        model.train()(IMAGE).mean().backward()
    assert ours["totals"]["flops"] == counter.get_total_flops()


def test_resnet18_backward_is_twice_its_forward_but_for_the_images() -> None:
    forward = json.loads(opscope.profile("resnet18").to_json())["totals"]["macs"]
    both = json.loads(opscope.profile("resnet18", training=True, optimizer="none").to_json())["totals"]["macs"]
    first = 64 * 3 * 7 * 7 * 112 * 112
    assert both - forward == 2 * forward - first


def test_a_step_of_the_optimizer_is_one_layer() -> None:
    layers = opscope.profile(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), torch.rand(2, 4), training=True, optimizer="adam").to_dict()["layers"]
    (step,) = [layer for layer in layers if layer["name"] == "<Adam>"]
    assert step["memory_bytes"] > 0 and layers[-1] == step


def test_complex_outputs_have_a_loss() -> None:
    class Spectrum(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.fft.fft(super().forward(x))

    assert named(trained(Spectrum(4, 4), torch.rand(2, 4)), "gradient") == {"weight.grad", "bias.grad"}


def test_batch_norm_of_one_row_says_what_to_do() -> None:
    with pytest.raises(opscope.Error) as problem:
        opscope.profile(nn.BatchNorm1d(4), torch.rand(1, 4), training=True)
    assert "--batch 2" in problem.value.hint


def test_a_tied_weight_has_one_gradient() -> None:
    found = trained(TiedWeights(), torch.zeros(2, 3, dtype=torch.long))
    assert len({v["storage"] for v in found["values"] if v.get("name", "").endswith(".grad")}) == len(named(found, "parameter"))


def test_the_models_own_loss() -> None:
    class WithLoss(nn.Linear):
        def forward(self, x: torch.Tensor) -> Any:
            return {"loss": super().forward(x).pow(2).sum(), "logits": x}

    messages = [note["message"] for note in trained(WithLoss(4, 4), torch.rand(2, 4))["diagnostics"]]
    assert "the loss is the model's own" in messages


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("make", [ConvNet, lambda: nn.Sequential(nn.Flatten(), Stateful()), nn.Identity], ids=["convnet", "stateful", "none"])
@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_untouched(make: Any, training: bool, tracer: str) -> None:
    model = make().train(training)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    x = IMAGE if isinstance(model, ConvNet) else torch.rand(4, 6)
    before, around = fingerprint(model), surroundings()
    try:
        opscope.profile(model, x, training=True, optimizer="adam", tracer=tracer)
    except opscope.Error as problem:
        assert "requires a gradient" in str(problem)
    assert fingerprint(model) == before
    assert surroundings() == around


def test_weights_without_memory() -> None:
    with torch.device("meta"):
        model = ConvNet()
    found = trained(model, IMAGE, optimizer="adam")
    assert [op["op"] for op in found["ops"]] == [op["op"] for op in trained(ConvNet(), IMAGE, optimizer="adam")["ops"]]
    assert all(parameter.is_meta and parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"training": True, "optimizer": "adma"}, "no optimizer called 'adma'"),
        ({"optimizer": "adam"}, "a part of training"),
        ({"training": True, "tracer": "fx"}, "forward pass only"),
        ({"training": True, "phase": "decode"}, "is not a training step"),
    ],
)
def test_refused(options: dict[str, Any], words: str) -> None:
    if options.get("device") and torch.cuda.is_available():
        return
    with pytest.raises(opscope.Error, match=words):
        opscope.capture(nn.Linear(4, 4), **({"inputs": torch.rand(2, 4)} if "phase" not in options else {}), **options)
