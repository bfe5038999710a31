"""`opscope.llm`: known models' sizes as their papers and cards state them, steps by formula, and what fits."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import opscope
from test_report_schemas import PROGRAM, validator

LLAMA = "meta-llama/Llama-3.1-8B"
DEEPSEEK = "deepseek-ai/DeepSeek-V3"


@functools.cache
def page(model: str, **options: Any) -> opscope.Llm:
    return opscope.llm(model, hardware="h200", batch="1,8", **options)


# Parameters, active parameters and bytes of cache per token, as published; how far they may be off is what rounding allows.
KNOWN = [
    (LLAMA, 8.03e9, 8.03e9, 131_072),
    ("Qwen/Qwen2.5-72B", 72.7e9, 72.7e9, 327_680),
    ("mistralai/Mixtral-8x7B-v0.1", 46.7e9, 12.9e9, 131_072),
    (DEEPSEEK, 671e9, 37e9, (512 + 64) * 61 * 2),
    ("openai/gpt-oss-120b", 116.8e9, 5.13e9 + 201088 * 2880, 18 * 2 * 8 * 64 * 2),  # the card leaves the embedding out
]


@pytest.mark.parametrize(("model", "parameters", "active", "token"), KNOWN, ids=[row[0] for row in KNOWN])
def test_known_models(model: str, parameters: float, active: float, token: int) -> None:
    found = page(model)
    assert found.parameters == pytest.approx(parameters, rel=0.002)
    assert found.active_parameters == pytest.approx(active, rel=0.02)
    assert found.kv_bytes_per_token == token
    report = found.to_dict()
    validator("llm").validate(report)
    row = report["devices"][0]["batches"][0]
    assert 0 < row["first_token_seconds"] < 60 and 0 < row["next_token_seconds"] < 1
    assert row["fits"]  # on as many devices as it needs


def test_a_window_holds_no_more_than_it_has() -> None:
    cache = page("openai/gpt-oss-120b").to_dict()["kv_cache"]
    windows = [layer for layer in cache["layers"] if layer["window"]]
    assert [(layer["count"], layer["window"]) for layer in windows] == [(18, 128)]
    assert cache["bytes_per_sequence"] == 18 * windows[0]["sequence_bytes"] > 0


def test_a_decode_step_reads_the_weights_and_the_cache_once() -> None:
    found = page(LLAMA)
    step = next(step for step in found.steps if step["phase"] == "decode" and step["batch"] == 8)
    read = found.to_dict()["weight_bytes"] - 2 * 128256 * 4096  # a row of the embedding for each token, not the table
    cache = 8 * (2048 + 128 + 1) * 131_072
    served = step["served"]["memory_bytes"]
    assert served == pytest.approx(read + cache, rel=0.01)
    assert served < step["eager"]["memory_bytes"] - cache  # eager transformers copies the cache to make it longer
    row = found.devices[0]["batches"][1]
    assert row["next_token_roofline_seconds"] == pytest.approx(served / 4.8e12, rel=0.01)
    assert row["next_token_roofline_seconds"] < row["next_token_p10_seconds"] < row["next_token_seconds"]
    assert row["tokens_per_second"] == pytest.approx(8 / row["next_token_seconds"])


def test_a_prefill_is_its_products() -> None:
    prefill = page(LLAMA).steps[0]
    linear = (8_030_261_248 - 128256 * 4096 * 2) * 2048 + 128256 * 4096  # the head's logits: of the last token alone
    attention = 32 * 32 * 2048 * 2048 * 2 * 128
    assert prefill["served"]["macs"] == pytest.approx(linear + attention, rel=1e-3)
    assert page(LLAMA).devices[0]["batches"][0]["prefill_bound"] == "compute"


def test_latent_attention_is_absorbed() -> None:
    step = next(step for step in page(DEEPSEEK).steps if step["phase"] == "decode" and step["batch"] == 1)
    assert step["absorbed_attention"]
    heads, nope, rope, value, latent, context = 128, 128, 64, 128, 512, 2048 + 128 + 1
    layer = heads * (nope * latent + latent * value) + heads * context * (2 * latent + rope)
    expanded = context * latent * heads * (nope + value) + heads * context * (nope + rope + value)
    assert step["eager"]["macs"] - step["served"]["macs"] == 61 * (expanded - layer)
    assert step["served"]["macs"] < 60e9 < step["eager"]["macs"]
    assert step["peak_memory_bytes"] < step["eager_peak_memory_bytes"]


def test_a_model_larger_than_a_device() -> None:
    found = page("Qwen/Qwen2.5-72B").devices[0]
    assert found["devices"] == 2  # 145 GB of weights on devices of 141 GB
    assert all(row["devices_needed"] >= 2 for row in found["batches"])
    assert page(LLAMA).devices[0]["devices"] == 1


def test_the_largest_sizes_fit_and_the_next_do_not() -> None:
    report = opscope.llm(LLAMA, hardware="l4", batch=[1, 2], prompt=512, generate=128).devices[0]
    largest, memory = report["largest_batch"], report["memory_bytes"]
    assert memory == 24_000_000_000
    longest = report["batches"][0]["longest_context"]
    assert report["batches"][0]["longest_context_limited_by"] == "memory"

    def needed(batch: int, context: int) -> int:
        sizes = {"prompt": 512, "generate": context - 512}
        row = opscope.llm(LLAMA, hardware="l4", batch=[batch], **sizes).devices[0]["batches"][0]
        return int(row["memory_bytes"])

    assert needed(largest, 640) <= memory < needed(largest + 1, 640)
    assert needed(1, longest) <= memory < needed(1, longest + 1)


def test_without_a_device_there_are_sizes_and_no_times() -> None:
    found = opscope.llm("gpt2", batch=[1])
    assert found.devices == [] and found.steps
    assert "No device is named" in str(found)
    report = found.to_dict()
    assert report["prompt"] == 1024 - 256 and "positions" in report["notes"][0]


def test_the_published_dtype_is_the_default() -> None:
    assert page(LLAMA).to_dict()["weight_dtypes"] == "bfloat16"
    in_float = opscope.llm(LLAMA, batch=[1], dtype="float32").to_dict()
    assert in_float["weight_bytes"] == 2 * page(LLAMA).to_dict()["weight_bytes"]
    assert opscope.profile(LLAMA, dtype="published").to_dict()["inputs"]


def test_only_the_last_logits() -> None:
    all_logits = opscope.profile("gpt2", phase="prefill", seq_len=64)
    last = opscope.profile("gpt2", phase="prefill", seq_len=64, last_logits=True)
    assert all_logits.to_dict()["totals"]["macs"] - last.to_dict()["totals"]["macs"] == 63 * 768 * 50257


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("resnet18", {}, "does not generate"),
        ("t5-small", {}, "encoder with a decoder"),
        ("gpt2", {"batch": [0]}, "1 or more"),
        ("gpt2", {"prompt": 0}, "prompt is 0"),
        ("gpt2", {"prompt": 2000}, "1,024 positions"),
        ("gpt2", {"hardware": "h2000"}, "h2000"),
        ("gpt2", {"seq_len": 12}, "have their own sizes"),
        ("gpt2", {"phase": "decode"}, "have their own sizes"),
        ("gpt2", {"kv_dtype": "int3"}, "no kv_dtype called"),
        ("gpt2", {"kv_block": 16, "kv_cache": "static"}, "not in blocks"),
    ],
)
def test_what_cannot_be_asked(model: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(opscope.Error, match=message):
        opscope.llm(model, **options)


def test_every_format_and_the_picture(tmp_path: Path) -> None:
    picture = tmp_path / "gpt2.svg"
    found = opscope.llm("gpt2", hardware="l4", batch=[1, 4], prompt=128, generate=32, plot=True)
    found.plot(picture)
    assert "tokens per second" in picture.read_text()
    assert len(found.to_csv().splitlines()) == 3
    assert "TPOT" in found.to_markdown() and "TTFT" in str(found)
    with pytest.raises(opscope.Error, match="were not asked for"):
        opscope.llm("gpt2", hardware="l4", batch=[1]).plot(picture)


def test_the_command_line_gives_the_same() -> None:
    words = [PROGRAM, "llm", "gpt2", "--hardware", "l4", "--batch", "1,4", "--prompt", "128", "--generate", "32"]
    done = subprocess.run([*words, "--format", "json", "--quiet"], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found == opscope.llm("gpt2", hardware="l4", batch=[1, 4], prompt=128, generate=32).to_dict()


def test_a_cache_of_another_kind_is_that_of_the_decode_steps() -> None:
    own, asked = (opscope.llm("gpt2", prompt=128, generate=32, batch=[1, 4], **options) for options in ({}, {"kv_dtype": "fp8"}))
    assert asked.kv_bytes_per_token * 4 == own.kv_bytes_per_token  # float32 is published
    prefills = [[step for step in found.steps if step["phase"] == "prefill"] for found in (own, asked)]
    assert prefills[0] == prefills[1]


def test_the_second_page_needs_no_python(tmp_path: Path) -> None:
    """Its captures are kept, and answer other questions too."""
    words = [PROGRAM, "llm", "gpt2", "--prompt", "64", "--generate", "16", "--batch", "1,2", "--format", "json", "--quiet"]
    environment = {**os.environ, "OPSCOPE_CACHE_DIR": str(tmp_path)}

    def answer(*more: str) -> str:
        return subprocess.run([*words, *more], capture_output=True, text=True, check=True, env=environment).stdout

    first = answer()
    kept = sorted(tmp_path.rglob("*.json"))
    assert len(kept) == json.loads(first)["captures"]
    times = [path.stat().st_mtime_ns for path in kept]
    assert answer() == first
    assert all(later >= before for later, before in zip((path.stat().st_mtime_ns for path in kept), times, strict=True))
    assert sorted(tmp_path.rglob("*.json")) == kept
    shown = subprocess.run([*words, "--debug"], capture_output=True, text=True, check=True, env={**environment, "PYTHONVERBOSE": "1"})
    assert "import 'torch" not in shown.stderr
    assert answer("--no-cache") == first
    assert sorted(tmp_path.rglob("*.json")) == kept
