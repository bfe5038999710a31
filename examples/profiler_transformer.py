"""A Transformer of one's own: its blocks with their forward times, then every leaf layer with residual adds between.

    python examples/profiler_transformer.py
    python examples/profiler_transformer.py --layers 12 --width 768 --tokens 512
"""

import argparse

import torch
from opscope import Profiler
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attention(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, words=1000, width=128, heads=4, layers=4, tokens=256):
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Embedding(tokens, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids):
        x = self.embed(ids) + self.place(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("layers", 4), ("width", 128), ("tokens", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--export", default="transformer_profile", metavar="BASE")
    options = parser.parse_args()

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Transformer(width=options.width, layers=options.layers, tokens=options.tokens).eval().to(device)
    ids = torch.randint(1000, (1, options.tokens), device=device)

    for granularity in ("module", "layer"):
        prof = Profiler(model, granularity=granularity, token_kwarg="ids", auto_profile=False)
        prof.profile_once(ids)
        print(f"==== By {granularity} ====")
        prof.graph.stats()
    prof.profile_detail(ids)
    for path in prof.export(options.export, overwrite_module=True):
        print("wrote", path)


if __name__ == "__main__":
    main()
