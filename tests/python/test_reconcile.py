"""Other tools' numbers, run here for real: the causes add up to each difference, and each has a name."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import opscope

FAST = ("resnet18", "mobilenet_v2", "vit_b_16", "yolov8n")
SLOW = (
    "resnet50 bert-base-uncased gpt2 swin_t convnext_tiny t5-small densenet121 efficientnet_b0 facebook/detr-resnet-50 "
    "mobilenet_v3_small shufflenet_v2_x0_5 googlenet swin_v2_t fcn_resnet50 r3d_18 distilbert-base-uncased "
    "timm:mixer_s32_224"
).split()
KINDS = {
    "mac_counted_as_flop", "reported_per_sample", "attention_not_seen", "unsupported_op", "not_seen", "outside_modules",
    "module_without_rule", "rule_of_its_own", "functions_counted", "module_counted_twice", "op_only_there",
    "counted_otherwise", "bias_not_counted", "softmax_in_attention", "elementwise_not_counted", "activation_not_counted",
    "norm_counted_otherwise", "softmax_not_counted", "pooling_counted_otherwise", "reduction_not_counted", "declared_cost",
}  # fmt: skip


def hold(found: opscope.Reconciliation, *tools: str) -> None:
    for row in found.rows:
        if row.tool in tools:
            assert "error" not in row, row.get("error")
        if "error" in row:
            continue
        assert sum(cause["flops"] for cause in row.causes if cause["is_unit"]) == row.flops - row.total
        assert sum(cause["flops"] for cause in row.causes if not cause["is_unit"]) == row.difference == found.flops - row.flops
        for cause in row.causes:
            assert cause["kind"] in KINDS
            assert sum(each["flops"] for each in cause["rows"]) == cause["flops"]
            assert not {"other", "unexplained", "unknown"} & set(cause["what"].replace(":", "").split())


@pytest.mark.parametrize("name", FAST)
def test_named(name: str) -> None:
    hold(opscope.reconcile(name, with_=("torch", "fvcore")), "torch", "fvcore")


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_named_all(name: str) -> None:
    hold(opscope.reconcile(name, with_=("torch", "fvcore")), "torch", "fvcore")


@pytest.mark.slow
def test_llama_from_its_config() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=2,
                         num_attention_heads=8, num_key_value_heads=2)  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    hold(opscope.reconcile(model, {"input_ids": torch.zeros(1, 16, dtype=torch.long)}, with_=("torch", "fvcore")), "torch", "fvcore")


def test_every_tool_that_is_here() -> None:
    found = opscope.reconcile("resnet18", with_="all")
    assert [row.tool for row in found.rows] == ["fvcore", "torch", "ptflops", "thop", "torchinfo", "calflops"]
    hold(found, "torch", "fvcore")
    for row in found.rows:
        assert row.get("hint", "").startswith("pip install") if "error" in row else abs(row.accuracy - 100) < 1


class Twice(nn.Module):
    """A module called twice, a tied weight, a function, an op that each tool sees in its own way."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(16, 16)
        self.tied = nn.Linear(16, 16, bias=False)
        self.tied.weight = self.fc.weight

    def forward(self, x: torch.Tensor, scale: float = 2.0) -> dict[str, torch.Tensor]:
        x = torch.softmax(self.fc(torch.relu(self.fc(x))), -1)
        return {"y": torch.einsum("bi,ij->bj", self.tied(x), self.fc.weight) * scale, "z": x @ x.T}


def test_a_model_of_ones_own() -> None:
    model = Twice().eval()
    hooks = [len(module._forward_hooks) for module in model.modules()]
    found = opscope.reconcile(model, {"x": torch.zeros(4, 16), "scale": 3.0}, with_="all")
    hold(found, "torch", "fvcore")
    assert hooks == [len(module._forward_hooks) for module in model.modules()]
    assert list(model.state_dict()) == ["fc.weight", "fc.bias", "tied.weight"]
    fvcore = next(row for row in found.rows if row.tool == "fvcore")
    assert any("wrapper" in note for note in fvcore.notes)
    bias = next(cause for cause in found.causes("torch") if cause.kind == "bias_not_counted")
    assert bias.flops == 2 * 4 * 16


def test_the_fast_path_of_attention_is_named() -> None:
    found = opscope.reconcile("vit_b_16", with_="torch")
    (cause,) = [each for each in found.causes("torch") if each.kind == "attention_not_seen"]
    assert "_native_multi_head_attention" in cause.what
    attention, projections = 2 * 12 * 197**2 * (64 + 64), 2 * 197 * 768 * 768 * 4
    assert cause.flops == 12 * (attention + projections)


def test_a_tool_that_fails_is_a_row() -> None:
    class Picky(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if torch._C._get_tracing_state():
                raise RuntimeError("not while traced")
            return x + 1

    found = opscope.reconcile(Picky(), torch.zeros(2), with_=("fvcore", "torch"))
    assert "not while traced" in found.rows[0].error
    assert found.rows[1].difference == 2
    assert "not while traced" in str(found)


def test_errors() -> None:
    with pytest.raises(opscope.Error, match="no tool called 'fvcor'"):
        opscope.reconcile("resnet18", with_="fvcor")
    with pytest.raises(opscope.Error, match="a forward pass only"):
        opscope.reconcile("resnet18", training=True)
    with pytest.raises(opscope.Error, match="cannot be run"):
        opscope.reconcile("model.onnx")
