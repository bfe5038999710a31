"""KV caches of every kind: what is held, read and written in a decode step, beside real steps with transformers' own classes."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers.cache_utils import DynamicCache, QuantizedCache, StaticCache

import opscope
from opscope.engine.nested import tensors_in
from opscope.inputs.plan import InputPlan, plan_inputs
from opscope.measurement.peak_memory import peak_of
from opscope.options import Options
from opscope.sources import Source
from test_report_schemas import PROGRAM

PAST, BATCH = 24, 2
SMALL: dict[str, Any] = {
    "vocab_size": 99,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
}
LATENT: dict[str, Any] = {
    "kv_lora_rank": 24,
    "q_lora_rank": 32,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 16,
    "v_head_dim": 24,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "n_group": 2,
    "topk_group": 1,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 4,
}


def llama(**more: Any) -> nn.Module:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL | more)).eval()


def mistral() -> nn.Module:
    return transformers.MistralForCausalLM(transformers.MistralConfig(sliding_window=10, **SMALL)).eval()


def gemma2() -> nn.Module:
    return transformers.Gemma2ForCausalLM(transformers.Gemma2Config(sliding_window=10, **SMALL)).eval()


def gemma3() -> nn.Module:
    config = transformers.Gemma3TextConfig(sliding_window=10, layer_types=["sliding_attention"] * 3 + ["full_attention"], **SMALL)
    return transformers.Gemma3ForCausalLM(config).eval()


def gpt_oss() -> nn.Module:
    config = transformers.GptOssConfig(sliding_window=10, num_local_experts=4, num_experts_per_tok=2, **SMALL)
    return transformers.GptOssForCausalLM(config).eval()


def deepseek() -> nn.Module:
    settings = SMALL | LATENT | {"num_key_value_heads": 4, "head_dim": 8}
    return transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config(**settings)).eval()


def t5() -> nn.Module:
    config = transformers.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    return transformers.T5ForConditionalGeneration(config).eval()


def mamba() -> nn.Module:
    config = transformers.MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=4)
    return transformers.MambaForCausalLM(config).eval()


def decode(model: nn.Module, **asked: Any) -> InputPlan:
    return plan_inputs(Source(model, "model", ""), Options(phase="decode", batch=BATCH, past_len=PAST, **asked))


def captured(model: nn.Module, **asked: Any) -> opscope.Profile:
    return opscope.profile(model, phase="decode", batch=BATCH, past_len=PAST, tracer="static", **asked)


def document(model: nn.Module, **asked: Any) -> dict[str, Any]:
    made = opscope.capture(model, phase="decode", batch=BATCH, past_len=PAST, tracer="static", **asked)
    return dict(json.loads(made.to_json()))


def held(tensors: Iterator[torch.Tensor]) -> int:
    """Bytes of their memory, counters left out."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if t.numel() > 1}.values())


# --- against real steps


def real_cache(model: nn.Module, kind: str) -> Any:
    if kind == "static":
        return StaticCache(config=model.config, max_cache_len=PAST + 1)
    return QuantizedCache(backend="fp8", config=model.config) if kind == "fp8" else DynamicCache(config=model.config)


def real_step(model: nn.Module, kind: str) -> tuple[Any, Any]:
    """The cache that a real prompt and the token behind it leave, and the next step, which takes such a cache."""

    def run(taken: Any, tokens: int, seen: int) -> Any:
        with torch.no_grad():
            return model(
                input_ids=torch.ones(BATCH, tokens, dtype=torch.long),
                attention_mask=torch.ones(BATCH, seen, dtype=torch.long),
                past_key_values=taken,
                use_cache=True,
            )

    prompt = run(real_cache(model, kind), PAST - 1, PAST - 1).past_key_values
    return run(prompt, 1, PAST).past_key_values, lambda taken: run(taken, 1, PAST + 1)


ASKED: dict[str, dict[str, Any]] = {"dynamic": {}, "static": {"kv_cache": "static"}, "fp8": {"kv_dtype": "fp8"}}
REAL = [
    (make, kind)
    for make in (llama, mistral, gemma2, gemma3, gpt_oss, deepseek)
    for kind in ASKED
    if kind != "fp8" or make in (llama, deepseek)
]


