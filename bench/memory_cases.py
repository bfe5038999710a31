"""Models and runs whose peak memory is measured on a GPU and predicted without one. Both sides make them from here.

Sizes are published ones and, in the cases called -odd, widths, lengths and batches that nobody published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

Inputs = dict[str, tuple[str, tuple[int, ...]]]  # by name: "float", "token" or "one", and the shape
Case = tuple[Callable[[], nn.Module], Inputs]


def torchvision_case(name: str, batch: int, size: int = 224) -> Case:
    def build() -> nn.Module:
        from torchvision import models

        settings: dict[str, Any] = {"weights": None}
        if name in ("googlenet", "inception_v3"):
            settings.update(init_weights=False, aux_logits=False)
        if name.startswith(("deeplab", "fcn", "lraspp")):
            settings["weights_backbone"] = None
        make = getattr(models, name, None) or getattr(models.segmentation, name)
        return ByPlace(make(**settings))

    return build, {"x": ("float", (batch, 3, size, size))}


def transformers_case(model: str, config: str, settings: dict[str, Any], inputs: Inputs) -> Case:
    def build() -> nn.Module:
        import transformers

        made: nn.Module = getattr(transformers, model)(getattr(transformers, config)(**settings))
        return made

    return build, inputs


def token_inputs(batch: int, length: int, *names: str) -> Inputs:
    return {name: ("one" if name == "attention_mask" else "token", (batch, length)) for name in names}


def image_inputs(batch: int, size: int = 224) -> Inputs:
    return {"pixel_values": ("float", (batch, 3, size, size))}


NO_CACHE = {"use_cache": False}
IDS, MASK, DECODER = "input_ids", "attention_mask", "decoder_input_ids"


def llama_settings(**changed: Any) -> dict[str, Any]:
    small = dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12, num_key_value_heads=4, vocab_size=32000)
    return small | NO_CACHE | changed


LARGE = dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
LLAMA_1B = llama_settings(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256)
_LLAMA_ODD = llama_settings(hidden_size=1120, intermediate_size=2999, num_hidden_layers=5, num_attention_heads=14, num_key_value_heads=7, vocab_size=20011)
_DEBERTA = dict(hidden_size=768, num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072, relative_attention=True, pos_att_type=["p2c", "c2p"], max_relative_positions=-1, position_buckets=256)
BART = dict(d_model=768, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=3072, decoder_ffn_dim=3072, encoder_attention_heads=12, decoder_attention_heads=12)

MODELS: dict[str, Case] = {
    "resnet18": torchvision_case("resnet18", 32),
    "resnet50": torchvision_case("resnet50", 24),
    "resnet34-odd": torchvision_case("resnet34", 7, 193),
    "vgg16": torchvision_case("vgg16", 16),
    "vgg11_bn-odd": torchvision_case("vgg11_bn", 5, 160),
    "alexnet": torchvision_case("alexnet", 64),
    "squeezenet1_0": torchvision_case("squeezenet1_0", 32),
    "regnet_y_8gf": torchvision_case("regnet_y_8gf", 16),
    "regnet_x_400mf": torchvision_case("regnet_x_400mf", 48),
    "inception_v3": torchvision_case("inception_v3", 16, 299),
    "googlenet": torchvision_case("googlenet", 32),
    "mobilenet_v2": torchvision_case("mobilenet_v2", 32),
    "mobilenet_v3_large-odd": torchvision_case("mobilenet_v3_large", 13, 208),
    "efficientnet_b0": torchvision_case("efficientnet_b0", 32),
    "efficientnet_v2_s": torchvision_case("efficientnet_v2_s", 8, 288),
    "densenet121": torchvision_case("densenet121", 16),
    "shufflenet_v2": torchvision_case("shufflenet_v2_x1_0", 48),
    "mnasnet1_0": torchvision_case("mnasnet1_0", 32),
    "resnext50": torchvision_case("resnext50_32x4d", 16),
    "wide_resnet50-odd": torchvision_case("wide_resnet50_2", 6, 250),
    "vit_b_16": torchvision_case("vit_b_16", 16),
    "swin_t": torchvision_case("swin_t", 12),
    "swin_v2_t": torchvision_case("swin_v2_t", 6, 256),
    "maxvit_t": torchvision_case("maxvit_t", 4),
    "convnext_tiny": torchvision_case("convnext_tiny", 16),
    "deeplabv3": torchvision_case("deeplabv3_resnet50", 4, 320),
    "fcn-odd": torchvision_case("fcn_resnet50", 3, 231),
    "bert-base": transformers_case("BertModel", "BertConfig", {}, token_inputs(16, 256, IDS, MASK)),
    "bert-large": transformers_case("BertForMaskedLM", "BertConfig", LARGE, token_inputs(16, 512, IDS, MASK)),
    "distilbert-odd": transformers_case("DistilBertForSequenceClassification", "DistilBertConfig", {}, token_inputs(11, 173, IDS, MASK)),
    "roberta-odd": transformers_case("RobertaForMaskedLM", "RobertaConfig", dict(hidden_size=600, num_attention_heads=10, intermediate_size=2200, num_hidden_layers=5, vocab_size=21000), token_inputs(9, 190, IDS)),
    "albert": transformers_case("AlbertModel", "AlbertConfig", dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072), token_inputs(8, 256, IDS, MASK)),
    "deberta": transformers_case("DebertaV2Model", "DebertaV2Config", _DEBERTA, token_inputs(4, 200, IDS, MASK)),
    "gpt2": transformers_case("GPT2LMHeadModel", "GPT2Config", NO_CACHE, token_inputs(8, 512, IDS)),
    "gpt2-odd": transformers_case("GPT2LMHeadModel", "GPT2Config", NO_CACHE | dict(n_embd=840, n_head=12, n_layer=7, vocab_size=30011), token_inputs(5, 331, IDS)),
    "gpt2-xl": transformers_case("GPT2LMHeadModel", "GPT2Config", NO_CACHE | dict(n_embd=1600, n_head=25, n_layer=48), token_inputs(2, 1024, IDS)),
    "llama-small": transformers_case("LlamaForCausalLM", "LlamaConfig", llama_settings(), token_inputs(4, 512, IDS)),
    "llama-1b": transformers_case("LlamaForCausalLM", "LlamaConfig", LLAMA_1B, token_inputs(2, 1024, IDS)),
    "llama-odd": transformers_case("LlamaForCausalLM", "LlamaConfig", _LLAMA_ODD, token_inputs(3, 777, IDS)),
    "mistral-sliding": transformers_case("MistralForCausalLM", "MistralConfig", llama_settings(sliding_window=256), token_inputs(4, 600, IDS, MASK)),
    "qwen2": transformers_case("Qwen2ForCausalLM", "Qwen2Config", llama_settings(hidden_size=896, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864, vocab_size=60000), token_inputs(4, 400, IDS, MASK)),
    "gemma2": transformers_case("Gemma2ForCausalLM", "Gemma2Config", llama_settings(head_dim=128, num_attention_heads=8, num_key_value_heads=4, sliding_window=256), token_inputs(2, 512, IDS)),
    "starcoder2": transformers_case("Starcoder2ForCausalLM", "Starcoder2Config", llama_settings(sliding_window=320), token_inputs(4, 500, IDS, MASK)),
    "phi3": transformers_case("Phi3ForCausalLM", "Phi3Config", llama_settings(num_key_value_heads=12, sliding_window=200, pad_token_id=0), token_inputs(3, 400, IDS, MASK)),
    "opt": transformers_case("OPTForCausalLM", "OPTConfig", NO_CACHE | dict(hidden_size=768, ffn_dim=3072, num_hidden_layers=8, num_attention_heads=12), token_inputs(6, 384, IDS)),
    "gpt-neox": transformers_case("GPTNeoXForCausalLM", "GPTNeoXConfig", NO_CACHE | dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=6, num_attention_heads=16, vocab_size=50432), token_inputs(4, 512, IDS)),
    "falcon": transformers_case("FalconForCausalLM", "FalconConfig", NO_CACHE | dict(hidden_size=1024, num_hidden_layers=6, num_attention_heads=16, vocab_size=65024), token_inputs(4, 384, IDS)),
    "mixtral": transformers_case("MixtralForCausalLM", "MixtralConfig", llama_settings(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, vocab_size=16000), token_inputs(4, 256, IDS)),
    "t5-small": transformers_case("T5ForConditionalGeneration", "T5Config", NO_CACHE, token_inputs(16, 256, IDS, DECODER)),
    "bart": transformers_case("BartForConditionalGeneration", "BartConfig", NO_CACHE | BART, token_inputs(8, 200, IDS, DECODER)),
    "whisper-tiny": transformers_case("WhisperForConditionalGeneration", "WhisperConfig", NO_CACHE, {"input_features": ("float", (4, 80, 3000)), DECODER: ("token", (4, 64))}),
    "wav2vec2": transformers_case("Wav2Vec2Model", "Wav2Vec2Config", dict(num_hidden_layers=6, apply_spec_augment=False, layerdrop=0.0), {"input_values": ("float", (4, 48000))}),
    "clip": transformers_case("CLIPModel", "CLIPConfig", {}, {IDS: ("token", (8, 77)), "pixel_values": ("float", (8, 3, 224, 224))}),
    "vit-hf-odd": transformers_case("ViTForImageClassification", "ViTConfig", dict(hidden_size=528, num_attention_heads=11, intermediate_size=1500, num_hidden_layers=7, image_size=208), image_inputs(10, 208)),
    "segformer": transformers_case("SegformerForSemanticSegmentation", "SegformerConfig", {}, image_inputs(4, 256)),
    "swin-hf": transformers_case("SwinForImageClassification", "SwinConfig", {}, image_inputs(8)),
}

#: Kept out while the rules for workspaces were made: only looked at to say how well they hold.
HELD_OUT: dict[str, Case] = {
    "resnet101-odd": torchvision_case("resnet101", 9, 208),
    "densenet169-odd": torchvision_case("densenet169", 7, 216),
    "efficientnet_b2": torchvision_case("efficientnet_b2", 12, 288),
    "mobilenet_v3_small": torchvision_case("mobilenet_v3_small", 64),
    "regnet_x_1_6gf-odd": torchvision_case("regnet_x_1_6gf", 11, 200),
    "convnext_small-odd": torchvision_case("convnext_small", 5, 192),
    "vgg13": torchvision_case("vgg13", 12),
    "swin_s": torchvision_case("swin_s", 6),
    "lraspp-odd": torchvision_case("lraspp_mobilenet_v3_large", 6, 300),
    "electra-odd": transformers_case("ElectraForPreTraining", "ElectraConfig", dict(hidden_size=456, num_attention_heads=6, num_hidden_layers=7, intermediate_size=1700), token_inputs(13, 211, IDS, MASK)),
    "mpnet": transformers_case("MPNetModel", "MPNetConfig", {}, token_inputs(8, 200, IDS, MASK)),
    "phi": transformers_case("PhiForCausalLM", "PhiConfig", NO_CACHE | dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=6, num_attention_heads=16), token_inputs(4, 350, IDS)),
    "olmo-odd": transformers_case("OlmoForCausalLM", "OlmoConfig", llama_settings(hidden_size=832, num_attention_heads=13, num_key_value_heads=13, intermediate_size=2100, vocab_size=25003), token_inputs(3, 450, IDS)),
    "stablelm": transformers_case("StableLmForCausalLM", "StableLmConfig", llama_settings(), token_inputs(4, 300, IDS)),
    "beit": transformers_case("BeitForImageClassification", "BeitConfig", dict(num_hidden_layers=6), image_inputs(8)),
    "dinov2-odd": transformers_case("Dinov2Model", "Dinov2Config", dict(hidden_size=480, num_attention_heads=10, num_hidden_layers=6), image_inputs(9, 210)),
}

QUANTISED_CACHES = {"hqq4": ("hqq", 4), "hqq8": ("hqq", 8), "quanto4": ("quanto", 4)}  # transformers' backend, and bits
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "amp": torch.float32}
_CAUSAL = ("gpt2", "llama-small", "llama-odd", "qwen2", "opt", "gpt-neox")
_SLIDING = ("mistral-sliding", "gemma2", "starcoder2", "phi3")  # their dynamic cache keeps a window
_QUANTISED = ("llama-small", "qwen2", "opt", "gpt-neox")
_DECODE_ALONE = ("starcoder2", "phi3")
_CHECKPOINTED = ("bert-large", "bert-base", "llama-1b", "llama-odd", "gpt2", "gpt2-xl", "qwen2", "bart")
_ADAPTED = ("bert-base", "llama-1b", "llama-odd", "qwen2", "mistral-sliding", "bart")
_OPTIMIZED = ("bert-base", "resnet50", "llama-small", "vit_b_16", "t5-small")


def runs_of(name: str) -> Iterator[str]:
    """`training-amp-adamw-checkpoint`: what runs, its numbers, the optimizer, and what else."""
    if name not in _DECODE_ALONE:
        yield from ("forward-fp32", "forward-bf16", "training-fp32-adamw", "training-bf16-sgd", "training-amp-adamw")
    if name in _OPTIMIZED:
        yield from ("training-fp32-adamwfused", "training-fp32-adamwloop", "training-bf16-adafactor", "training-fp32-sgdm")
        yield from ("training-fp32-adamw8bit", "training-bf16-adamw8bit")
    if name in _CHECKPOINTED:
        yield from ("training-bf16-adamw-checkpoint", "training-amp-adamw-checkpoint")
    if name in _ADAPTED:
        yield "training-bf16-adamw-lora"
    if name in _CAUSAL:
        yield from ("decode-bf16-dynamic", "decode-bf16-static")
    if name in _SLIDING:
        yield from ("decode-bf16-sliding", "decode-bf16-static")
    if name in _QUANTISED:
        yield from ("decode-bf16-hqq4", "decode-bf16-hqq8", "decode-bf16-quanto4")


def _adamw_8bit(parameters: Any) -> torch.optim.Optimizer:
    import bitsandbytes

    made: torch.optim.Optimizer = bitsandbytes.optim.AdamW8bit(parameters)
    return made


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
    "sgdm": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters),
    "adamwfused": lambda parameters: torch.optim.AdamW(parameters, fused=True),
    "adamwloop": lambda parameters: torch.optim.AdamW(parameters, foreach=False),
    "adamw8bit": _adamw_8bit,
    "adafactor": lambda parameters: torch.optim.Adafactor(parameters),
}
PAST_TOKENS = 640  # of a decode step, in a cache of four sequences at most
LONG_PAST = 1920  # behind a quantised cache, so that it is a part of the peak that counts
MOST_SEQUENCES = 4


class ByPlace(nn.Module):
    """A torchvision model takes its input by place."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: torch.Tensor) -> Any:
        return self.net(x)


