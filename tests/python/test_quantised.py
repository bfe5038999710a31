"""Quantised weights: assumed by --quantize, published by a config, and real ones as PyTorch and other libraries hold them."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch
from torch import nn

import opscope
from opscope._load import native
from opscope.sources.hf_quantised import published

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = os.environ.get("OPSCOPE_PROGRAM", str(pathlib.Path(sys.executable).parent / "opscope"))

BLOCKS = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 512}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_key_value_heads": 2, **BLOCKS}
MIXTRAL = LLAMA | {
    "model_type": "mixtral",
    "architectures": ["MixtralForCausalLM"],
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "dtype": "bfloat16",
}

# A layer of LLAMA: q and o, k and v, the three of the MLP, as (inputs, outputs).
LINEARS = [(128, 128)] * 2 + [(128, 64)] * 2 + [(128, 256)] * 2 + [(256, 128)]
EMBEDDING = 512 * 128
NORMS = 5 * 128


def config(tmp_path, content):
    folder = tmp_path / content["model_type"]
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(content))
    return str(folder)


def notes(found):
    return [note["message"] for note in found.to_dict()["diagnostics"] if note["kind"] == "storage"]


def total(found, name):
    return found.to_dict()["totals"][name]


@pytest.mark.parametrize(
    ("scheme", "stored"),
    [
        ("int8", lambda k, n: k * n + 4 * n),
        ("int4", lambda k, n: k * n // 2 + k // 128 * n * 4),
        ("int4:group=32", lambda k, n: k * n // 2 + k // 32 * n * 4),
        ("fp8", lambda k, n: k * n + 4 * n),
        ("nf4", lambda k, n: k * n // 2 + k * n // 64 + -(-k * n // 64 // 256) * 4 + 68),
        ("mxfp4", lambda k, n: k * n // 2 + k * n // 32),
    ],
)
def test_bytes_are_those_of_the_scheme(tmp_path, scheme, stored):
    model = config(tmp_path, LLAMA)
    plain = opscope.profile(model, seq_len=8, dtype="bfloat16")
    found = opscope.profile(model, seq_len=8, dtype="bfloat16", quantize=scheme)
    linears = 2 * sum(stored(k, n) for k, n in LINEARS)
    saved = 2 * 2 * sum(k * n for k, n in LINEARS) - linears
    assert total(found, "param_bytes") == 2 * (2 * EMBEDDING + NORMS) + linears
    assert total(found, "params") == total(plain, "params")
    assert total(found, "macs") == total(plain, "macs")
    assert total(plain, "weight_bytes") - total(found, "weight_bytes") == saved
    assert total(plain, "peak_memory_bytes") - total(found, "peak_memory_bytes") == saved
    flops = 2 if scheme.startswith("int4") else 1
    assert total(found, "flops") - total(plain, "flops") == flops * 2 * sum(k * n for k, n in LINEARS)
    coverage = found.to_dict()["coverage"]
    assert coverage["estimated"] == 14 and coverage["unknown"] == 0
    (note,) = notes(found)
    assert note.startswith(f"priced as if quantised: 14 weights are stored as {scheme} (")
    assert "computes in bfloat16" in note and note.endswith("As before: lm_head (the head onto the vocabulary)")


def test_experts_are_linears_and_routers_are_not(tmp_path):
    found = opscope.profile(config(tmp_path, MIXTRAL), seq_len=8, dtype="bfloat16", quantize="int8")
    attention = 2 * sum(k * n + 4 * n for k, n in LINEARS[:4])
    experts = 2 * 4 * ((128 * 512 + 4 * 512) + (256 * 128 + 4 * 128))
    routers = 2 * 4 * 128
    assert total(found, "param_bytes") == attention + experts + 2 * (routers + 2 * EMBEDDING + NORMS)
    assert "2 other weights of products" in notes(found)[0]


def test_a_saved_capture_a_pt2_and_an_onnx_file_can_be_quantised(tmp_path):
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64, bias=False)).eval()
    x = torch.randn(2, 128)
    opscope.capture(model, x).save(tmp_path / "saved.json")
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    files = ["saved.json", "model.pt2"]
    onnx = opscope.profile(str(ROOT / "tests/readers/files/attention.onnx"), quantize="int8")
    assert notes(onnx)[0].startswith("priced as if quantised: ")
    assert total(onnx, "param_bytes") < 4 * total(onnx, "params")
    stored = 128 * 256 // 2 + 256 * 4 + 256 * 64 // 2 + 2 * 64 * 4 + 256 * 4
    for file in files:
        found = opscope.profile(str(tmp_path / file), quantize="int4")
        assert total(found, "param_bytes") == stored, file
    # Saved with its quantisation, which holds until another is asked for.
    opscope.capture(str(tmp_path / "saved.json"), quantize="int8").save(tmp_path / "int8.json")
    int8 = 128 * 256 + 256 * 4 + 256 * 64 + 64 * 4 + 256 * 4
    assert total(opscope.profile(str(tmp_path / "int8.json")), "param_bytes") == int8
    assert total(opscope.profile(str(tmp_path / "int8.json"), quantize="int4"), "param_bytes") == stored
    assert total(opscope.profile(str(tmp_path / "int8.json"), quantize="none"), "param_bytes") == 4 * (128 * 256 + 256 + 256 * 64)


def test_only_what_a_pattern_names(tmp_path):
    model = config(tmp_path, LLAMA)
    found = opscope.profile(model, seq_len=8, dtype="bfloat16", quantize="int8", quantize_only="layers.*.mlp,lm_head")
    linears = 2 * sum(k * n + 4 * n for k, n in LINEARS[4:]) + 512 * 128 + 4 * 512
    others = 2 * 2 * sum(k * n for k, n in LINEARS[:4])
    assert total(found, "param_bytes") == 2 * (EMBEDDING + NORMS) + linears + others


def test_a_tied_head_stays_and_it_is_said(tmp_path):
    model = config(tmp_path, LLAMA | {"tie_word_embeddings": True})
    found = opscope.profile(model, seq_len=8, quantize="int8")
    assert "lm_head (tied to an embedding)" in notes(found)[0]
    with pytest.raises(opscope.Error, match="share their weights with an embedding"):
        opscope.profile(model, seq_len=8, quantize="int8", quantize_only="lm_head")


@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        ({"quantize": "int5"}, "no quantisation called 'int5'", "int4"),
        ({"quantize": "int4:group=100"}, "groups of 100 do not divide the 128 input features of model.layers.0.self_attn.q_proj", ""),
        ({"quantize": "int4", "quantize_only": "mpl"}, "no linear is called 'mpl'", "model.layers.0.self_attn.q_proj"),
        ({"quantize_only": "mlp"}, "which quantisation?", "quantize='int4'"),
        ({"quantize": "int8", "training": True}, "quantised weights are not trained", "adapters"),
        ({"dtype": "int8"}, "int8 is not a dtype that a model computes in", "quantize='int8'"),
        ({"dtype": torch.uint8}, "uint8 is not a dtype that a model computes in", "quantize='int8'"),
        ({"dtype": "int32"}, "int32 is not a dtype", "bfloat16"),
        ({"dtype": "bool"}, "bool is not a dtype", "bfloat16"),
        ({"dtype": torch.float8_e4m3fn}, "float8_e4m3fn is not a dtype", "quantize='fp8'"),
        ({"dtype": "int4"}, "int4 is not a dtype", "quantize='int4'"),
    ],
)
def test_errors_say_what_to_use(tmp_path, options, what, hint):
    with pytest.raises(opscope.Error) as problem:
        opscope.profile(config(tmp_path, LLAMA), seq_len=8, **options)
    assert what in str(problem.value) and hint in problem.value.hint


@pytest.mark.parametrize("ask", [opscope.measure, opscope.reconcile])
def test_what_runs_the_model_does_not_quantise_it(ask):
    with pytest.raises(opscope.Error, match="is of the model as it is"):
        ask(nn.Linear(32, 32), torch.randn(1, 32), quantize="int8")


def test_a_sweep_over_schemes_and_a_check(tmp_path):
    model = config(tmp_path, LLAMA)
    rows = opscope.sweep(model, quantize=["none", "int8", "int4"], batch=[1, 2], seq_len=8, dtype="bfloat16").rows
    by_scheme = {row["quantize"]: row["peak_memory_bytes"] for row in rows if row["batch"] == 1}
    assert list(by_scheme) == ["none", "int8", "int4"]
    assert by_scheme["none"] > by_scheme["int8"] > by_scheme["int4"]
    fits = opscope.fit(model, memory="1MB", seq_len=8, dtype="bfloat16", quantize="int4").largest
    assert fits > (opscope.fit(model, memory="1MB", seq_len=8, dtype="bfloat16").largest or 0)


# Sizes of published checkpoints, from their configs alone.


def gptq(**more):
    return {"quant_method": "gptq", "bits": 4, "group_size": 64, **more}


def test_a_config_says_how_its_weights_are_stored(tmp_path):
    quantised = LLAMA | {"torch_dtype": "float16", "quantization_config": gptq()}
    found = opscope.profile(config(tmp_path, quantised), seq_len=8)
    stored = 2 * sum(k * n // 2 + k // 64 * n * 2 + k // 64 * n // 2 + 4 * k for k, n in LINEARS)
    assert total(found, "param_bytes") == 2 * (2 * EMBEDDING + NORMS) + stored
    assert notes(found)[0].startswith("priced as published (quantised by gptq): 14 weights are stored as gptq:group=64")
    said = [note["message"] for note in found.to_dict()["diagnostics"]]
    assert "what is not quantised is in float16, as published" in said
    plain = opscope.profile(config(tmp_path, quantised), seq_len=8, quantize="none")
    assert total(plain, "param_bytes") == 2 * total(plain, "params")
    assert notes(plain) == ["profiled without quantisation; the published weights are quantised (gptq)"]


def test_a_method_that_has_no_scheme_is_said(tmp_path):
    found = opscope.profile(config(tmp_path, LLAMA | {"quantization_config": {"quant_method": "aqlm"}}), seq_len=8, dtype="float16")
    assert "in a form that opscope cannot price" in notes(found)[0]
    assert total(found, "param_bytes") == 2 * total(found, "params")


@pytest.mark.parametrize(
    ("said", "scheme", "without"),
    [
        ({"load_in_8bit": True}, "int8", []),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True}, "nf4", []),
        ({"load_in_4bit": True, "llm_int8_skip_modules": ["lm_head"]}, "fp4:double=false", ["lm_head"]),
        (gptq(bits=3, group_size=-1), "gptq:bits=3:group=channel", []),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "modules_to_not_convert": ["gate"]}, "awq:group=128", ["gate"]),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8:tile=128", []),
        ({"quant_method": "fp8"}, "fp8:group=tensor", []),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]}, "mxfp4", ["model.layers*.self_attn"]),
        ({"quant_method": "torchao", "quant_type": {"default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 32}}}}, "int4:group=32", []),
        ({"quant_method": "hqq", "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}}}, "int4:group=64", []),
        ({"quant_method": "quanto", "weights": "float8"}, "fp8", []),
        (
            {
                "quant_method": "compressed-tensors",
                "ignore": ["re:.*lm_head", "re:visual\\.blocks.*"],
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}}},
            },
            "int4:group=128:zero=false",
            ["*lm_head", "visual.blocks*"],
        ),
        ({"quant_method": "vptq"}, "", []),
    ],
)  # fmt: skip
def test_methods_of_configs(said, scheme, without):
    found = published({"quantization_config": said})
    assert (found.scheme, found.without) == (scheme, without)


def test_gpt_oss_is_as_large_as_its_checkpoint():
    found = opscope.profile("openai/gpt-oss-120b", seq_len=8)
    experts = 36 * 128 * (2880 * 5760 + 2880 * 2880)
    assert total(found, "param_bytes") == experts * 17 // 32 + 2 * (total(found, "params") - experts)
    assert total(found, "param_bytes") / 2**30 == pytest.approx(60.8, abs=0.05)


def test_deepseek_v3_is_stored_in_fp8():
    found = opscope.profile("deepseek-ai/DeepSeek-V3", seq_len=8)
    params, held = total(found, "params"), total(found, "param_bytes")
    assert params == 671026404352
    # Embedding, head, routers and norms are in bfloat16; each 128 x 128 tile of the rest has a float32 scale.
    in_bf16 = 2 * 129280 * 7168 + 58 * 256 * 7168
    assert held == pytest.approx(params + in_bf16 + (params - in_bf16) * 4 / 128**2, rel=1e-5)


def test_the_page_has_the_table():
    page = (ROOT / "docs" / "quantised.md").read_text()
    for name, words, layout, flops in native.storage_schemes():
        assert f"| `{name}` | {words} | {layout} | {flops} |" in page


# Really quantised models.


def test_packed_weights_of_pytorch_are_held_and_read_once():
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 128)).eval()
    elements, biases = 256 * 512 + 512 * 128, 512 + 128
    for dtype, held in ((torch.qint8, elements + 2 * 8 + 4 * biases), (torch.float16, 2 * elements + 4 * biases)):
        quantised = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=dtype)
        found = opscope.profile(quantised, torch.randn(4, 256))
        assert total(found, "weight_bytes") == held
        assert total(found, "buffer_bytes") == held
        assert total(found, "params") == 0  # as PyTorch says
        assert total(found, "macs") == 4 * elements
    twice = nn.Sequential(*[torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(256, 256)), {nn.Linear})[0]] * 2)
    found = opscope.profile(twice, torch.randn(4, 256))
    assert total(found, "buffer_bytes") == 256 * 256 + 8 + 4 * 256  # one weight, used twice


class Int8Weight(torch.Tensor):
    """A weight as torchao has it: a tensor type of its own around int8 values and their scales."""

    @staticmethod
    def __new__(cls, values, scales):
        return torch.Tensor._make_wrapper_subclass(cls, values.shape, dtype=scales.dtype, requires_grad=False)

    def __init__(self, values, scales):
        self.values_, self.scales = values, scales

    def __tensor_flatten__(self):
        return ["values_", "scales"], None

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is nn.functional.linear:
            x, weight, bias = (*args, None)[:3]
            return nn.functional.linear(x, weight.values_.to(x.dtype)) * weight.scales + (0 if bias is None else bias)
        return super().__torch_function__(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return cls(args[0].values_, args[0].scales)
        raise NotImplementedError(func)


def test_weights_of_another_tensor_type_are_what_they_hold():
    model = nn.Linear(1024, 2048, bias=False).to(torch.bfloat16)
    values, scales = torch.ones(2048, 1024, dtype=torch.int8), torch.ones(2048, dtype=torch.bfloat16)
    model.weight = nn.Parameter(Int8Weight(values, scales), requires_grad=False)
    found = opscope.profile(model, torch.randn(4, 1024, dtype=torch.bfloat16))
    held = 2048 * 1024 + 2 * 2048
    assert total(found, "params") == 2048 * 1024
    assert total(found, "param_bytes") == held
    assert total(found, "weight_bytes") == held
    cast, activations = 2 * 2048 * 1024, 2 * (4 * 1024 + 2 * 4 * 2048)
    assert held + cast <= total(found, "peak_memory_bytes") <= held + cast + activations
    with pytest.raises(opscope.Error, match="no linear to quantise"):
        opscope.profile(model, torch.randn(4, 1024, dtype=torch.bfloat16), quantize="int4")


# The command line.


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def test_the_command_line_has_it_too(tmp_path):
    model = config(tmp_path, LLAMA)
    asked = ["profile", model, "--seq-len", "8", "--dtype", "bfloat16", "--quantize", "int4:group=32", "--format", "json"]
    found = json.loads(run(*asked).stdout)
    same = opscope.profile(model, seq_len=8, dtype="bfloat16", quantize="int4:group=32")
    assert found["totals"]["param_bytes"] == total(same, "param_bytes")
    failed = run("profile", model, "--dtype", "int8")
    assert failed.returncode == 2
    assert "--dtype: int8 is not a dtype that a model computes in" in failed.stderr and "--quantize int8" in failed.stderr
    budget = tmp_path / "budget.toml"
    budget.write_text(f'[[model]]\nspec = "{model}"\nseq_len = 8\ndtype = "int8"\nmax = {{ params = "1G" }}\n')
    failed = run("check", "--budget", str(budget))
    assert failed.returncode == 2 and "--quantize int8" in failed.stderr
    budget.write_text(f'[[model]]\nspec = "{model}"\nseq_len = 8\nquantize = "int4:group=32"\nmax = {{ peak_memory_bytes = "800KB" }}\n')
    assert run("check", "--budget", str(budget)).returncode == 0, run("check", "--budget", str(budget)).stdout
    assert run("measure", model, "--quantize", "int8").returncode == 2
