"""Attempts to break a static capture: layouts, contexts, interrupts, threads, long use, strange inputs."""

from __future__ import annotations

import collections
import copy
import ctypes
import gc
import io
import os
import pickle
import random
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

import opscope
from engine_helpers import X, called, graph_of, ops_of, outputs_of, rows
from opscope.engine import abstract_run

IMAGE = torch.randn(1, 3, 64, 64)


# --- layouts, chosen at random, against the real kernels

FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "gelu": F.gelu,
    "add transposed": lambda x: x + x.mT,
    "promoted": lambda x: x + torch.tensor(2.0, dtype=torch.float64),
    "broadcast": lambda x: x + torch.ones(3, 1, *x.shape, dtype=torch.float64),
    "where": lambda x: torch.where(x == x, x, 0),
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(-1, keepdim=True),
    "max": lambda x: x.max(0),
    "softmax": lambda x: x.softmax(-1),
    "cat": lambda x: torch.cat([x, x.flip(0)]),
    "stack": lambda x: torch.stack([x, x], -1),
    "index": lambda x: x[:, [0, 0]],
    "mask": lambda x: x[torch.ones(x.shape[0], dtype=torch.bool)],
    "clone": lambda x: x.clone(),
    "zeros_like": torch.zeros_like,
    "half": lambda x: x.half(),
    "reshape": lambda x: x.reshape(-1),
    "movedim": lambda x: x.movedim(0, -1),
    "repeat": lambda x: x.repeat(2, *[1] * x.dim()),
    "pad": lambda x: F.pad(x, (1, 1)),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "group_norm": lambda x: F.group_norm(x, 1),
    "conv": lambda x: F.conv2d(x, torch.ones(4, x.shape[1], 3, 3).to(x.dtype), padding=1, stride=2),
    "max_pool": lambda x: F.max_pool2d(x, 2, 1, 1),
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "linear": lambda x: F.linear(x, torch.ones(5, x.shape[-1]).to(x.dtype)),
    "matmul": lambda x: x @ x.mT,
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "in place": lambda x: x.clone().add_(1).mul_(2),
    "einsum": lambda x: torch.einsum("...i,...i->...", x, x),
}


def any_layout(choose: random.Random) -> torch.Tensor:
    shape = [choose.choice([2, 3, 4, 6]) for _ in range(choose.choice([2, 3, 4, 4]))]
    dtype = choose.choice([torch.float32, torch.float32, torch.float64, torch.bfloat16])
    x = torch.ones(shape, dtype=dtype)
    kind = choose.randrange(5)
    if kind == 0:
        return x.permute(choose.sample(range(x.dim()), x.dim()))
    if kind == 1 and x.dim() == 4:
        return x.contiguous(memory_format=torch.channels_last)
    if kind == 2:
        return torch.ones([2 * size for size in shape], dtype=dtype)[tuple(slice(None, None, 2) for _ in shape)]
    if kind == 3:
        return x[:1].expand(shape)
    return x


