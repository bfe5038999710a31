"""How a model is trained: each choice is really run under the capture, and its peak is that of the same step for real."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity
from torch.profiler import profile as profiler_of
from torch.utils.checkpoint import checkpoint

import opscope
from opscope.engine.recipe.blocks import repeated_blocks
from opscope.engine.training import loss_of
from test_untouched import fingerprint, surroundings

WIDTH, TOKENS = 128, torch.randint(0, 500, (4, 48))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.q_proj, self.v_proj, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        x = x + self.out(torch.softmax(self.q_proj(y) @ y.transpose(1, 2), -1) @ self.v_proj(y))
        made: torch.Tensor = x + self.down(nn.functional.gelu(self.up(x)))
        return made


class Model(nn.Module):
    """Small, with what the choices are about: an embedding, repeated layers, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(500, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(4))
        self.head = nn.Linear(WIDTH, 500)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        made: torch.Tensor = self.head(x)
        return made


class Adapter(nn.Module):
    """A linear layer with an adapter, written out."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = self.base(x) + self.b(self.a(x)) * 2.0
        return made


def convnet() -> nn.Module:
    def block() -> nn.Module:
        return nn.Sequential(nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU())

    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), block(), block(), nn.Flatten(), nn.Linear(16 * 32 * 32, 10))


def peak_of_step(
    model: nn.Module,
    x: torch.Tensor,
    optimizer: torch.optim.Optimizer,
    dtype: torch.dtype | None = None,
    micro_steps: int = 1,
) -> int:
    """Of a real step that is not the first, by the allocator's own reports."""

    def step() -> Any:
        optimizer.zero_grad()
        for _ in range(micro_steps):
            outputs = None
            with torch.autocast("cpu", dtype=dtype or torch.bfloat16, enabled=dtype is not None):
                outputs = model(x)
                loss, _ = loss_of(outputs)
            assert loss is not None
            (loss / micro_steps if micro_steps > 1 else loss).backward()
        optimizer.step()
        return outputs

    def there() -> Iterator[torch.Tensor]:
        yield from (*model.parameters(), *model.buffers(), x)
        for state in optimizer.state.values():
            yield from (value for value in state.values() if isinstance(value, torch.Tensor))

    model.train()
    step()
    optimizer.zero_grad()
    gc.collect()
    held = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in there()}
    with profiler_of(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    now = peak = 0
    events: Any = profiler.profiler
    for event in sorted(events.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return sum(held.values()) + peak


def checkpointed(model: Any) -> None:
    for layer in model.layers:
        plain = layer.forward
        layer.forward = lambda x, plain=plain: checkpoint(plain, x, use_reentrant=False)


def with_adapters(model: Any) -> None:
    model.requires_grad_(False)
    for layer in model.layers:
        layer.q_proj, layer.v_proj = Adapter(layer.q_proj, 4), Adapter(layer.v_proj, 4)


def frozen(model: Any) -> None:
    model.embed.requires_grad_(False)
    model.layers[0].requires_grad_(False)


ADAMW: Callable[..., Any] = torch.optim.AdamW
#: Options, the optimiser of a real run, what is done to its model, and how it is run.
CASES: dict[str, tuple[dict[str, Any], Callable[..., Any], Callable[[Any], None], dict[str, Any]]] = {
    "adamw": ({}, ADAMW, lambda _: None, {}),
    "foreach": ({"optimizer": "adamw:foreach"}, lambda p: ADAMW(p, foreach=True), lambda _: None, {}),
    "fused": ({"optimizer": "adamw:fused"}, lambda p: ADAMW(p, fused=True), lambda _: None, {}),
    "sgd-momentum:fused": (
        {"optimizer": "sgd-momentum:fused"}, lambda p: torch.optim.SGD(p, momentum=0.9, fused=True), lambda _: None, {},
    ),
    "adafactor": ({"optimizer": "adafactor"}, torch.optim.Adafactor, lambda _: None, {}),
    "adafactor:foreach": (
        {"optimizer": "adafactor:foreach"}, lambda p: torch.optim.Adafactor(p, foreach=True), lambda _: None, {},
    ),
    "autocast": ({"autocast": "bfloat16"}, ADAMW, lambda _: None, {"dtype": torch.bfloat16}),
    "accumulate": ({"accumulate": 3}, ADAMW, lambda _: None, {"micro_steps": 3}),
    "checkpoint": ({"checkpoint": "layers"}, ADAMW, checkpointed, {}),
    "checkpoint by path": ({"checkpoint": "layers.*"}, ADAMW, checkpointed, {}),
    "lora": ({"lora": "r=4,alpha=8,targets=q_proj,v_proj"}, ADAMW, with_adapters, {}),
    "freeze": ({"freeze": "embed,layers.0"}, ADAMW, frozen, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_peak_is_that_of_a_real_step(case: str) -> None:
    options, make, prepare, how = CASES[case]
    torch.manual_seed(0)
    model = Model()
    told = opscope.profile(model, TOKENS, training=True, **{"optimizer": "adamw", **options}).memory.peak_memory_bytes
    prepare(model)
    real = peak_of_step(model, TOKENS, make([p for p in model.parameters() if p.requires_grad]), **how)
    assert told == pytest.approx(real, rel=0.02)


def graph_of(model: Any = None, inputs: Any = TOKENS, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(opscope.capture(model or Model(), inputs, training=True, **options).to_json())
    return found


def memory_of(inputs: Any = TOKENS, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(opscope.profile(Model(), inputs, training=True, **options).to_json())
    return found


def notes(found: dict[str, Any]) -> str:
    return "; ".join(note["message"] for note in found["diagnostics"])


def state_bytes(found: dict[str, Any], part: str = "") -> int:
    return sum(
        found["storages"][value["storage"]]["bytes"] if isinstance(found["storages"][0], dict) else found["storages"][value["storage"]]
        for value in found["values"]
        if value["kind"] == "optimizer_state" and value.get("name", "").endswith(part)
    )


def parameters_of(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def test_micro_steps_are_counted_as_often_as_they_run() -> None:
    once, twice, many = (memory_of(accumulate=number)["totals"]["macs"] for number in (1, 2, 7))
    assert twice == 2 * once and many == 7 * once
    found = graph_of(accumulate=7)
    assert [phase["name"] for phase in found["phases"]] == ["forward", "backward", "forward 2", "backward 2", "optimizer"]
    assert "each of the 7 micro-steps after the first is as the second" in notes(found)


def test_a_second_micro_step_finds_the_gradients_of_the_first() -> None:
    first, second = (memory_of(accumulate=number, optimizer="none")["memory"]["peak_memory_bytes"] for number in (1, 2))
    assert second > first


def test_checkpointing_runs_layers_again_and_holds_less() -> None:
    plain, layers, selective = (memory_of(optimizer="none", **options) for options in ({}, {"checkpoint": "layers"}, {"checkpoint": "selective"}))
    peaks = [found["memory"]["peak_memory_bytes"] for found in (plain, selective, layers)]
    assert peaks[0] > peaks[1] > peaks[2]
    macs = [found["totals"]["macs"] for found in (plain, selective, layers)]
    assert macs[0] == macs[1] < macs[2]


def test_blocks_of_stages() -> None:
    class Conv(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Sequential(Conv(), Conv(), Conv())

    class Stage(nn.Module):
        def __init__(self, blocks: int) -> None:
            super().__init__()
            self.down = nn.Conv2d(3, 3, 1)
            self.blocks = nn.ModuleList(Block() for _ in range(blocks))

    staged = nn.Module()
    staged.stages = nn.ModuleList(Stage(blocks) for blocks in (1, 2, 3))
    assert [type(found) for found in repeated_blocks(staged)] == [Block] * 6
    assert [type(found) for found in repeated_blocks(Model())] == [Layer] * 4
    assert repeated_blocks(convnet()) == []


def test_a_checkpointed_block_keeps_the_list_that_it_was_given() -> None:
    class Dense(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
            made: torch.Tensor = self.b(self.a(torch.stack(parts).sum(0)))
            return made

    class Grows(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Dense() for _ in range(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            parts = [x]
            for block in self.blocks:
                parts.append(block(parts))
            return torch.stack(parts)

    plain, again = (graph_of(Grows(), torch.rand(2, 8), **options) for options in ({}, {"checkpoint": "layers"}))
    assert len(again["ops"]) > len(plain["ops"])


def test_float16_has_a_scaler() -> None:
    found = graph_of(autocast="float16", optimizer="adamw")
    ops = {op["op"] for op in found["ops"]}
    assert {"aten::_amp_foreach_non_finite_check_and_unscale_", "aten::_amp_update_scale_"} <= ops
    assert "the gradients are finite" in notes(found)
    assert {"GradScaler.scale", "GradScaler.growth_tracker"} <= {v.get("name") for v in found["values"] if v["kind"] == "optimizer_state"}
    assert "aten::_amp_update_scale_" not in {op["op"] for op in graph_of(autocast="bfloat16")["ops"]}


def test_a_fused_step_takes_the_scale_with_it() -> None:
    ops = [op["op"] for op in graph_of(autocast="float16", optimizer="adamw:fused")["ops"]]
    assert "aten::_fused_adamw_" in ops


def test_autocast_without_training() -> None:
    model = Model()
    found = json.loads(opscope.capture(model, TOKENS, autocast="bf16").to_json())
    casts = {value["dtype"] for value in found["values"] if value["kind"] == "activation"}
    assert "bfloat16" in casts and not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("name", ["adamw:8bit", "adam:8bit", "sgd-momentum:8bit"])
def test_8bit_state_is_a_byte_and_a_scale_for_each_block(name: str) -> None:
    found, model = graph_of(optimizer=name), Model()
    large = sum(parameter.numel() for parameter in model.parameters() if parameter.numel() >= 4096)
    small = parameters_of(model) - large
    for part in ("state1", "state2")[: 1 if name.startswith("sgd") else 2]:
        assert state_bytes(found, part) == large + 4 * small
        assert state_bytes(found, f"{part}_absmax") == sum(4 * -(-p.numel() // 256) for p in model.parameters() if p.numel() >= 4096)
    assert {op["op"] for op in found["ops"] if op["op"].startswith("opscope::")} == {"opscope::step_8bit_"}
    steps = memory_of(optimizer=name)["layers"][-1]
    assert steps["confidence"] == "estimated" and steps["memory_bytes"] > 0


def test_8bit_for_real() -> None:
    model = Model()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    found = json.loads(opscope.capture(model, TOKENS, training=True, optimizer="adamw:8bit", tracer="eager").to_json())
    assert "opscope::step_8bit_" in {op["op"] for op in found["ops"]}
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_muon_takes_the_matrices_of_layers() -> None:
    found, model = graph_of(optimizer="muon"), Model()
    momenta = {v["name"].removesuffix(".momentum_buffer") for v in found["values"] if v["kind"] == "optimizer_state" and v.get("name", "").endswith("momentum_buffer")}
    assert momenta == {name for name, p in model.named_parameters() if p.dim() == 2 and name != "embed.weight"}
    assert "AdamW the other" in notes(found)


def test_master_weights_are_optimizer_state_in_float32() -> None:
    model = Model().bfloat16()
    found = graph_of(model, optimizer="adamw", master_weights=True)
    count = parameters_of(model)
    assert state_bytes(found, ".master") == 4 * count
    assert state_bytes(found, ".exp_avg") == state_bytes(found, ".exp_avg_sq") == 4 * count
    assert all(parameter.dtype == torch.bfloat16 for parameter in model.parameters())


def test_trained_parameters_are_told() -> None:
    model = Model()
    adapters = 4 * 2 * (2 * WIDTH) * 4
    words = notes(graph_of(lora="r=4,targets=q_proj,v_proj"))
    assert f"adapters of rank 4 on 8 linear layers, {adapters:,} parameters" in words
    assert f"{adapters:,} of {parameters_of(model) + adapters:,} parameters are trained" in words
    assert f"{parameters_of(model.head):,} of {parameters_of(model):,}" in notes(graph_of(freeze="!head"))


def test_adapters_of_half_precision_are_float32() -> None:
    found = graph_of(Model().bfloat16(), lora="r=4,targets=q_proj")
    kinds = {value["dtype"] for value in found["values"] if value["kind"] == "gradient"}
    assert kinds == {"float32"}


def test_channels_last() -> None:
    model, images = convnet(), torch.rand(2, 3, 32, 32)
    found = json.loads(opscope.capture(model, images, channels_last=True).to_json())
    (x,) = [value for value in found["values"] if value["kind"] == "input"]
    assert x["strides"] == [3072, 1, 96, 3]
    assert images.is_contiguous() and all(parameter.is_contiguous() for parameter in model.parameters())


def test_a_sweep_of_choices_captures_each() -> None:
    choices = {"optimizer": ["adamw", "adamw:8bit"], "checkpoint": "none,layers"}
    points = opscope.sweep(Model(), TOKENS, training=True, metric="peak_memory_bytes,macs", **choices).rows
    found = {(point["optimizer"], point["checkpoint"]): point for point in points}
    assert len(found) == 4
    alone = memory_of(optimizer="adamw:8bit", checkpoint="layers")
    assert found["adamw:8bit", "layers"]["peak_memory_bytes"] == alone["memory"]["peak_memory_bytes"]
    assert found["adamw", "layers"]["macs"] > found["adamw", "none"]["macs"]


def test_checkpoints_are_advised_for_all_micro_steps() -> None:
    told = {n: opscope.memory(Model(), TOKENS, training=True, optimizer="none", accumulate=n).to_dict() for n in (1, 2)}
    advice = {n: found["advice"] for n, found in told.items()}
    saved = {n: max(each["saved_bytes"] for each in advice[n] if each["remedy"] == "checkpoint") for n in advice}
    assert saved[2] > 0.5 * saved[1] > 0


def test_a_packed_batch_has_a_mask() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, vocab_size=100, use_cache=False
    )
    model, ids = transformers.LlamaForCausalLM(config), torch.randint(0, 100, (1, 48))
    positions = torch.cat([torch.arange(20), torch.arange(28)])[None]
    plain = graph_of(model, {"input_ids": ids, "labels": ids})
    packed = graph_of(model, {"input_ids": ids, "labels": ids, "position_ids": positions})
    masks = [[value for value in found["values"] if value["shape"] == [1, 1, 48, 48]] for found in (plain, packed)]
    assert len(masks[1]) > len(masks[0])


def test_how_to_have_the_models_own_loss() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(hidden_size=64, num_hidden_layers=1, num_attention_heads=4, intermediate_size=128, vocab_size=100)
    model, ids = transformers.BertForMaskedLM(config), torch.randint(0, 100, (2, 16))
    assert "--input labels=2x16:int64" in notes(graph_of(model, {"input_ids": ids}))
    assert "the loss is the model's own" in notes(graph_of(model, {"input_ids": ids, "labels": ids}))


CHOICES: list[dict[str, Any]] = [
    {"checkpoint": "layers"}, {"checkpoint": "selective"}, {"lora": "r=2"}, {"freeze": "embed"}, {"accumulate": 2},
    {"autocast": "float16"}, {"optimizer": "adafactor"}, {"optimizer": "muon"}, {"channels_last": True},
]  # fmt: skip


@pytest.mark.parametrize("options", CHOICES, ids=str)
@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_untouched(options: dict[str, Any], tracer: str) -> None:
    model = Model()
    classes, state = [type(module) for module in model.modules()], torch.get_rng_state()
    before, around = fingerprint(model), surroundings()
    opscope.profile(model, TOKENS, training=True, tracer=tracer, **options)
    assert fingerprint(model) == before and surroundings() == around
    assert [type(module) for module in model.modules()] == classes
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_weights_without_memory(options: dict[str, Any]) -> None:
    with torch.device("meta"):
        model = Model()
    assert [op["op"] for op in graph_of(model, **options)["ops"]] == [op["op"] for op in graph_of(Model(), **options)["ops"]]


@pytest.mark.parametrize(
    ("options", "words", "hint"),
    [
        ({"optimizer": "adma"}, "no optimizer called 'adma'", "adam"),
        ({"optimizer": "adamw:fuse"}, "adamw has no variant 'fuse'", "fused"),
        ({"optimizer": "muon:fused"}, "muon has no variant", "write muon"),
        ({"checkpoint": "layres.*"}, "no module of the model fits 'layres.*'", "layers"),
        ({"checkpoint": "layers,"}, "empty pattern", "for example"),
        ({"freeze": "emb"}, "no parameter of the model fits 'emb'", "embed"),
        ({"freeze": "embed,!head"}, "with and without '!'", "one kind"),
        ({"freeze": "embed,layers,head"}, "all parameters are frozen", "!head"),
        ({"lora": "r=x"}, "r=x is not a whole number", "for example"),
        ({"lora": "targets=q_proj"}, "have no rank", "for example"),
        ({"lora": "r=4,rank=3"}, "'rank' is no setting", "for example"),
        ({"lora": "r=4,dropout=2"}, "dropout=2 is not", "for example"),
        ({"lora": "r=4,targets=q_porj"}, "no linear layer of the model fits 'q_porj'", "q_proj"),
        ({"lora": "r=4,targets=embed"}, "'embed' names a module of class Embedding", "all-linear"),
        ({"autocast": "float32"}, "autocast to float32 is none", "bfloat16 or float16"),
        ({"autocast": "float16", "dtype": "float16"}, "cannot unscale gradients in float16", "master"),
        ({"accumulate": 0}, "accumulate", "1 or more"),
        ({"master_weights": True}, "no weight that is trained is in bfloat16", "--dtype bfloat16"),
        ({"master_weights": True, "optimizer": "none"}, "held by an optimizer", "name an optimizer"),
    ],
)
def test_refused(options: dict[str, Any], words: str, hint: str) -> None:
    model = Model()
    if options.get("dtype") == "float16":
        model, options = model.half(), {"autocast": "float16"}
    with pytest.raises(opscope.Error) as problem:
        opscope.capture(model, TOKENS, training=True, **options)
    assert words in str(problem.value)
    assert hint in f"{problem.value.hint} {problem.value.candidates}"


@pytest.mark.parametrize("options", [{"accumulate": 2}, {"checkpoint": "layers"}, {"freeze": "embed"}, {"master_weights": True}], ids=str)
def test_parts_of_training_need_training(options: dict[str, Any]) -> None:
    with pytest.raises(opscope.Error, match="a part of training"):
        opscope.capture(Model(), TOKENS, **options)


def test_a_graph_of_a_tracer_is_not_under_autocast() -> None:
    with pytest.raises(opscope.Error, match="fx is not run under autocast"):
        opscope.capture(Model(), TOKENS, autocast="bfloat16", tracer="fx")


def test_a_model_without_repeated_blocks_says_what_to_do() -> None:
    with pytest.raises(opscope.Error, match="has no repeated blocks") as problem:
        opscope.capture(nn.Sequential(nn.Linear(4, 4)), torch.rand(2, 4), training=True, checkpoint="layers")
    assert "name modules" in problem.value.hint


def test_the_library_checkpoints_its_own_models() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128, vocab_size=100)
    model, ids = transformers.BertModel(config), {"input_ids": torch.randint(0, 100, (8, 32))}
    plain, layers = (opscope.profile(model, ids, training=True, **options) for options in ({}, {"checkpoint": "layers"}))
    assert layers.memory.peak_memory_bytes < plain.memory.peak_memory_bytes
    assert not model.is_gradient_checkpointing
