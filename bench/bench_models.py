"""The models that the benchmarks run on, with random weights: torchvision's by name, transformers' from configs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

TOKENS = 128


class Positional(nn.Module):
    """A token model as one tensor in, one tensor out: several peers take nothing else."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(input_ids=ids, use_cache=False)[0]


@dataclass
class BenchModel:
    name: str
    model: nn.Module  # as its users have it: what opscope gets
    inputs: Any
    plain: nn.Module  # one tensor in, one tensor out: what the peers get
    tensor: Tensor


def _torchvision(name: str) -> BenchModel:
    from opscope.sources import torchvision_models

    model = torchvision_models.build(name, with_data=True)
    x = torch.rand(1, 3, 224, 224)
    return BenchModel(name, model, x, model, x)


def _tokens(name: str, model: nn.Module) -> BenchModel:
    ids = torch.zeros(1, TOKENS, dtype=torch.long)
    plain = Positional(model) if not name.startswith("bert") else _Bert(model)
    return BenchModel(name, model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)}, plain.eval(), ids)


class _Bert(Positional):
    def forward(self, ids: Tensor) -> Tensor:
        return self.model(input_ids=ids)[0]


def _bert() -> BenchModel:
    from transformers import BertConfig, BertModel

    return _tokens(f"bert_base_s{TOKENS}", BertModel(BertConfig()).eval())


def _gpt2() -> BenchModel:
    from transformers import GPT2Config, GPT2LMHeadModel

    return _tokens(f"gpt2_s{TOKENS}", GPT2LMHeadModel(GPT2Config()).eval())


def _llama_1b() -> BenchModel:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=128256,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=16,
        num_attention_heads=32,
        num_key_value_heads=8,
        tie_word_embeddings=True,
    )
    return _tokens(f"llama1b_s{TOKENS}", LlamaForCausalLM(config).eval())


VISION = "resnet18 resnet50 mobilenet_v2 efficientnet_b0 vit_b_16 swin_t convnext_tiny densenet121".split()
MODELS: dict[str, Callable[[], BenchModel]] = {name: (lambda name=name: _torchvision(name)) for name in VISION}
MODELS |= {"bert": _bert, "gpt2": _gpt2, "llama1b": _llama_1b}


def build(name: str) -> BenchModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()
