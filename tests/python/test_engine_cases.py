"""What can happen in a forward pass, and what a static capture makes of it: one test a case."""

from __future__ import annotations

import json

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import opscope
from engine_helpers import IMAGE, X, called, graph_of, ops_of, outputs_of

# --- mixed precision


def test_autocast_casts_and_computes_in_bfloat16():
    model = nn.Linear(8, 4).eval()

    def run(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return model(x)

    graph = graph_of(called(run), X)
    assert outputs_of(graph) == [((2, 4), "bfloat16")]
    assert [op["op"] for op in graph["ops"]].count("aten::to") == 3


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_autocast_dtypes_equal_a_real_run(place):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 3)
            self.norm = nn.LayerNorm(6)
            self.lin = nn.Linear(6, 6)

        def forward(self, x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                a = self.conv(x)
                b = self.norm(a)
                c = self.lin(b)
                d = torch.softmax(c, -1)
                e = torch.einsum("bchw,bcwk->bchk", d, d)
                f = F.scaled_dot_product_attention(e, e, e)
                g = F.mse_loss(f, f)
                return a, b, c, d, e, f, g

    with torch.device(place):
        model = Net().eval()
    x = torch.randn(1, 3, 8, 8)
    with torch.no_grad():
        real = Net().eval()(x)
    assert [dtype for _, dtype in outputs_of(graph_of(model, x))] == [str(t.dtype).removeprefix("torch.") for t in real]


def test_autocast_cache_keeps_nothing_of_a_capture():
    model = nn.Linear(8, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        graph_of(model, X)
        assert torch.isfinite(model(X)).all()


def test_autocast_for_a_pretended_gpu():
    def run(x):
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", torch.float16)
        try:
            y = F.linear(x, x)
            return y, F.layer_norm(y, (2,)), F.softmax(y, -1)
        finally:
            torch.set_autocast_enabled("cuda", False)

    graph = graph_of(called(run), X, device="cuda")
    assert [dtype for _, dtype in outputs_of(graph)] == ["float16", "float32", "float32"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_bytes_follow_the_dtype(dtype):
    profile = opscope.profile(nn.Linear(8, 4, bias=False, dtype=dtype), X.to(dtype))
    assert profile.totals.memory_bytes == (16 + 32 + 8) * dtype.itemsize


# --- functional transforms and gradients


def test_vmap_shows_the_physical_ops():
    graph = graph_of(called(lambda x: torch.vmap(torch.relu)(x)), X)
    assert outputs_of(graph) == [((2, 8), "float32")]
    assert [op["op"] for op in graph["ops"]] == ["aten::relu"]


def test_functional_grad_and_jvp():
    graph = graph_of(called(lambda x: torch.func.grad(lambda y: (y * y).sum())(x)), X)
    assert outputs_of(graph) == [((2, 8), "float32")]
    graph = graph_of(called(lambda x: torch.func.jvp(torch.sin, (x,), (x,))[1]), X)
    assert outputs_of(graph) == [((2, 8), "float32")]


def test_functional_call():
    inner = nn.Linear(8, 4)
    weights = {name: p.detach() * 2 for name, p in inner.named_parameters()}
    assert "linear" in ops_of(called(lambda x: torch.func.functional_call(inner, weights, (x,))), X)


@pytest.mark.parametrize("tracer", ["static", "eager"])
@pytest.mark.parametrize("module", [nn.ReLU(), nn.LayerNorm(8), nn.Tanh(), nn.BatchNorm1d(8), nn.Softmax(-1)])
def test_gradients_of_ops_that_save_their_results(module, tracer):
    def run(x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(module(x).sum(), x)[0]

    assert outputs_of(graph_of(called(run), X, tracer=tracer)) == [((2, 8), "float32")]


def test_gradients_inside_forward():
    def forces(x):
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad((x.sin() * x).sum(), x)[0]

    assert outputs_of(graph_of(called(forces), X)) == [((2, 8), "float32")]


def test_custom_autograd_function():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    assert ops_of(called(Square.apply), X) == ["mul"]


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint(reentrant):
    inner = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    run = called(lambda x: torch.utils.checkpoint.checkpoint(inner, x, use_reentrant=reentrant))
    assert [op for op in ops_of(run, X) if op in ("linear", "relu")] == ["linear", "relu"]


# --- devices


def test_pretended_gpu():
    def run(x):
        y = x[:1] + torch.zeros(1, 8, device=x.device)
        mask = torch.arange(8, device=x.device) < 3
        assert str(x.device) == "cuda:0" and str(mask.device) == "cuda:0"
        assert bool(mask.any()) and mask.sum().item() == 3 and mask.tolist()[:4] == [True, True, True, False]
        return y.to(x.device).masked_fill(mask, 0.0)

    graph = graph_of(called(run), X, device="cuda:0")
    assert outputs_of(graph) == [((1, 8), "float32")]
    assert graph["values"][graph["outputs"][0]]["device"] == "cuda:0"


def test_moves_between_devices():
    def run(x):
        assert x.cpu().device.type == "cpu"
        return x.cpu()

    graph = graph_of(called(run), X, device="cuda:0")
    assert outputs_of(graph) == [((2, 8), "float32")]


# --- scripted, traced, compiled, exported


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, IMAGE)])
def test_torchscript(make):
    ops = ops_of(make(Block().eval()), IMAGE)
    assert [op for op in ops if op in ("conv2d", "_convolution", "batch_norm", "relu")][-2:] == ["batch_norm", "relu"]


def test_scripted_submodule_is_one_scope():
    outer = nn.Sequential(torch.jit.script(Block().eval()), nn.Flatten()).eval()
    assert ops_of(outer, IMAGE)[-1] == "flatten"


def test_frozen_script_has_no_optimiser_passes():
    frozen = torch.jit.freeze(torch.jit.script(Block().eval()))
    assert "equal" not in ops_of(frozen, IMAGE)


def test_compiled_modules_run_as_they_were_written():
    model = torch.compile(nn.Linear(8, 4), backend="eager")
    assert ops_of(model, X) == ["linear"]
    assert ops_of(called(lambda x: torch.compile(torch.relu)(x)), X) == ["relu"]


def test_cond_assumes_a_branch_and_says_so():
    def run(x):
        return torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y.cos(), (x,))

    graph = graph_of(called(run), X)
    assert "aten::sin" in [op["op"] for op in graph["ops"]]
    assert any("a condition on data is assumed to hold" in d["message"] for d in graph["diagnostics"])
    assert [op.get("bounded", False) for op in graph["ops"]] == [False, False, True]  # the branch may not run


