"""Models whose calls `tools/calibration_calls.py` takes: published ones, and architectures at any width."""

from __future__ import annotations

from typing import Any

import torch

import calibration_layers
from calibration_layers import Case, batch, draw, even, length, near, some, width

TORCHVISION = [
    "alexnet", "convnext_tiny", "convnext_base", "densenet121", "efficientnet_b0", "efficientnet_b3", "efficientnet_v2_s", "googlenet", "inception_v3", "maxvit_t",  # noqa: E501
    "mnasnet1_0", "mobilenet_v2", "mobilenet_v3_large", "regnet_x_1_6gf", "regnet_y_8gf", "resnet18", "resnet50", "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1",  # noqa: E501
    "swin_t", "swin_v2_t", "vgg16", "vit_b_16", "vit_l_16", "wide_resnet50_2", "r3d_18", "mvit_v1_b",
]  # fmt: skip
TRANSFORMERS: list[tuple[str, str, dict[str, Any]]] = [
    ("BertModel", "BertConfig", {}), ("GPT2LMHeadModel", "GPT2Config", {}), ("RobertaModel", "RobertaConfig", {}), ("DistilBertModel", "DistilBertConfig", {}),  # noqa: E501
    ("LlamaForCausalLM", "LlamaConfig", dict(hidden_size=2048, intermediate_size=5632, num_attention_heads=32, num_key_value_heads=4, num_hidden_layers=2, vocab_size=32000)),  # noqa: E501
    ("LlamaForCausalLM", "LlamaConfig", dict(hidden_size=4096, intermediate_size=14336, num_attention_heads=32, num_key_value_heads=8, num_hidden_layers=1, vocab_size=128256)),  # noqa: E501
    ("Qwen2ForCausalLM", "Qwen2Config", dict(hidden_size=896, intermediate_size=4864, num_attention_heads=14, num_key_value_heads=2, num_hidden_layers=2, vocab_size=151936)),  # noqa: E501
    ("OPTForCausalLM", "OPTConfig", dict(num_hidden_layers=2)), ("GPTNeoXForCausalLM", "GPTNeoXConfig", dict(hidden_size=1024, intermediate_size=4096, num_attention_heads=16, num_hidden_layers=2)),  # noqa: E501
    ("AlbertModel", "AlbertConfig", {}), ("ElectraModel", "ElectraConfig", {}), ("T5EncoderModel", "T5Config", dict(num_layers=2)), ("MixtralForCausalLM", "MixtralConfig", dict(hidden_size=1024, intermediate_size=2048, num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=1, num_local_experts=8)),  # noqa: E501
    ("MambaForCausalLM", "MambaConfig", dict(num_hidden_layers=1)), ("MistralForCausalLM", "MistralConfig", dict(hidden_size=1024, intermediate_size=3584, num_attention_heads=16, num_key_value_heads=4, num_hidden_layers=2)),  # noqa: E501
]  # fmt: skip


