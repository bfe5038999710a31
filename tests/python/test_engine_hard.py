"""Attempts to break a static capture: it must agree with a real run, end cleanly however the model ends, and hold no memory."""

from __future__ import annotations

import collections
import copy
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

import opscope
import pytest
import timm
import torch
import torch.nn.functional as F
import torchvision
import transformers
from opscope import _engine
from test_engine_cases import called, graph_of, ops_of, outputs_of
from torch import nn

X = torch.randn(2, 8)


# --- a static capture and a real run see the same ops


def rows(graph: dict[str, Any]) -> list[Any]:
    """Each op with its module, and its outputs' shape, dtype and strides where these mean anything."""

    def seen(value: dict[str, Any]) -> Any:
        strides = value.get("strides", [])
        matter = [stride for size, stride in zip(value["shape"], strides) if size != 1]
        return value["shape"], value["dtype"], None if 0 in value["shape"] else matter

    paths = [graph["modules"][scope["module"]]["path"] for scope in graph["scopes"]]
    values = graph["values"]
    return [(op["op"], paths[op.get("scope", 0)], [seen(values[i]) for i in op["outputs"]]) for op in graph["ops"]]


def same_as_a_real_run(model: nn.Module, *args: Any, **kwargs: Any) -> None:
    model.eval()
    static = graph_of(model, *args, **kwargs)
    assert static["capture"]["tracer"] == "static"
    assert rows(static) == rows(graph_of(model, *args, tracer="eager", **kwargs))


SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
GROUPED = SMALL | {"num_key_value_heads": 2}
IDS = torch.randint(3, 90, (2, 7), generator=torch.Generator().manual_seed(0))
MASK = torch.ones(2, 7, dtype=torch.long).index_fill(1, torch.tensor([6]), 0)
VISION = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64}
IMAGE = torch.randn(1, 3, 64, 64)

T5_CONFIG = {"vocab_size": 99, "d_model": 32, "d_ff": 37, "num_layers": 2, "num_heads": 4, "d_kv": 8, "decoder_start_token_id": 0}
GPT2_CONFIG = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
ROWS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Bert", SMALL, {}),
    ("Albert", SMALL | {"embedding_size": 16}, {}),
    ("Deberta", SMALL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, {}),
    ("Electra", SMALL | {"embedding_size": 16}, {}),
    ("T5", T5_CONFIG, {"decoder_input_ids": IDS}),
    ("GPT2", GPT2_CONFIG, {}),
    ("Bloom", {"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4}, {}),
    ("Llama", GROUPED, {}),
    ("Mixtral", GROUPED | {"num_local_experts": 4}, {}),
    ("Qwen3", GROUPED | {"head_dim": 8}, {}),
    ("Gemma2", GROUPED | {"head_dim": 8}, {}),
    ("Longformer", SMALL | {"attention_window": 4, "max_position_embeddings": 64}, {}),
    ("Falcon", {key: value for key, value in SMALL.items() if key != "intermediate_size"}, {}),
]


@pytest.mark.parametrize(("kind", "config", "more"), ROWS, ids=[row[0] for row in ROWS])
def test_transformers_as_they_run(kind: str, config: dict[str, Any], more: dict[str, Any]) -> None:
    model = getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(**config))
    same_as_a_real_run(model, input_ids=IDS, attention_mask=MASK, **more)


def test_state_space_model_as_it_runs() -> None:
    config = transformers.MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2)
    same_as_a_real_run(transformers.MambaForCausalLM(config), input_ids=IDS)


def test_text_and_image_model_as_it_runs() -> None:
    text = SMALL | {"max_position_embeddings": 32, "bos_token_id": 0, "eos_token_id": 2}
    config = transformers.CLIPConfig(text_config=text, vision_config=VISION | {"patch_size": 16})
    same_as_a_real_run(transformers.CLIPModel(config), input_ids=IDS, attention_mask=MASK, pixel_values=IMAGE)


