"""Models for the tests of PyTorch's tracers: ten of the libraries', small, and some with one property each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Made = tuple[nn.Module, Any]  # a model and what it is called with


def image(size: int = 64) -> Tensor:
    return torch.randn(1, 3, size, size)


def tokens(length: int = 8, vocabulary: int = 50) -> Tensor:
    return torch.arange(length).reshape(1, length) % vocabulary


# --- of the libraries -------------------------------------------------------------------------------------------


def resnet18() -> Made:
    from torchvision.models import resnet18 as build

    return build(weights=None), image()


def mobilenet_v2() -> Made:
    from torchvision.models import mobilenet_v2 as build

    return build(weights=None), image()


def vit() -> Made:
    from torchvision.models import VisionTransformer

    return VisionTransformer(32, 8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=5), image(32)


def swin() -> Made:
    from torchvision.models import SwinTransformer

    return SwinTransformer([4, 4], 16, [1, 2], [2, 2], [7, 7], stochastic_depth_prob=0.0, num_classes=5), image(56)


def convnext() -> Made:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ConvNeXt([CNBlockConfig(16, 32, 1), CNBlockConfig(32, None, 2)], num_classes=5), image(32)


def timm_model() -> Made:
    import timm

    return timm.create_model("efficientvit_b0", pretrained=False), image()


def bert() -> Made:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, max_position_embeddings=16
    )  # fmt: skip
    return BertModel(config), {"input_ids": tokens(), "attention_mask": torch.ones(1, 8, dtype=torch.long)}


def gpt2() -> Made:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=2, n_head=2)), {"input_ids": tokens()}


def whisper() -> Made:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(
        vocab_size=50, num_mel_bins=8, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=8, max_target_positions=8,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    return WhisperModel(config), {"input_features": torch.randn(1, 8, 16), "decoder_input_ids": tokens(4)}


def yolo() -> Made:
    from opscope import load_yolo_model

    return load_yolo_model("yolov8n.yaml"), image()


LIBRARIES: dict[str, Callable[[], Made]] = {
    "resnet18": resnet18,
    "mobilenet_v2": mobilenet_v2,
    "vit": vit,
    "swin": swin,
    "convnext": convnext,
    "timm": timm_model,
    "bert": bert,
    "gpt2": gpt2,
    "whisper": whisper,
    "yolov8n": yolo,
}


# --- with one property each -------------------------------------------------------------------------------------


class Breaks(nn.Module):
    """Dynamo leaves it twice: for a value that decides, and for a print."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4, 4), nn.Linear(4, 6), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x).relu()
        if x.sum() > -1:
            x = self.second(x)
        print(end="")
        return self.third(x)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        torch._dynamo.graph_break()
        return self.linear(x).relu()


class ReusedBlock(nn.Module):
    """One module, called three times behind a break: one graph that runs three times."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.block(x)
        return x


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.shared = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.shared(self.shared(x))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 8), nn.Linear(8, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.embed(ids))


class Lazy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.LazyConv2d(4, 3), nn.LazyLinear(5)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.conv(x).flatten(1))


class NoGrad(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.frozen, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            x = self.frozen(x)
        return self.head(x)


class Keywords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 3), nn.Linear(5, 3)

    def forward(self, left: Tensor, *, right: Tensor, scale: float = 2.0) -> dict[str, Tensor]:
        return {"sum": self.left(left) + scale * self.right(right)}


class Nested(nn.Module):
    """Takes a list of tensors and a dict with more."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)

    def forward(self, images: list[Tensor], more: dict[str, Tensor]) -> list[Tensor]:
        return [self.linear(each) + more["bias"] for each in images]


def _keywords() -> Made:
    from opscope import Inputs

    return Keywords(), Inputs(torch.randn(2, 4), right=torch.randn(2, 5))


HAND_WRITTEN: dict[str, Callable[[], Made]] = {
    "breaks": lambda: (Breaks(), torch.randn(2, 4)),
    "reused_block": lambda: (ReusedBlock(), torch.randn(2, 4)),
    "twice": lambda: (Twice(), torch.randn(2, 4)),
    "tied": lambda: (Tied(), tokens(6, 20)),
    "lazy": lambda: (Lazy(), image(8)),
    "no_grad": lambda: (NoGrad(), torch.randn(2, 4)),
    "keywords": _keywords,
    "nested": lambda: (Nested(), ([torch.randn(2, 4), torch.randn(1, 4)], {"bias": torch.randn(3)})),
}


def make(name: str) -> Made:
    torch.manual_seed(0)
    model, inputs = (LIBRARIES | HAND_WRITTEN)[name]()
    return model.eval(), inputs