@pytest.mark.parametrize("make, kind", REAL, ids=lambda case: case if isinstance(case, str) else case.__name__)
def test_a_cache_holds_what_a_real_one_does(make: Any, kind: str) -> None:
    model = make()
    cache, step = real_step(model, kind)
    before, after = held(tensors_in(copy.deepcopy(cache))), held(tensors_in(step(cache).past_key_values))
    found = document(model, **ASKED[kind])
    sizes = found["storages"]
    taken = {v["storage"] for v in found["values"] if v.get("name", "").startswith("past_key_values") and v["kind"] == "input"}
    left = {v["storage"] for v in (found["values"][i] for i in found["outputs"]) if "past_key_values" in v.get("name", "")}
    big = [number for number in (taken, left) if number]
    assert len(big) == 2
    assert sum(sizes[s] for s in taken if sizes[s] > 8) == before
    assert sum(sizes[s] for s in left if sizes[s] > 8) == after


@pytest.mark.parametrize("make, kind", REAL, ids=lambda case: case if isinstance(case, str) else case.__name__)
def test_a_step_takes_the_memory_of_a_real_one(make: Any, kind: str) -> None:
    model = make()
    cache, step = real_step(model, kind)
    step(copy.deepcopy(cache))  # what comes with a first call
    peak = peak_of(lambda: step(copy.deepcopy(cache)), [*model.parameters(), *model.buffers()], torch.device("cpu"))
    assert peak is not None
    real = sum(peak)
    told = captured(model, **ASKED[kind]).memory.peak_memory_bytes
    assert told == pytest.approx(real, rel=0.01)


