"""How the engine works out results, what it does with a model's own code, and what it leaves behind: nothing."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import resource
import sys
import threading

import pytest
import torch
from torch import nn

import opscope
from engine_helpers import X, called, graph_of, ops_of, outputs_of
from opscope import sources
from opscope.engine import abstract_run

# --- the slow path


def python_kernels_run(call):
    """Names of PyTorch's Python meta kernels and decompositions that ran, seen by the interpreter itself."""
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
    source = sources.find_source(name)
    shape = (1, 3, 8, 112, 112) if name == "r3d_18" else (1, 3, 224, 224)
    x = torch.randn(shape)
    assert python_kernels_run(lambda: abstract_run.capture(source.model, (x,), {}, tracer="static")) == set()


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
    run = called(lambda x: torch.renorm(x, 2, 0, 1.0))
    assert python_kernels_run(lambda: graph_of(run, X))
    assert graph_of(run, X)["capture"]["slow_path"] == [{"op": "aten::renorm", "count": 1}]


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
    profiler = torch.profiler.profile()

    def run(x):
        profiler.start()
        return x + 1

    assert ops_of(called(run), X) == ["add"]
    with contextlib.suppress(RuntimeError):  # its thread-local state went with the capture
        profiler.stop()


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
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    graph_of(called(lambda x: (make(), x)[1]), X)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_a_real_tensor_never_keeps_a_wrong_shape():
    out, other = torch.empty(0), torch.ones(3)

    def run(x):
        torch.add(x, 1, out=out)
        other.set_(out * 2)
        with pytest.raises(RuntimeError, match="no data"):
            other.data_ptr()
        return out, other

    assert outputs_of(graph_of(called(run), X)) == [((2, 8), "float32")] * 2
    assert out.shape == (0,) and other.tolist() == [1, 1, 1]


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
