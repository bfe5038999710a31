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


def _torchvision(name: str, batch: int, size: int = 224) -> Case:
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


def _transformers(model: str, config: str, settings: dict[str, Any], inputs: Inputs) -> Case:
    def build() -> nn.Module:
        import transformers

        made: nn.Module = getattr(transformers, model)(getattr(transformers, config)(**settings))
        return made

    return build, inputs


def _tokens(batch: int, length: int, *names: str) -> Inputs:
    return {name: ("one" if name == "attention_mask" else "token", (batch, length)) for name in names}


def _image(batch: int, size: int = 224) -> Inputs:
    return {"pixel_values": ("float", (batch, 3, size, size))}


_NO_CACHE = {"use_cache": False}
_IDS, _MASK, _DECODER = "input_ids", "attention_mask", "decoder_input_ids"


def _llama(**changed: Any) -> dict[str, Any]:
    small = dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12, num_key_value_heads=4, vocab_size=32000)
    return small | _NO_CACHE | changed


_LARGE = dict(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
_LLAMA_1B = _llama(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256)
_LLAMA_ODD = _llama(hidden_size=1120, intermediate_size=2999, num_hidden_layers=5, num_attention_heads=14, num_key_value_heads=7, vocab_size=20011)
_DEBERTA = dict(hidden_size=768, num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072, relative_attention=True, pos_att_type=["p2c", "c2p"], max_relative_positions=-1, position_buckets=256)
_BART = dict(d_model=768, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=3072, decoder_ffn_dim=3072, encoder_attention_heads=12, decoder_attention_heads=12)

MODELS: dict[str, Case] = {
    "resnet18": _torchvision("resnet18", 32),
    "resnet50": _torchvision("resnet50", 24),
    "resnet34-odd": _torchvision("resnet34", 7, 193),
    "vgg16": _torchvision("vgg16", 16),
    "vgg11_bn-odd": _torchvision("vgg11_bn", 5, 160),
    "alexnet": _torchvision("alexnet", 64),
    "squeezenet1_0": _torchvision("squeezenet1_0", 32),
    "regnet_y_8gf": _torchvision("regnet_y_8gf", 16),
    "regnet_x_400mf": _torchvision("regnet_x_400mf", 48),
    "inception_v3": _torchvision("inception_v3", 16, 299),
    "googlenet": _torchvision("googlenet", 32),
    "mobilenet_v2": _torchvision("mobilenet_v2", 32),
    "mobilenet_v3_large-odd": _torchvision("mobilenet_v3_large", 13, 208),
    "efficientnet_b0": _torchvision("efficientnet_b0", 32),
    "efficientnet_v2_s": _torchvision("efficientnet_v2_s", 8, 288),
    "densenet121": _torchvision("densenet121", 16),
    "shufflenet_v2": _torchvision("shufflenet_v2_x1_0", 48),
    "mnasnet1_0": _torchvision("mnasnet1_0", 32),
    "resnext50": _torchvision("resnext50_32x4d", 16),
    "wide_resnet50-odd": _torchvision("wide_resnet50_2", 6, 250),
    "vit_b_16": _torchvision("vit_b_16", 16),
    "swin_t": _torchvision("swin_t", 12),
    "swin_v2_t": _torchvision("swin_v2_t", 6, 256),
    "maxvit_t": _torchvision("maxvit_t", 4),
    "convnext_tiny": _torchvision("convnext_tiny", 16),
    "deeplabv3": _torchvision("deeplabv3_resnet50", 4, 320),
    "fcn-odd": _torchvision("fcn_resnet50", 3, 231),
    "bert-base": _transformers("BertModel", "BertConfig", {}, _tokens(16, 256, _IDS, _MASK)),
    "bert-large": _transformers("BertForMaskedLM", "BertConfig", _LARGE, _tokens(16, 512, _IDS, _MASK)),
    "distilbert-odd": _transformers("DistilBertForSequenceClassification", "DistilBertConfig", {}, _tokens(11, 173, _IDS, _MASK)),
    "roberta-odd": _transformers("RobertaForMaskedLM", "RobertaConfig", dict(hidden_size=600, num_attention_heads=10, intermediate_size=2200, num_hidden_layers=5, vocab_size=21000), _tokens(9, 190, _IDS)),
    "albert": _transformers("AlbertModel", "AlbertConfig", dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072), _tokens(8, 256, _IDS, _MASK)),
    "deberta": _transformers("DebertaV2Model", "DebertaV2Config", _DEBERTA, _tokens(4, 200, _IDS, _MASK)),
    "gpt2": _transformers("GPT2LMHeadModel", "GPT2Config", _NO_CACHE, _tokens(8, 512, _IDS)),
    "gpt2-odd": _transformers("GPT2LMHeadModel", "GPT2Config", _NO_CACHE | dict(n_embd=840, n_head=12, n_layer=7, vocab_size=30011), _tokens(5, 331, _IDS)),
    "gpt2-xl": _transformers("GPT2LMHeadModel", "GPT2Config", _NO_CACHE | dict(n_embd=1600, n_head=25, n_layer=48), _tokens(2, 1024, _IDS)),
    "llama-small": _transformers("LlamaForCausalLM", "LlamaConfig", _llama(), _tokens(4, 512, _IDS)),
    "llama-1b": _transformers("LlamaForCausalLM", "LlamaConfig", _LLAMA_1B, _tokens(2, 1024, _IDS)),
    "llama-odd": _transformers("LlamaForCausalLM", "LlamaConfig", _LLAMA_ODD, _tokens(3, 777, _IDS)),
    "mistral-sliding": _transformers("MistralForCausalLM", "MistralConfig", _llama(sliding_window=256), _tokens(4, 600, _IDS, _MASK)),
    "qwen2": _transformers("Qwen2ForCausalLM", "Qwen2Config", _llama(hidden_size=896, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864, vocab_size=60000), _tokens(4, 400, _IDS, _MASK)),
    "gemma2": _transformers("Gemma2ForCausalLM", "Gemma2Config", _llama(head_dim=128, num_attention_heads=8, num_key_value_heads=4, sliding_window=256), _tokens(2, 512, _IDS)),
    "opt": _transformers("OPTForCausalLM", "OPTConfig", _NO_CACHE | dict(hidden_size=768, ffn_dim=3072, num_hidden_layers=8, num_attention_heads=12), _tokens(6, 384, _IDS)),
    "gpt-neox": _transformers("GPTNeoXForCausalLM", "GPTNeoXConfig", _NO_CACHE | dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=6, num_attention_heads=16, vocab_size=50432), _tokens(4, 512, _IDS)),
    "falcon": _transformers("FalconForCausalLM", "FalconConfig", _NO_CACHE | dict(hidden_size=1024, num_hidden_layers=6, num_attention_heads=16, vocab_size=65024), _tokens(4, 384, _IDS)),
    "mixtral": _transformers("MixtralForCausalLM", "MixtralConfig", _llama(hidden_size=512, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, vocab_size=16000), _tokens(4, 256, _IDS)),
    "t5-small": _transformers("T5ForConditionalGeneration", "T5Config", _NO_CACHE, _tokens(16, 256, _IDS, _DECODER)),
    "bart": _transformers("BartForConditionalGeneration", "BartConfig", _NO_CACHE | _BART, _tokens(8, 200, _IDS, _DECODER)),
    "whisper-tiny": _transformers("WhisperForConditionalGeneration", "WhisperConfig", _NO_CACHE, {"input_features": ("float", (4, 80, 3000)), _DECODER: ("token", (4, 64))}),
    "wav2vec2": _transformers("Wav2Vec2Model", "Wav2Vec2Config", dict(num_hidden_layers=6, apply_spec_augment=False), {"input_values": ("float", (4, 48000))}),
    "clip": _transformers("CLIPModel", "CLIPConfig", {}, {_IDS: ("token", (8, 77)), "pixel_values": ("float", (8, 3, 224, 224))}),
    "vit-hf-odd": _transformers("ViTForImageClassification", "ViTConfig", dict(hidden_size=528, num_attention_heads=11, intermediate_size=1500, num_hidden_layers=7, image_size=208), _image(10, 208)),
    "segformer": _transformers("SegformerForSemanticSegmentation", "SegformerConfig", {}, _image(4, 256)),
    "swin-hf": _transformers("SwinForImageClassification", "SwinConfig", {}, _image(8)),
}