@pytest.mark.parametrize("kind", ["dynamic", "static"])
def test_a_step_works_as_much_as_a_real_one(kind: str) -> None:
    """A static cache attends over all that it has room for."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from reference_models import counter_flops

    model = llama()
    cache, _ = real_step(model, kind)
    inputs = {"input_ids": torch.ones(BATCH, 1, dtype=torch.long), "attention_mask": torch.ones(BATCH, PAST + 1, dtype=torch.long)}
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        real = counter_flops(model, **inputs, past_key_values=cache, use_cache=True)
    assert captured(model, convention="torch", **ASKED[kind]).totals.flops == real


def test_a_static_cache_costs_its_whole_room() -> None:
    model = llama()
    small, large = (captured(model, kv_cache="static", kv_capacity=room) for room in (PAST + 1, 100))
    heads, layers, width = 4, 4, 16
    assert large.totals.macs - small.totals.macs == BATCH * layers * heads * 2 * width * (100 - PAST - 1)
    kept = [profile.memory.split["kv_cache_bytes"] for profile in (small, large)]
    counters = layers * 8
    assert kept == [BATCH * layers * 2 * 2 * width * 4 * room + counters for room in (PAST + 1, 100)]


# --- traffic


def moved(profile: opscope.Profile, op: str) -> list[tuple[int, int]]:
    return [(row.input_bytes, row.output_bytes) for row in profile.ops if row.op == op]


A_TOKEN = BATCH * 2 * 16 * 4  # of one layer's keys


def test_a_dynamic_cache_is_copied_at_every_step() -> None:
    cats = [pair for pair in moved(captured(llama()), "aten::cat") if pair[1] == (PAST + 1) * A_TOKEN]
    assert cats == [((PAST + 1) * A_TOKEN, (PAST + 1) * A_TOKEN)] * 8


def test_a_static_cache_knows_how_many_tokens_it_has() -> None:
    config = transformers.OPTConfig(hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=99, word_embed_proj_dim=32)
    model = transformers.OPTForCausalLM(config).eval()  # which asks it where the token stands
    profile = opscope.profile(model, phase="decode", past_len=20, kv_cache="static")
    head = next(row for row in profile.layers if row.name == "lm_head")
    assert head.macs == 32 * 99  # of one token


def test_a_static_cache_is_written_where_the_token_is() -> None:
    profile = captured(llama(), kv_cache="static")
    index = 8  # bytes of where
    assert moved(profile, "aten::index_copy_") == [(A_TOKEN + index, A_TOKEN)] * 8
    assert not [pair for pair in moved(profile, "aten::cat") if pair[1] >= PAST * A_TOKEN]


def test_blocks_are_whole_and_written_in_place() -> None:
    profile = captured(llama(), kv_block=16)
    sizes = [row.shape for row in profile.inputs if row.name.endswith(("keys", "values"))]
    assert sizes == [[BATCH, 2, 32, 16]] * 8  # 25 tokens in two blocks
    assert profile.memory.split["kv_cache_bytes"] == 8 * 32 * A_TOKEN
    copies = [row for row in profile.ops if row.op == "aten::copy_" and row.output_bytes == A_TOKEN]
    assert [row.input_bytes for row in copies] == [A_TOKEN] * 8
    assert {row.confidence for row in copies} == {"estimated"}
    attention = [row for row in profile.ops if "attention" in row.op]
    assert all(row.input_bytes == 2 * (PAST + 1) * A_TOKEN + BATCH * 4 * 16 * 4 for row in attention)


def test_blocks_of_a_window_are_those_that_it_touches() -> None:
    # Tokens 15 to 23 are kept of 24, and token 24 comes: blocks of 4 from token 12 to 27.
    sizes = [row.shape for row in captured(mistral(), kv_block=4).inputs if row.name.endswith("keys")]
    assert sizes == [[BATCH, 2, 16, 16]] * 4


# --- other dtypes


@pytest.mark.parametrize("dtype, bits", [("int8", 8), ("int4", 4)])
def test_whole_numbers_have_a_scale_and_a_zero_for_each_token_and_head(dtype: str, bits: int) -> None:
    model = llama().to(torch.bfloat16)
    found = document(model, kv_dtype=dtype)
    layers = found["kv_cache"]["layers"]
    assert {layer["bytes_per_token"] for layer in layers} == {2 * 2 * (16 * bits // 8 + 2 * 2)}
    assert {(layer["dtype"], layer["key_width"]) for layer in layers} == {(dtype, 16)}
    profile = captured(model, kv_dtype=dtype)
    stored = PAST * BATCH * 4 * 2 * 2 * (16 * bits // 8 + 2 * 2)
    rows = [row for row in profile.inputs if row.name.startswith("past_key_values")]
    assert sum(math.prod(row.shape) * getattr(torch, row.dtype).itemsize for row in rows) == stored
    decoded = [row for row in profile.ops if row.op == "opscope::kv_decode"]
    a_layer = (PAST + 1) * BATCH * 2
    assert [(row.input_bytes, row.output_bytes) for row in decoded] == [(a_layer * (16 * bits // 8 + 4), a_layer * 16 * 2)] * 8
    assert {row.confidence for row in decoded} == {"estimated"}


@pytest.mark.parametrize("bits", [8, 4])
def test_what_is_stored_comes_back(bits: int) -> None:
    from opscope.inputs.kv_layers import Integers

    x = torch.randn(2, 3, 5, 16)
    codec = Integers(bits)
    error = (codec.decode(codec.encode(x, None), x.dtype) - x).abs().amax(-1)
    assert (error <= (x.amax(-1) - x.amin(-1)) / (2**bits - 1) * 0.51).all()


@pytest.mark.parametrize(
    "asked",
    [
        {"kv_dtype": "int8"},
        {"kv_dtype": "int4", "kv_block": 4},
        {"kv_dtype": "fp8", "kv_block": 4},
        {"kv_block": 4},
        {"kv_dtype": "bfloat16"},
    ],
)
@pytest.mark.parametrize("make", [llama, mistral, gemma3])
def test_our_own_layers_run_for_real_too(make: Any, asked: dict[str, Any]) -> None:
    """The same ops and the same memory from tensors with data."""
    model = make()
    ways = [
        json.loads(opscope.capture(model, phase="decode", batch=BATCH, past_len=PAST, tracer=tracer, **asked).to_json())
        for tracer in ("static", "eager")
    ]
    static, eager = ([(op["op"], len(op["outputs"])) for op in found["ops"]] for found in ways)
    assert static == eager
    assert ways[0]["kv_cache"] == ways[1]["kv_cache"]


def test_our_own_layers_answer_as_the_model_does() -> None:
    """Blocks and windows keep what a step needs: its result is that of the model's own cache."""
    from opscope.inputs.kv_layers import PagedCache, StoredCache, StoredLayer, codec_of

    torch.manual_seed(0)
    for make, window in ((llama, None), (mistral, 10)):
        model = make()
        ids = torch.randint(0, 99, (BATCH, PAST))
        with torch.no_grad():
            expected = model(input_ids=ids).logits[:, -1]
            for block in (None, 4):
                layers = [StoredLayer(codec_of(None), window, block) for _ in range(4)]
                cache = PagedCache(layers, block) if block else StoredCache(layers)
                cache = model(input_ids=ids[:, :-1], past_key_values=cache, use_cache=True).past_key_values
                found = model(input_ids=ids[:, -1:], past_key_values=cache, use_cache=True).logits[:, -1]
                torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_the_dtype_that_it_has_anyway_changes_nothing() -> None:
    model = llama()
    own, asked = captured(model), captured(model, kv_dtype="float32")
    assert asked.totals.memory_bytes == own.totals.memory_bytes and asked.memory.peak_memory_bytes == own.memory.peak_memory_bytes


