"""What a model that says nothing is called with: worked out from its code and layers, each guess tried by shapes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import opscope
from opscope.engine import abstract_run
from opscope.inputs.plan import InputPlan, plan_inputs
from opscope.options import Options
from opscope.sources import Source
from small_models import ConvNet, Keywords, SharedBranches, TiedWeights


def plan(model: Any, **asked: Any) -> InputPlan:
    return plan_inputs(Source(model, "model", ""), Options(**asked))


def shapes(planned: InputPlan) -> dict[str, tuple[int, ...] | None]:
    return {row.name: row.shape for row in planned.rows}


def runs(model: Any, planned: InputPlan) -> int:
    inputs = planned.make()
    return len(abstract_run.capture(model, inputs.args, inputs.kwargs, tracer="static"))


class Digits(nn.Module):
    """The MNIST example: the Linear after the convolutions fixes the image at 28x28."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)
        self.fc = nn.Linear(16 * 12 * 12, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        return self.fc(torch.flatten(x, 1))


class OddSide(Digits):
    """No side that anybody uses: 16 * 50 * 50 features come of 104x104."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(16 * 50 * 50, 10)


class HeadFirst(nn.Module):
    """Registered in an order that is not the order of the call."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.embed = nn.Linear(32, 2), nn.Embedding(100, 32)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 1)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.encoder(self.embed(tokens)).mean(1))


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users, self.items, self.fc = nn.Embedding(100, 8), nn.Embedding(50, 8), nn.Linear(16, 1)

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        return self.fc(torch.cat([self.users(user), self.items(item)], -1))


class Joined(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(10, 1)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        return self.fc(torch.cat((a, b), dim=1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.fc = nn.LSTM(12, 20), nn.Linear(20, 3)

    def forward(self, x: Tensor, state: Any = None) -> Tensor:
        return self.fc(self.rnn(x, state)[0][-1])


class Masked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.attention = nn.Embedding(10, 4), nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        hidden = self.embed(ids)
        return self.attention(hidden, hidden, hidden, key_padding_mask=~mask)[0]


class ByMethod(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out, self.inner = nn.Linear(3, 3), nn.ModuleList([nn.Linear(11, 11), nn.Linear(11, 3)])

    def encode(self, z: Tensor) -> Tensor:
        for layer in self.inner:
            z = layer(z)
        return z

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.encode(x.float()))


class PassesOn(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner(*args, **kwargs)


class Diffusion(nn.Module):
    """An image, a time that is embedded by formula, and a class."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.time, self.kinds = nn.Conv2d(4, 8, 3), nn.Linear(16, 8), nn.Embedding(10, 8)

    def forward(self, x: Tensor, timesteps: Tensor, y: Tensor) -> Tensor:
        waves = timesteps[:, None] * torch.arange(16)
        hidden = self.time(torch.sin(waves)) + self.kinds(y)
        return self.conv(x) + hidden[:, :, None, None]


class Annotated(nn.Module):
    """The table is made in forward: only the annotation tells that ids go in."""

    def forward(self, ids: torch.LongTensor) -> Tensor:
        return F.one_hot(ids, 5)


WORKED_OUT: dict[str, tuple[Callable[[], Any], dict[str, tuple[int, ...]]]] = {
    "convolution": (ConvNet, {"x": (1, 3, 224, 224)}),
    "linear": (SharedBranches, {"x": (1, 10)}),
    "embedding": (TiedWeights, {"ids": (1, 128)}),
    "keyword only": (Keywords, {"a": (1, 6), "b": (1, 7)}),
    "side from a later layer": (Digits, {"x": (1, 1, 28, 28)}),
    "side found by halving": (OddSide, {"x": (1, 1, 104, 104)}),
    "order of the call": (HeadFirst, {"tokens": (1, 128)}),
    "one id each": (Recommender, {"user": (1,), "item": (1,)}),
    "joined": (Joined, {"a": (1, 5), "b": (1, 5)}),
    "sequence first": (Recurrent, {"x": (128, 1, 12)}),
    "mask by name": (Masked, {"ids": (1, 128), "mask": (1, 128)}),
    "methods and loops": (ByMethod, {"x": (1, 11)}),
    "time and class beside an image": (Diffusion, {"x": (1, 4, 224, 224), "timesteps": (1,), "y": (1,)}),
    "wrapper": (lambda: PassesOn(ConvNet()), {"x": (1, 3, 224, 224)}),
    "annotation": (Annotated, {"ids": (1, 128)}),
    "partial": (lambda: functools.partial(Keywords(), b=torch.zeros(1, 7)), {"a": (1, 6)}),
    "scripted": (lambda: torch.jit.script(Digits()), {"x": (1, 1, 28, 28)}),
    "traced": (lambda: torch.jit.trace(Digits(), torch.zeros(1, 1, 28, 28)), {"x": (1, 1, 28, 28)}),
    "exported": (
        lambda: torch.export.export(Keywords(), (torch.zeros(2, 6),), {"b": torch.zeros(2, 7)}).module(),
        {"a": (2, 6), "b": (2, 7)},
    ),
    "dynamically quantised": (lambda: torch.ao.quantization.quantize_dynamic(SharedBranches()), {"x": (1, 10)}),
    "Sequential": (lambda: nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(6, 2)), {"input": (1, 6)}),
    "Conv1d": (lambda: nn.Conv1d(4, 5, 3), {"input": (1, 4, 128)}),
    "Conv3d": (lambda: nn.Conv3d(3, 4, 3), {"input": (1, 3, 16, 224, 224)}),
    "GRUCell": (lambda: nn.GRUCell(4, 5), {"input": (1, 4)}),
    "LayerNorm": (lambda: nn.LayerNorm((4, 10)), {"input": (1, 4, 10)}),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(7), {"input": (1, 7)}),
    "Bilinear": (lambda: nn.Bilinear(5, 7, 3), {"input1": (1, 5), "input2": (1, 7)}),
    "MultiheadAttention": (
        lambda: nn.MultiheadAttention(8, 2, kdim=6, vdim=4),
        {"query": (128, 1, 8), "key": (128, 1, 6), "value": (128, 1, 4)},
    ),
    "Transformer": (lambda: nn.Transformer(16, 2, 1, 1, 32), {"src": (128, 1, 16), "tgt": (128, 1, 16)}),
}


@pytest.mark.parametrize("kind", WORKED_OUT)
def test_worked_out(kind: str) -> None:
    make, expected = WORKED_OUT[kind]
    model = make()
    if isinstance(model, nn.Module) and not isinstance(model, torch.fx.GraphModule):
        model.eval()
    planned = plan(model)
    assert shapes(planned) == expected
    assert runs(model, planned) > 0
    assert all(row.why for row in planned.rows)
    assert planned.notes and "assumed" in planned.notes[0]


def test_reasons_name_the_layer_and_the_numbers() -> None:
    assert plan(ConvNet()).rows[0].why == "first layer conv (Conv2d) takes 3 channels"
    assert plan(TiedWeights()).rows[0].why == "first layer embed (Embedding) looks ids up among 50"
    note = plan(Digits()).notes[0]
    assert "images of 224x224 did not fit, 28x28 do" in note


def test_dtypes_follow_the_weights_and_the_use() -> None:
    assert [row.dtype for row in plan(nn.Linear(3, 4).half()).rows] == ["float16"]
    assert [row.dtype for row in plan(TiedWeights().half()).rows] == ["int64"]
    masked = plan(Masked()).rows
    assert [row.dtype for row in masked] == ["int64", "bool"] and masked[1].value == "ones"


def test_the_model_is_left_alone() -> None:
    model = ConvNet().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    plan(model)
    assert model.training and all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_lazy_models_stay_lazy() -> None:
    model = nn.Sequential(nn.LazyConv2d(8, 3), nn.Flatten(), nn.LazyLinear(4))
    assert shapes(plan(model)) == {"input": (1, 3, 224, 224)}
    assert all(nn.parameter.is_lazy(parameter) for parameter in model.parameters())


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"batch": 4}, {"x": (4, 3, 224, 224)}),
        ({"image_size": 64}, {"x": (1, 3, 64, 64)}),
        ({"image_size": (48, 64), "batch": 2}, {"x": (2, 3, 48, 64)}),
        ({"input_shape": (2, 3, 8, 8)}, {"x": (2, 3, 8, 8)}),
        ({"input_shape": (2, 3, 8, 8), "batch": 5}, {"x": (5, 3, 8, 8)}),
        ({"named_inputs": {"x": (1, 3, 16, 16)}}, {"x": (1, 3, 16, 16)}),
        ({"named_inputs": {"x": {"shape": [1, 3, 16, 16], "dtype": "float64"}}}, {"x": (1, 3, 16, 16)}),
    ],
)
def test_overrides(asked: dict[str, Any], expected: dict[str, tuple[int, ...]]) -> None:
    assert shapes(plan(ConvNet(), **asked)) == expected


def test_a_length_makes_rows_into_sequences() -> None:
    assert shapes(plan(SharedBranches(), seq_len=5)) == {"x": (1, 5, 10)}
    assert shapes(plan(Recommender(), seq_len=5)) == {"user": (1, 5), "item": (1, 5)}
    assert shapes(plan(HeadFirst(), seq_len=7, batch=3)) == {"tokens": (3, 7)}


def test_named_values_and_dtypes() -> None:
    given = torch.ones(2, 6)
    planned = plan(Keywords(), named_inputs={"a": given, "b": ((2, 7), "float32"), "scale": 2.0})
    inputs = planned.make()
    assert inputs.kwargs["a"] is given and inputs.kwargs["b"].shape == (2, 7) and inputs.kwargs["scale"] == 2.0
    assert [row.value for row in planned.rows if row.name == "scale"] == ["2.0"]
    wide = plan(TiedWeights(), named_inputs={"ids": ((1, 3), "int32")}).make()
    assert wide.kwargs["ids"].dtype == torch.int32 if wide.kwargs else wide.args[0].dtype == torch.int32


@pytest.mark.parametrize(
    ("model", "asked", "says", "hint"),
    [
        (ConvNet, {"seq_len": 5}, "model reads no sequence.*seq_len does not apply", "--input x=1x3x224x224"),
        (SharedBranches, {"image_size": 5}, "model takes no image", ""),
        (Keywords, {"named_inputs": {"scal": 3}}, "no argument called 'scal'", "it takes a, b, scale"),
        (ConvNet, {"batch": 0}, "a batch of 0", ""),
        (ConvNet, {"seq_len": -1}, "a seq_len of -1", ""),
        (ConvNet, {"image_size": (1, 2, 3)}, "not an image size", "height and width"),
        (ConvNet, {"phase": "later"}, "no phase called 'later'", "prefill, decode"),
        (ConvNet, {"past_len": 3}, "past_len is for the decode phase", "--phase decode"),
        (ConvNet, {"phase": "prefill"}, "no prefill and no decode step", "ForCausalLM"),
        (ConvNet, {"phase": "decode"}, "no prefill and no decode step", "ForCausalLM"),
        (lambda: lambda x, y: x + y, {}, "the shape of 'x' is not known", "--input x=1x3x224x224"),
        (lambda: nn.LazyLinear(3), {}, "LazyLinear. takes any number of features", "--input input="),
    ],
)
def test_errors(model: Callable[[], Any], asked: dict[str, Any], says: str, hint: str) -> None:
    with pytest.raises(opscope.Error, match=says) as caught:
        plan(model(), **asked)
    assert hint in caught.value.hint


def test_misspelt_names_are_guessed() -> None:
    with pytest.raises(opscope.Error) as caught:
        plan(Keywords(), named_inputs={"scal": 3})
    assert "scale" in caught.value.candidates


def test_a_factory_brings_its_own() -> None:
    given = opscope.Inputs(torch.ones(2, 6), b=torch.zeros(2, 7))
    source = Source(Keywords(), "model", "", inputs=given, owned=True)
    planned = plan_inputs(source, Options())
    assert shapes(planned) == {"a": (2, 6), "b": (2, 7)} and planned.make().args[0] is given.args[0]
    assert plan_inputs(source, Options(), torch.float16).make().kwargs["b"].dtype == torch.float16
    with pytest.raises(opscope.Error, match="brings its own inputs, so seq_len"):
        plan_inputs(source, Options(seq_len=3))


def test_what_is_given_whole_takes_no_other_size() -> None:
    for option in ({"batch": 4}, {"image_size": 64}, {"input_shape": (1, 3, 224, 224)}):
        with pytest.raises(opscope.Error, match="was given whole"):
            opscope.profile("resnet18", named_inputs={"x": (1, 3, 128, 128)}, **option)
