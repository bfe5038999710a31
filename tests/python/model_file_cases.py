"""Models that are captured live and through a .pt2 and an ONNX file, and single ONNX nodes with their shapes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

IDS = torch.zeros(1, 16, dtype=torch.long)


class Detector(nn.Module):
    """A convolutional head as single-shot detectors have it."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU6(), nn.Conv2d(8, 16, 3, 2, 1, groups=2), nn.BatchNorm2d(16), nn.SiLU()
        )
        self.classes = nn.Conv2d(16, 12, 3, 1, 1)
        self.boxes = nn.Conv2d(16, 16, 1)
        self.up = nn.ConvTranspose2d(16, 16, 2, 2)
        self.norm = nn.GroupNorm(4, 16)

    def forward(self, x):
        features = self.body(x)
        scores = self.classes(features).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 3).softmax(-1)
        boxes = self.boxes(features).permute(0, 2, 3, 1).reshape(x.shape[0], -1, 4)
        up = nn.functional.interpolate(self.norm(self.up(features)), scale_factor=2, mode="bilinear")
        best, chosen = scores.max(-1)[0].topk(10, dim=1)
        return best, torch.gather(boxes, 1, chosen.unsqueeze(-1).expand(-1, -1, 4)).clamp(0, 1), up.mean((2, 3))


class Recurrent(nn.Module):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.rnn = getattr(nn, kind)(8, 16, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.rnn(x)[0])