class Autocast(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, **inputs: torch.Tensor) -> Any:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return self.net(**inputs)


class Adapted(nn.Module):
    """A linear layer that is frozen, and two that are trained beside it."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.b(self.a(x))


class Loss(nn.Module):
    """The loss alone, so that the model's outputs go when nothing needs them: the sum of their means."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, **inputs: torch.Tensor) -> Any:
        return sum(_means(self.net(**inputs)))


def _means(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            yield value.mean()
    elif isinstance(value, dict):
        for name, part in value.items():
            if name not in ("past_key_values", "mems", "cache"):
                yield from _means(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _means(part)


def _with_adapters(model: nn.Module, rank: int = 16) -> nn.Module:
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and name in ("q_proj", "v_proj", "query", "value"):
                setattr(module, name, Adapted(child, rank))
    return model


def made(name: str, run: str) -> tuple[nn.Module, Inputs]:
    build, inputs = (MODELS | HELD_OUT)[name]
    return prepared(build, run), inputs


def prepared(build: Callable[[], nn.Module], run: str) -> nn.Module:
    """The model as that run has it: its numbers, its mode, and its loss."""
    kind, numbers, *words = run.split("-")
    model = build().to(DTYPES[numbers])
    if "checkpoint" in words:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})  # type: ignore[operator]
    if "lora" in words:
        model = _with_adapters(model).to(DTYPES[numbers])
    if numbers == "amp":
        model = Autocast(model)
    if kind == "training":
        model = Loss(model)
    return model.train(kind == "training")


def tensors(inputs: Inputs, numbers: str, device: str) -> dict[str, torch.Tensor]:
    def tensor(kind: str, shape: tuple[int, ...]) -> torch.Tensor:
        if kind == "float":
            return torch.rand(shape, device=device, dtype=DTYPES[numbers])
        return torch.ones(shape, dtype=torch.int64, device=device) if kind == "one" else torch.randint(0, 1000, shape, device=device)

    return {name: tensor(kind, shape) for name, (kind, shape) in inputs.items()}
