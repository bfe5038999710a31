"""Layers whose calls `tools/calibration_calls.py` takes: each draws its own sizes."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch import nn

Case = tuple[nn.Module, tuple[Any, ...]]
draw = random.Random(0)
device = "cuda"  # that calls are for
odd = 0.25  # part of the sizes that are no multiple of 8


def width() -> int:
    """Mostly multiples of 8, as people choose them; a fourth, or what --odd says, of any size and any alignment."""
    size = int(2 ** draw.uniform(3.5, 12.5 if device == "cuda" else 11.6))
    if draw.random() < odd:
        step = draw.choice([1, 1, 1, 2, 4])
        return max(step, size // step * step)
    return max(8, size // 8 * 8)


def some(*sizes: int) -> int:
    return draw.choice(sizes)


def near(*sizes: int) -> int:
    """One of them; or, where sizes are odd, any between the half and the double of one."""
    size = draw.choice(sizes)
    return max(1, round(size * 2 ** draw.uniform(-1, 1))) if draw.random() < odd - 0.25 else size


def length() -> int:
    if device == "cpu":
        return near(1, 7, 16, 32, 49, 64, 77, 100, 128, 128, 128, 196, 197, 256, 333, 384, 512)
    return near(1, 7, 16, 17, 49, 50, 64, 77, 100, 128, 196, 197, 256, 333, 512, 577, 777, 1024, 1500, 2048, 4096)


def batch() -> int:
    if device == "cpu":
        return near(1, 1, 1, 1, 1, 1, 2, 3, 4, 8)
    return near(1, 1, 2, 3, 4, 5, 8, 8, 12, 16, 24, 32, 48, 64)


class Attention(nn.Module):
    """Queries, keys and values, their product, and what follows: with a mask or without, causal or not, grouped heads."""

    def __init__(self, heads: int, key_heads: int, head: int, mask: str) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head, self.mask = heads, key_heads, head, mask
        self.query = nn.Linear(heads * head, heads * head, bias=draw.random() < 0.5)
        self.key = nn.Linear(heads * head, key_heads * head)
        self.value = nn.Linear(heads * head, key_heads * head)
        self.output = nn.Linear(heads * head, heads * head)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, places, _ = x.shape
        q = self.query(x).view(rows, places, self.heads, self.head).transpose(1, 2)
        k = self.key(x).view(rows, places, self.key_heads, self.head).transpose(1, 2)
        v = self.value(x).view(rows, places, self.key_heads, self.head).transpose(1, 2)
        if self.key_heads != self.heads:
            k, v = (t.repeat_interleave(self.heads // self.key_heads, 1) for t in (k, v))
        if self.mask == "written out":
            scores = q @ k.transpose(-2, -1) / self.head**0.5
            mixed = scores.softmax(-1) @ v
        else:
            mask = torch.zeros(rows, 1, places, places, dtype=x.dtype, device=x.device) if self.mask == "mask" else None
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.mask == "causal")
        return self.output(mixed.transpose(1, 2).reshape(rows, places, -1))


class Rotary(nn.Module):
    def __init__(self, heads: int, head: int) -> None:
        super().__init__()
        self.heads, self.head = heads, head

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        x = x.view(x.shape[0], x.shape[1], self.heads, self.head).transpose(1, 2)
        first, second = x.chunk(2, -1)
        turned = torch.cat((-second, first), -1)
        return x * cosine + turned * sine


class Root(nn.Module):
    """A norm by the root of the mean square, as language models write it out."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class Mixed(nn.Module):
    """Elements one by one, added, scaled, joined and cut apart."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(size)), nn.Parameter(torch.zeros(size))
        self.acts = nn.ModuleList(
            draw.sample(
                [
                    nn.GELU(),
                    nn.SiLU(),
                    nn.ReLU(),
                    nn.Sigmoid(),
                    nn.Tanh(),
                    nn.Hardswish(),
                    nn.LeakyReLU(),
                    nn.ELU(),
                    nn.Softplus(),
                    nn.GELU("tanh"),
                    nn.ReLU6(),
                    nn.Hardsigmoid(),
                ],
                4,
            )
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.scale + self.shift
        for act in self.acts:
            y = act(y) + x
        a, b = (torch.cat((y, x), -1)).chunk(2, -1)
        z = torch.stack((a * 2.0, b - 1.0), 1).mean(1)
        z = torch.where(z > 0, z, x).clamp(-3.0, 3.0) / (x.abs() + 1.0)
        z = z.exp().sqrt() * torch.rsqrt(y * y + 1.0) - z.sin() * z.cos()
        z = z.masked_fill(z > 2.0, 0.0) ** 2
        return z.transpose(-1, -2).contiguous().sum(-1) + z.amax(-2) + z.float().to(x.dtype).std(-2)


class Net(nn.Module):
    """A layer, so that its weights are weights; several inputs by place."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, *x: Any) -> Any:
        y = self.net(*x)
        return y[0] if isinstance(y, tuple) else y