def published() -> tuple[str, Case]:
    way = draw.random()
    if way < 0.35:
        from torchvision import models

        name = draw.choice(TORCHVISION)
        side = (
            near(224, 224, 224, 192, 256, 288)
            if not name.startswith(("swin", "vit", "maxvit", "mvit", "inception", "r3d"))
            else 299
            if name == "inception_v3"
            else 224
        )
        settings: dict[str, Any] = {
            "weights": None,
            **({"init_weights": False, "aux_logits": False} if name in ("googlenet", "inception_v3") else {}),
        }
        if name in ("r3d_18", "mvit_v1_b"):
            return name, (
                getattr(models.video, name)(weights=None),
                (torch.empty(some(1, 2, 4), 3, 16, 112 if name == "r3d_18" else 224, 112 if name == "r3d_18" else 224),),
            )
        return name, (getattr(models, name)(**settings), (torch.empty(batch(), 3, side, side),))
    if way < (0.75 if calibration_layers.device == "cuda" else 0.7):
        import timm

        name = draw.choice(
            timm.list_models(
                exclude_filters=["*giant*", "*huge*", "*gigantic*", "*enormous*", "*_xxl*", "*large*", "*7b*", "*so400m*", "*1b*"]
            )
        )
        model = timm.create_model(name, pretrained=False)
        return name, (model, (torch.empty(batch(), *model.default_cfg.get("input_size", (3, 224, 224))),))
    import transformers

    kind, config, given = draw.choice(TRANSFORMERS)
    model = getattr(transformers, kind)(getattr(transformers, config)(**given, **({"use_cache": False} if "LM" in kind else {})))
    places = min(length(), 512) if kind in ("BertModel", "RobertaModel", "ElectraModel", "AlbertModel", "DistilBertModel") else length()
    return kind, (model, (torch.empty(max(1, min(batch(), 2**14 // places)), places, dtype=torch.int64),))


def from_transformers() -> Case:
    """One or two layers of an architecture, at any width."""
    import transformers

    heads, head, layers = near(4, 6, 8, 12, 16), 2 * near(16, 20, 24, 32, 32, 40), some(1, 1, 2)
    key_heads = draw.choice([h for h in (1, 2, 4, heads) if heads % h == 0])
    size, inner, words = heads * head, width(), near(1000, 8000, 20000, 32000, 50257, 100000)
    places = near(17, 50, 77, 100, 128, 196, 256, 333, 512, 1024)
    rows = max(1, min(batch(), 2**13 // places))
    usual: dict[str, Any] = dict(
        pad_token_id=0, vocab_size=words, hidden_size=size, intermediate_size=inner, num_attention_heads=heads, num_hidden_layers=layers
    )
    decoder = usual | dict(num_key_value_heads=key_heads, head_dim=head, max_position_embeddings=8192, use_cache=False)
    encoder = usual | dict(max_position_embeddings=8192)
    seq: dict[str, Any] = dict(
        pad_token_id=0,
        vocab_size=words,
        d_model=size,
        decoder_layers=layers,
        encoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
    )
    seq |= dict(encoder_ffn_dim=inner, decoder_ffn_dim=inner, max_position_embeddings=8192, use_cache=False)
    pictures = dict(hidden_size=size, intermediate_size=inner, num_attention_heads=heads, num_hidden_layers=layers)
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "LlamaForCausalLM": ("LlamaConfig", decoder),
        "Qwen2ForCausalLM": ("Qwen2Config", decoder),
        "Gemma2ForCausalLM": ("Gemma2Config", decoder),
        "Gemma3ForCausalLM": ("Gemma3TextConfig", decoder),
        "MistralForCausalLM": ("MistralConfig", decoder),
        "Phi3ForCausalLM": ("Phi3Config", decoder),
        "CohereForCausalLM": ("CohereConfig", decoder),
        "OlmoForCausalLM": ("OlmoConfig", decoder),
        "MixtralForCausalLM": (
            "MixtralConfig",
            decoder
            | dict(
                num_local_experts=near(4, 8, 8, 16),
                num_experts_per_tok=2,
                experts_implementation=draw.choice(["eager", "grouped_mm", "grouped_mm"]),
            ),
        ),
        "Qwen3MoeForCausalLM": (
            "Qwen3MoeConfig",
            decoder
            | dict(
                num_experts=near(8, 16, 32),
                num_experts_per_tok=some(2, 4),
                moe_intermediate_size=even(min(inner, 1024)),
                decoder_sparse_step=1,
            ),
        ),
        "GPT2LMHeadModel": (
            "GPT2Config",
            dict(vocab_size=words, n_embd=size, n_head=heads, n_layer=layers, n_positions=8192, use_cache=False),
        ),
        "GPTNeoXForCausalLM": ("GPTNeoXConfig", usual | dict(max_position_embeddings=8192, use_cache=False)),
        "BloomForCausalLM": ("BloomConfig", dict(vocab_size=words, hidden_size=size, n_head=heads, n_layer=layers, use_cache=False)),
        "BertForMaskedLM": ("BertConfig", encoder),
        "RobertaForMaskedLM": ("RobertaConfig", encoder),
        "ElectraModel": ("ElectraConfig", encoder | dict(embedding_size=size // 2)),
        "DebertaV2Model": ("DebertaV2Config", encoder),
        "AlbertModel": ("AlbertConfig", encoder | dict(embedding_size=128)),
        "DistilBertModel": (
            "DistilBertConfig",
            dict(
                pad_token_id=0, vocab_size=words, dim=size, hidden_dim=inner, n_heads=heads, n_layers=layers, max_position_embeddings=8192
            ),
        ),
        "OPTForCausalLM": (
            "OPTConfig",
            dict(
                pad_token_id=0,
                vocab_size=words,
                hidden_size=size,
                ffn_dim=inner,
                num_attention_heads=heads,
                num_hidden_layers=layers,
                max_position_embeddings=8192,
                word_embed_proj_dim=size,
                use_cache=False,
            ),
        ),
        "T5ForConditionalGeneration": (
            "T5Config",
            dict(
                vocab_size=words,
                d_model=even(width() // 4 + 64),
                d_ff=inner,
                d_kv=head,
                num_heads=heads,
                num_layers=layers,
                use_cache=False,
                feed_forward_proj=draw.choice(["relu", "gated-gelu"]),
            ),
        ),
        "BartForConditionalGeneration": ("BartConfig", seq),
        "MambaForCausalLM": (
            "MambaConfig",
            dict(vocab_size=words, hidden_size=even(width() // 4 + 64), num_hidden_layers=1, state_size=near(8, 16), use_cache=False),
        ),
        "ViTModel": ("ViTConfig", pictures),
        "DeiTModel": ("DeiTConfig", pictures),
        "Dinov2Model": ("Dinov2Config", dict(hidden_size=size, num_attention_heads=heads, num_hidden_layers=layers)),
        "BeitModel": ("BeitConfig", pictures),
        "WhisperModel": (
            "WhisperConfig",
            {key: value for key, value in seq.items() if key != "max_position_embeddings"} | dict(num_mel_bins=80),
        ),
        "Wav2Vec2Model": ("Wav2Vec2Config", pictures | dict(apply_spec_augment=False, layerdrop=0.0)),
        "SegformerForSemanticSegmentation": ("SegformerConfig", {}),
        "CLIPVisionModel": ("CLIPVisionConfig", pictures),
        "ConvNextModel": ("ConvNextConfig", dict(hidden_sizes=[even(width() // 8 + 16) for _ in range(4)], depths=[1, 1, 2, 1])),
        "SwinModel": ("SwinConfig", dict(embed_dim=near(24, 48, 60), depths=[1, 2], num_heads=[3, 6])),
    }
    kind = draw.choice(list(kinds))
    config, settings = kinds[kind]
    if kind == "SwinModel":
        settings["embed_dim"] = settings["embed_dim"] // 3 * 3
    made = getattr(transformers, config)(**settings)
    if made.model_type in ("vit", "deit", "beit", "dinov2", "clip_vision_model", "swin", "segformer", "convnext"):
        patch = getattr(made, "patch_size", 16)
        patch = patch if isinstance(patch, int) else 16
        side = patch * near(7, 10, 14, 16) if made.model_type != "swin" else 28 * some(4, 6, 8)
        made.image_size = side
        inputs: tuple[Any, ...] = (torch.empty(max(1, min(batch(), 16)), 3, side, side),)
    elif kind == "WhisperModel":
        inputs = (torch.empty(some(1, 2, 3), 80, 3000), None, torch.empty(1, places, dtype=torch.int64))
        inputs = (inputs[0], None, inputs[2].expand(inputs[0].shape[0], -1).contiguous())
    elif kind == "Wav2Vec2Model":
        inputs = (torch.empty(some(1, 2, 4), near(16000, 40000, 80000)),)
    elif kind in ("T5ForConditionalGeneration", "BartForConditionalGeneration"):
        inputs = (torch.empty(rows, places, dtype=torch.int64), None, torch.empty(rows, near(16, 64, 128), dtype=torch.int64))
    else:
        inputs = (torch.empty(rows, places, dtype=torch.int64),)
    return getattr(transformers, kind)(made), inputs
