"""What the Profiler's tests share: models that have everything, and what is to be as before after a pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from opscope import _native

X = torch.randn(2, 8)


class Residual(nn.Module):
    """A residual add, ops outside modules, a module called twice, one that runs nothing, and an op that gives no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.relu = nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()
        self.nothing = nn.Identity()
        self.head = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 4))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = self.relu(self.norm(self.first(x)))
        y = self.nothing(x + y)
        if y.sum().item() > 1e9:
            raise ArithmeticError("too much")
        return self.head(self.relu(y.unflatten(1, (2, 4)).flatten(1)))


class Fails(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.fails = nn.Linear(8, 8), True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.fc(x)
        if self.fails:
            raise KeyError("on purpose")
        return y


def is_clean() -> bool:
    """No hook, no replaced call, no mode in this thread."""
    mode = torch._C._dispatch_key_parse("TESTING_ONLY_GenericMode")
    plain = nn.Module.__call__ is nn.Module._wrapped_call_impl
    hooks = nn.modules.module._has_any_global_hook()
    return plain and not hooks and not _native.capturing() and not torch._C._dispatch_tls_is_dispatch_key_included(mode)


def has_no_hooks(model: nn.Module) -> bool:
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return not any(getattr(module, kind) for module in model.modules() for kind in kinds)


def names(graph: Any) -> list[str]:
    return [node.name for node in graph.nodes]


def edges(graph: Any) -> set[tuple[str, str]]:
    return {(edge.from_name, edge.to_name) for edge in graph.edges}


def small_llama(layers: int = 2) -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def tokens() -> dict[str, torch.Tensor]:
    ids = torch.arange(2, 8)[None]
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def generated(model: Any) -> list[int]:
    return model.generate(**tokens(), max_new_tokens=6, do_sample=False)[0].tolist()