class Loss(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.head = nn.Linear(64, classes)

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(self.head(x).flatten(0, -2), target.flatten())


def even(size: int) -> int:
    """A multiple of 8, or where sizes are odd of 1, 2 or 4."""
    step = draw.choice([1, 2, 4, 8]) if draw.random() < odd - 0.25 else 8
    return max(step, size // step * step)


# --- cases: each draws its own sizes


def mlp() -> Case:
    rows, sizes = batch() * some(1, 1, length()), [width() for _ in range(some(2, 3, 4))]
    layers: list[nn.Module] = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b, bias=draw.random() < 0.7), draw.choice([nn.ReLU(), nn.GELU(), nn.SiLU()])]
    return nn.Sequential(*layers), (torch.empty(rows, sizes[0]),)


def vocabulary() -> Case:
    classes = near(1000, 8192, 30522, 32000, 50257, 51200, 65537, 128256, 151936)
    return Net(Loss(classes)), (torch.empty(some(1, 2, 4), some(64, 128, 512), 64), torch.empty(0, dtype=torch.int64))


def attention() -> Case:
    head = near(32, 40, 48, 64, 64, 64, 72, 80, 96, 128, 128, 256)
    heads = near(2, 3, 4, 6, 8, 12, 16, 20, 24, 32)
    key_heads = draw.choice([h for h in (1, 2, 4, 8, heads) if heads % h == 0])
    places = length()
    rows = max(1, min(batch(), 2**16 // (places * max(1, heads // 8))))
    return Attention(heads, key_heads, head, draw.choice(["none", "causal", "mask", "written out"])), (
        torch.empty(rows, places, heads * head),
    )


class Biased(nn.Module):
    """Attention with a table of positions added: turned round as it was looked up, or copied; between one sequence or two."""

    def __init__(self, heads: int, head: int, turned: bool) -> None:
        super().__init__()
        self.heads, self.head, self.turned = heads, head, turned
        self.query, self.key, self.value = (nn.Linear(heads * head, heads * head, bias=False) for _ in range(3))

    def forward(self, x: torch.Tensor, y: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part.view(part.shape[0], -1, self.heads, self.head).transpose(1, 2) for part in (self.query(x), self.key(y), self.value(y))
        )
        bias = table.permute(2, 0, 1)[None]
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias if self.turned else bias.contiguous(), scale=1.0)
        return mixed.transpose(1, 2).reshape(x.shape)


def biased() -> Case:
    heads, head = near(2, 4, 6, 8, 12, 16), even(near(16, 32, 40, 48, 64, 64, 80, 128))
    places = min(length(), 1024)
    keys = draw.choice([places, min(length(), 1024)])
    rows = max(1, min(batch(), 2**14 // max(places, keys)))
    size = heads * head
    return Biased(heads, head, draw.random() < 0.4), (
        torch.empty(rows, places, size),
        torch.empty(rows, keys, size),
        torch.empty(places, keys, heads),
    )


def scan() -> Case:
    """Steps of a state, each on slices, as state-space models and recurrences written out have them."""
    rows, channels, places, state = near(1, 2, 4, 8, 16), min(width(), 2048), near(4, 16, 64), near(1, 4, 12, 16, 16, 64)

    class Scan(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
            h = torch.zeros_like(a[:, :, 0])
            found = []
            for i in range(2):
                h = a[:, :, i] * h + b[:, :, i]
                found.append(torch.matmul(h, c[:, i].unsqueeze(-1))[:, :, 0])
                h = torch.tanh(h) if draw.random() < 0.3 else h
            return torch.stack(found, -1)

    shape = (rows, channels, places, state)
    return Scan(), (torch.empty(shape), torch.empty(shape), torch.empty(rows, places, state))


def decode() -> Case:
    """One token against a cache."""
    head, heads = near(64, 64, 96, 128, 128), near(4, 8, 12, 16, 32)
    key_heads = draw.choice([h for h in (1, 2, 4, 8, heads) if heads % h == 0])
    past, rows = near(128, 500, 640, 1024, 2048, 4096, 8192), near(1, 2, 4, 8, 16, 32)

    class Step(nn.Module):
        def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
            k, v = torch.cat((k, new), 2), torch.cat((v, new), 2)
            return nn.functional.scaled_dot_product_attention(q, k, v, enable_gqa=key_heads != heads).transpose(1, 2).reshape(rows, 1, -1)

    shape = (rows, key_heads, past, head)
    return Step(), (torch.empty(rows, heads, 1, head), torch.empty(shape), torch.empty(shape), torch.empty(rows, key_heads, 1, head))


def block() -> Case:
    head = near(32, 48, 64, 64, 80, 128)
    heads = near(2, 4, 6, 8, 12, 16, 20)
    size, places = head * heads, length()
    rows = max(1, min(batch(), 2**16 // places))
    norm = draw.choice([nn.LayerNorm, Root])
    inner = draw.choice([4 * size, int(2.7 * size) // 8 * 8, width()])
    layers = [
        norm(size),
        Attention(heads, heads, head, draw.choice(["none", "causal"])),
        nn.Dropout(0.1),
        norm(size),
        nn.Linear(size, inner),
        draw.choice([nn.GELU(), nn.SiLU()]),
        nn.Linear(inner, size),
    ]
    return nn.Sequential(*layers), (torch.empty(rows, places, size),)


def rotary() -> Case:
    heads, head, places = near(4, 8, 16, 32), 2 * near(32, 40, 48, 64), length()
    return Rotary(heads, head), (
        torch.empty(some(1, 2, 8), places, heads * head),
        torch.empty(1, 1, places, head),
        torch.empty(1, 1, places, head),
    )


def mixed() -> Case:
    size, places = width(), length()
    rows = max(1, min(batch(), 2**25 // (size * places)))
    return Mixed(size), (torch.empty(rows, places, size),)


def norms() -> Case:
    size, places = width(), length()
    rows = max(1, min(batch(), 2**26 // (size * places)))
    return nn.Sequential(nn.LayerNorm(size), Root(size), nn.Softmax(-1), nn.RMSNorm(size), nn.LogSoftmax(-1)), (
        torch.empty(rows, places, size),
    )


def windows() -> Case:
    """Windows of an image, cut out and put back, as Swin has them."""
    window, heads, head = near(4, 7, 8, 12), near(2, 3, 4, 6, 12), near(32, 32, 20)
    side, size = window * some(1, 2, 4, 8), heads * head
    rows = max(1, min(batch(), 2**24 // (side * side * size)))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.attend = Attention(heads, heads, head, draw.choice(["written out", "mask"]))
            self.roll = draw.random() < 0.5

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.roll:
                x = torch.roll(x, (-window // 2, -window // 2), (1, 2))
            n = side // window
            y = x.view(rows, n, window, n, window, size).transpose(2, 3).reshape(rows * n * n, window * window, size)
            y = self.attend(y)
            y = y.view(rows, n, n, window, window, size).permute(0, 1, 3, 2, 4, 5).contiguous().view(rows, side, side, size)
            return x + torch.cat((y[:, 0::2], y[:, 1::2]), 1)

    return Block(), (torch.empty(rows, side, side, size),)


def recurrent() -> Case:
    size, hidden, steps = min(width(), 1024), min(width(), 1024), near(2, 10, 35, 64, 100, 200)
    kind = draw.choice([nn.LSTM, nn.LSTM, nn.GRU, nn.RNN])
    return Net(kind(size, hidden, some(1, 1, 2), batch_first=draw.random() < 0.6, bidirectional=draw.random() < 0.3)), (
        torch.empty(near(1, 4, 16, 32), steps, size),
    )


def lookup() -> Case:
    rows, size = near(512, 1000, 30522, 32000, 50257, 128256, 1_000_000), min(width(), 2048)
    if rows * size > 2**28:
        size = 64
    places = (some(1, 2, 8, 32), length())
    if draw.random() < 0.3:
        return Net(nn.EmbeddingBag(rows, min(size, 256), mode="sum")), (
            torch.empty(near(64, 256, 1024, 4096), near(1, 4, 20), dtype=torch.int64),
        )
    return Net(nn.Embedding(rows, size)), (torch.empty(*places, dtype=torch.int64),)


def gathers() -> Case:
    rows, size, picked = near(64, 512, 4096, 32768), min(width(), 2048), near(16, 256, 4096)

    class Gather(nn.Module):
        def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
            y = x[i] + x.index_select(0, i)
            z = torch.zeros_like(x).index_add_(0, i, y)
            best, at = z.topk(4, -1)
            order = x.argsort(-1)
            return (
                best.sum()
                + at.float().sum()
                + y.cumsum(-1).sum()
                + order.float().sum()
                + x.gather(1, order).sum()
                + z.argmax(-1).float().sum()
            )

    return Gather(), (torch.empty(rows, size), torch.empty(picked, dtype=torch.int64))


def batched() -> Case:
    count, m, n, k = near(1, 4, 8, 16, 48, 64, 128, 256, 512), min(width(), 2048), min(width(), 2048), min(width(), 2048)
    while count * max(m * n, m * k, n * k) > 2**27:
        count = max(1, count // 2)
        m = max(8, m // 2)
        n = max(8, n // 2)

    class Products(nn.Module):
        def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.bmm(a, b) if draw.random() < 0.5 else torch.einsum("bmk,bkn->bmn", a, b)

    return Products(), (torch.empty(count, m, k), torch.empty(count, k, n))


def masks() -> Case:
    """What language models make before their layers: positions, angles, masks."""
    rows, places, head = near(1, 2, 4, 16), length(), near(64, 128)

    class Before(nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            at = torch.arange(places, device=ids.device)
            angles = at[None, :, None].float() * torch.arange(0, head, 2, device=ids.device).float()[None, None, :]
            both = torch.cat((angles, angles), -1)
            mask = torch.full((places, places), -1e9, device=ids.device).triu(1)
            keep = (ids != 0)[:, None, None, :].float()
            return both.cos().sum() + both.sin().sum() + ((1.0 - keep) * -1e4 + mask).sum() + (at[None, :] <= at[:, None]).float().sum()

    return Before(), (torch.empty(rows, places, dtype=torch.int64),)


def encoder_layers() -> Case:
    heads, head, places = near(2, 4, 6, 8, 12), near(16, 32, 48, 64, 64), length()
    size = heads * head
    rows = max(1, min(batch(), 2**15 // places))
    settings: dict[str, Any] = dict(
        batch_first=True, dropout=draw.choice([0.0, 0.1]), norm_first=draw.random() < 0.5, activation=draw.choice(["relu", "gelu"])
    )
    inner = draw.choice([4 * size, width()])
    if draw.random() < 0.3:
        return nn.TransformerDecoderLayer(size, heads, inner, **settings), (
            torch.empty(rows, places, size),
            torch.empty(rows, length(), size),
        )
    return nn.TransformerEncoderLayer(size, heads, inner, **settings), (torch.empty(rows, places, size),)


class Graph(nn.Module):
    """Neighbours' features summed up by edges, or by a matrix."""

    def __init__(self, size: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, out)

    def forward(self, x: torch.Tensor, edges: torch.Tensor, matrix: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        summed = torch.zeros_like(y).index_add(0, edges[0], y[edges[1]])
        spread = torch.zeros_like(y).scatter_add(0, edges[0][:, None].expand(-1, y.shape[1]), y[edges[1]])
        return torch.relu(summed + spread + matrix.to(y.dtype) @ y)


def graphs() -> Case:
    nodes, size, out = near(200, 1000, 3000, 10000), min(width(), 1024), min(width(), 1024)
    return Graph(size, out), (
        torch.empty(nodes, size),
        torch.empty(2, near(1000, 10000, 100000), dtype=torch.int64),
        torch.empty(nodes, nodes),
    )


def towers() -> Case:
    """Tables looked up and multiplied with each other, as recommenders do."""
    features, size, rows = near(4, 8, 16, 26), near(16, 32, 64, 64, 128), near(128, 512, 2048, 2048)

    class Interact(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            entries = near(1000, 40000, 200000)
            self.tables = nn.ModuleList(nn.EmbeddingBag(entries, size, mode="sum") for _ in range(features))
            self.below, self.above = nn.Linear(13, size), nn.Linear((features + 1) ** 2, width())

        def forward(self, dense: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            parts = [self.below(dense), *(table(ids[:, i]) for i, table in enumerate(self.tables))]
            both = torch.stack(parts, 1)
            return self.above(torch.bmm(both, both.transpose(1, 2)).flatten(1))

    return Interact(), (torch.empty(rows, 13), torch.empty(rows, features, near(1, 1, 4, 6), dtype=torch.int64))


def many_parameters() -> Case:
    """For the steps of optimizers, which go over lists of tensors."""
    size, count = min(width(), 700), near(4, 8, 16, 40)
    layers = [
        layer
        for _ in range(count)
        for layer in (nn.Linear(size, size, bias=draw.random() < 0.7), draw.choice([nn.LayerNorm(size), nn.ReLU()]))
    ]
    return nn.Sequential(*layers), (torch.empty(near(8, 32), size),)


def targets(case: Case) -> Case:
    model, inputs = case
    if isinstance(model, Net) and isinstance(model.net, Loss):
        return model, (inputs[0], torch.empty(*inputs[0].shape[:-1], dtype=torch.int64))
    return case