def test_exported_and_traced_graphs():
    exported = torch.export.export(Block().eval(), (IMAGE,)).module()
    assert "batch_norm" in ops_of(exported, IMAGE)
    assert ops_of(torch.fx.symbolic_trace(Block().eval()), IMAGE) == ["conv2d", "batch_norm", "relu"]


def test_attention_fast_path_is_off():
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    ops = ops_of(layer, torch.randn(1, 4, 8))
    assert "_transformer_encoder_layer_fwd" not in ops and "scaled_dot_product_attention" in ops
    padding = torch.tensor([[False, False, True, True]])
    assert "scaled_dot_product_attention" in ops_of(layer, torch.randn(1, 4, 8), src_key_padding_mask=padding)
    assert torch.backends.mha.get_fastpath_enabled()


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_encoder_layer_on_a_gpu_is_what_its_fast_path_runs(norm_first, activation):
    from opscope.engine import attention_path

    layer = nn.TransformerEncoderLayer(32, 2, 64, batch_first=True, norm_first=norm_first, activation=activation).eval()
    x = torch.rand(2, 5, 32)
    graph = opscope.capture(layer, (x,), device="cuda", tracer="static")
    ops = [op.op.removeprefix("aten::") for op in graph.profile().ops]
    assert ops.count("linear") == 2 and ops.count("_addmm_activation") == ops.count("addmm") == 1
    assert ops.count("add_") == ops.count("layer_norm") == 2
    assert graph.profile().totals.macs == opscope.profile(layer, (x,)).totals.macs
    parts, whole = [], torch._transformer_encoder_layer_fwd

    def both(*args):
        parts.append(attention_path._layer(*args))
        return whole(*args)

    try:  # PyTorch's own op gives the same numbers
        torch._transformer_encoder_layer_fwd = both
        with torch.no_grad():
            assert torch.allclose(layer(x), parts[0], atol=1e-5)
    finally:
        torch._transformer_encoder_layer_fwd = whole
    masked = opscope.capture(layer, {"src": x, "src_mask": torch.zeros(5, 5)}, device="cuda", tracer="static")
    assert "aten::_addmm_activation" not in [op.op for op in masked.profile().ops]


def test_attention_on_a_gpu_is_the_two_products_of_the_fast_path():
    attention = nn.MultiheadAttention(32, 2, batch_first=True).eval()
    x = torch.randn(2, 5, 32)

    def ops(device, **options):
        graph = opscope.capture(called(lambda x: attention(x, x, x, **options)), x, device=device)
        return [op["op"].removeprefix("aten::") for op in json.loads(graph.profile().to_json())["ops"]], graph.profile().totals.flops

    path, flops = ops("cuda", need_weights=False)
    assert [op for op in path if op not in ("chunk", "view", "transpose")] == ["linear", "scaled_dot_product_attention", "reshape", "linear"]
    slow, same = ops("cpu", need_weights=False)
    assert "contiguous" in slow and flops == same
    assert "softmax" in ops("cuda", need_weights=True)[0]
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        assert "contiguous" in ops("cuda", need_weights=False)[0]
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    expected, _ = attention(x, x, x, need_weights=False)
    with torch.no_grad():
        assert torch.allclose(attention(x, x, x, need_weights=False)[0], expected, atol=1e-6)


