"""Graphs saved as Python: the file runs by itself and gives the model's own outputs, bit by bit."""

from __future__ import annotations

import ast
import math
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

import opscope
from opscope.api import Tracing, _source_of
from opscope.engine import torch_version
from opscope.engine.nested import tensors_in
from opscope.engine.structural_copy import structural_copy
from opscope.options import Options
from opscope.tracers.comparison import _build_to_check, compare
from opscope.tracers.saved_code import check_code, save_code, weights_path
from opscope.tracers.saved_code.functions import Unwritable
from opscope.tracers.saved_code.modules import constructor_call
from opscope.tracers.saved_code.text import Text
from opscope.tracers.traced import Traced, TracedBreak, TracedPart
from small_models import ConvNet, SharedBranches, TiedWeights


def by_fx(model: nn.Module, *args: Any) -> Traced:
    return Traced("fx", model, args, {}, [TracedPart("forward", torch.fx.symbolic_trace(model), args, {"": model})])


def by_export(model: nn.Module, *args: Any, **kwargs: Any) -> Traced:
    """On a copy: exporting leaves fake tensors in models that keep what they compute."""
    with torch.no_grad():
        program = torch.export.export(structural_copy(model, without_data=False), args, kwargs, strict=False)
    flat = tuple(program._graph_module_flat_inputs(args, kwargs))
    return Traced("export", model, args, kwargs, [TracedPart("forward", program.graph_module, flat, {"": model})])


def by_unlifted_export(model: nn.Module, *args: Any, **kwargs: Any) -> Traced:
    with torch.no_grad():
        module = torch.export.export(structural_copy(model, without_data=False), args, kwargs, strict=False).module()
    flat = tuple(pytree.tree_leaves((args, kwargs)))
    return Traced("export", model, args, kwargs, [TracedPart("forward", module, flat, {"": model})])


def by_dynamo(model: nn.Module, *args: Any, **kwargs: Any) -> Traced:
    made = Traced("dynamo", model, args, kwargs)

    def backend(module: torch.fx.GraphModule, _: Any) -> Callable[..., Any]:
        index = len(made.parts)
        made.parts.append(TracedPart("forward", module, ()))
        reason = getattr(module, "compile_subgraph_reason", None)
        if reason is not None and reason.graph_break:
            made.breaks.append(TracedBreak(reason.reason, "model.py:7", index))

        def run(*given: Any) -> Any:
            made.parts[index].args = made.parts[index].args or given
            return module(*given)

        return run

    torch._dynamo.reset()
    with torch.no_grad():
        torch.compile(structural_copy(model, without_data=False), backend=backend, dynamic=False)(*args, **kwargs)
    torch._dynamo.reset()
    return made


EQUAL = "outputs bit-equal to the model's"
TRACERS = {"fx": by_fx, "export": by_export, "unlifted": by_unlifted_export, "dynamo": by_dynamo}


def saved(traced: Traced, folder: Path, weights: bool = True) -> tuple[Path, list[str]]:
    path = folder / "model.py"
    notes = save_code(traced, str(path), weights)
    return path, notes


