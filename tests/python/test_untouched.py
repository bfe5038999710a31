"""After a capture the user's model and process are what they were, also when the model raised."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import opscope
import pytest
import torch
from small_models import ConvNet, Raises, Stateful, TiedWeights
from torch import nn


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
