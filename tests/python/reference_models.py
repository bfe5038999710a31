"""The models that opscope is held against, from configs, and what PyTorch's own counter says about them.

The counter is run on the meta device, where attention is the math kernel and every matmul is visible; the fast
paths that hide them are off. Token models get ids and no mask there: with one, transformers looks at its values.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

# Where opscope's `torch` convention does not give FlopCounterMode's number, and why.
DEVIATIONS: dict[str, str] = {}


def counter_flops(model: nn.Module, *args: Any, **kwargs: Any) -> int:
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            model(*args, **kwargs)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast_path)
    return int(counter.get_total_flops())


def on_meta(make: Callable[[], nn.Module]) -> nn.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make().to("meta").eval()


def parameter_count(model: nn.Module) -> int:
    """Each parameter once, tied ones too."""
    return sum(parameter.numel() for parameter in model.parameters())


def bert(layers: int = 12) -> nn.Module:
    from transformers import BertConfig, BertModel

    return _empty(lambda: BertModel(BertConfig(num_hidden_layers=layers)))


def gpt2(layers: int = 12) -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel

    return _empty(lambda: GPT2LMHeadModel(GPT2Config(n_layer=layers)))


def llama_1b(layers: int = 16) -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=128256,
        hidden_size=2048,
        intermediate_size=8192,
        num_hidden_layers=layers,
        num_attention_heads=32,
        num_key_value_heads=8,
        tie_word_embeddings=True,
    )
    return _empty(lambda: LlamaForCausalLM(config))


def _empty(make: Callable[[], nn.Module]) -> nn.Module:
    """Parameters without data; buffers (rotary frequencies, position ids) real."""
    from opscope.sources.building import parameters_without_data

    with warnings.catch_warnings(), parameters_without_data():
        warnings.simplefilter("ignore")
        return make().eval()