class Block(nn.Module):
    """Pre-norm attention with a tied embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids)
        q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return self.head(nn.functional.gelu(x))


def _torchvision(name: str) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    import torchvision

    return getattr(torchvision.models, name)().eval(), (torch.zeros(1, 3, 224, 224),), {}


def _transformers(
    kind: str, config: str, args: tuple[Any, ...] = (IDS,), kwargs: dict[str, Any] | None = None, **options: Any
) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
    import transformers

    made = getattr(transformers, kind)(getattr(transformers, config)(**options))
    return made.eval(), args, kwargs or {}


# name -> model, arguments, keyword arguments
SMALL: dict[str, Any] = {
    "detector": lambda: (Detector().eval(), (torch.zeros(1, 3, 32, 32),), {}),
    "lstm": lambda: (Recurrent("LSTM").eval(), (torch.zeros(2, 5, 8),), {}),
    "gru": lambda: (Recurrent("GRU").eval(), (torch.zeros(2, 5, 8),), {}),
    "block": lambda: (Block().eval(), (IDS,), {}),
}

LARGE: dict[str, Any] = {
    name: lambda name=name: _torchvision(name)
    for name in (
        "mobilenet_v3_small", "vit_b_16", "swin_t", "convnext_tiny", "efficientnet_b0", "densenet121", "shufflenet_v2_x1_0",
    )
}  # fmt: skip
LARGE["bert"] = lambda: _transformers(
    "BertModel", "BertConfig", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=100
)
LARGE["gpt2"] = lambda: _transformers(
    "GPT2LMHeadModel", "GPT2Config", n_embd=32, n_layer=2, n_head=4, vocab_size=100, n_positions=64, use_cache=False
)
LARGE["llama"] = lambda: _transformers(
    "LlamaForCausalLM", "LlamaConfig", hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, intermediate_size=64, vocab_size=100, use_cache=False,
)  # fmt: skip
LARGE["t5"] = lambda: _transformers(
    "T5ForConditionalGeneration", "T5Config", (), {"input_ids": IDS, "decoder_input_ids": IDS[:, :8]},
    d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, vocab_size=100, use_cache=False,
    attn_implementation="eager",  # torch's own decompositions refuse a view in the other
)  # fmt: skip
LARGE["whisper"] = lambda: _transformers(
    "WhisperModel", "WhisperConfig", (torch.zeros(1, 8, 100),), {"decoder_input_ids": IDS[:, :4]},
    d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
    encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=100, max_source_positions=50, num_mel_bins=8, use_cache=False,
    pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
)  # fmt: skip

# ONNX node: type, input shapes, attributes, constant inputs by place. The shape is onnx's own to say.
NODES: list[tuple[str, list[list[int]], dict[str, Any], dict[int, list[int]]]] = [
    ("Conv", [[2, 4, 9, 9], [8, 2, 3, 3]], {"group": 2, "strides": [2, 2], "pads": [1, 0, 2, 1]}, {}),
    ("Conv", [[2, 4, 9, 9], [8, 4, 2, 3]], {"auto_pad": "SAME_UPPER", "strides": [2, 1]}, {}),
    ("Conv", [[1, 4, 20], [8, 4, 3]], {"dilations": [3]}, {}),
    ("ConvTranspose", [[1, 4, 5, 5], [4, 3, 3, 3]], {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}, {}),
    ("ConvTranspose", [[1, 4, 5], [4, 2, 3]], {"group": 2, "dilations": [2]}, {}),
    ("MaxPool", [[1, 4, 8, 9]], {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1, "pads": [1, 0, 1, 1]}, {}),
    ("MaxPool", [[1, 4, 8, 9]], {"kernel_shape": [3, 3], "dilations": [2, 1]}, {}),
    ("AveragePool", [[1, 4, 8]], {"kernel_shape": [3], "strides": [2], "auto_pad": "SAME_LOWER"}, {}),
    ("GlobalMaxPool", [[1, 4, 8, 3]], {}, {}),
    ("MatMul", [[3, 1, 4, 5], [2, 5, 6]], {}, {}),
    ("MatMul", [[5], [2, 5, 6]], {}, {}),
    ("MatMul", [[2, 4, 5], [5]], {}, {}),
    ("Gemm", [[5, 4], [6, 5]], {"transA": 1, "transB": 1}, {}),
    ("Add", [[2, 1, 4], [3, 1]], {}, {}),
    ("Where", [[1], [2, 1], [3]], {}, {}),
    ("Min", [[2, 1], [3], [1, 1, 1]], {}, {}),
    ("Transpose", [[2, 3, 4]], {"perm": [2, 0, 1]}, {}),
    ("Concat", [[2, 3], [2, 5], [2, 1]], {"axis": 1}, {}),
    ("Flatten", [[2, 3, 4]], {"axis": -1}, {}),
    ("Gather", [[9, 4, 5], [2, 3]], {"axis": 1}, {}),
    ("Gather", [[9, 4, 5], []], {"axis": -1}, {}),
    ("GatherND", [[2, 3, 4], [2, 1]], {"batch_dims": 1}, {}),
    ("Reshape", [[2, 3, 4], [3]], {}, {1: [0, -1, 2]}),
    ("Reshape", [[2, 3, 4], [2]], {}, {1: [-1, 8]}),
    ("Squeeze", [[1, 3, 1, 4], [1]], {}, {1: [-2]}),
    ("Unsqueeze", [[3, 4], [2]], {}, {1: [0, -1]}),
    ("Expand", [[3, 1], [3]], {}, {1: [2, 1, 6]}),
    ("Tile", [[3, 2], [2]], {}, {1: [2, 4]}),
    ("Slice", [[9, 8], [2], [2], [2], [2]], {}, {1: [1, -1], 2: [100, 0], 3: [0, 1], 4: [2, -3]}),
    ("Slice", [[9, 8], [1], [1]], {}, {1: [-3], 2: [9]}),
    ("Pad", [[3, 4], [4]], {}, {1: [1, 0, 2, 3]}),
    ("ReduceMean", [[2, 3, 4], [2]], {"keepdims": 0}, {1: [0, -1]}),
    ("ReduceMax", [[2, 3, 4]], {}, {}),
    ("ReduceSumSquare", [[2, 3, 4], [1]], {}, {1: [1]}),
    ("ArgMin", [[2, 3, 4]], {"axis": -1, "keepdims": 0}, {}),
    ("TopK", [[2, 9], [1]], {}, {1: [4]}),
    ("Split", [[9, 2], [3]], {"axis": 0}, {1: [2, 3, 4]}),
    ("DepthToSpace", [[1, 12, 2, 3]], {"blocksize": 2}, {}),
    ("SpaceToDepth", [[1, 3, 4, 6]], {"blocksize": 2}, {}),
    ("Einsum", [[2, 3, 4], [4, 5]], {"equation": "bij,jk->bik"}, {}),
    ("LayerNormalization", [[2, 3, 4], [4], [4]], {}, {}),
    ("InstanceNormalization", [[2, 3, 4], [3], [3]], {}, {}),
    ("LSTM", [[7, 2, 6], [2, 20, 6], [2, 20, 5]], {"hidden_size": 5, "direction": "bidirectional"}, {}),
    ("GRU", [[7, 2, 6], [1, 15, 6], [1, 15, 5]], {"hidden_size": 5}, {}),
    ("Attention", [[2, 4, 10, 8], [2, 2, 12, 8], [2, 2, 12, 6]], {}, {}),
    ("Attention", [[2, 10, 32], [2, 12, 16], [2, 12, 16]], {"q_num_heads": 4, "kv_num_heads": 2}, {}),
    ("RMSNormalization", [[2, 3, 4], [4]], {}, {}),
    ("Gelu", [[2, 3]], {}, {}),
    ("GridSample", [[1, 3, 8, 8], [1, 5, 6, 2]], {}, {}),
    ("RoiAlign", [[1, 3, 8, 8], [5, 4], [5]], {"output_height": 7, "output_width": 6}, {}),
]