def test_what_is_assumed_is_said() -> None:
    for asked, words in (
        ({"kv_dtype": "int8"}, "8 bits with a scale and a zero point for each token and head"),
        ({"kv_dtype": "fp8"}, "transformers' own fp8 cache"),
        ({"kv_block": 16}, "blocks of 16 tokens"),
    ):
        assert any(words in note for note in decode(llama(), **asked).notes), asked


# --- what the cache says of its layers


def facts(model: nn.Module, **asked: Any) -> dict[str, Any]:
    found = decode(model, **asked).kv_cache
    assert found is not None
    return found


def test_layers_are_as_the_config_has_them() -> None:
    kinds = {
        make.__name__: [(layer["kind"], layer.get("window", 0)) for layer in facts(make())["layers"]]
        for make in (llama, mistral, gemma2, gemma3, gpt_oss)
    }
    full, sliding = ("full", 0), ("sliding", 10)
    assert kinds == {
        "llama": [full] * 4,
        "mistral": [sliding] * 4,
        "gemma2": [sliding, full] * 2,
        "gemma3": [sliding] * 3 + [full],
        "gpt_oss": [sliding, full] * 2,
    }
    assert {layer["bytes_per_token"] for layer in facts(llama())["layers"]} == {2 * 2 * 16 * 4}


def test_latent_attention_keeps_its_latents() -> None:
    found = facts(deepseek())
    assert {layer["bytes_per_token"] for layer in found["layers"]} == {(24 + 8) * 4}
    assert found["latent"] == {
        "layers": 4, "heads": 4, "kv_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 24,
    }  # fmt: skip
    assert "latent" not in facts(llama())


def test_states_and_encoders_do_not_grow() -> None:
    states = facts(mamba())["layers"]
    assert {layer["kind"] for layer in states} == {"state"} and all(layer["bytes_per_token"] == 0 for layer in states)
    assert all(layer["state_bytes"] > 0 for layer in states)
    found = facts(t5())["layers"]
    assert {(layer["kind"], layer["bytes_per_token"]) for layer in found} == {("full", 2 * 4 * 8 * 4)}
    assert all(layer["state_bytes"] == 128 * 2 * 4 * 8 * 4 for layer in found)  # of 128 tokens that the encoder read


def test_fp8_has_its_scales_for_all_sequences() -> None:
    assert {(layer["dtype"], layer["bytes_per_token"], layer["shared_bytes"]) for layer in facts(llama(), kv_dtype="fp8")["layers"]} == {
        ("float8_e4m3fn", 2 * 2 * 16, 8)
    }


@pytest.mark.parametrize(("dtype", "library", "package"), [("int4:hqq", "hqq", "hqq"), ("int8:hqq", "hqq", "hqq"), ("int4:quanto", "optimum.quanto", "optimum-quanto")])
def test_the_cache_of_a_library_is_transformers_own(dtype: str, library: str, package: str) -> None:
    """As the library packs it where it is installed: halves of groups of 64 numbers, a scale and a zero point each."""
    name = library.split(".")[0]
    if importlib.util.find_spec(name) is None or importlib.util.find_spec(library) is None:
        with pytest.raises(opscope.Error, match="it needs") as raised:
            decode(llama(), kv_dtype=dtype)
        assert package in raised.value.hint
        return
    bits = int(dtype[3])
    for layer in facts(llama(), kv_dtype=dtype)["layers"]:
        numbers = layer["heads"] * (layer["key_width"] + layer["value_width"])
        assert layer["dtype"] == f"int{bits}"
        assert layer["bytes_per_token"] == numbers * bits // 8 + numbers // 64 * 2 * 4


