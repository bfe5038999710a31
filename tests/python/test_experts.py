"""Mixtures of experts: bytes are those of the experts that the tokens reach, whichever form the products have."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import nn

import opscope
from opscope import capture, profile

SIZES = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 64,
    "num_experts_per_tok": 2,
}
LATENT = {"kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
KINDS: dict[str, dict[str, Any]] = {
    "Mixtral": {"num_local_experts": 8},
    "Qwen2Moe": {"num_experts": 8, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 24},
    "Qwen3Moe": {"num_experts": 8, "moe_intermediate_size": 16, "head_dim": 8},
    "DeepseekV3": LATENT | {"n_routed_experts": 8, "moe_intermediate_size": 16, "first_k_dense_replace": 1, "n_group": 2, "topk_group": 1},
    "Olmoe": {"num_experts": 8},
    "GptOss": {"num_local_experts": 8, "head_dim": 8},
}


def built(kind: str, experts: str, device: str = "meta") -> nn.Module:
    import transformers

    config = getattr(transformers, f"{kind}Config")(**SIZES, **KINDS[kind])
    config._experts_implementation = experts
    with torch.device(device):
        return transformers.AutoModelForCausalLM.from_config(config).eval()


def read(model: Any, *args: Any, **options: Any) -> dict[str, Any]:
    return json.loads(profile(model, *args, **options).to_json())


def expected_read(data: dict[str, Any], model: nn.Module, reached: float, tokens: int) -> float:
    """Every weight once, of experts those that are reached, of the embedding the rows of the tokens."""
    parameters = sum(each.numel() for each in model.parameters())
    table = model.get_input_embeddings().weight
    once = parameters - data["experts"]["params"] - table.numel()
    return 4 * (once + data["experts"]["params"] * reached / 8 + tokens * table.shape[1])


# --- every form of the products


@pytest.mark.parametrize("tokens", [1, 2, 5])
@pytest.mark.parametrize("experts", ["eager", "grouped_mm", "batched_mm"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_weights_read_are_those_of_the_experts_that_are_reached(kind: str, experts: str, tokens: int) -> None:
    model = built(kind, experts)
    ids = torch.zeros(1, tokens, dtype=torch.long)
    data = read(model, ids)
    reached = 8 * (1 - (1 - 2 / 8) ** tokens)
    for layer in data["experts"]["layers"]:
        assert (layer["experts"], layer["chosen"], layer["tokens"]) == (8, 2, tokens)
        assert (layer["least"], layer["most"]) == (2, min(8, 2 * tokens))
        assert layer["read"] == pytest.approx(reached)
    assert len(data["experts"]["layers"]) == (1 if kind == "DeepseekV3" else 2)
    # Buffers (rotary frequencies, the correction of a router) are the rest.
    assert data["totals"]["weight_bytes"] == pytest.approx(expected_read(data, model, reached, tokens), rel=1e-3)
    assert data["totals"]["active_parameters"] == data["totals"]["params"] - data["experts"]["params"] * 6 // 8


@pytest.mark.parametrize("kind", list(KINDS))
def test_all_forms_read_the_same_weights(kind: str) -> None:
    ids = torch.zeros(1, 3, dtype=torch.long)
    of = {each: read(built(kind, each), ids)["totals"] for each in ("eager", "grouped_mm", "batched_mm")}
    grouped = of["grouped_mm"]["weight_bytes"]
    for each in of.values():
        assert each["weight_bytes"] == pytest.approx(grouped, abs=64)  # each product's bytes are rounded
        assert each["macs"] == of["grouped_mm"]["macs"]


def test_of_one_token_the_bytes_are_exact_and_of_more_an_estimate() -> None:
    model = built("Mixtral", "grouped_mm")
    one, few = (read(model, torch.zeros(1, tokens, dtype=torch.long)) for tokens in (1, 4))

    def products(data: dict[str, Any]) -> list[dict[str, Any]]:
        return [op for op in data["ops"] if op["op"] == "aten::_grouped_mm"]

    assert {op["confidence"] for op in products(one)} == {"exact"}
    assert {op["confidence"] for op in products(few)} == {"estimated"}
    assert not [each for each in one["diagnostics"] if "experts are read" in each["message"]]
    (note,) = [each["message"] for each in few["diagnostics"] if "experts are read" in each["message"]]
    assert note == "5.5 of 8 experts are read in each of 2 layers if routing is balanced; 2 to 8 are possible: --routing decides"


def test_switch_transformers_loop_over_the_experts_that_are_hit() -> None:
    import transformers

    config = transformers.SwitchTransformersConfig(
        d_model=32, d_ff=48, d_kv=8, num_heads=4, num_layers=2, num_decoder_layers=2, num_sparse_encoder_layers=1,
        num_sparse_decoder_layers=1, vocab_size=64, num_experts=8, decoder_start_token_id=0,
    )  # fmt: skip
    with torch.device("meta"):
        model = transformers.SwitchTransformersForConditionalGeneration(config).eval()
    ids = {"input_ids": torch.zeros(1, 4, dtype=torch.long), "decoder_input_ids": torch.zeros(1, 1, dtype=torch.long)}
    data = read(model, ids)
    encoder, decoder = data["experts"]["layers"]
    assert (encoder["chosen"], encoder["tokens"], decoder["tokens"]) == (1, 4, 1)
    assert encoder["params"] == 8 * 2 * 32 * 48
    one = 2 * 32 * 48 * 4

    def weights_of_experts(part: str) -> int:
        return sum(m["weight_bytes"] for m in data["modules"] if m["path"].startswith(part) and m["path"].endswith(".mlp.experts"))

    assert weights_of_experts("encoder") == pytest.approx(8 * (1 - (1 - 1 / 8) ** 4) * one, abs=16)
    assert weights_of_experts("decoder") == one


class Dense(nn.Module):
    """Every token through every expert, as Llama 4 has it."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(16, 8)
        self.experts = nn.Parameter(torch.randn(8, 16, 24))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores, chosen = self.router(x).topk(1)
        weights = torch.zeros(len(x), 8).scatter(1, chosen, scores)
        return torch.bmm(x.expand(8, -1, -1) * weights.t().unsqueeze(-1), self.experts).sum(0)


