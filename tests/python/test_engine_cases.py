"""What can happen in a forward pass, and what a static capture makes of it: one test a case."""

from __future__ import annotations

import copy
import io
import json
import pickle
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import opscope
from opscope import _engine


def graph_of(model, *args, tracer="static", **kwargs):
    return json.loads(_engine.capture(model, args, kwargs, tracer=tracer, name="model").to_json())


def ops_of(model, *args, **kwargs):
    graph = graph_of(model, *args, **kwargs)
    return [op["op"].removeprefix("aten::") for op in graph["ops"]]


def outputs_of(graph):
    values = {value["id"]: value for value in graph["values"]}
    return [(tuple(values[i]["shape"]), values[i]["dtype"]) for i in graph["outputs"]]


def called(function):
    """A function as a model without modules."""

    class Called(nn.Module):
        def forward(self, *args, **kwargs):
            return function(*args, **kwargs)

    return Called().eval()


X = torch.randn(2, 8)


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

    graph = json.loads(_engine.capture(called(run), (X,), {}, tracer="static", device="cuda").to_json())
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

    graph = json.loads(_engine.capture(called(run), (X,), {}, tracer="static", device="cuda:0").to_json())
    assert outputs_of(graph) == [((1, 8), "float32")]
    assert graph["values"][graph["outputs"][0]]["device"] == "cuda:0"


def test_moves_between_devices():
    def run(x):
        assert x.cpu().device.type == "cpu"
        return x.cpu()

    graph = json.loads(_engine.capture(called(run), (X,), {}, tracer="static", device="cuda:0").to_json())
    assert outputs_of(graph) == [((2, 8), "float32")]


# --- scripted, traced, compiled, exported


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


IMAGE = torch.randn(1, 3, 8, 8)


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
    assert any("branch" in d["message"] for d in graph["diagnostics"])


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
            return x.nonzero()

    with pytest.raises(opscope.Error, match="aten::nonzero") as caught:
        graph_of(nn.Sequential(nn.ReLU(), Picky()), X)
    assert caught.value.where.startswith("1, ") and "test_engine_cases.py:" in caught.value.where


def test_a_real_run_takes_over_and_says_so():
    graph = graph_of(called(lambda x: x.relu().nonzero()), X, tracer="auto")
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
        opscope.custom_ops.DECLARED.clear()


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


def test_attention_output_can_be_viewed():
    def run(x):
        q = x.view(2, 4, 2, 8).transpose(1, 2)
        return F.scaled_dot_product_attention(q, q, q).transpose(1, 2).reshape(2, 4, 16)

    graph = graph_of(called(run), torch.randn(2, 4, 16))
    assert outputs_of(graph) == [((2, 4, 16), "float32")]


# --- the slow path


def python_kernels_run(call):
    """Names of PyTorch's Python meta kernels and decompositions that ran, seen by the interpreter itself."""
    import sys

    folders = ("_meta_registrations.py", "/_refs/", "/_decomp/", "/_prims/", "/_prims_common/")
    seen = set()

    def watch(frame, event, _):
        if event == "call" and any(part in frame.f_code.co_filename for part in folders):
            seen.add(frame.f_code.co_name)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize("name", ["resnet18", "efficientnet_b0", "vit_b_16", "swin_t", "convnext_tiny", "r3d_18", "fcn_resnet50"])
def test_no_python_kernel_runs(name):
    source = opscope.sources.find_source(name)
    shape = (1, 3, 8, 112, 112) if name == "r3d_18" else (1, 3, 224, 224)
    x = torch.randn(shape)
    assert python_kernels_run(lambda: _engine.capture(source.model, (x,), {}, tracer="static")) == set()


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_no_python_kernel_runs_in_transformers(attention):
    import transformers

    ids = torch.arange(16)[None]
    small = {"num_hidden_layers": 2, "attn_implementation": attention}
    models = (
        (transformers.BertModel(transformers.BertConfig(**small)), {"attention_mask": torch.ones(1, 16, dtype=torch.long)}),
        (transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=2, attn_implementation=attention)), {}),
        (transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=99, hidden_size=64, intermediate_size=64, **small)), {}),
    )
    for model, more in models:
        run = lambda: graph_of(model.eval(), input_ids=ids, **more)  # noqa: B023, E731
        run()  # what transformers itself does only once
        assert python_kernels_run(run) == set()


def test_the_slow_path_is_reported():
    run = called(lambda x: torch.histc(x, 4))
    assert python_kernels_run(lambda: graph_of(run, X))
    assert graph_of(run, X)["capture"]["slow_path"] == [{"op": "aten::histc", "count": 1}]


# --- the model's own code


def test_printing_copying_and_new_inside_forward():
    def run(x):
        assert "size=(2, 8)" in f"{x + 1}"
        return copy.deepcopy(x), x.new(3, 4)

    assert [shape for shape, _ in outputs_of(graph_of(called(run), X))] == [(2, 8), (3, 4)]


def test_wrong_shapes_raise_the_models_own_error():
    with pytest.raises(opscope.Error, match="mat1 and mat2 shapes cannot be multiplied") as caught:
        graph_of(nn.Sequential(nn.ReLU(), nn.Linear(9, 4)), X)
    assert caught.value.where.startswith("1")


def test_hooks_that_run_ops():
    model = nn.Linear(8, 4)
    model.register_forward_hook(lambda module, args, output: output.relu())
    assert ops_of(model, X) == ["linear", "relu"]