def loaded(path: Path) -> dict[str, Any]:
    """The file's names, run here: what a fresh interpreter adds is tested where it matters."""
    names: dict[str, Any] = {"__name__": "saved", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names


def outputs(path: Path, traced: Traced) -> list[Tensor]:
    names = loaded(path)
    model = names[type(traced.root).__name__]()
    model.load_state_dict(names["load_weights"](weights_path(str(path))))
    torch.manual_seed(0)
    with torch.no_grad():
        return pytree.tree_leaves(model(*[value for value in pytree.tree_leaves((traced.args, traced.kwargs))]))


def own_outputs(traced: Traced) -> list[Tensor]:
    torch.manual_seed(0)
    with torch.no_grad():
        return pytree.tree_leaves(traced.root(*traced.args, **traced.kwargs))


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return len(one) == len(other) and all(map(torch.equal, one, other))


# --- constructor calls ----------------------------------------------------------------------------------------

_NO_BIAS = ", bias=False" if torch_version.RELEASE >= (2, 12) else ""  # before, a GroupNorm had no such choice

CALLS: list[tuple[str, nn.Module]] = [
    (
        "nn.Conv2d(3, 64, kernel_size=(7, 7), stride=(2, 2), padding=(3, 3), bias=False)",
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
    ),
    (
        "nn.Conv2d(4, 4, kernel_size=(3, 3), padding='same', groups=4, padding_mode='circular')",
        nn.Conv2d(4, 4, 3, padding="same", groups=4, padding_mode="circular"),
    ),
    (
        "nn.ConvTranspose1d(4, 6, kernel_size=(3,), stride=(2,), output_padding=(1,))",
        nn.ConvTranspose1d(4, 6, 3, 2, output_padding=1),
    ),
    ("nn.Linear(3, 4)", nn.Linear(3, 4)),
    ("nn.Linear(3, 4, bias=False, dtype=torch.bfloat16)", nn.Linear(3, 4, bias=False, dtype=torch.bfloat16)),
    ("nn.Embedding(10, 4, padding_idx=1, max_norm=2.0)", nn.Embedding(10, 4, padding_idx=1, max_norm=2.0)),
    ("nn.EmbeddingBag(10, 4, mode='sum')", nn.EmbeddingBag(10, 4, mode="sum")),
    ("nn.LayerNorm(normalized_shape=(8,), eps=1e-06)", nn.LayerNorm(8, eps=1e-6)),
    ("nn.LayerNorm(normalized_shape=(8,), bias=False)", nn.LayerNorm(8, bias=False)),
    ("nn.RMSNorm(normalized_shape=(8,))", nn.RMSNorm(8)),
    (f"nn.GroupNorm(2, 8, affine=False{_NO_BIAS})", nn.GroupNorm(2, 8, affine=False)),
    (
        "nn.BatchNorm2d(8, momentum=None, track_running_stats=False)",
        nn.BatchNorm2d(8, momentum=None, track_running_stats=False),
    ),
    (
        "nn.LSTM(4, 8, num_layers=2, dropout=0.5, bidirectional=True, proj_size=3)",
        nn.LSTM(4, 8, 2, dropout=0.5, bidirectional=True, proj_size=3),
    ),
    ("nn.GRU(4, 8, batch_first=True)", nn.GRU(4, 8, batch_first=True)),
    ("nn.RNN(4, 8, nonlinearity='relu', bias=False)", nn.RNN(4, 8, nonlinearity="relu", bias=False)),
    ("nn.LSTMCell(4, 8)", nn.LSTMCell(4, 8)),
    ("nn.MultiheadAttention(8, 2, dropout=0.1, batch_first=True)", nn.MultiheadAttention(8, 2, 0.1, batch_first=True)),
    (
        "nn.MultiheadAttention(8, 2, bias=False, add_bias_kv=True, kdim=6, vdim=4)",
        nn.MultiheadAttention(8, 2, bias=False, add_bias_kv=True, kdim=6, vdim=4),
    ),
    (
        "nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, activation=F.gelu, norm_first=True)",
        nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", norm_first=True),
    ),
    ("nn.TransformerDecoderLayer(8, 2, dim_feedforward=16, dropout=0.0)", nn.TransformerDecoderLayer(8, 2, 16, 0.0)),
    (
        "nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True), 2, norm=nn.LayerNorm(normalized_shape=(8,)))",
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, nn.LayerNorm(8)),
    ),
    ("nn.Dropout(p=0.1)", nn.Dropout(0.1)),
    ("nn.ReLU(inplace=True)", nn.ReLU(True)),
    ("nn.GELU(approximate='tanh')", nn.GELU("tanh")),
    ("nn.Hardtanh(min_val=0.0, max_val=6.0)", nn.Hardtanh(0.0, 6.0)),
    ("nn.PReLU(num_parameters=4)", nn.PReLU(4)),
    ("nn.Softmax(dim=-1)", nn.Softmax(-1)),
    ("nn.Identity()", nn.Identity(3, a=4)),
    ("nn.Flatten(start_dim=2)", nn.Flatten(2)),
    (
        "nn.Upsample(scale_factor=2.0, mode='bilinear', align_corners=True)",
        nn.Upsample(scale_factor=2.0, mode="bilinear", align_corners=True),
    ),
    ("nn.AdaptiveAvgPool2d(output_size=(None, 7))", nn.AdaptiveAvgPool2d((None, 7))),
    ("nn.MaxPool2d(3, stride=2, ceil_mode=True)", nn.MaxPool2d(3, 2, ceil_mode=True)),
    ("nn.Sequential(nn.Linear(3, 4), nn.Tanh())", nn.Sequential(nn.Linear(3, 4), nn.Tanh())),
    ("nn.Bilinear(2, 3, 4)", nn.Bilinear(2, 3, 4)),
    ("nn.PixelShuffle(2)", nn.PixelShuffle(2)),
    ("nn.ZeroPad2d(padding=(1, 2, 3, 4))", nn.ZeroPad2d((1, 2, 3, 4))),
    (
        "nn.CrossEntropyLoss(weight=torch.ones(5, dtype=torch.float32), label_smoothing=0.1)",
        nn.CrossEntropyLoss(torch.rand(5), label_smoothing=0.1),
    ),
]


