"""Networks in plain torch for bench/predict_cases.py: kinds of models that torchvision and transformers do not have.

Each takes its inputs by name and its sizes from the case.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def _conv_block(before: int, after: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
        nn.Conv2d(after, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, width: int, levels: int = 4, classes: int = 5) -> None:
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.first = _conv_block(3, width)
        self.down = nn.ModuleList(_conv_block(a, b) for a, b in zip(widths[:-1], widths[1:], strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(list(zip(widths[:-1], widths[1:], strict=True))))
        self.join = nn.ModuleList(_conv_block(2 * a, a) for a in reversed(widths[:-1]))
        self.last = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        kept = []
        for block in self.down:
            kept.append(x)
            x = block(functional.max_pool2d(x, 2))
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat((kept.pop(), up(x)), 1))
        out: Tensor = self.last(x)
        return out


class DiffusionUNet(nn.Module):
    """Residual blocks with group norm and the time step's embedding, and attention at the lowest resolution."""

    def __init__(self, width: int, groups: int, heads: int) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))
        self.first = nn.Conv2d(4, width, 3, padding=1)
        self.down = nn.ModuleList([_TimedBlock(width, width, groups), _TimedBlock(width, 2 * width, groups), _TimedBlock(2 * width, 3 * width, groups)])
        self.smaller = nn.ModuleList(nn.Conv2d(c, c, 3, stride=2, padding=1) for c in (width, 2 * width))
        self.attention = nn.MultiheadAttention(3 * width, heads, batch_first=True)
        self.norm = nn.GroupNorm(groups, 3 * width)
        self.up = nn.ModuleList([_TimedBlock(5 * width, 2 * width, groups), _TimedBlock(3 * width, width, groups)])
        self.last = nn.Conv2d(width, 4, 3, padding=1)
        for timed in (*self.down, *self.up):
            timed.takes(4 * width)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        time = self.time(time)
        a = self.down[0](self.first(x), time)
        b = self.down[1](self.smaller[0](a), time)
        c = self.down[2](self.smaller[1](b), time)
        rows = self.norm(c).flatten(2).transpose(1, 2)
        c = c + self.attention(rows, rows, rows, need_weights=False)[0].transpose(1, 2).reshape(c.shape)
        b = self.up[0](torch.cat((functional.interpolate(c, size=b.shape[2:]), b), 1), time)
        a = self.up[1](torch.cat((functional.interpolate(b, size=a.shape[2:]), a), 1), time)
        out: Tensor = self.last(functional.silu(a))
        return out


class _TimedBlock(nn.Module):
    def __init__(self, before: int, after: int, groups: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, before), nn.GroupNorm(groups, after)
        self.conv1, self.conv2 = nn.Conv2d(before, after, 3, padding=1), nn.Conv2d(after, after, 3, padding=1)
        self.skip = nn.Conv2d(before, after, 1) if before != after else nn.Identity()
        self.after = after

    def takes(self, width: int) -> None:
        self.time = nn.Linear(width, self.after)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        h = self.conv1(functional.silu(self.norm1(x))) + self.time(functional.silu(time))[:, :, None, None]
        out: Tensor = self.conv2(functional.silu(self.norm2(h))) + self.skip(x)
        return out