# --- recurrent layers


@pytest.mark.parametrize(("kind", "op"), [(nn.LSTM, "lstm"), (nn.GRU, "gru"), (nn.RNN, "rnn_tanh")])
def test_recurrent_layers_are_one_row(kind, op):
    assert ops_of(kind(8, 16, num_layers=2, bidirectional=True), torch.randn(5, 2, 8)).count(op) == 1


def test_recurrent_cells():
    assert ops_of(nn.LSTMCell(8, 16), X).count("lstm_cell") == 1


def test_packed_sequences():
    lstm = nn.LSTM(8, 16, batch_first=True)

    def run(x):
        packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([4, 2]), batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)[0]

    assert outputs_of(graph_of(called(run), torch.randn(2, 4, 8))) == [((2, 4, 16), "float32")]


# --- known values beside unknown data


def test_known_masks_and_counts():
    mask = torch.tensor([True, False])

    def run(x):
        y = x.clone()
        y[mask] = 0
        return x[mask], x.masked_select(mask[:, None]), x.repeat_interleave(torch.tensor([1, 2]), dim=0), y

    shapes = [shape for shape, _ in outputs_of(graph_of(called(run), X))]
    assert shapes == [(1, 8), (8,), (3, 8), (2, 8)]


def test_python_may_look_at_known_values():
    def run(x):
        steps = torch.arange(4)
        return x * int(steps.sum()) if steps.max() > 2 else x

    assert "mul" in ops_of(called(run), X)


def test_unknown_data_in_a_known_tensor_makes_it_unknown():
    def run(x):
        buffer = torch.zeros(2, 8)
        buffer[0] = x[0]
        return float(buffer.sum())

    with pytest.raises(opscope.Error, match="needs values"):
        graph_of(called(run), X)


def test_value_dependent_ops_name_op_module_and_line():
    class Picky(nn.Module):
        def forward(self, x):
            return x * x.sum().item()

    with pytest.raises(opscope.Error, match="aten::item") as caught:
        graph_of(nn.Sequential(nn.ReLU(), Picky()), X)
    assert caught.value.where.startswith("1, ") and "test_engine_cases.py:" in caught.value.where


def test_a_real_run_takes_over_and_says_so():
    graph = graph_of(called(lambda x: x * x.sum().item()), X, tracer="auto")
    assert graph["capture"]["tracer"] == "eager"
    assert [d["kind"] for d in graph["diagnostics"]] == ["fallback"]


def test_greedy_choice_is_assumed_and_flagged():
    graph = graph_of(called(lambda x: x.argmax(-1).tolist()), X)
    assert any(d["kind"] == "assumption" and d["op"] == "aten::argmax" for d in graph["diagnostics"])


# --- unusual tensors and ops


def test_dynamic_quantised_linear():
    model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 4)), {nn.Linear}, dtype=torch.qint8)
    assert outputs_of(graph_of(model, X)) == [((2, 4), "float32")]


