"""Whole models whose time is measured on a GPU and predicted without one. Both sides make them from here.

SEEN are published models at sizes that people run, ODD have widths, heads, lengths, images or batches that nobody published.
Memory's cases are taken where they fit; a name says the batch, unless it is memory's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import nn

import predict_nets as nets
from memory_cases import (
    BART,
    DECODER,
    HELD_OUT,
    IDS,
    LARGE,
    LLAMA_1B,
    MASK,
    MODELS,
    NO_CACHE,
    ByPlace,
    Case,
    Inputs,
    image_inputs,
    llama_settings,
    prepared,
    token_inputs,
    torchvision_case,
    transformers_case,
)


def _images(name: str, *batches: int, size: int = 224) -> dict[str, Case]:
    return {f"{name}-b{batch}": torchvision_case(name, batch, size) for batch in batches}


def _texts(name: str, model: str, config: str, settings: dict[str, Any], *sizes: tuple[int, int], decoder: int = 0, mask: bool = False) -> dict[str, Case]:
    names = (IDS, MASK) if mask else (IDS,)

    def inputs(batch: int, length: int) -> Inputs:
        return token_inputs(batch, length, *names) | (token_inputs(batch, decoder, DECODER) if decoder else {})

    return {f"{name}-b{batch}": transformers_case(model, config, settings, inputs(batch, length)) for batch, length in sizes}


def _plain(build: Callable[[], nn.Module], **inputs: tuple[Any, ...]) -> Case:
    """Inputs are floats of a shape; ids where the shape's first is a "token"."""
    return build, {name: ("token", shape[1:]) if shape[0] == "token" else ("float", shape) for name, shape in inputs.items()}


_GPT2_MEDIUM = NO_CACHE | dict(n_embd=1024, n_head=16, n_layer=24)
_QWEN2 = llama_settings(hidden_size=896, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864, num_hidden_layers=24, vocab_size=151936, tie_word_embeddings=True)
_PYTHIA = NO_CACHE | dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16, vocab_size=50304)
_T5_BASE = NO_CACHE | dict(d_model=768, d_ff=3072, num_layers=12, num_heads=12, d_kv=64)
_WHISPER_SMALL = NO_CACHE | dict(d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072)
_BART = NO_CACHE | BART | dict(encoder_layerdrop=0.0, decoder_layerdrop=0.0)
_WAV2VEC2 = dict(apply_spec_augment=False, layerdrop=0.0)
_DEIT_SMALL = dict(hidden_size=384, num_attention_heads=6, intermediate_size=1536)
_CLIP_L = dict(hidden_size=1024, intermediate_size=4096, num_hidden_layers=24, num_attention_heads=16, patch_size=14)


def _of_memory(names: str) -> dict[str, Case]:
    return {name: (MODELS | HELD_OUT)[name] for name in names.split()}