def test_modules_called_twice_and_tied_weights():
    shared = nn.Linear(10, 10)

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = shared

        def forward(self, x):
            return self.a(x) + self.a(x)

    profile = opscope.profile(Twice(), torch.randn(1, 10))
    assert profile.totals.params == 110 and profile.totals.macs == 200


def test_nested_inputs_and_outputs():
    from dataclasses import dataclass

    @dataclass
    class Batch:
        image: torch.Tensor
        extra: dict

    def run(batch, *, scale=None):
        return {"sum": [batch.image + batch.extra["bias"][0]], "none": None, "scale": scale}

    batch = Batch(X, {"bias": (torch.ones(8), "text")})
    graph = graph_of(called(run), batch, scale=torch.tensor(2.0))
    names = [graph["values"][i].get("name") for i in graph["inputs"]]
    assert names == ["args[0].image", "args[0].extra.bias[0]", "scale"]
    assert batch.image is X and not opscope._native.is_abstract(batch.extra["bias"][0])


def test_data_loader_in_forward():
    def run(x):
        for (rows,) in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 8)), batch_size=2):
            x = x + rows
        return x

    assert not any(op.startswith("profiler::") for op in ops_of(called(run), X))


# --- what is left after a capture


def test_activations_that_outlive_the_capture_raise():
    kept = []
    model = nn.Linear(8, 4)
    model.register_forward_hook(lambda module, args, output: kept.append(output))
    graph_of(model, X)
    (activation,) = kept
    assert activation.shape == (2, 4)
    for use in (
        lambda t: t + 1,
        lambda t: t.tolist(),
        lambda t: t.numpy(),
        lambda t: torch.zeros(2, 4).copy_(t),
        lambda t: torch.save(t, io.BytesIO()),
        pickle.dumps,
        repr,
        lambda t: t.double(),
    ):
        with pytest.raises(Exception, match="opscope capture"):
            use(activation)


def test_other_threads_get_a_clear_error():
    problems = []

    def run(x):
        def work():
            try:
                x + 1
            except RuntimeError as problem:
                problems.append(str(problem))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return x

    graph_of(called(run), X)
    assert len(problems) == 1 and "opscope capture" in problems[0]


def test_a_capture_inside_a_capture_is_refused():
    inner = nn.Linear(8, 4)
    with pytest.raises(opscope.Error, match="already running"):
        graph_of(called(lambda x: graph_of(inner, X)), X)
    assert ops_of(inner, X) == ["linear"]


def test_everything_forward_changes_is_put_back():
    class Careless(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(8, 4)
            self.norm = nn.BatchNorm1d(4)
            self.register_buffer("steps", torch.arange(4))
            self.seen = []

        def forward(self, x):
            with torch.enable_grad():
                y = self.norm(self.inner(x))
                y.sum().backward()
            self.inner.weight.requires_grad_(False)
            self.steps.add_(1).unsqueeze_(0)
            self.seen.append(y)
            self.cached = y
            self.register_buffer("late", torch.ones(1))
            torch.set_default_dtype(torch.float64)
            torch.set_autocast_enabled("cpu", True)
            raise ValueError("and then it fails")

    model = Careless().train()
    before = {name: (t.clone(), t.requires_grad) for name, t in model.state_dict(keep_vars=True).items()}
    for tracer in ("static", "eager"):
        with pytest.raises(opscope.Error, match="and then it fails"):
            graph_of(model, X, tracer=tracer)
        after = model.state_dict(keep_vars=True)
        assert after.keys() == before.keys() and not model.seen and not hasattr(model, "cached")
        assert all(torch.equal(after[k], t) and after[k].requires_grad == g for k, (t, g) in before.items())
        assert all(p.grad is None for p in model.parameters())
        assert torch.get_default_dtype() == torch.float32 and not torch.is_autocast_enabled("cpu")
        assert torch.is_grad_enabled()


def test_a_profiler_left_running_is_not_fatal():
    def run(x):
        torch.profiler.profile().start()
        return x + 1

    assert ops_of(called(run), X) == ["add"]


def test_a_storage_freed_after_a_write_comes_back():
    class Frees(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("held", torch.zeros(50000))

        def forward(self, x):
            self.held.add_(1)
            self.held.untyped_storage().resize_(0)
            return x + 1

    model = Frees()
    graph_of(model, X)
    assert model.held.sum() == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(2**17)[:, None] <= torch.arange(2**17),
        lambda: torch.arange(2**33),
        lambda: torch.eye(100000),
        lambda: torch.ones(1).repeat(2**33),
        lambda: torch.outer(torch.ones(2**17), torch.ones(2**17)),
    ],
)
def test_known_values_take_little_memory(make):
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    graph_of(called(lambda x: (make(), x)[1]), X)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_a_real_tensor_never_keeps_a_wrong_shape():
    def run(x):
        out = torch.empty(0)
        torch.add(x, 1, out=out)
        return out

    with pytest.raises(opscope.Error, match="resizes"):
        graph_of(called(run), X)
    assert outputs_of(graph_of(called(run), X, tracer="auto")) == [((2, 8), "float32")]


def test_two_threads_capture_two_models():
    expected = {n: ["linear", "relu"] * n for n in (3, 5)}
    seen, errors = {3: [], 5: []}, []

    def work(n):
        try:
            model = nn.Sequential(*[layer for _ in range(n) for layer in (nn.Linear(8, 8), nn.ReLU())])
            for _ in range(30):
                seen[n].append(ops_of(model, X))
        except Exception as problem:
            errors.append(problem)

    threads = [threading.Thread(target=work, args=(n,)) for n in (3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert all(ops == expected[n] for n in seen for ops in seen[n])