def test_a_batched_product_over_all_experts_reads_all_and_says_so() -> None:
    data = read(Dense().eval(), torch.zeros(1, 16))
    (layer,) = data["experts"]["layers"]
    assert layer["reads_all"]
    assert layer["read"] == 8
    assert data["totals"]["active_parameters"] == 16 * 8 + 8 + 16 * 24
    (product,) = [op for op in data["ops"] if op["op"] == "aten::bmm"]
    assert product["weight_bytes"] == 8 * 16 * 24 * 4
    assert any("multiplies every token by all of them" in each["message"] for each in data["diagnostics"])


class Listed(nn.Module):
    """A list of modules, of which each token takes two."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 6, bias=False)
        self.experts = nn.ModuleList(nn.Linear(16, 16) for _ in range(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        y = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            row, place = torch.where(chosen == index)
            y[row] += expert(x[row]) * weights[row, place, None]
        return y


@pytest.mark.parametrize("tokens", [1, 2, 16])
def test_experts_of_a_list_without_a_token_are_not_read(tokens: int) -> None:
    data = read(Listed().eval(), torch.zeros(tokens, 16))
    (layer,) = data["experts"]["layers"]
    assert layer["params"] == 6 * (16 * 16 + 16)
    reached = 6 * (1 - (1 - 2 / 6) ** tokens)
    experts = sum(m["weight_bytes"] for m in data["modules"] if m["path"].startswith("experts."))
    assert experts == pytest.approx(reached * (16 * 16 + 16) * 4, abs=16)


def test_the_backward_pass_reads_them_too() -> None:
    model = built("Mixtral", "grouped_mm", device="cpu").train()
    ids = torch.zeros(1, 2, dtype=torch.long)
    data = read(model, {"input_ids": ids, "labels": ids}, training=True, optimizer="none")
    reads = [op["weight_bytes"] for op in data["ops"] if op["op"] == "aten::_grouped_mm" and op["weight_bytes"]]
    whole = 8 * 32 * 96 * 4
    assert len(reads) == 8  # two in each of two layers, forward and backward
    assert max(reads) == round(whole * (1 - (1 - 2 / 8) ** 2))


# --- --routing


def test_routing_is_a_bound_or_a_number() -> None:
    graph = capture(built("Mixtral", "grouped_mm"), torch.zeros(1, 3, dtype=torch.long))
    of = {each: json.loads(graph.profile(routing=each).to_json()) for each in ("balanced", "worst", 4, 1, 8)}
    all_experts = of["balanced"]["experts"]["param_bytes"]
    reached = {each: data["experts"]["layers"][0]["read"] for each, data in of.items()}
    assert reached == {"balanced": pytest.approx(8 * (1 - 0.75**3)), "worst": 6, 4: 4, 1: 2, 8: 6}
    spared = of["worst"]["totals"]["weight_bytes"] - of[4]["totals"]["weight_bytes"]
    assert spared == all_experts * 2 // 8
    assert of["worst"]["coverage"]["upper_bound"] == 4
    assert of[4]["coverage"]["upper_bound"] == 0
    # Held are all of them, and the arithmetic is that of the rows, however they are spread.
    for part in ("macs", "peak_memory_bytes", "active_parameters"):
        assert len({data["totals"][part] for data in of.values()}) == 1


def test_routing_changes_the_roofline() -> None:
    graph = capture(built("Mixtral", "grouped_mm"), torch.zeros(1, 3, dtype=torch.long))
    balanced, worst = (graph.profile(hardware="h200", routing=each).totals for each in ("balanced", "worst"))
    assert balanced["roofline_seconds"] < worst["roofline_seconds"]


@pytest.mark.parametrize("routing", ["best", "0", "-2", "1.5", ""])
def test_a_routing_that_is_none_is_an_error(routing: str) -> None:
    with pytest.raises(opscope.Error, match="no routing called") as problem:
        profile(Listed().eval(), torch.zeros(1, 16), routing=routing)
    assert problem.value.where == "routing"


def test_routing_of_a_model_without_experts_is_said_to_change_nothing() -> None:
    data = read(nn.Linear(8, 4), torch.zeros(2, 8), routing="worst")
    assert "experts" not in data
    assert "active_parameters" not in data["totals"]
    assert any("no experts" in each["message"] for each in data["diagnostics"])


def test_sweeps_and_comparisons_take_it() -> None:
    model = Listed().eval()
    sweep = opscope.sweep(model, torch.zeros(1, 16), batch="1,2,4", metric="memory_bytes", routing="worst")
    worst = [row["memory_bytes"] for row in sweep.rows]
    balanced = [row["memory_bytes"] for row in opscope.sweep(model, torch.zeros(1, 16), batch="1,2,4", metric="memory_bytes").rows]
    assert worst[0] == balanced[0]  # one token reaches two, wherever they are
    assert all(high > low for high, low in zip(worst[1:], balanced[1:], strict=True))
    assert opscope.compare(model, Dense().eval(), inputs=torch.zeros(3, 16), routing=2).models


def test_explain_has_the_formula_with_its_values() -> None:
    text = profile(built("Mixtral", "grouped_mm"), torch.zeros(1, 3, dtype=torch.long)).explain("model.layers.0.mlp.experts")
    assert "2 of 8 for each of 3 tokens" in text
    assert "8*(1 - (1 - 2/8)^3) = 4.625 are read (2 to 6 possible)" in text


# --- what else rests on an assumption


class Prunes(nn.Module):
    """Goes on with the rows whose largest feature is the first."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.Linear(16, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.before(x)
        return self.after(x[x.argmax(-1) == 0])