SEEN: dict[str, Case] = {
    **_images("resnet18", 1, 32),
    **_images("resnet50", 1, 32),
    **_images("resnet101", 8),
    **_images("vgg16", 8),
    **_images("alexnet", 32),
    **_images("densenet121", 8),
    **_images("mobilenet_v2", 1, 32),
    **_images("mobilenet_v3_large", 32),
    **_images("efficientnet_b0", 32),
    **_images("efficientnet_b3", 8, size=300),
    **_images("convnext_tiny", 8),
    **_images("convnext_base", 32),
    **_images("regnet_y_8gf", 8),
    **_images("regnet_x_400mf", 32),
    **_images("resnext50_32x4d", 8),
    **_images("wide_resnet50_2", 8),
    **_images("swin_t", 8),
    **_images("swin_v2_t", 8, size=256),
    **_images("vit_b_16", 1, 32),
    **_images("vit_l_16", 8),
    **_images("maxvit_t", 8),
    **_images("inception_v3", 8, size=299),
    **_images("googlenet", 32),
    **_images("shufflenet_v2_x1_0", 32),
    **_images("squeezenet1_1", 32),
    **_images("deeplabv3_resnet50", 8, size=512),
    **_texts("bert-base", "BertModel", "BertConfig", {}, (1, 128), (32, 128)),
    **_texts("bert-base-mask", "BertModel", "BertConfig", {}, (8, 512), mask=True),
    **_texts("bert-large", "BertForMaskedLM", "BertConfig", LARGE, (8, 512)),
    **_texts("roberta-base", "RobertaForMaskedLM", "RobertaConfig", {}, (8, 256)),
    **_texts("distilbert", "DistilBertForSequenceClassification", "DistilBertConfig", {}, (32, 128)),
    **_texts("albert-base", "AlbertModel", "AlbertConfig", dict(hidden_size=768, num_attention_heads=12, intermediate_size=3072), (8, 128)),
    **_texts("electra-small", "ElectraModel", "ElectraConfig", {}, (32, 128)),
    **_texts("gpt2", "GPT2LMHeadModel", "GPT2Config", NO_CACHE, (1, 1024), (8, 512)),
    **_texts("gpt2-medium", "GPT2LMHeadModel", "GPT2Config", _GPT2_MEDIUM, (4, 1024)),
    **_texts("opt-125m", "OPTForCausalLM", "OPTConfig", NO_CACHE, (8, 512)),
    **_texts("pythia-410m", "GPTNeoXForCausalLM", "GPTNeoXConfig", _PYTHIA, (4, 1024)),
    **_texts("llama-1b", "LlamaForCausalLM", "LlamaConfig", LLAMA_1B, (4, 512)),
    **_texts("qwen2-0.5b", "Qwen2ForCausalLM", "Qwen2Config", _QWEN2, (2, 1024)),
    **_texts("t5-small", "T5ForConditionalGeneration", "T5Config", NO_CACHE, (8, 128), decoder=64),
    **_texts("t5-base", "T5ForConditionalGeneration", "T5Config", _T5_BASE, (8, 512), decoder=128),
    **_texts("bart-base", "BartForConditionalGeneration", "BartConfig", _BART, (8, 256), decoder=128),
    "whisper-tiny-b8": transformers_case("WhisperForConditionalGeneration", "WhisperConfig", NO_CACHE, {"input_features": ("float", (8, 80, 3000)), DECODER: ("token", (8, 64))}),
    "whisper-small-b1": transformers_case("WhisperForConditionalGeneration", "WhisperConfig", _WHISPER_SMALL, {"input_features": ("float", (1, 80, 3000)), DECODER: ("token", (1, 128))}),
    "wav2vec2-base-b8": transformers_case("Wav2Vec2Model", "Wav2Vec2Config", _WAV2VEC2, {"input_values": ("float", (8, 80000))}),
    "clip-b32-b32": transformers_case("CLIPModel", "CLIPConfig", {}, {IDS: ("token", (32, 77)), "pixel_values": ("float", (32, 3, 224, 224))}),
    "clip-vision-l14-b8": transformers_case("CLIPVisionModel", "CLIPVisionConfig", _CLIP_L, image_inputs(8)),
    "vit-hf-b8": transformers_case("ViTForImageClassification", "ViTConfig", {}, image_inputs(8)),
    "deit-small-b32": transformers_case("DeiTForImageClassification", "DeiTConfig", _DEIT_SMALL, image_inputs(32)),
    "dinov2-base-b8": transformers_case("Dinov2Model", "Dinov2Config", {}, image_inputs(8)),
    "segformer-b0-b8": transformers_case("SegformerForSemanticSegmentation", "SegformerConfig", {}, image_inputs(8, 512)),
}  # fmt: skip


def _convnext_odd() -> nn.Module:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ByPlace(ConvNeXt([CNBlockConfig(a, b, n) for a, b, n in ((72, 136, 2), (136, 296, 3), (296, 520, 5), (520, None, 2))], num_classes=311))


def _vit_odd() -> nn.Module:
    from torchvision.models import VisionTransformer

    return ByPlace(VisionTransformer(image_size=187, patch_size=17, num_layers=9, num_heads=7, hidden_dim=448, mlp_dim=1530, num_classes=211))


