"""The ways to say what a model is called with."""

from __future__ import annotations

import collections

import pytest
import torch
from torch import nn

import opscope
from opscope.inputs import as_dtype, as_inputs, as_shapes, float_dtype, make_tensor
from small_models import ConvNet, Keywords

A, B = torch.zeros(2, 6), torch.zeros(2, 7)


@pytest.mark.parametrize(
    "inputs",
    [opscope.Inputs(A, b=B), opscope.Inputs(a=A, b=B, scale=2.0), {"a": A, "b": B}, collections.UserDict(a=A, b=B)],
)
def test_positional_and_keyword(inputs: object) -> None:
    assert opscope.profile(Keywords(), inputs).totals.macs == 2 * 6 * 5 + 2 * 7 * 5


def test_tensor_tuple_and_shape_are_the_same_call() -> None:
    model = ConvNet().eval()
    x = torch.zeros(2, 3, 8, 8)
    results = [
        opscope.profile(model, x),
        opscope.profile(model, (x,)),
        opscope.profile(model, input_shape=(2, 3, 8, 8)),
        opscope.profile(model, input_shape=[(2, 3, 8, 8)]),
        opscope.profile(model, input_shape=(1, 3, 8, 8), batch=2),
    ]
    assert len({result.totals.flops for result in results}) == 1


def test_what_a_value_means() -> None:
    packed = nn.utils.rnn.pack_sequence([torch.zeros(2, 3)])
    assert as_inputs(A).args == (A,) and as_inputs((A, B)).args == (A, B)
    assert as_inputs([A, B]).args == ([A, B],)  # a detector's list of images is one argument
    assert as_inputs(packed).args == (packed,)
    assert as_inputs({"x": A}).kwargs == {"x": A}
    assert repr(opscope.Inputs(A, b=B, c=3)) == "Inputs(2x6 float32, b=2x7 float32, c=int)"


def test_shapes() -> None:
    assert as_shapes((1, 3)) == [(1, 3)] and as_shapes([[1, 3], (2,)]) == [(1, 3), (2,)] and as_shapes(()) == [()]
    for wrong in ("1x3", (1, "a"), 7, (1, -3), [(1, 2), None]):
        with pytest.raises(opscope.Error):
            as_shapes(wrong)


def test_dtypes() -> None:
    assert as_dtype("float16") is as_dtype("torch.float16") is as_dtype("fp16") is torch.float16
    assert as_dtype(torch.bfloat16) is torch.bfloat16 and as_dtype(None) is None
    for wrong in ("float17", "nn", "Tensor"):
        with pytest.raises(opscope.Error, match="no dtype called"):
            as_dtype(wrong)
    assert float_dtype(nn.Linear(1, 1).half(), None) is torch.float16


def test_dtype_prices_bytes() -> None:
    full, half = (opscope.profile("resnet18", dtype=dtype).totals for dtype in (None, "float16"))
    assert half.macs == full.macs and half.weight_bytes < full.weight_bytes and half.output_bytes * 2 == full.output_bytes


def test_large_inputs_cost_no_memory() -> None:
    image = make_tensor((4096, 3, 224, 224), torch.float32, torch.device("cpu"))
    assert image.shape == (4096, 3, 224, 224)


@pytest.mark.parametrize(("model", "options"), [("resnet18", {}), ("resnet18", {"training": True}), ("gpt2", {}), ("t5-small", {})])
def test_inputs_larger_than_any_memory_are_shapes(model: str, options: dict[str, object]) -> None:
    small, large = (opscope.profile(model, batch=batch, tracer="static", **options).totals for batch in (2, 2 * 10**8))
    assert large.macs == small.macs * 10**8


def test_inputs_without_room_are_not_run() -> None:
    for tracer, says in (("eager", "60.2TB"), ("fx", "takes 60.2TB")):
        with pytest.raises(opscope.Error, match=says) as caught:
            opscope.profile("resnet18", batch=10**8, tracer=tracer)
        assert "smaller batch" in caught.value.hint
    with pytest.raises(opscope.Error, match="more bytes than 64 bits can count"):
        opscope.profile("resnet18", batch=10**9, image_size=10**6)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"inputs": A, "batch": 2}, "do not go together"),
        ({"inputs": A, "input_shape": (1, 2)}, "do not go together"),
        ({"input_shape": (1, 3, 8, 8), "batch": 0}, "a batch of 0"),
        ({"input_shape": (1, 3, -4, 8)}, "negative"),
        ({"input_shape": (1, 3, 8, 8), "tracer": "magic"}, "no tracer called 'magic'"),
        ({"input_shape": (1, 3, 8, 8), "dtype": "float17"}, "no dtype called 'float17'"),
    ],
)
def test_wrong_options(options: dict[str, object], says: str) -> None:
    with pytest.raises(opscope.Error, match=says):
        opscope.profile(ConvNet(), **options)


class Refuses(nn.Module):
    """No image that its first layer takes fits its last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 4, 3), nn.Linear(7, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.conv(x).mean((2, 3)))


def test_what_was_assumed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(opscope.MODEL_REGISTRY, "mine", ConvNet)
    for result in (opscope.profile("mine"), opscope.profile(ConvNet())):
        assert [row.shape for row in result.inputs] == [[1, 3, 224, 224]]
        assert [(row.kind, row.message) for row in result.diagnostics] == [
            ("assumed", "no inputs were given, so x 1x3x224x224 float32 was assumed")
        ]
    assert [row.shape for row in opscope.profile("mine", batch=2).inputs] == [[2, 3, 224, 224]]
    assert not opscope.profile(ConvNet(), input_shape=(1, 3, 8, 8)).diagnostics
    with pytest.raises(opscope.Error, match="mat1 and mat2") as caught:
        opscope.profile(Refuses())
    assert "x 1x3x224x224 float32 was assumed: give --input-shape or --input" in caught.value.hint
