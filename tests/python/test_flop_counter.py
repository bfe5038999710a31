"""`--convention torch` is FlopCounterMode to the last MAC; parameters are exact; nothing is unknown or slow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

import opscope
import reference_models as reference
from opscope.sources import torchvision_models

SMALL = (
    "alexnet densenet121 efficientnet_b0 googlenet inception_v3 maxvit_t mnasnet0_5 mobilenet_v2 mobilenet_v3_small "
    "convnext_tiny regnet_y_400mf resnet18 resnet50 resnext50_32x4d shufflenet_v2_x0_5 squeezenet1_0 swin_t swin_v2_t "
    "vgg11_bn vit_b_16 wide_resnet50_2"
).split()


def classification_names() -> list[str]:
    import torchvision

    return list(torchvision.models.list_models(module=torchvision.models))


def all_names() -> list[str]:
    import torchvision

    found = [torchvision.models, torchvision.models.segmentation, torchvision.models.video]
    return sorted(name for module in found for name in torchvision.models.list_models(module=module))


def hold_against_counter(name: str, result: opscope.Profile, model: nn.Module, *inputs: torch.Tensor) -> None:
    meta = reference.on_meta(lambda: model)
    assert result.totals.params == reference.parameter_count(meta)
    assert result.coverage.unknown == 0, result.coverage.unknown_ops
    assert result.capture.slow_path_ops == 0, result.capture.slow_path
    if name not in reference.DEVIATIONS:
        assert result.totals.flops == reference.counter_flops(meta, *(x.to("meta") for x in inputs))


def check_torchvision(name: str) -> None:
    result = opscope.profile(name, convention="torch")
    shape = torchvision_models.default_inputs(name).shapes[0]
    hold_against_counter(name, result, torchvision_models.build(name), torch.empty(shape, device="meta"))


@pytest.mark.parametrize("name", SMALL)
def test_torchvision(name: str) -> None:
    check_torchvision(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in all_names() if name not in SMALL])
def test_torchvision_all(name: str) -> None:
    check_torchvision(name)


def check_tokens(name: str, make: Callable[[], nn.Module], length: int = 128) -> opscope.Profile:
    ids = torch.zeros(1, length, dtype=torch.long)
    model = make()
    result = opscope.profile(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, convention="torch")
    hold_against_counter(name, result, model, ids)
    return result


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("bert", lambda: reference.bert(2)),
        ("gpt2", lambda: reference.gpt2(2)),
        ("llama", lambda: reference.llama_1b(2)),
    ],
)
def test_transformers_of_two_layers(name: str, make: Callable[[], nn.Module]) -> None:
    check_tokens(name, make)


@pytest.mark.parametrize(
    ("name", "make", "flops", "params"),
    [
        ("bert", reference.bert, 22_348_431_360, 109_482_240),
        ("gpt2", reference.gpt2, 32_228_179_968, 124_439_808),
        ("llama", reference.llama_1b, 318_498_668_544, 1_235_814_400),
    ],
)
def test_transformers(name: str, make: Callable[[], nn.Module], flops: int, params: int) -> None:
    result = check_tokens(name, make)
    assert (result.totals.flops, result.totals.params) == (flops, params)


@pytest.mark.slow
def test_llama_405b_from_its_config() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=128256,
        hidden_size=16384,
        intermediate_size=53248,
        num_hidden_layers=126,
        num_attention_heads=128,
        num_key_value_heads=8,
    )
    with torch.device("meta"):
        model = LlamaForCausalLM(config).eval()
    result = opscope.profile(model, input_shape=(1, 16))
    assert result.totals.params == reference.parameter_count(model) == 405_853_388_800