def test_speech_model_as_it_runs() -> None:
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}
    config = transformers.Wav2Vec2Config(
        **shape, conv_dim=(32,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2
    )
    same_as_a_real_run(transformers.Wav2Vec2Model(config), torch.randn(1, 4000))


def test_segmentation_model_as_it_runs() -> None:
    sizes = {"hidden_sizes": [8, 16, 16, 32], "depths": [1] * 4, "num_attention_heads": [1, 2, 2, 4]}
    config = transformers.SegformerConfig(**sizes, decoder_hidden_size=16)
    same_as_a_real_run(transformers.SegformerForSemanticSegmentation(config), IMAGE)


TIMM = ["vit_tiny_patch16_224", "efficientvit_b0", "convnext_atto", "mobilevit_xxs", "edgenext_xx_small", "ghostnet_100"]
TIMM_MORE = (
    "swin_tiny_patch4_window7_224 levit_128s mixer_s32_224 maxvit_rmlp_nano_rw_256 coat_tiny davit_tiny cait_xxs24_224 "
    "xcit_nano_12_p16_224 poolformer_s12 pvt_v2_b0 twins_pcpvt_small crossvit_tiny_240 beit_base_patch16_224 "
    "resnest14d hrnet_w18_small dla34 res2net50_26w_4s nfnet_l0 halonet26t lambda_resnet26t inception_v4 "
    "eva02_tiny_patch14_224 hiera_tiny_224 tiny_vit_5m_224 focalnet_tiny_srf tnt_s_patch16_224 sequencer2d_s "
    "swinv2_tiny_window8_256 convit_tiny"
).split()


@pytest.mark.parametrize("name", TIMM + [pytest.param(name, marks=pytest.mark.slow) for name in TIMM_MORE])
def test_timm_as_it_runs(name: str) -> None:
    size = timm.get_pretrained_cfg(name).input_size
    same_as_a_real_run(timm.create_model(name, pretrained=False), torch.randn(1, *size))


# --- generation


class Generates(nn.Module):
    def __init__(self, model: nn.Module, **options: Any) -> None:
        super().__init__()
        self.model, self.options = model.eval(), options

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model.generate(ids, max_new_tokens=4, min_new_tokens=4, pad_token_id=0, **self.options)


def llama() -> nn.Module:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**GROUPED)).eval()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Generates(transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2_CONFIG)), do_sample=False),
        lambda: Generates(llama(), do_sample=True, top_k=5, top_p=0.9),
        lambda: Generates(llama(), do_sample=False, cache_implementation="static"),
        lambda: Generates(transformers.T5ForConditionalGeneration(transformers.T5Config(**T5_CONFIG)), do_sample=False),
    ],
    ids=["greedy", "sampled", "static-cache", "encoder-decoder"],
)
def test_generation_runs_to_its_end(make: Callable[[], nn.Module]) -> None:
    model = make()
    static, real = graph_of(model, IDS), graph_of(model, IDS, tracer="eager")
    assert outputs_of(static) == outputs_of(real) and len(static["ops"]) == len(real["ops"])
    assert any(note["kind"] == "assumption" for note in static["diagnostics"])


def test_caches_given_as_inputs_are_left_alone() -> None:
    model = llama()
    growing = transformers.DynamicCache()
    fixed = transformers.StaticCache(config=model.config, max_cache_len=16)
    for cache in (growing, fixed):
        with torch.no_grad():
            model(IDS, past_key_values=cache)
        keys = cache.layers[0].keys.clone()
        for tracer in ("static", "eager"):
            graph_of(model, IDS[:, :1], past_key_values=cache, tracer=tracer)
            assert torch.equal(cache.layers[0].keys, keys)


def test_anchors_cached_by_a_capture_do_not_stay() -> None:
    import ultralytics
    model = ultralytics.YOLO("yolov8n.yaml").model.eval()
    other, image = copy.deepcopy(model), torch.randn(1, 3, 64, 64)
    graph_of(model, image)
    with torch.no_grad():
        assert torch.equal(model(image)[0], other(image)[0])


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
    with _engine.abstract_calls() as session:
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
        lambda x: x.data_ptr(),
        lambda x: x.untyped_storage().data_ptr(),
        lambda x: x.untyped_storage().fill_(0),
        lambda x: x.untyped_storage().resize_(4096),
        lambda x: x.untyped_storage().clone(),
        lambda x: x.numpy(),
        lambda x: torch.from_dlpack(x),
        lambda x: torch.tensor([x[0, 0], 1.0]),
        lambda x: x.to_sparse(),
        lambda x: x[x > 0],
        lambda x: pickle.dumps(x),
        lambda x: torch.save(x, io.BytesIO()),
    ],
)
def test_reading_data_is_refused(read: Callable[[torch.Tensor], Any]) -> None:
    with pytest.raises(opscope.Error):
        graph_of(called(read), X)
    assert clean()


# --- many captures, many threads


def resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.parametrize("raises", [False, True])
def test_captures_hold_no_memory(raises: bool) -> None:
    model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(10)], called(lambda x: x.nonzero() if raises else x))

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
