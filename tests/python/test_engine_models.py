"""A static capture of a model sees what a real run of it sees, and a model that generates runs to its end."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import timm
import torch
import transformers
from torch import nn

from engine_helpers import graph_of, outputs_of, rows

# --- a static capture and a real run see the same ops


def same_as_a_real_run(model: nn.Module, *args: Any, **kwargs: Any) -> None:
    model.eval()
    static = graph_of(model, *args, **kwargs)
    assert static["capture"]["tracer"] == "static"
    assert rows(static) == rows(graph_of(model, *args, tracer="eager", **kwargs))


SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
GROUPED = SMALL | {"num_key_value_heads": 2}
IDS = torch.randint(3, 90, (2, 7), generator=torch.Generator().manual_seed(0))
MASK = torch.ones(2, 7, dtype=torch.long).index_fill(1, torch.tensor([6]), 0)
VISION = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64}
IMAGE = torch.randn(1, 3, 64, 64)

T5_CONFIG = {"vocab_size": 99, "d_model": 32, "d_ff": 37, "num_layers": 2, "num_heads": 4, "d_kv": 8, "decoder_start_token_id": 0}
GPT2_CONFIG = {"vocab_size": 99, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
ROWS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Bert", SMALL, {}),
    ("Albert", SMALL | {"embedding_size": 16}, {}),
    ("Deberta", SMALL | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}, {}),
    ("Electra", SMALL | {"embedding_size": 16}, {}),
    ("T5", T5_CONFIG, {"decoder_input_ids": IDS}),
    ("GPT2", GPT2_CONFIG, {}),
    ("Bloom", {"vocab_size": 99, "hidden_size": 32, "n_layer": 2, "n_head": 4}, {}),
    ("Llama", GROUPED, {}),
    ("Mixtral", GROUPED | {"num_local_experts": 4}, {}),
    ("Qwen3", GROUPED | {"head_dim": 8}, {}),
    ("Gemma2", GROUPED | {"head_dim": 8}, {}),
    ("Longformer", SMALL | {"attention_window": 4, "max_position_embeddings": 64}, {}),
    ("Falcon", {key: value for key, value in SMALL.items() if key != "intermediate_size"}, {}),
]


@pytest.mark.parametrize(("kind", "config", "more"), ROWS, ids=[row[0] for row in ROWS])
def test_transformers_as_they_run(kind: str, config: dict[str, Any], more: dict[str, Any]) -> None:
    model = getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(**config))
    same_as_a_real_run(model, input_ids=IDS, attention_mask=MASK, **more)


def test_state_space_model_as_it_runs() -> None:
    config = transformers.MambaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2)
    same_as_a_real_run(transformers.MambaForCausalLM(config), input_ids=IDS)


def test_text_and_image_model_as_it_runs() -> None:
    text = SMALL | {"max_position_embeddings": 32, "bos_token_id": 0, "eos_token_id": 2}
    config = transformers.CLIPConfig(text_config=text, vision_config=VISION | {"patch_size": 16})
    same_as_a_real_run(transformers.CLIPModel(config), input_ids=IDS, attention_mask=MASK, pixel_values=IMAGE)


def test_speech_model_as_it_runs() -> None:
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}
    config = transformers.Wav2Vec2Config(
        **shape, conv_dim=(32,) * 7, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2
    )
    same_as_a_real_run(transformers.Wav2Vec2Model(config), torch.randn(1, 4000))


def test_segmentation_model_as_it_runs() -> None:
    sizes = {"hidden_sizes": [8, 16, 16, 32], "depths": [1] * 4, "num_attention_heads": [1, 2, 2, 4]}
    config = transformers.SegformerConfig(**sizes, decoder_hidden_size=16)
    same_as_a_real_run(transformers.SegformerForSemanticSegmentation(config), IMAGE)


TIMM = ["vit_tiny_patch16_224", "efficientvit_b0", "convnext_atto", "mobilevit_xxs", "edgenext_xx_small", "ghostnet_100"]
TIMM_MORE = (
    "swin_tiny_patch4_window7_224 levit_128s mixer_s32_224 maxvit_rmlp_nano_rw_256 coat_tiny davit_tiny cait_xxs24_224 "
    "xcit_nano_12_p16_224 poolformer_s12 pvt_v2_b0 twins_pcpvt_small crossvit_tiny_240 beit_base_patch16_224 "
    "resnest14d hrnet_w18_small dla34 res2net50_26w_4s nfnet_l0 halonet26t lambda_resnet26t inception_v4 "
    "eva02_tiny_patch14_224 hiera_tiny_224 tiny_vit_5m_224 focalnet_tiny_srf tnt_s_patch16_224 sequencer2d_s "
    "swinv2_tiny_window8_256 convit_tiny"
).split()


@pytest.mark.parametrize("name", TIMM + [pytest.param(name, marks=pytest.mark.slow) for name in TIMM_MORE])
def test_timm_as_it_runs(name: str) -> None:
    size = timm.get_pretrained_cfg(name).input_size
    same_as_a_real_run(timm.create_model(name, pretrained=False), torch.randn(1, *size))


# --- generation


class Generates(nn.Module):
    def __init__(self, model: nn.Module, **options: Any) -> None:
        super().__init__()
        self.model, self.options = model.eval(), options

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model.generate(ids, max_new_tokens=4, min_new_tokens=4, pad_token_id=0, **self.options)


def llama() -> nn.Module:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**GROUPED)).eval()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Generates(transformers.GPT2LMHeadModel(transformers.GPT2Config(**GPT2_CONFIG)), do_sample=False),
        lambda: Generates(llama(), do_sample=True, top_k=5, top_p=0.9),
        lambda: Generates(llama(), do_sample=False, cache_implementation="static"),
        lambda: Generates(transformers.T5ForConditionalGeneration(transformers.T5Config(**T5_CONFIG)), do_sample=False),
    ],
    ids=["greedy", "sampled", "static-cache", "encoder-decoder"],
)
def test_generation_runs_to_its_end(make: Callable[[], nn.Module]) -> None:
    model = make()
    static, real = graph_of(model, IDS), graph_of(model, IDS, tracer="eager")
    assert outputs_of(static) == outputs_of(real) and len(static["ops"]) == len(real["ops"])
    assert any(note["kind"] == "assumption" for note in static["diagnostics"])


def test_caches_given_as_inputs_are_left_alone() -> None:
    model = llama()
    growing = transformers.DynamicCache()
    fixed = transformers.StaticCache(config=model.config, max_cache_len=16)
    for cache in (growing, fixed):
        with torch.no_grad():
            model(IDS, past_key_values=cache)
        keys = cache.layers[0].keys.clone()
        for tracer in ("static", "eager"):
            graph_of(model, IDS[:, :1], past_key_values=cache, tracer=tracer)
            assert torch.equal(cache.layers[0].keys, keys)


def test_anchors_cached_by_a_capture_do_not_stay() -> None:
    import ultralytics
    model = ultralytics.YOLO("yolov8n.yaml").model.eval()
    other, image = copy.deepcopy(model), torch.randn(1, 3, 64, 64)
    graph_of(model, image)
    with torch.no_grad():
        assert torch.equal(model(image)[0], other(image)[0])