@pytest.mark.parametrize(("call", "module"), CALLS, ids=[call.partition("(")[0].removeprefix("nn.") for call, _ in CALLS])
def test_constructor_calls(call: str, module: nn.Module) -> None:
    made = constructor_call(module, Text(torch.device("cpu")))
    assert made.expression == call
    again = eval(made.expression, {"torch": torch, "nn": nn, "F": nn.functional})
    state = {name: (tensor.shape, tensor.dtype) for name, tensor in again.state_dict().items()}
    assert state == {name: (tensor.shape, tensor.dtype) for name, tensor in module.state_dict().items()}
    assert repr(again) == repr(module)


def test_what_a_call_does_not_say_is_assigned_after_it() -> None:
    norm = nn.BatchNorm2d(4)
    norm.eps = 0.5
    assert constructor_call(norm, Text(torch.device("cpu"))).expression == "nn.BatchNorm2d(4, eps=0.5)"
    mixed = nn.TransformerEncoderLayer(8, 2, 16)
    mixed.norm2.eps = 0.25
    assert constructor_call(mixed, Text(torch.device("cpu"))).after == [("norm2.eps", "0.25")]
    strided = nn.Conv2d(4, 4, 3).to(memory_format=torch.channels_last)
    assert constructor_call(strided, Text(torch.device("cpu"))).after == [
        ("weight", "nn.Parameter(random_tensor((4, 4, 3, 3), stride=(36, 1, 12, 4)))")
    ]


class Scaled(nn.Module):
    """Keeps less than its constructor takes."""

    def __init__(self, factor: float, times: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4) * factor)
        self.power = factor * times

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale + self.power


def test_modules_that_no_call_makes_say_why() -> None:
    with pytest.raises(Unwritable, match="not a class that a fresh interpreter can import"):
        constructor_call(Scaled(2.0, 3), Text(torch.device("cpu")))
    hooked = nn.Linear(2, 2)
    hooked.register_forward_hook(lambda *_: None)
    with pytest.raises(Unwritable, match="has hooks"):
        constructor_call(hooked, Text(torch.device("cpu")))


# --- whole files, run here --------------------------------------------------------------------------------------


def constant(x: Tensor) -> Tensor:
    return x + BIAS


BIAS = 3
torch.fx.wrap("constant")