def _swin_odd() -> nn.Module:
    from torchvision.models import SwinTransformer

    return ByPlace(SwinTransformer(patch_size=[4, 4], embed_dim=60, depths=[2, 3, 4, 2], num_heads=[3, 5, 10, 20], window_size=[6, 6], num_classes=77))


def _resnet_group_norm() -> nn.Module:
    from torchvision.models.resnet import Bottleneck, ResNet

    return ByPlace(ResNet(Bottleneck, [2, 3, 4, 2], num_classes=123, width_per_group=72, norm_layer=lambda width: nn.GroupNorm(8, width)))


def _video_resnet() -> nn.Module:
    from torchvision.models.video import r3d_18

    return ByPlace(r3d_18(num_classes=51))


_MIXTRAL_ODD = llama_settings(
    hidden_size=576, intermediate_size=1208, num_hidden_layers=5, num_attention_heads=9, num_key_value_heads=3, vocab_size=15013,
    num_local_experts=6, num_experts_per_tok=2,
)  # fmt: skip
_T5_ODD = NO_CACHE | dict(d_model=464, d_ff=1300, num_layers=5, num_decoder_layers=4, num_heads=7, d_kv=48, vocab_size=21011, feed_forward_proj="gated-gelu")
_WHISPER_ODD = NO_CACHE | dict(d_model=440, encoder_layers=5, decoder_layers=3, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=1500, decoder_ffn_dim=1500)
_QWEN2_ODD = llama_settings(hidden_size=1008, num_attention_heads=18, num_key_value_heads=6, intermediate_size=3208, num_hidden_layers=7, vocab_size=45007)
_GEMMA2_ODD = llama_settings(hidden_size=700, head_dim=72, num_attention_heads=10, num_key_value_heads=5, intermediate_size=2600, num_hidden_layers=6, vocab_size=70001, sliding_window=200)
_MAMBA_ODD = dict(hidden_size=352, num_hidden_layers=4, state_size=12, vocab_size=9001, use_cache=False)
_OPT_ODD = NO_CACHE | dict(hidden_size=660, word_embed_proj_dim=660, ffn_dim=2300, num_hidden_layers=7, num_attention_heads=11, vocab_size=33003)
_BART_ODD = _BART | dict(d_model=504, encoder_layers=4, decoder_layers=5, encoder_attention_heads=9, decoder_attention_heads=9, encoder_ffn_dim=1700, decoder_ffn_dim=1900, vocab_size=27001)
_BLOOM_ODD = NO_CACHE | dict(hidden_size=608, n_layer=6, n_head=8, vocab_size=60013)
_PYTHIA_ODD = NO_CACHE | dict(hidden_size=720, intermediate_size=2600, num_hidden_layers=8, num_attention_heads=10, vocab_size=41000)
_CLIP_ODD = dict(hidden_size=624, intermediate_size=2200, num_hidden_layers=9, num_attention_heads=12, patch_size=15, image_size=210)
_WAV2VEC2_ODD = _WAV2VEC2 | dict(hidden_size=560, intermediate_size=1900, num_hidden_layers=5, num_attention_heads=10, conv_dim=(416,) * 7)
_SEGFORMER_ODD = dict(hidden_sizes=[40, 72, 168, 264], num_attention_heads=[1, 3, 7, 11], decoder_hidden_size=232, depths=[2, 3, 2, 2])

