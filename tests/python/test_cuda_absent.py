"""Captures for a CUDA device that is not there: its kernels, training included, and the user's model as before."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import nn

import opscope
from small_models import ConvNet

if torch.cuda.is_available():  # then it is there
    pytest.skip("these captures are for a machine without a GPU", allow_module_level=True)


class Attending(nn.Module):
    """Attention with keys of fewer heads, or with a mask, as asked."""

    def __init__(self, heads: int, width: int, groups: int | None = None, dropout: float = 0.0, bias: str = "") -> None:
        super().__init__()
        self.heads, self.groups, self.width, self.dropout = heads, groups or heads, width, dropout
        self.q = nn.Linear(32, heads * width)
        self.kv = nn.Linear(32, 2 * self.groups * width)
        self.bias = nn.Parameter(torch.zeros(1, heads, 24, 24)) if bias else None
        self.turned = bias == "turned"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.heads, self.width).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2 * self.groups, self.width).transpose(1, 2).chunk(2, 1)
        mask = self.bias
        if mask is not None and self.turned:
            mask = mask.transpose(2, 3)
        y = nn.functional.scaled_dot_product_attention(q, k, v, mask, self.dropout, enable_gqa=self.groups != self.heads)
        return y.transpose(1, 2).flatten(2)


def ops_of(model: nn.Module, x: torch.Tensor, **options: Any) -> list[str]:
    found = json.loads(opscope.capture(model, x, training=True, device="cuda", **options).to_json())
    return [op["op"].removeprefix("aten::") for op in found["ops"]]


# What an H200 ran, with torch 2.11, of the same calls.
KERNELS = [
    (torch.float32, {"heads": 4, "width": 64}, "efficient"),
    (torch.bfloat16, {"heads": 4, "width": 64}, "cudnn"),
    (torch.float16, {"heads": 4, "width": 128}, "cudnn"),
    (torch.bfloat16, {"heads": 4, "width": 64, "groups": 2}, "cudnn"),
    (torch.bfloat16, {"heads": 4, "width": 60}, "flash"),  # not a multiple of 8, and padded
    (torch.bfloat16, {"heads": 2, "width": 256}, "flash"),
    (torch.float32, {"heads": 4, "width": 33}, "math"),  # not a multiple of 16 bytes
    (torch.bfloat16, {"heads": 4, "width": 64, "bias": "straight"}, "efficient"),  # a mask with a gradient
    (torch.bfloat16, {"heads": 4, "width": 64, "bias": "turned"}, "math"),  # a mask whose rows are not in one piece
]


@pytest.mark.parametrize(("dtype", "settings", "kernel"), KERNELS)
def test_attention_is_the_kernel_of_the_device(dtype: torch.dtype, settings: dict[str, Any], kernel: str) -> None:
    ops = ops_of(Attending(**settings).to(dtype), torch.rand(2, 24, 32, dtype=dtype))
    found = {op for op in ops if op.startswith("_scaled_dot_product") or op == "_softmax_backward_data"}
    expected = "_softmax_backward_data" if kernel == "math" else f"_scaled_dot_product_{kernel}_attention_backward"
    assert found == {expected}


def test_scores_are_held_only_where_the_kernel_writes_them() -> None:
    x = torch.rand(2, 200, 32)
    fused = opscope.profile(Attending(4, 32), x, training=True, device="cuda").memory.peak_memory_bytes
    by_hand = opscope.profile(Attending(4, 33), x, training=True, device="cuda").memory.peak_memory_bytes
    assert by_hand > fused + 2 * 4 * 200 * 200 * 4


def test_optimizers_step_all_parameters_at_once() -> None:
    ops = ops_of(ConvNet(), torch.rand(2, 3, 8, 8), optimizer="adamw")
    assert any(op.startswith("_foreach_") for op in ops)
    assert not any(op.startswith("_foreach_") for op in ops_of(ConvNet(), torch.rand(2, 3, 8, 8), optimizer="adamw:loop"))


def test_dropout_keeps_a_mask_of_bytes() -> None:
    ops = ops_of(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)), torch.rand(2, 8))
    assert "native_dropout_backward" in ops


def test_gradients_lie_on_the_device() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 2, stride=2), nn.Flatten(), nn.Linear(8 * 16, 4))
    found = json.loads(opscope.capture(model, torch.rand(2, 3, 8, 8), training=True, device="cuda").to_json())
    assert {value.get("device") for value in found["values"] if value["kind"] in ("gradient", "activation")} == {"cuda:0"}


def test_twice_and_on_the_cpu_between() -> None:
    model, x = ConvNet(), torch.rand(2, 3, 8, 8)
    before = {name: (tensor.clone(), tensor.device) for name, tensor in model.state_dict().items()}
    first = ops_of(model, x)
    on_cpu = opscope.profile(model, x, training=True).totals.flops
    assert ops_of(model, x) == first
    assert opscope.profile(model, x, training=True).totals.flops == on_cpu
    assert all(torch.equal(tensor, before[name][0]) and tensor.device == before[name][1] for name, tensor in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    model(x).sum().backward()  # PyTorch is as before


def test_a_custom_function_and_a_checkpoint() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient * torch.full((), 2.0, device=gradient.device)

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            from torch.utils.checkpoint import checkpoint

            return self.b(checkpoint(lambda y: Doubled.apply(self.a(y)).relu(), x, use_reentrant=False))

    ops = ops_of(Model(), torch.rand(2, 8))
    assert ops.count("mm") + ops.count("linear") >= 5
    assert "full" in ops


def test_libraries_and_the_allocator_are_lines_of_their_own() -> None:
    profile = opscope.profile(nn.Linear(64, 64), torch.rand(4, 64), training=True, device="cuda")
    memory = json.loads(profile.to_json())["memory"]
    pools = memory["library_workspace"]["pool_bytes"]
    assert pools == memory["library_workspace_bytes"] == (32 + 1 + 32) << 20
    assert memory["needed_bytes"] >= memory["peak_memory_bytes"] + pools
    assert "cuBLAS" in str(profile)
    on_cpu = json.loads(opscope.profile(nn.Linear(64, 64), torch.rand(4, 64), training=True).to_json())["memory"]
    assert on_cpu["library_workspace_bytes"] == 0
    assert on_cpu["needed_bytes"] == on_cpu["peak_memory_bytes"]


# Where the rules of PyTorch's sdp_utils differ by compute capability.
BY_DEVICE = [
    ("a100", torch.bfloat16, {"heads": 4, "width": 64}, "flash"),  # cuDNN's is preferred on 9 and 10 alone
    ("b200", torch.bfloat16, {"heads": 4, "width": 64}, "cudnn"),
    ("rtx-5090", torch.bfloat16, {"heads": 4, "width": 64}, "flash"),
    ("t4", torch.float16, {"heads": 4, "width": 64}, "efficient"),  # flash begins with 8.0
    ("t4", torch.bfloat16, {"heads": 4, "width": 64}, "math"),  # and so does bfloat16
    ("v100", torch.float32, {"heads": 4, "width": 33}, "efficient"),  # rows of any width, without tensor cores
    ("a100", torch.bfloat16, {"heads": 2, "width": 256, "dropout": 0.5}, "flash"),
    ("l4", torch.bfloat16, {"heads": 2, "width": 256}, "flash"),
    ("l4", torch.bfloat16, {"heads": 2, "width": 256, "dropout": 0.5}, "efficient"),  # too little shared memory for it
    ("l4", torch.bfloat16, {"heads": 2, "width": 200}, "efficient"),
]


@pytest.mark.parametrize(("gpu", "dtype", "settings", "kernel"), BY_DEVICE)
def test_attention_is_the_kernel_of_the_device_that_is_named(gpu: str, dtype: torch.dtype, settings: dict[str, Any], kernel: str) -> None:
    ops = ops_of(Attending(**settings).to(dtype), torch.rand(2, 24, 32, dtype=dtype), gpu=gpu)
    found = {op for op in ops if op.startswith("_scaled_dot_product") or op == "_softmax_backward_data"}
    expected = "_softmax_backward_data" if kernel == "math" else f"_scaled_dot_product_{kernel}_attention_backward"
    assert found == {expected}


def test_the_device_of_costs_is_that_of_the_capture() -> None:
    model, x = Attending(4, 64).to(torch.bfloat16), torch.rand(2, 24, 32, dtype=torch.bfloat16)
    asked = {"training": True, "device": "cuda"}

    def pools(**options: Any) -> int:
        return int(json.loads(opscope.profile(model, x, **asked, **options).to_json())["memory"]["library_workspace"]["pool_bytes"])

    small = 8 * 2**20 + 128 * 2**10
    assert pools() == pools(hardware="h200") == 65 * 2**20
    assert pools(hardware="a100") == pools(gpu="a100") == pools(gpu="8.0x108") == 2 * small + 2**20
    assert pools(hardware="a100", gpu="h200") == pools()  # what is named for the capture holds
    assert pools(hardware="mi300x") == pools()  # of which nothing is known
    predicted = json.loads(opscope.predict(model, x, hardware="l4").to_json())["memory"]["library_workspace"]["pool_bytes"]
    assert predicted == small + 2**20


def test_partial_sums_follow_the_number_of_processors() -> None:
    """A sum of few results is divided among more blocks where there are more processors."""

    class Sum(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sum(0)

    def peak(gpu: str) -> int:
        return int(opscope.profile(Sum(), torch.rand(1 << 16, 64), device="cuda", gpu=gpu).memory.peak_memory_bytes)

    assert peak("8.0x108") > peak("8.0x16")


def test_code_that_asks_for_the_capability_hears_the_devices() -> None:
    class Asking(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.bfloat16() if torch.cuda.is_bf16_supported() and torch.cuda.get_device_capability() >= (8, 0) else x.half()

    def dtype(gpu: str) -> str:
        found = json.loads(opscope.capture(Asking(), torch.rand(4), device="cuda", gpu=gpu).to_json())
        return str(found["values"][found["outputs"][0]]["dtype"])

    assert (dtype("t4"), dtype("a100")) == ("float16", "bfloat16")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"device": "cpu", "gpu": "a100"}, "a CUDA device is named for a capture that is not of one"),
        ({"device": "cuda", "gpu": "a1000000"}, "no such device: 'a1000000'"),
        ({"device": "cuda", "gpu": "mi300x"}, "nothing is known of AMD Instinct MI300X 192GB as a CUDA device"),
        ({"device": "cuda", "gpu": "8.0x0"}, "no such device"),
    ],
)
def test_a_device_that_cannot_be(options: dict[str, str], words: str) -> None:
    with pytest.raises(opscope.Error, match=words):
        opscope.profile(nn.Linear(4, 4), torch.rand(2, 4), **options)


def test_fit_and_llm_on_a_gpu_are_captured_as_on_one() -> None:
    found = json.loads(opscope.fit(ConvNet(), torch.rand(2, 3, 8, 8), hardware="a100", memory="64MiB").to_json())
    on_cpu = json.loads(opscope.fit(ConvNet(), torch.rand(2, 3, 8, 8), memory="64MiB").to_json())
    assert found["largest"] != on_cpu["largest"]


def test_experts_count_their_tokens_on_the_device() -> None:
    class Routed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.router, self.expert = nn.Linear(8, 4), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            chosen = self.router(x).topk(2).indices.int()
            counts = torch.histc(chosen, bins=4, min=0, max=3)
            return self.expert(x) * counts.sum()

    with torch.no_grad():
        profile = opscope.profile(Routed(), torch.rand(6, 8), device="cuda")
    assert profile.totals.macs > 0