class Everything(nn.Module):
    """What text gets wrong: names that are Python's own, infinities, slices, in-place writes, nested outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"0": nn.Linear(4, 4), "2": nn.Linear(4, 4)})
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.register_buffer("steps", torch.arange(4.0), persistent=False)
        self.offset = nn.Parameter(torch.rand(4))
        self.names = nn.ParameterList([nn.Parameter(torch.rand(4))])

    def forward(self, input: Tensor, torch_: Tensor) -> dict[str, Any]:
        x = self.layers["2"](self.layers["0"](input)).masked_fill(torch_ > 1, float("-inf")).softmax(-1)
        x = constant(x)[:, 1:, None].squeeze(-2).contiguous()
        x[..., 0].fill_(-1.5)
        attended, weights = self.attention(x, x, x)
        scaled = math.sqrt(2) * attended ** (-1) + self.offset - self.steps
        return {"out": (scaled, [weights.to(torch.float64)]), "sum": torch.add(x, self.names[0], alpha=2)}


@pytest.mark.parametrize("tracer", TRACERS)
def test_every_kind_of_node(tracer: str, tmp_path: Path) -> None:
    traced = TRACERS[tracer](Everything().eval(), torch.rand(2, 5, 4), torch.rand(2, 5, 4))
    path, notes = saved(traced, tmp_path)
    ours = outputs(path, traced)  # Dynamo has an order of its own
    for own in own_outputs(traced):
        alike = [each for each in ours if (each.shape, each.dtype) == (own.shape, own.dtype)]
        assert any(torch.allclose(each, own, rtol=1e-5, atol=1e-5) for each in alike)
    assert notes == []
    assert path.read_text() == (saved(traced, tmp_path)[0]).read_text()  # the same bytes


class Writes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[1:, ::2, None] = -y[:1].sum() ** 2
        return y


def test_writes_by_index(tmp_path: Path) -> None:
    traced = by_dynamo(Writes(), torch.rand(3, 4))
    path, _ = saved(traced, tmp_path)
    assert "y[1:, ::2, None] = " in path.read_text()
    assert same(outputs(path, traced), own_outputs(traced))


def test_shapes_are_beside_the_nodes_and_inputs_beside_the_file(tmp_path: Path) -> None:
    path, _ = saved(by_fx(ConvNet().eval(), torch.rand(2, 3, 8, 8)), tmp_path, weights=False)
    text = path.read_text()
    assert "conv = self.conv(x)  # float32[2, 8, 8, 8]" in text
    assert "# x: float32[2, 3, 8, 8]" in text
    assert "mean = relu.mean((2, 3))  # float32[2, 8]" in text
    assert [tuple(value.shape) for value in loaded(path)["example_inputs"]()] == [(2, 3, 8, 8)]
    assert os.listdir(tmp_path) == ["model.py"]


def test_weights_are_plain_tensors_and_tied_ones_stay_one(tmp_path: Path) -> None:
    path, _ = saved(by_export(TiedWeights().eval(), torch.zeros(2, 3, dtype=torch.long)), tmp_path)
    state = torch.load(weights_path(str(path)), weights_only=True)
    assert {type(tensor) for tensor in state.values()} == {Tensor}
    again = by_fx(TiedWeights().eval(), torch.zeros(2, 3, dtype=torch.long))
    path, _ = saved(again, tmp_path)
    assert "self.head.weight = self.embed.weight  # tied" in path.read_text()
    model = loaded(path)["TiedWeights"]()
    assert model.head.weight is model.embed.weight


def test_modes_and_random_numbers_are_the_models(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.5), nn.BatchNorm1d(6))
    model[2].eval()
    traced = by_fx(model.train(), torch.rand(4, 6))
    model[2].eval()
    path, _ = saved(traced, tmp_path)
    assert "getattr(self, \"2\").train(False)" in path.read_text()
    assert same(outputs(path, traced), own_outputs(traced))


class Leaves(torch.fx.Tracer):
    def is_leaf_module(self, module: nn.Module, path: str) -> bool:
        return isinstance(module, Scaled) or super().is_leaf_module(module, path)


def test_submodules_that_no_call_makes_are_written_as_their_graphs(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 4), Scaled(2.0, 3), nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))).eval()
    graph = Leaves().trace(model)
    part = TracedPart("forward", torch.fx.GraphModule(model, graph), (torch.rand(2, 4),))
    traced = Traced("fx", model, part.args, {}, [part])
    path, notes = saved(traced, tmp_path)
    assert [note.partition(":")[0] for note in notes] == [
        "1 (Scaled) is written as its graph",
        "2 (ParametrizedLinear) is written as its graph",
    ]
    assert same(outputs(path, traced), own_outputs(traced))


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: self.left(x).relu(), lambda x: self.right(x), (x,))


def test_branches_are_classes_of_their_own(tmp_path: Path) -> None:
    traced = by_export(Branches().eval(), torch.rand(2, 4))
    path, _ = saved(traced, tmp_path)
    assert "Branches_true_graph_0(nn.Module)" in path.read_text()
    assert same(outputs(path, traced), own_outputs(traced))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traced = by_fx(ConvNet().eval(), torch.rand(1, 3, 8, 8))
    with pytest.raises(opscope.Error, match="no such file") as told:
        save_code(traced, str(tmp_path / "missing" / "model.py"), weights=False)
    assert "does not exist; make it first" in told.value.hint
    (tmp_path / "model.py").write_text("what was there\n")
    (tmp_path / "model.py").chmod(0o640)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(opscope.Error, match="no space left on device"):
        patched.setattr(os, "fsync", full)
        save_code(traced, str(tmp_path / "model.py"), weights=False)
    assert (tmp_path / "model.py").read_text() == "what was there\n"
    assert os.listdir(tmp_path) == ["model.py"]
    saved(traced, tmp_path, weights=False)
    assert (tmp_path / "model.py").stat().st_mode & 0o777 == 0o640


def test_weights_of_a_model_without_data_are_refused(tmp_path: Path) -> None:
    model = ConvNet().eval().to("meta")
    traced = by_fx(model, torch.rand(1, 3, 8, 8))
    with pytest.raises(opscope.Error, match="no weights to save"):
        saved(traced, tmp_path)
    assert os.listdir(tmp_path) == []
    saved(traced, tmp_path, weights=False)


# --- fresh interpreters -----------------------------------------------------------------------------------------


def test_a_file_runs_alone(tmp_path: Path) -> None:
    path, _ = saved(by_fx(ConvNet().eval(), torch.rand(2, 3, 8, 8)), tmp_path)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "float32[2, 4]\n"
    modules = {node.names[0].name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import)}
    assert modules == {"os", "sys", "torch", "torch.nn.functional"}


def test_the_check_finds_what_differs(tmp_path: Path) -> None:
    traced = by_fx(SharedBranches().eval(), torch.rand(2, 10))
    path, _ = saved(traced, tmp_path)
    assert check_code(traced, str(path), weights_path(str(path))) == EQUAL
    path.write_text(path.read_text().replace("x * 2", "x * 3"))
    with pytest.raises(opscope.Error, match=r"output 0 \(float32\[2, 10\]\) of the saved file differs from the graph's by"):
        check_code(traced, str(path), weights_path(str(path)))


def test_the_check_says_why_where_bits_differ(tmp_path: Path) -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    traced = by_export(model, torch.rand(2, 9, 32))
    path, _ = saved(traced, tmp_path)
    verdict = check_code(traced, str(path), weights_path(str(path)))
    assert verdict == (
        "outputs within 1e-5 of the model's: "
        "the model takes the fused fast path of nn.MultiheadAttention, the graph its single ops"
    )


@torch.library.custom_op("saved_code_tests::scaled", mutates_args=())
def scaled(x: Tensor, factor: float) -> Tensor:
    return x * factor * BIAS


@scaled.register_fake
def _(x: Tensor, factor: float) -> Tensor:
    return torch.empty_like(x)


class OwnOperator(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.saved_code_tests.scaled(x, 0.5) + 1


def test_operators_of_a_users_own_come_along(tmp_path: Path) -> None:
    traced = by_export(OwnOperator(), torch.rand(2, 4))
    path, _ = saved(traced, tmp_path)
    assert "BIAS = 3" in path.read_text()
    assert check_code(traced, str(path), weights_path(str(path))) == EQUAL


class ThreeParts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        torch._dynamo.graph_break()
        x = self.second(x)
        torch._dynamo.graph_break()
        return self.third(x)


def test_every_partition_is_a_class_with_the_break_between(tmp_path: Path) -> None:
    traced = by_dynamo(ThreeParts().eval(), torch.rand(2, 4))
    path, _ = saved(traced, tmp_path)
    text = path.read_text()
    assert [text.index(f"class ThreePartsPart{number}(nn.Module)") for number in (1, 2, 3)] == sorted(
        text.index(f"class ThreePartsPart{number}(nn.Module)") for number in (1, 2, 3)
    )
    assert text.count("# graph break: ") == 2 and text.count("(model.py:7)") == 2
    assert check_code(traced, str(path), weights_path(str(path))) == "each graph bit-equal to Dynamo's"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "".join(f"ThreePartsPart{number} ['float32[2, 4]']\n" for number in (1, 2, 3))


def test_a_model_without_data_is_checked_on_random_weights(tmp_path: Path) -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64, vocab_size=100)
    with torch.device("meta"):
        model = BertModel(config).eval()
    for buffer in ("position_ids", "token_type_ids"):
        setattr(model.embeddings, buffer, torch.zeros(1, 512, dtype=torch.long))
    meta = torch.zeros(1, 8, dtype=torch.long, device="meta")
    real = by_unlifted_export(BertModel(config).eval(), input_ids=torch.zeros(1, 8, dtype=torch.long))
    part = TracedPart("forward", real.parts[0].module.to("meta"), (meta,))
    traced = Traced("export", part.module, (meta,), {}, [part])
    path, _ = saved(traced, tmp_path, weights=False)
    assert check_code(traced, str(path), None) == EQUAL


# --- what a check must not let through --------------------------------------------------------------------------


def _to_check(spec: Any, **options: Any) -> Tracing:
    asked = Options(**options)
    tracing = Tracing(_source_of(spec, asked), None, asked, lambda _: None)
    _build_to_check(tracing)
    return tracing


@pytest.mark.parametrize("name", ["resnet18", "timm:convnext_atto"])
def test_a_graph_without_its_residual_adds_is_found_out(name: str, tmp_path: Path) -> None:
    """On zeros both give the same, and so they do with the scales that convnext begins with."""
    _, traced = _to_check(name, image_size=64).graph("fx")
    assert traced is not None and _reproduced(traced, tmp_path) == EQUAL
    module = traced.parts[0].module
    adds = [node for node in module.graph.nodes if node.target in (operator.add, operator.iadd)]
    for node in adds:
        node.replace_all_uses_with(node.args[1])
        module.graph.erase_node(node)
    module.recompile()
    assert len(adds) >= 8
    with pytest.raises(opscope.Error, match=r"output 0 .* of the saved file differs from the model's"):
        _reproduced(traced, tmp_path)


def test_numbers_are_made_up_only_for_what_is_not_the_users(tmp_path: Path) -> None:
    model = ConvNet().eval()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    call = _to_check(model, input_shape=(1, 3, 8, 8)).call()
    assert call.arguments.args[0].unique().numel() > 100
    assert all(torch.equal(tensor, before[name]) for name, tensor in call.source.model.state_dict().items())
    (tmp_path / "own.py").write_text("import torch\ndef build():\n    return torch.nn.Linear(4, 4), torch.zeros(2, 4)\n")
    assert _to_check(str(tmp_path / "own.py:build")).call().arguments.args[0].unique().tolist() == [0]


def test_tokens_differ_and_marks_stay() -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config(d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    given = _to_check(T5ForConditionalGeneration(config).eval(), seq_len=60).call().arguments.kwargs
    ids = given["input_ids"][0]
    assert len(ids[:-1].unique()) == 50 and ids[-1] == config.eos_token_id
    assert not {config.pad_token_id, config.eos_token_id} & set(ids[:-1].tolist())
    assert bool((given["attention_mask"] == 1).all())


class Two(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.a(x), self.b(x)


def test_swapped_outputs_are_found_out(tmp_path: Path) -> None:
    traced = by_fx(Two().eval(), torch.rand(2, 4))
    assert _reproduced(traced, tmp_path) == EQUAL
    output = next(node for node in traced.parts[0].module.graph.nodes if node.op == "output")
    output.args = (tuple(reversed(output.args[0])),)
    with pytest.raises(opscope.Error, match=r"output 0 .* differs from the model's"):
        _reproduced(traced, tmp_path)


class Repeats(Two):
    def forward(self, x: Tensor) -> dict[str, Any]:  # type: ignore[override]
        y, z = super().forward(x)
        return {"z": z, "y": y, "again": z, "x": x, "n": 3}


def test_dynamo_returns_what_it_made_once(tmp_path: Path) -> None:
    model, x = Repeats().eval(), torch.rand(2, 4)
    assert _reproduced(by_dynamo(model, x), tmp_path) == f"{EQUAL}, as a flat tuple in Dynamo's order"
    assert _reproduced(by_export(model, x), tmp_path) == EQUAL
    assert _reproduced(by_dynamo(Two().eval(), x), tmp_path) == EQUAL


def test_a_model_that_does_not_run_is_compared_with_its_graph(tmp_path: Path) -> None:
    traced = by_fx(Two().eval(), torch.rand(2, 4))
    traced.kwargs = {"unknown": 1}
    verdict = _reproduced(traced, tmp_path)
    assert verdict.startswith("outputs bit-equal to the graph's; the model itself did not run: ")


def test_memory_without_numbers_is_not_saved_and_not_checked_on(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).eval()
    for parameter in model.parameters():
        parameter.data.fill_(float("nan"))  # what memory may hold
    traced = by_fx(model, torch.rand(2, 8))
    traced.has_data = False
    with pytest.raises(opscope.Error, match="the model was built without data"):
        saved(traced, tmp_path)
    path, _ = saved(traced, tmp_path, weights=False)
    assert check_code(traced, str(path), None) == EQUAL
    path.write_text(path.read_text().replace("_1 = ", "_1 = 1.01 * "))
    with pytest.raises(opscope.Error, match="differs"):
        check_code(traced, str(path), None)


_LOOPS = """
import torch
from torch import nn