#: Kept out while the rules for workspaces were made: only looked at to say how well they hold.
HELD_OUT: dict[str, Case] = {
    "resnet101-odd": _torchvision("resnet101", 9, 208),
    "densenet169-odd": _torchvision("densenet169", 7, 216),
    "efficientnet_b2": _torchvision("efficientnet_b2", 12, 288),
    "mobilenet_v3_small": _torchvision("mobilenet_v3_small", 64),
    "regnet_x_1_6gf-odd": _torchvision("regnet_x_1_6gf", 11, 200),
    "convnext_small-odd": _torchvision("convnext_small", 5, 192),
    "vgg13": _torchvision("vgg13", 12),
    "swin_s": _torchvision("swin_s", 6),
    "lraspp-odd": _torchvision("lraspp_mobilenet_v3_large", 6, 300),
    "electra-odd": _transformers("ElectraForPreTraining", "ElectraConfig", dict(hidden_size=456, num_attention_heads=6, num_hidden_layers=7, intermediate_size=1700), _tokens(13, 211, _IDS, _MASK)),
    "mpnet": _transformers("MPNetModel", "MPNetConfig", {}, _tokens(8, 200, _IDS, _MASK)),
    "phi": _transformers("PhiForCausalLM", "PhiConfig", _NO_CACHE | dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=6, num_attention_heads=16), _tokens(4, 350, _IDS)),
    "olmo-odd": _transformers("OlmoForCausalLM", "OlmoConfig", _llama(hidden_size=832, num_attention_heads=13, num_key_value_heads=13, intermediate_size=2100, vocab_size=25003), _tokens(3, 450, _IDS)),
    "stablelm": _transformers("StableLmForCausalLM", "StableLmConfig", _llama(), _tokens(4, 300, _IDS)),
    "beit": _transformers("BeitForImageClassification", "BeitConfig", dict(num_hidden_layers=6), _image(8)),
    "dinov2-odd": _transformers("Dinov2Model", "Dinov2Config", dict(hidden_size=480, num_attention_heads=10, num_hidden_layers=6), _image(9, 210)),
}

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "amp": torch.float32}
_CAUSAL = ("gpt2", "llama-small", "llama-odd", "mistral-sliding", "qwen2", "gemma2", "opt", "gpt-neox")
_CHECKPOINTED = ("bert-large", "bert-base", "llama-1b", "llama-odd", "gpt2", "gpt2-xl", "qwen2", "bart")
_ADAPTED = ("bert-base", "llama-1b", "llama-odd", "qwen2", "mistral-sliding", "bart")
_OPTIMIZED = ("bert-base", "resnet50", "llama-small", "vit_b_16", "t5-small")