ODD: dict[str, Case] = {
    **_of_memory("resnet34-odd vgg11_bn-odd wide_resnet50-odd fcn-odd roberta-odd gpt2-odd llama-odd vit-hf-odd densenet169-odd regnet_x_1_6gf-odd lraspp-odd electra-odd dinov2-odd"),
    "efficientnet_b1-odd": torchvision_case("efficientnet_b1", 7, 203),
    "unet-odd": _plain(lambda: nets.UNet(44), x=(3, 3, 208, 272)),
    "diffusion-odd": _plain(lambda: nets.DiffusionUNet(108, groups=12, heads=6), x=(5, 4, 44, 60), time=(5, 108)),
    "lstm-odd": _plain(lambda: nets.RecurrentLanguageModel(nn.LSTM, 13007, 360, 568, 2), tokens=("token", 11, 83)),
    "gru-odd": _plain(lambda: nets.RecurrentLanguageModel(nn.GRU, 7001, 264, 392, 3, both_ways=True), tokens=("token", 21, 59)),
    "dlrm-odd": _plain(lambda: nets.Dlrm(19, 23, 40000, 72, (380, 190), (700, 350)), dense=(3001, 19), sparse=("token", 3001, 23, 6)),
    "towers-odd": _plain(lambda: nets.TwoTowers(70001, 30011, 136), user=("token", 5003), item=("token", 5003)),
    "mamba-odd": transformers_case("MambaForCausalLM", "MambaConfig", _MAMBA_ODD, token_inputs(5, 107, IDS)),
    "moe-odd": transformers_case("MixtralForCausalLM", "MixtralConfig", _MIXTRAL_ODD | dict(experts_implementation="eager"), token_inputs(3, 307, IDS)),
    "moe-grouped-odd": transformers_case("MixtralForCausalLM", "MixtralConfig", _MIXTRAL_ODD, token_inputs(5, 211, IDS)),
    "r3d-odd": (_video_resnet, {"x": ("float", (3, 3, 10, 104, 120))}),
    "video-odd": _plain(lambda: nets.Video(44), x=(2, 3, 14, 100, 136)),
    "pinn-odd": _plain(lambda: nets.Pinn(3, 37, 212, 7), x=(30011, 3)),
    "pinn-small-odd": _plain(lambda: nets.Pinn(2, 11, 52, 9), x=(1777, 2)),
    "audio-odd": _plain(lambda: nets.Audio(60, 7), wave=(3, 1, 50000)),
    "encoder-odd": _plain(lambda: nets.Encoder(8009, 408, 6, 1111, 5, fused=False), tokens=("token", 13, 149)),
    "encoder-fused-odd": _plain(lambda: nets.Encoder(8009, 360, 6, 1400, 5, fused=True), tokens=("token", 9, 211)),
    "grouped-odd": _plain(lambda: nets.Grouped(60, 6), x=(5, 3, 203, 251)),
    "generator-odd": _plain(lambda: nets.Generator(90, 52), seed=(19, 90)),
    "convnext-odd": (_convnext_odd, {"x": ("float", (7, 3, 200, 216))}),
    "vit-odd": (_vit_odd, {"x": ("float", (13, 3, 187, 187))}),
    "swin-odd": (_swin_odd, {"x": ("float", (6, 3, 180, 212))}),
    "groupnorm-odd": (_resnet_group_norm, {"x": ("float", (7, 3, 190, 170))}),
    "graph-odd": _plain(lambda: nets.GraphConvolution(333, 184, 4, 29), nodes=(1777, 333), adjacency=(1777, 1777)),
    "vocabulary-odd": _plain(lambda: nets.BigVocabulary(180007, 432), tokens=("token", 2, 311)),
    "mlp-odd": _plain(lambda: nets.Mlp(1500, 5003, 7019, 3001, 700), x=(611, 1500)),
    "mlp-small-odd": _plain(lambda: nets.Mlp(90, 170, 170, 170, 11, act=nn.SiLU), x=(53, 90)),
    "mixer-odd": _plain(lambda: nets.Mixer(14, 196, 328, 7), x=(11, 3, 196, 196)),
    "superres-odd": _plain(lambda: nets.SuperResolution(52, 9, 3), x=(2, 3, 97, 131)),
    "points-odd": _plain(lambda: nets.Points(60, 23), points=(13, 3, 1500)),
    "linear-attention-odd": _plain(lambda: nets.LinearAttention(312, 6, 6, 6007), tokens=("token", 3, 1300)),
    "t5-odd": transformers_case("T5ForConditionalGeneration", "T5Config", _T5_ODD, token_inputs(7, 187, IDS) | token_inputs(7, 61, DECODER)),
    "whisper-odd": transformers_case("WhisperForConditionalGeneration", "WhisperConfig", _WHISPER_ODD, {"input_features": ("float", (3, 80, 3000)), DECODER: ("token", (3, 37))}),
    "qwen2-odd": transformers_case("Qwen2ForCausalLM", "Qwen2Config", _QWEN2_ODD, token_inputs(3, 333, IDS)),
    "gemma2-odd": transformers_case("Gemma2ForCausalLM", "Gemma2Config", _GEMMA2_ODD, token_inputs(2, 413, IDS)),
    # Made and measured last.
    "mobilenet_v3_small-odd": torchvision_case("mobilenet_v3_small", 27, 181),
    "efficientnet_v2_s-odd": torchvision_case("efficientnet_v2_s", 6, 250),
    "shufflenet_v2_x1_5-odd": torchvision_case("shufflenet_v2_x1_5", 14, 234),
    "regnet_y_400mf-odd": torchvision_case("regnet_y_400mf", 11, 198),
    "mnasnet0_75-odd": torchvision_case("mnasnet0_75", 9, 212),
    "resnext50_32x4d-odd": torchvision_case("resnext50_32x4d", 6, 204),
    "squeezenet1_0-odd": torchvision_case("squeezenet1_0", 21, 243),
    "deeplabv3_mobilenet-odd": torchvision_case("deeplabv3_mobilenet_v3_large", 3, 333),
    "opt-odd": transformers_case("OPTForCausalLM", "OPTConfig", _OPT_ODD, token_inputs(5, 271, IDS)),
    "bart-odd": transformers_case("BartForConditionalGeneration", "BartConfig", _BART_ODD, token_inputs(6, 231, IDS) | token_inputs(6, 75, DECODER)),
    "bloom-odd": transformers_case("BloomForCausalLM", "BloomConfig", _BLOOM_ODD, token_inputs(3, 295, IDS)),
    "pythia-odd": transformers_case("GPTNeoXForCausalLM", "GPTNeoXConfig", _PYTHIA_ODD, token_inputs(4, 357, IDS)),
    "clip-vision-odd": transformers_case("CLIPVisionModel", "CLIPVisionConfig", _CLIP_ODD, image_inputs(9, 210)),
    "wav2vec2-odd": transformers_case("Wav2Vec2Model", "Wav2Vec2Config", _WAV2VEC2_ODD, {"input_values": ("float", (3, 51111))}),
    "segformer-odd": transformers_case("SegformerForSemanticSegmentation", "SegformerConfig", _SEGFORMER_ODD, image_inputs(3, 352)),
    "unet-wide-odd": _plain(lambda: nets.UNet(27, levels=3, classes=9), x=(5, 3, 168, 232)),
}  # fmt: skip

CASES = SEEN | ODD
_STEPS = ("training-fp32-adamw", "training-amp-adamw")
_NOT_TRAINED = re.compile("encoder-fused-odd|mamba|-b1$")  # an op of eval mode; too many ops; a second batch
_DECODING = ("gpt2-b8", "llama-1b-b4", "llama-odd", "qwen2-odd")


def trained(names: Iterable[str]) -> dict[str, str]:
    """Every second case takes a training step too: in float32 and under autocast by turns."""
    chosen = [name for name in names if not _NOT_TRAINED.search(name)][::2]
    return {name: _STEPS[at % 2] for at, name in enumerate(chosen)}


TRAINED = trained(SEEN) | trained(ODD)


def kind_of(name: str) -> str:
    return "odd" if name in ODD else "seen"


def runs_of(name: str) -> Iterator[str]:
    yield from ("forward-fp32", "forward-bf16")
    if name in TRAINED:
        yield TRAINED[name]
    if name in _DECODING:
        yield from ("decode-bf16-dynamic", "decode-bf16-static")


def made(name: str, run: str) -> tuple[nn.Module, Inputs]:
    build, inputs = CASES[name]
    return prepared(build, run), inputs


def all_runs(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(name, run) for name in names for run in runs_of(name)]