class Loops(nn.Module):
    def __init__(self, shared):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.shared = shared

    def block(self, layer, x):
        x = layer(x)
        torch._dynamo.graph_break()
        return x.relu()

    def forward(self, x):
        for layer in self.layers:
            x = self.block(self.layers[0] if self.shared else layer, x)
        return x

def build():
    return Loops(False).eval(), torch.ones(2, 8)

def shared():
    return Loops(True).eval(), torch.ones(2, 8)
"""


def test_a_graph_that_runs_with_other_weights_says_so(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(_LOOPS)
    request = {"tracers": ["dynamo"], "folder": str(tmp_path), "save_graph": str(tmp_path / "out.py"), "weights": True}

    def notes(name: str) -> list[str]:
        source = _source_of(str(tmp_path / f"loops.py:{name}"), Options())
        (file,) = compare(source, Options(), request, lambda _: None, lambda problem: {"what": str(problem)})["files"]
        return list(file["notes"])

    told = "graph 1 runs 3 times with other weights; those of its first run are here"
    where = f"weights in {tmp_path / 'out.pt'}"
    assert notes("build") == [told, where, "each graph bit-equal to Dynamo's"]
    assert notes("shared") == [where, "each graph bit-equal to Dynamo's"]


# --- real models --------------------------------------------------------------------------------------------------


def _transformer(name: str, small: bool) -> tuple[nn.Module, dict[str, Tensor]]:
    import transformers as hf

    ids = torch.arange(2 * 16).reshape(2, 16) % 90
    if name == "bert":
        sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64} if small else {}
        return hf.BertModel(hf.BertConfig(**sizes)).eval(), {"input_ids": ids}
    if name == "gpt2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2} if small else {}
        cache = {"use_cache": False} if torch_version.RELEASE < (2, 9) else {}  # its Dynamo breaks where a cache is made
        return hf.GPT2LMHeadModel(hf.GPT2Config(**sizes, **cache)).eval(), {"input_ids": ids}
    backbone = {"embedding_size": 8, "hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1]} if small else {}
    layer = {"layers": 1, "attention_heads": 2, "ffn_dim": 64}
    sizes = {f"{side}_{what}": value for side in ("encoder", "decoder") for what, value in layer.items()}
    config = hf.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=hf.ResNetConfig(**backbone, out_features=["stage4"]),
        **({"d_model": 32, "num_queries": 5, **sizes} if small else {}),
    )
    side = 64 if small else 320
    return hf.DetrForObjectDetection(config).eval(), {"pixel_values": torch.rand(1, 3, side, side)}


def _reproduced(traced: Traced, folder: Path) -> str:
    path, _ = saved(traced, folder)
    return check_code(traced, str(path), weights_path(str(path)))


@pytest.mark.parametrize(("name", "tracer"), [("bert", "unlifted"), ("gpt2", "dynamo"), ("detr", "export")])
def test_small_transformers(name: str, tracer: str, tmp_path: Path) -> None:
    model, inputs = _transformer(name, small=True)
    traced = TRACERS[tracer](model, **inputs)
    path, _ = saved(traced, tmp_path)
    with torch.no_grad():
        own = list(tensors_in(model(**inputs)))
    ours = outputs(path, traced)
    assert all(any(each.shape == wanted.shape and torch.equal(each, wanted) for each in ours) for wanted in own)


def test_yolo(tmp_path: Path) -> None:
    from ultralytics import YOLO

    model = YOLO("yolov8n.yaml").model.eval()
    assert _reproduced(by_export(model, torch.rand(1, 3, 64, 64)), tmp_path) == EQUAL


def test_functions_of_a_library_that_does_not_import_are_written_out(tmp_path: Path) -> None:
    import torchvision

    model = torchvision.models.efficientnet_b0(weights=None).eval()
    traced = by_fx(model, torch.rand(1, 3, 32, 32))
    assert _reproduced(traced, tmp_path) == EQUAL
    assert "def stochastic_depth(" in (tmp_path / "model.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tracers"),
    [
        ("resnet18", ("fx", "export", "dynamo")),
        ("vit_b_16", ("fx", "export", "dynamo")),
        ("swin_t", ("fx", "export")),
        ("inception_v3", ("fx", "export")),
        ("convnext_tiny", ("fx", "dynamo")),
        ("maxvit_t", ("fx", "export")),
        ("densenet121", ("fx", "export")),
    ],
)
def test_torchvision_at_full_size(name: str, tracers: tuple[str, ...], tmp_path: Path) -> None:
    import torchvision

    options = {"init_weights": False} if name == "inception_v3" else {}
    model = torchvision.models.get_model(name, weights=None, **options).eval()
    side = 299 if name == "inception_v3" else 224
    for tracer in tracers:
        assert _reproduced(TRACERS[tracer](model, torch.rand(1, 3, side, side)), tmp_path) == EQUAL


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2", "detr"])
def test_transformers_at_full_size(name: str, tmp_path: Path) -> None:
    model, inputs = _transformer(name, small=False)
    order = ", as a flat tuple in Dynamo's order" if name == "gpt2" else ""
    assert _reproduced(by_dynamo(model, **inputs), tmp_path) == EQUAL + order
    if name != "gpt2":  # its cache is no output that export knows
        assert _reproduced(by_export(model, **inputs), tmp_path) == EQUAL


@pytest.mark.slow
def test_faster_rcnn_in_parts(tmp_path: Path) -> None:
    import torchvision

    build = torchvision.models.detection.fasterrcnn_resnet50_fpn
    model = build(weights=None, weights_backbone=None, min_size=200, max_size=256).eval()
    traced = by_dynamo(model, [torch.rand(3, 200, 256)])
    assert len(traced.parts) > 3
    assert _reproduced(traced, tmp_path) == "each graph bit-equal to Dynamo's"
    text = (tmp_path / "model.py").read_text()
    assert text.count("# graph break: ") >= 3
    assert f"class FasterRCNNPart{len(traced.parts)}(nn.Module)" in text