def runs_of(name: str) -> Iterator[str]:
    """`training-amp-adamw-checkpoint`: what runs, its numbers, the optimizer, and what else."""
    yield from ("forward-fp32", "forward-bf16", "training-fp32-adamw", "training-bf16-sgd", "training-amp-adamw")
    if name in _OPTIMIZED:
        yield from ("training-fp32-adamwfused", "training-fp32-adamwloop", "training-bf16-adafactor", "training-fp32-sgdm")
    if name in _CHECKPOINTED:
        yield from ("training-bf16-adamw-checkpoint", "training-amp-adamw-checkpoint")
    if name in _ADAPTED:
        yield "training-bf16-adamw-lora"
    if name in _CAUSAL:
        yield from ("decode-bf16-dynamic", "decode-bf16-static")


OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=1e-3),
    "sgdm": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
    "adamw": lambda parameters: torch.optim.AdamW(parameters),
    "adamwfused": lambda parameters: torch.optim.AdamW(parameters, fused=True),
    "adamwloop": lambda parameters: torch.optim.AdamW(parameters, foreach=False),
    "adafactor": lambda parameters: torch.optim.Adafactor(parameters),
}
PAST_TOKENS = 640  # of a decode step, in a cache of four sequences at most
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
    return model.train(kind == "training"), inputs


def tensors(inputs: Inputs, numbers: str, device: str) -> dict[str, torch.Tensor]:
    def tensor(kind: str, shape: tuple[int, ...]) -> torch.Tensor:
        if kind == "float":
            return torch.rand(shape, device=device, dtype=DTYPES[numbers])
        return torch.ones(shape, dtype=torch.int64, device=device) if kind == "one" else torch.randint(0, 1000, shape, device=device)

    return {name: tensor(kind, shape) for name, (kind, shape) in inputs.items()}