class RecurrentLanguageModel(nn.Module):
    def __init__(self, layer: type[nn.RNNBase], vocabulary: int, width: int, hidden: int, layers: int, both_ways: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = layer(width, hidden, layers, batch_first=True, bidirectional=both_ways)  # type: ignore[arg-type]
        self.head = nn.Linear(hidden * (1 + both_ways), vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        logits: Tensor = self.head(self.rnn(self.embed(tokens))[0])
        return logits


def mlp(*widths: int, act: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in zip(widths[:-1], widths[1:], strict=True):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


class Mlp(nn.Module):
    def __init__(self, *widths: int, act: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.net = mlp(*widths, act=act)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out


class Dlrm(nn.Module):
    """Embedding bags of the sparse features, a network for the dense ones, and their products pair by pair."""

    def __init__(self, dense: int, tables: int, rows: int, width: int, bottom: tuple[int, ...], top: tuple[int, ...]) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows + 97 * table, width, mode="sum") for table in range(tables))
        self.bottom = mlp(dense, *bottom, width)
        self.top = mlp(width + (tables + 1) * tables // 2, *top, 1)
        self.pairs: Tensor
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1), persistent=False)

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        x = self.bottom(dense)
        rows = torch.stack([x, *(table(ids) for table, ids in zip(self.tables, sparse.unbind(1), strict=True))], 1)
        products = torch.bmm(rows, rows.transpose(1, 2))
        out: Tensor = self.top(torch.cat((x, products[:, self.pairs[0], self.pairs[1]]), 1))
        return out


class TwoTowers(nn.Module):
    """Neural collaborative filtering: users and items, their product and a network over both."""

    def __init__(self, users: int, items: int, width: int) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(users, width), nn.Embedding(items, width)
        self.net = mlp(2 * width, 3 * width, width, width // 2)
        self.out = nn.Linear(width + width // 2, 1)

    def forward(self, user: Tensor, item: Tensor) -> Tensor:
        u, i = self.users(user), self.items(item)
        out: Tensor = torch.sigmoid(self.out(torch.cat((u * i, self.net(torch.cat((u, i), -1))), -1)))
        return out


class Video(nn.Module):
    """3-D convolutions, one of them in groups and one with a stride in time."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv3d(3, width, (3, 5, 5), stride=(1, 2, 2), padding=(1, 2, 2)), nn.GroupNorm(4, width), nn.SiLU(),
            nn.Conv3d(width, 2 * width, 3, padding=1), nn.GroupNorm(4, 2 * width), nn.SiLU(), nn.MaxPool3d(2),
            nn.Conv3d(2 * width, 2 * width, 3, padding=1, groups=4), nn.BatchNorm3d(2 * width), nn.SiLU(),
            nn.Conv3d(2 * width, 3 * width, (3, 1, 1), stride=(2, 1, 1), padding=(1, 0, 0)), nn.BatchNorm3d(3 * width), nn.SiLU(),
            nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(3 * width, 37),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out


class Audio(nn.Module):
    """A 1-D encoder with dilated residual layers, and back up to samples."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Conv1d(1, width, 16, stride=5, padding=8), nn.ELU(), nn.Conv1d(width, 2 * width, 8, stride=4, padding=4))
        self.dilated = nn.ModuleList(nn.Conv1d(2 * width, 4 * width, 3, padding=1 << layer, dilation=1 << layer) for layer in range(layers))
        self.mix = nn.ModuleList(nn.Conv1d(2 * width, 2 * width, 1) for _ in range(layers))
        self.norms = nn.ModuleList(nn.GroupNorm(1, 2 * width) for _ in range(layers))
        self.decode = nn.Sequential(nn.ConvTranspose1d(2 * width, width, 8, stride=4, padding=2), nn.ELU(), nn.ConvTranspose1d(width, 1, 15, stride=5, padding=5))

    def forward(self, wave: Tensor) -> Tensor:
        x = self.encode(wave)
        for dilated, mix, norm in zip(self.dilated, self.mix, self.norms, strict=True):
            x = x + mix(functional.glu(dilated(norm(x)), 1))
        out: Tensor = torch.tanh(self.decode(x))
        return out


class Encoder(nn.Module):
    """torch.nn's own transformer encoder. `fused` leaves it as it is, with the single op that it runs in eval mode."""

    def __init__(self, vocabulary: int, width: int, heads: int, inner: int, layers: int, fused: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, heads, inner, activation="gelu" if fused else functional.silu, batch_first=True, norm_first=not fused)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.encoder(self.embed(tokens))
        return out


class Grouped(nn.Module):
    """Convolutions in groups, dilated, per channel, with kernels that are not square, and transposed ones."""

    def __init__(self, width: int, groups: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, width, 7, stride=3, padding=3), nn.PReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=2, dilation=2, groups=groups), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.1),
            nn.Conv2d(2 * width, 2 * width, (1, 7), padding=(0, 3)), nn.Conv2d(2 * width, 2 * width, (7, 1), padding=(3, 0)), nn.Hardswish(),
            nn.Conv2d(2 * width, 2 * width, 5, padding=2, groups=2 * width), nn.Conv2d(2 * width, 3 * width, 1), nn.InstanceNorm2d(3 * width), nn.GELU(),
            nn.ConvTranspose2d(3 * width, width, 4, stride=2, padding=1), nn.ReLU6(), nn.ConvTranspose2d(width, width, 3, stride=2, groups=groups), nn.Softplus(),
            nn.Conv2d(width, 6, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out


class Generator(nn.Module):
    """Transposed convolutions from a vector to an image."""

    def __init__(self, seed: int, width: int) -> None:
        super().__init__()
        widths = (8 * width, 4 * width, 2 * width, width)
        layers: list[nn.Module] = [nn.ConvTranspose2d(seed, widths[0], 5, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()]
        for a, b in zip(widths[:-1], widths[1:], strict=True):
            layers += [nn.ConvTranspose2d(a, b, 4, stride=2, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
        self.net = nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, stride=2, padding=1), nn.Tanh())

    def forward(self, seed: Tensor) -> Tensor:
        image: Tensor = self.net(seed[:, :, None, None])
        return image


class GraphConvolution(nn.Module):
    """Layers of nodes that gather from their neighbours, over a dense adjacency, with attention in the last."""

    def __init__(self, features: int, width: int, layers: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, width) for a in (features, *[width] * (layers - 1)))
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.last = nn.Linear(width, classes)

    def forward(self, nodes: Tensor, adjacency: Tensor) -> Tensor:
        normal = adjacency / adjacency.sum(-1, keepdim=True)
        for layer in self.layers:
            nodes = torch.relu(normal @ layer(nodes))
        scores = (self.query(nodes) @ self.key(nodes).transpose(-1, -2)).masked_fill(adjacency < 0.5, -1e4)
        out: Tensor = torch.log_softmax(self.last(torch.softmax(scores, -1) @ nodes), -1)
        return out


class Mixer(nn.Module):
    """Two networks in turn: over the patches and over the channels."""

    def __init__(self, patch: int, patches: int, width: int, layers: int) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, width, patch, stride=patch)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.across = nn.ModuleList(mlp(patches, 2 * patches + 3, patches, act=nn.GELU) for _ in range(layers))
        self.within = nn.ModuleList(mlp(width, 3 * width + 5, width, act=nn.GELU) for _ in range(layers))
        self.head = nn.Linear(width, 411)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        for at, (across, within) in enumerate(zip(self.across, self.within, strict=True)):
            x = x + across(self.norms[2 * at](x).transpose(1, 2)).transpose(1, 2)
            x = x + within(self.norms[2 * at + 1](x))
        out: Tensor = self.head(x.mean(1))
        return out


class SuperResolution(nn.Module):
    def __init__(self, width: int, blocks: int, scale: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)) for _ in range(blocks))
        self.last = nn.Sequential(nn.Conv2d(width, width * scale**2, 3, padding=1), nn.PixelShuffle(scale), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        first = x = self.first(x)
        for block in self.blocks:
            x = x + 0.1 * block(x)
        out: Tensor = self.last(x + first)
        return out


class Points(nn.Module):
    """A network over each point, and the most of all of them."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        widths = (3, width, 2 * width, 16 * width)
        self.each = nn.Sequential(*(part for a, b in zip(widths[:-1], widths[1:], strict=True) for part in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())))
        self.head = mlp(16 * width, 5 * width, classes)

    def forward(self, points: Tensor) -> Tensor:
        out: Tensor = self.head(self.each(points).amax(-1))
        return out


class LinearAttention(nn.Module):
    """Attention without a softmax over keys: two small products by einsum in each layer."""

    def __init__(self, width: int, heads: int, layers: int, vocabulary: int) -> None:
        super().__init__()
        self.heads = heads
        self.embed = nn.Embedding(vocabulary, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(layers))
        self.nets = nn.ModuleList(mlp(width, 2 * width + 7, width, act=nn.GELU) for _ in range(layers))

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for at, (qkv, net) in enumerate(zip(self.qkv, self.nets, strict=True)):
            q, k, v = qkv(self.norms[2 * at](x)).unflatten(-1, (3, self.heads, -1)).unbind(2)
            q, k = functional.elu(q) + 1, functional.elu(k) + 1
            kv = torch.einsum("bnhd,bnhe->bhde", k, v)
            over = torch.einsum("bnhd,bhd->bnh", q, k.sum(1))
            x = x + (torch.einsum("bnhd,bhde->bnhe", q, kv) / over[..., None]).flatten(2)
            x = x + net(self.norms[2 * at + 1](x))
        out: Tensor = x.mean(1)
        return out


class BigVocabulary(nn.Module):
    """Few layers, and a softmax over many words."""

    def __init__(self, vocabulary: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.net = mlp(width, 2 * width, width, act=nn.GELU)
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        return torch.log_softmax(self.head(self.norm(x + self.net(x))), -1)


class Pinn(nn.Module):
    """A network of coordinates with a tanh after each layer, and sines of the inputs."""

    def __init__(self, coordinates: int, waves: int, width: int, layers: int) -> None:
        super().__init__()
        self.waves = nn.Linear(coordinates, waves)
        self.net = mlp(2 * waves, *[width] * layers, 1, act=nn.Tanh)

    def forward(self, x: Tensor) -> Tensor:
        angle = self.waves(x)
        out: Tensor = self.net(torch.cat((torch.sin(angle), torch.cos(angle)), -1))
        return out