def test_a_size_that_rests_on_an_assumption_is_an_estimate() -> None:
    data = read(Prunes().eval(), torch.zeros(8, 16))
    confidence = {row["path"]: row["confidence"] for row in data["modules"]}
    assert confidence == {"": "estimated", "before": "exact", "after": "estimated"}


# --- published models


def step(model: str, batch: int = 1, past_len: int = 4096) -> dict[str, Any]:
    return read(model, dtype="bfloat16", phase="decode", past_len=past_len, batch=batch)


# Billions, as papers and cards print them. Some count the table that tokens are looked up in, some do not.
PUBLISHED = [
    ("mistralai/Mixtral-8x7B-v0.1", 46.7, 12.9, "all"),
    ("mistralai/Mixtral-8x22B-v0.1", 140.6, 39.2, "all"),
    ("deepseek-ai/DeepSeek-V3", 671.0, 36.6, "without"),  # "671B total, 37B activated"
    ("deepseek-ai/DeepSeek-V2", 235.7, 21.4, "all"),
    ("deepseek-ai/DeepSeek-V2-Lite", 15.7, 2.5, "without"),  # "2.4B"
    ("openai/gpt-oss-120b", 116.8, 5.13, "without"),
    ("openai/gpt-oss-20b", 20.9, 3.61, "without"),
    ("Qwen/Qwen3-30B-A3B", 30.5, 3.35, "all"),  # "3.3B"
    ("Qwen/Qwen3-235B-A22B", 235.1, 22.2, "all"),
    ("Qwen/Qwen1.5-MoE-A2.7B", 14.3, 2.7, "all"),
    ("Qwen/Qwen2-57B-A14B", 57.4, 14.2, "all"),
    ("allenai/OLMoE-1B-7B-0924", 6.9, 1.3, "all"),
    ("microsoft/Phi-3.5-MoE-instruct", 41.9, 6.6, "all"),
]


