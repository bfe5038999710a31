"""One token behind a model's own cache: the work is that of a real step, the cache that of a real prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

import opscope
from opscope.engine import abstract_run
from opscope.inputs.plan import InputPlan, plan_inputs
from opscope.options import Options
from opscope.sources import Source
from reference_models import counter_flops

PAST = 37
SMALL: dict[str, Any] = {
    "vocab_size": 99,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
SEQ2SEQ: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}
MODELS: dict[str, Callable[[], nn.Module]] = {
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL)),
    "mistral": lambda: transformers.MistralForCausalLM(transformers.MistralConfig(sliding_window=16, **SMALL)),
    "gpt2": lambda: transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=128)
    ),
    "bloom": lambda: transformers.BloomForCausalLM(
        transformers.BloomConfig(vocab_size=99, hidden_size=32, n_layer=2, n_head=4)
    ),
    "mamba": lambda: transformers.MambaForCausalLM(
        transformers.MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, state_size=4)
    ),
    "t5": lambda: transformers.T5ForConditionalGeneration(
        transformers.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)
    ),
    "bart": lambda: transformers.BartForConditionalGeneration(transformers.BartConfig(vocab_size=99, **SEQ2SEQ)),
    "whisper": lambda: transformers.WhisperForConditionalGeneration(
        transformers.WhisperConfig(max_source_positions=50, **SEQ2SEQ)
    ),
}


def decode(model: nn.Module, **asked: Any) -> InputPlan:
    return plan_inputs(Source(model, "model", ""), Options(phase="decode", **asked))


def captured(model: nn.Module, planned: InputPlan) -> opscope.Profile:
    inputs = planned.make()
    graph = abstract_run.capture(model, inputs.args, inputs.kwargs, tracer="static")
    return opscope.Capture(graph).profile(convention="torch")


def real_step_flops(model: nn.Module, planned: InputPlan) -> int:
    """Of a real run: the prompt first, then the step behind the cache that it left."""
    source = Source(model, "model", "")
    prefill = plan_inputs(source, Options(seq_len=PAST)).make().kwargs
    if "decoder_input_ids" in prefill:
        prefill = plan_inputs(source, Options(named_inputs={"decoder_input_ids": (1, PAST)})).make().kwargs
    step = {name: value for name, value in planned.make().kwargs.items() if isinstance(value, (torch.Tensor, bool))}
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        outputs = model(**prefill, use_cache=True)
        for name in ("past_key_values", "cache_params"):
            if getattr(outputs, name, None) is not None:
                step[name] = getattr(outputs, name)
        if getattr(outputs, "encoder_last_hidden_state", None) is not None:
            step["encoder_outputs"] = (outputs.encoder_last_hidden_state,)
        return counter_flops(model, **step)


@pytest.mark.parametrize("name", MODELS)
def test_the_work_is_that_of_a_real_step(name: str) -> None:
    model = MODELS[name]().eval()
    planned = decode(model, past_len=PAST)
    assert captured(model, planned).totals.flops == real_step_flops(model, planned) > 0


@pytest.mark.parametrize("name", ["llama", "gpt2"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_cache_is_what_the_formula_says(name: str, dtype: torch.dtype) -> None:
    model = MODELS[name]().to(dtype).eval()
    planned = decode(model, past_len=PAST, batch=3)
    heads = 2 if name == "llama" else 4
    expected = 2 * 2 * heads * 8 * PAST * 3 * dtype.itemsize
    rows = [row for row in captured(model, planned).inputs if row.name.startswith("past_key_values")]
    assert len(rows) == 4 and all(row.shape == [3, heads, PAST, 8] for row in rows)
    assert f"{expected:,} bytes" in next(row.why for row in planned.rows if row.name == "past_key_values")


def test_a_sliding_window_keeps_no_more_than_its_window() -> None:
    rows = captured(model := MODELS["mistral"]().eval(), decode(model, past_len=PAST)).inputs
    assert {row.shape[2] for row in rows if row.name.endswith(("keys", "values"))} == {15}  # and the token itself


def test_the_cache_is_held_once() -> None:
    """transformers puts a longer tensor in an older one's place; only the values of one layer are there twice."""
    layers, heads, size, batch = 8, 2, 8, 4
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL | {"num_hidden_layers": layers})).eval()
    memory = captured(model, decode(model, past_len=PAST, batch=batch)).memory
    a_token = batch * heads * size * 4
    assert memory.split["kv_cache_bytes"] == layers * 2 * (PAST + 1) * a_token + PAST * a_token


def test_without_weights_the_cache_has_no_data_either() -> None:
    model = MODELS["llama"]().to("meta").eval()
    planned = decode(model, past_len=100)
    keys = planned.make().kwargs["past_key_values"].layers[0].keys
    assert keys.is_meta and keys.shape == (1, 2, 100, 8)
    assert captured(model, planned).totals.macs > 0


def test_rows_say_what_is_passed() -> None:
    rows = {row.name: row for row in decode(MODELS["llama"](), past_len=100).rows}
    assert rows["input_ids"].shape == (1, 1) and rows["attention_mask"].shape == (1, 101)
    assert rows["past_key_values"].value == "KV cache of 100 tokens" and rows["use_cache"].value == "True"


def test_past_len_defaults_to_seq_len_and_is_held_to_the_positions() -> None:
    model = MODELS["gpt2"]()
    assert [row.shape for row in decode(model, seq_len=9).rows if row.name == "attention_mask"] == [(1, 10)]
    with pytest.raises(opscope.Error, match="at most 127 tokens, and past_len is 128"):
        decode(model, past_len=128)


def test_a_model_that_does_not_generate() -> None:
    config = transformers.BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64)
    with pytest.raises(opscope.Error, match="no prefill and no decode step"):
        decode(transformers.BertModel(config))