def described(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
    try:
        made = function(x)
    except Exception as problem:
        return type(problem).__name__
    return [(t.shape, t.dtype, t.stride()) for t in ([made] if isinstance(made, torch.Tensor) else made)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_layout_as_the_real_kernel(name: str) -> None:
    choose, function = random.Random(name), FUNCTIONS[name]
    inputs = [any_layout(choose) for _ in range(60)]
    with abstract_run.abstract_calls() as session:
        abstract = [described(function, session.abstract(x)) for x in inputs]
    for x, seen in zip(inputs, abstract, strict=True):
        assert seen == described(function, x), (x.shape, x.stride(), x.dtype)


# --- what surrounds a capture


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


class PassOn(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "around",
    [
        torch.inference_mode,
        torch.enable_grad,
        torch.profiler.profile,
        PassOn,
        lambda: torch.device("meta"),
        lambda: torch.autograd.set_detect_anomaly(True),
        lambda: default_dtype(torch.float64),
        lambda: torch.autograd.graph.save_on_cpu(),
    ],
    ids=["inference", "grad", "profiler", "function-mode", "meta", "anomaly", "float64", "saved-tensors"],
)
def test_inside_another_context(around: Callable[[], Any]) -> None:
    model = nn.Linear(8, 4)
    with around():
        state = (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype())
        graph = graph_of(model, X)
        assert state == (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype())
    assert outputs_of(graph) == [((2, 4), "float32")]
    assert torch.isfinite(model(X)).all()


# --- however the model ends


def clean() -> bool:
    plain = nn.Module.__call__ is nn.Module._wrapped_call_impl and not opscope._native.capturing()
    return plain and torch.is_grad_enabled() and ops_of(nn.Linear(8, 4), X) == ["linear"]


def test_interrupted() -> None:
    def forever(x: torch.Tensor) -> None:
        while True:
            x = x + 1

    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            graph_of(called(forever), X)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert clean()


def test_endless_recursion_is_the_models_own_error() -> None:
    class Again(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self(x)

    with pytest.raises(opscope.Error, match="RecursionError"):
        graph_of(Again(), X)
    assert clean()


def test_whatever_stands_around_forward_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    assert ops_of(model, X) == ["linear", "relu"]
    hook = nn.modules.module.register_module_forward_hook(lambda module, _, y: y.exp() if isinstance(module, nn.ReLU) else y)
    assert ops_of(model, X) == ["linear", "relu", "exp"]
    hook.remove()
    with monkeypatch.context() as patch:
        patch.setattr(nn.Module, "_call_impl", lambda self, *args: self.forward(*args).sin())
        assert ops_of(nn.ReLU(), X) == ["relu", "sin"]
    borrowed = nn.ReLU()
    borrowed.__dict__["_call_impl"] = nn.GELU()._call_impl
    assert ops_of(borrowed, X) == ["gelu"]
    assert ops_of(model, X) == ["linear", "relu"] and clean()


def test_raising_hooks_and_constructors() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    model[1].register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(opscope.Error, match="ZeroDivisionError") as caught:
        graph_of(model, X)
    assert caught.value.where.startswith("1") and clean()

    class Unmade(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            raise ValueError("in its constructor")

    with pytest.raises(opscope.Error, match="in its constructor"):
        graph_of(called(lambda x: Unmade()(x)), X)
    assert clean()


def test_a_caught_exception_leaves_its_modules_scope() -> None:
    class Raises(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError(x + 1)

    class Catches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Raises(), nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            try:
                return self.first(x)
            except ValueError:
                return self.second(x) * 2

    assert [row[:2] for row in rows(graph_of(Catches(), X))] == [
        ("aten::add", "first"),
        ("aten::linear", "second"),
        ("aten::mul", ""),
    ]


def test_a_generator_goes_on_after_the_capture() -> None:
    kept, layer = [], nn.Linear(8, 8)

    def run(x: torch.Tensor) -> torch.Tensor:
        steps = (layer(x) for _ in range(3))
        kept.append(steps)
        return next(steps)

    assert ops_of(called(run), X) == ["linear"]
    with pytest.raises(RuntimeError, match="opscope capture"):
        next(kept[0])
    assert clean()


@pytest.mark.parametrize(
    "read",
    [
        lambda x: int(x.data_ptr()),
        lambda x: ctypes.string_at(x.data_ptr(), 4),
        lambda x: x.untyped_storage().data_ptr(),
        lambda x: x.untyped_storage().fill_(0),
        lambda x: x.untyped_storage().resize_(4096),
        lambda x: x.untyped_storage().clone(),
        lambda x: x.numpy(),
        lambda x: torch.from_dlpack(x),
        lambda x: torch.tensor([x[0, 0], 1.0]),
        lambda x: x[: int(x[0, 0])],
        lambda x: pickle.dumps(x),
        lambda x: torch.save(x, io.BytesIO()),
    ],
)
def test_reading_data_is_refused(read: Callable[[torch.Tensor], Any]) -> None:
    with pytest.raises(opscope.Error):
        graph_of(called(read), X)
    assert clean()


def test_how_a_tensor_is_aligned_can_be_asked() -> None:
    """transformers asks before it takes a grouped product on torch 2.10 and older."""

    def run(x: torch.Tensor) -> torch.Tensor:
        y, part = x + 1, (x + 1)[:, 3:]
        assert y.data_ptr() % 16 == 0 and part.data_ptr() % 16 == 12 and part.data_ptr() % 4 == 0
        assert y.data_ptr() == y.view(-1).data_ptr() != part.data_ptr() != 0
        return y

    assert ops_of(called(run), X)[:2] == ["add", "add"]
    assert X.data_ptr() > 0 and clean()


# --- many captures, many threads


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("raises", [False, True])
def test_captures_hold_no_memory(raises: bool) -> None:
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(10)], called(lambda x: x.sum().item() if raises else x))

    def capture(times: int) -> None:
        for _ in range(times):
            try:
                opscope.profile(model, torch.ones(4, 64), tracer="static")
            except opscope.Error:
                assert raises
        gc.collect()

    capture(50)
    before = resident_bytes()
    capture(400)
    assert resident_bytes() - before < 2 << 20


def test_many_threads() -> None:
    models = [(torchvision.models.resnet18().eval(), IMAGE), (nn.TransformerEncoderLayer(8, 2, 16).eval(), X[:, None])]
    expected = [ops_of(*row) for row in models]
    wrong: list[Any] = []

    def work(index: int) -> None:
        try:
            wrong.extend(index for _ in range(10) if ops_of(*models[index]) != expected[index])
        except Exception as problem:
            wrong.append(problem)

    threads = [threading.Thread(target=work, args=(index % 2,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and clean()


def test_forked_tasks_are_all_seen() -> None:
    @torch.jit.script
    def steps(x: torch.Tensor) -> torch.Tensor:
        for _ in range(50):
            x = torch.relu(x) + 1
        return x

    def run(x: torch.Tensor) -> list[torch.Tensor]:
        return [torch.jit.wait(task) for task in [torch.jit.fork(steps, x) for _ in range(8)]]

    assert {len(ops_of(called(run), X)) for _ in range(10)} == {800}


# --- the model afterwards


def test_gradients_are_those_without_a_capture() -> None:
    def gradients(tracers: tuple[str, ...]) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model, x = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Dropout(), nn.Linear(8, 1)), torch.randn(4, 8)
        for tracer in tracers:
            graph_of(model, x, tracer=tracer)
        model(x).sum().backward()
        return [parameter.grad for parameter in model.parameters()]

    plain = gradients(())
    for tracers in (("static",), ("static", "eager")):
        assert all(map(torch.equal, plain, gradients(tracers)))


def test_copied_compiled_and_exported_afterwards() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU()).eval()
    expected, graphs = model(X), []
    graph_of(model, X)
    assert torch.equal(copy.deepcopy(model)(X), expected)
    assert torch.equal(pickle.loads(pickle.dumps(model))(X), expected)
    compiled = torch.compile(model, backend=lambda graph, _: graphs.append(graph) or graph)
    assert torch.equal(compiled(X), expected)
    assert ops_of(compiled, X) == ["linear", "relu"]
    assert torch.equal(compiled(X), expected) and len(graphs) == 1
    assert ops_of(torch.export.export(model, (X,)).module(), X) == ["linear", "relu"]


# --- inputs of every kind


def test_unusual_inputs() -> None:
    double = called(lambda x: (x * 2, x.t().contiguous()))
    for dtype in (torch.float64, torch.complex64, torch.uint8, torch.int16, torch.bool):
        shapes = outputs_of(graph_of(double, torch.ones(2, 8, dtype=dtype)))
        assert shapes[1] == ((8, 2), str(dtype).removeprefix("torch."))
    for dtype in (torch.float8_e4m3fn, torch.uint16, torch.uint64):
        name = str(dtype).removeprefix("torch.")
        assert outputs_of(graph_of(called(torch.clone), torch.empty(2, 8, dtype=dtype))) == [((2, 8), name)]
    assert outputs_of(graph_of(called(lambda x: x + 1), torch.tensor(1.0))) == [((), "float32")]
    assert len(graph_of(called(torch.add), X, X)["inputs"]) == 1


def test_the_callers_inputs_are_unchanged() -> None:
    ids, x = torch.arange(4), X.clone().requires_grad_()
    nested = {"list": [x], "order": collections.OrderedDict(ids=ids)}

    def run(nested: dict[str, Any]) -> torch.Tensor:
        nested["order"]["ids"].add_(1)
        nested["list"][0].mul_(2).t_()
        nested["list"].append(nested.pop("order"))
        return nested["list"][0]

    graph_of(called(run), nested)
    assert list(nested) == ["list", "order"] and len(nested["list"]) == 1 and nested["list"][0] is x
    assert ids.tolist() == [0, 1, 2, 3] and torch.equal(x, X) and x.shape == X.shape and x.grad is None


def test_sizes_beyond_memory() -> None:
    huge = torch.empty(2**40, 2**20, device="meta")
    assert ops_of(called(lambda x: (x + 1).relu().sum()), huge) == ["add", "relu", "sum"]
    assert outputs_of(graph_of(called(lambda x: x + torch.zeros(2**40)[:8]), X)) == [((2, 8), "float32")]
    with pytest.raises(opscope.Error, match="overflow"):
        graph_of(called(lambda x: x[:1, :1].expand(2**62, 2**62) * 2), X)
    profile = opscope.profile(nn.Linear(2**20, 2**20, device="meta"), torch.empty(2**30, 2**20, device="meta"))
    assert profile.totals.flops == 2**64 - 1