def test_custom_op_without_a_shape_function():
    @torch.library.custom_op("opscope_test::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x])

    graph = graph_of(called(lambda x: twice(x) + 1), X)
    assert outputs_of(graph) == [((4, 8), "float32")]
    assert any(d["op"] == "opscope_test::twice" for d in graph["diagnostics"])


def test_custom_op_that_writes():
    @torch.library.custom_op("opscope_test::fill", mutates_args=("x",))
    def fill(x: torch.Tensor) -> None:
        x.fill_(1)

    assert "opscope_test::fill" in ops_of(called(lambda x: (fill(x), x + 1)[1]), X)


def test_declared_cost_of_a_custom_op():
    @torch.library.custom_op("opscope_test::scale", mutates_args=())
    def scale(x: torch.Tensor, by: float) -> torch.Tensor:
        return x * by

    opscope.register_op("opscope_test::scale", flops=lambda x, by: x.numel() * 3)
    try:
        profile = opscope.profile(called(lambda x: scale(x, 2.0)), X)
        assert profile.totals.flops == 16 * 3 and profile.coverage.unknown == 0
    finally:
        opscope.engine.custom_ops.DECLARED.clear()


def test_sparse_times_dense():
    sparse = torch.eye(8).to_sparse()
    assert outputs_of(graph_of(called(lambda x: (sparse @ x.t()).t()), X)) == [((2, 8), "float32")]


def test_complex_and_fft():
    def run(x):
        spectrum = torch.fft.fft(x)
        return spectrum.conj(), torch.view_as_real(spectrum), torch.stft(x, 4, return_complex=True)

    with torch.no_grad():
        real = torch.fft.fft(X), torch.view_as_real(torch.fft.fft(X)), torch.stft(X, 4, return_complex=True)
    shapes = [shape for shape, _ in outputs_of(graph_of(called(run), X))]
    assert shapes == [tuple(t.shape) for t in real]


def test_inference_mode():
    def run(x):
        with torch.inference_mode():
            return torch.relu(x) + 1

    assert ops_of(called(run), X) == ["relu", "add"]


def test_views_and_in_place():
    def run(x):
        y = x.clone()
        y[:, 0] = 1
        y.t_()
        y = y.as_strided((4, 2), (2, 1))
        y.resize_(2, 2)
        z = x.clone().set_(y)
        return y, z.add_(1)

    assert [shape for shape, _ in outputs_of(graph_of(called(run), X))] == [(2, 2), (2, 2)]


def test_views_share_storage():
    graph = graph_of(called(lambda x: x.view(4, 4).t()[0]), X)
    assert len({graph["values"][i]["storage"] for i in range(len(graph["values"]))}) == 1


def test_torch_function_subclass_parameter():
    class Tagged(nn.Parameter):
        pass

    model = nn.Linear(8, 4)
    model.weight = Tagged(model.weight.data)
    assert "linear" in ops_of(model, X)


def test_wrapper_subclass():
    from torch.testing._internal.two_tensor import TwoTensor

    assert "add" in " ".join(ops_of(called(lambda x: (TwoTensor(x, x) + 1).a), X))


def test_dispatch_modes_inside():
    from torch.utils.flop_counter import FlopCounterMode

    model = nn.Linear(8, 4)

    def run(x):
        with FlopCounterMode(display=False):
            return model(x)

    assert ops_of(called(run), X) == ["linear"]


def test_zero_sizes():
    assert outputs_of(graph_of(nn.Linear(8, 4), torch.randn(0, 8))) == [((0, 4), "float32")]


def test_parametrised_and_weight_normed():
    model = nn.utils.parametrizations.weight_norm(nn.Linear(8, 4))
    assert outputs_of(graph_of(model, X)) == [((2, 4), "float32")]
    spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(8, 4)).eval()
    assert outputs_of(graph_of(spectral, X)) == [((2, 4), "float32")]


# --- layouts that PyTorch's meta kernels get wrong


def test_channels_last_is_kept():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).eval().to(memory_format=torch.channels_last)
    image = IMAGE.to(memory_format=torch.channels_last)
    graph = graph_of(model, image)
    with torch.no_grad():
        strides = list(model(image).stride())
    assert graph["values"][graph["outputs"][0]]["strides"] == strides


@pytest.mark.parametrize("size", [(), (1,), (2, 3)])
def test_known_values_in_the_form_of_unknown_ones(size):
    """A scalar too: a position table cast as a learned temperature is."""
    model = called(lambda x: (torch.arange(3.0).type_as(x), torch.ones(()).expand_as(x)))
    assert outputs_of(graph_of(model, torch.rand(size)))[0] == ((3,), "float32")


@pytest.mark.parametrize("threads", [1, 2])
def test_layouts_that_depend_on_the_number_of_threads(threads):
    model = nn.Conv3d(8, 16, 1).eval()
    image = torch.ones(4, 8, 6, 5, 5).contiguous(memory_format=torch.channels_last_3d)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        graph = graph_of(model, image)
        with torch.no_grad():
            assert graph["values"][graph["outputs"][0]]["strides"] == list(model(image).stride())
    finally:
        torch.set_num_threads(before)


def test_attention_output_can_be_viewed():
    def run(x):
        q = x.view(2, 4, 2, 8).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(2, 4, 16)

    graph = graph_of(called(run), torch.randn(2, 4, 16))
    assert outputs_of(graph) == [((2, 4, 16), "float32")]


@pytest.mark.parametrize("layer", [torch.nn.Conv2d(3, 4, 3, bias=False), torch.nn.Linear(8, 4, bias=False)])
def test_mixed_dtypes_are_refused_as_a_real_run_does(layer: torch.nn.Module) -> None:
    image = torch.zeros(1, 3, 8, 8, dtype=torch.float16)
    for tracer in ("static", "eager"):
        with pytest.raises(opscope.Error, match="same|expected scalar type"):
            opscope.profile(layer, image, tracer=tracer)