# --- what cannot be


@pytest.mark.parametrize(
    "make, asked, words",
    [
        (mamba, {"kv_cache": "static"}, "cannot use a static KV cache"),
        (mamba, {"kv_dtype": "int8"}, "cannot use a KV cache in int8"),
        (t5, {"kv_dtype": "int8"}, "the encoder's keys and values beside its own"),
        (t5, {"kv_block": 16}, "cannot use a KV cache in blocks"),
        (llama, {"kv_cache": "static", "kv_capacity": PAST}, "no room for 24 and the next one"),
        (llama, {"kv_cache": "paged"}, "no kv_cache called 'paged'"),
        (llama, {"kv_dtype": "int3"}, "no kv_dtype called 'int3'"),
        (llama, {"kv_block": 0}, "a kv_block of 0"),
        (llama, {"kv_dtype": "int4:nothing"}, "no kv_dtype called 'int4:nothing'"),
        (llama, {"kv_dtype": "int4:hqq", "kv_block": 16}, "a KV cache of hqq is in one piece"),
        (llama, {"kv_capacity": 99}, "only a static KV cache is allocated for a length"),
        (llama, {"kv_cache": "static", "kv_block": 16}, "in one piece, not in blocks"),
        (llama, {"kv_cache": "static", "kv_dtype": "fp8"}, "a static KV cache is in the model's dtype"),
    ],
)
def test_a_cache_that_cannot_be(make: Any, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(opscope.Error, match=words):
        decode(make(), **asked)


@pytest.mark.parametrize("option, value", [("kv_cache", "static"), ("kv_dtype", "int8"), ("kv_block", 16), ("kv_capacity", 99)])
def test_a_cache_without_a_decode_step(option: str, value: Any) -> None:
    with pytest.raises(opscope.Error, match=f"{option} is for the decode phase"):
        opscope.profile(llama(), **{option: value})


# --- at the size that is deployed


def test_llama_8b_on_24_gib() -> None:
    """Weights 16.06 GB; 1.07 GB of cache for each sequence: eight of them fit, with a layer's old values beside."""
    config = transformers.LlamaConfig(
        vocab_size=128256, hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=131072,
    )  # fmt: skip
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    four = opscope.profile(model, phase="decode", past_len=8192, batch=4, tracer="static").memory
    a_layer = 2 * 8 * 128 * 2 * 4  # of a token in four sequences
    assert four.split["kv_cache_bytes"] == 32 * a_layer * 8193 + a_layer // 2 * 8192
    assert opscope.fit(model, phase="decode", past_len=8192, memory="24GiB").largest == 8
    assert opscope.fit(model, phase="decode", past_len=8192, memory="24GiB", kv_dtype="int8").largest == 16


# --- the report


def test_the_memory_report_says_what_a_step_does_with_its_cache(tmp_path: Path) -> None:
    opscope.capture(llama(), phase="decode", batch=BATCH, past_len=PAST, tracer="static").save(str(tmp_path / "step.json"))
    told = subprocess.run([PROGRAM, "memory", str(tmp_path / "step.json"), "--format", "json"], capture_output=True, check=True)
    found = json.loads(told.stdout)["kv_cache"]
    held, grown = PAST * 8 * A_TOKEN, (PAST + 1) * 8 * A_TOKEN
    assert found["held_bytes"] == held and found["added_bytes"] == 8 * A_TOKEN
    assert found["copied_bytes"] == held + grown and found["saved_in_place_bytes"] == held + grown - 2 * 8 * A_TOKEN
    rows = {row["op"]: row for row in found["ops"]}
    assert (rows["cat"]["read_bytes"], rows["cat"]["written_bytes"]) == (held, grown)
    assert rows["scaled_dot_product_attention"]["read_bytes"] == grown