@pytest.mark.parametrize(("model", "total", "active", "counted"), PUBLISHED, ids=[row[0] for row in PUBLISHED])
def test_active_parameters_are_those_of_the_paper(model: str, total: float, active: float, counted: str) -> None:
    data = read(model, dtype="bfloat16", seq_len=1)
    found = data["experts"]["active_parameters_without_embedding" if counted == "without" else "active_parameters"]
    digits = len(str(active).partition(".")[2])
    assert round(found / 1e9, digits) == active
    assert round(data["totals"]["params"] / 1e9, 1) == total


def decode_bytes(
    layers: int, hidden: int, cache: int, once: int, experts: int, share: float, *, batch: int, past_len: int
) -> float:
    """docs/transformers.md: what a decode step moves, in bfloat16 and with a cache that grows by copying."""
    weights = once + experts * share + batch * hidden
    kept = layers * 2 * cache * batch * (past_len + 2 * (past_len + 1))
    return 2 * (weights + kept)


@pytest.mark.parametrize("batch", [1, 8, 64])
def test_a_decode_step_of_mixtral_moves_what_the_formula_says(batch: int) -> None:
    layers, hidden, inner, vocabulary, cache = 32, 4096, 14336, 32000, 1024
    experts = layers * 8 * 3 * hidden * inner
    once = layers * (2 * hidden * hidden + 2 * hidden * cache + 8 * hidden + 2 * hidden) + hidden + vocabulary * hidden
    share = 1 - (1 - 2 / 8) ** batch
    expected = decode_bytes(layers, hidden, cache, once, experts, share, batch=batch, past_len=4096)
    data = step("mistralai/Mixtral-8x7B-v0.1", batch=batch)
    assert data["totals"]["memory_bytes"] == pytest.approx(expected, rel=0.02)
    assert data["totals"]["weight_bytes"] == pytest.approx(2 * (once + experts * share + batch * hidden), rel=1e-4)
    if batch == 1:
        assert 26.5e9 < data["totals"]["memory_bytes"] < 27.5e9


def test_a_decode_step_of_a_dense_model_moves_what_the_formula_says() -> None:
    layers, hidden, inner, vocabulary, cache = 32, 4096, 14336, 128256, 1024
    once = layers * (2 * hidden * hidden + 2 * hidden * cache + 3 * hidden * inner + 2 * hidden) + hidden + vocabulary * hidden
    expected = decode_bytes(layers, hidden, cache, once, 0, 1, batch=1, past_len=4096)
    data = step("meta-llama/Llama-3.1-8B")
    assert data["totals"]["memory_bytes"] == pytest.approx(expected, rel=0.02)
    assert "experts" not in data


def test_a_decode_step_of_a_mixture_takes_a_fraction_of_the_time() -> None:
    found = profile("mistralai/Mixtral-8x7B-v0.1", dtype="bfloat16", phase="decode", past_len=4096, hardware="h200")
    assert found.totals["roofline_seconds"] == pytest.approx(5.6e-3, rel=0.03)
    text = str(found.table())
    assert "12.88G" in text
    assert "2 of 8 experts in 32 layers" in text
