"""Models whose sizes or branches are data: captured at the largest size, or by a stated assumption."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from models import Case, case

X = torch.randn(3, 8)


class MaskedHead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.score, self.head = nn.Linear(8, 1), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keep = self.score(x).squeeze(-1) > 0
        out = x.new_zeros(len(x), 4)
        if keep.any():
            out[keep] = self.head(x[keep])
        return out


@case
def masks() -> Case:
    return Case(
        MaskedHead(), (X,),
        macs=3 * 8 + 3 * 8 * 4,
        ops=("linear", "gt", "any", "index", "linear", "index_put_"),
        notes=("--limit nonzero=N", "assumed to hold"),
    )


class Detector(nn.Module):
    """A dense head, a threshold, nms and a second head on what is left."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.boxes, self.refine = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 5, 1), nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> list[dict[str, torch.Tensor]]:
        found = self.boxes(self.conv(x).relu()).flatten(2).mT
        return [self.select(image) for image in found]

    def select(self, rows: torch.Tensor) -> dict[str, torch.Tensor]:
        rows = rows[rows[:, 4].sigmoid() > 0.5]
        kept = torch.ops.torchvision.nms(rows[:, :4], rows[:, 4], 0.5)[:10]
        boxes = self.refine(rows[kept])
        return {"boxes": boxes, "area": torch.stack([box.prod() for box in boxes])}


@case
def detector() -> Case:
    macs = 64 * 27 * 8 + 64 * 8 * 5 + 10 * 5 * 4
    return Case(
        Detector().eval(), (torch.randn(1, 3, 8, 8),),
        macs=macs,
        ops=("conv2d", "index", "nms", "linear", "stack"),
        notes=("--limit nms=N",),
    )


class Experts(nn.Module):
    """The experts that each token asks for, found with where, one after the other."""

    def __init__(self, experts: int = 4, per_token: int = 2) -> None:
        super().__init__()
        self.router = nn.Linear(8, experts)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(experts))
        self.per_token = per_token

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = self.router(x).softmax(-1).topk(self.per_token)
        hits = F.one_hot(chosen, len(self.experts)).permute(2, 1, 0)
        out = torch.zeros_like(x)
        for index in (hits.sum((-1, -2)) > 0).nonzero().flatten().tolist():
            slot, token = torch.where(hits[index])
            out.index_add_(0, token, self.experts[index](x[token]) * weights[token, slot, None])
        return out


@case
def experts() -> Case:
    tokens = torch.randn(6, 8)
    return Case(
        Experts(), (tokens,),
        macs=6 * 8 * 4 + 6 * 2 * 64,
        ops=("linear", "topk", "linear", "index_add_"),
        notes=("balanced routing",),
    )


class TopkLoop(nn.Module):
    """Takes the best few one by one and looks at where they were."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.layer(x).sum(-1)
        out = x[:0]
        for index in scores.topk(2).indices.tolist():
            out = torch.cat([out, self.layer(x[index : index + 1])])
        return out


@case
def topk_loop() -> Case:
    return Case(TopkLoop(), (X,), macs=3 * 64 + 2 * 64, ops=("linear", "topk", "linear", "cat", "linear", "cat"))


class Distinct(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        values, inverse, counts = torch.unique(x.round(), return_inverse=True, return_counts=True)
        sums = x.new_zeros(len(values)).scatter_add_(0, inverse.flatten(), x.flatten())
        return values[inverse].sum(-1), sums / counts


@case
def distinct_values() -> Case:
    return Case(Distinct(), (X,), macs=0, ops=("_unique2", "scatter_add_", "index"), notes=("--limit unique=N",))


class Durations(nn.Module):
    """Repeats each row as often as it says itself, as text-to-speech models do."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.repeat_interleave(x[:, 0].abs().long(), dim=0) * 2


@case
def durations() -> Case:
    return Case(Durations(), (X,), error="repeat_interleave needs values")


class Halting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while float(x.abs().max()) > 1e-3:
            x = self.layer(x) * 0.1
        return x


@case
def loop_until_small() -> Case:
    return Case(Halting(), (X,), error="needs values")


class BeamSearch(nn.Module):
    """Keeps the best beams; which ones changes no shape."""

    def __init__(self, beams: int = 3, words: int = 11) -> None:
        super().__init__()
        self.embedding, self.layer, self.out = nn.Embedding(words, 8), nn.GRUCell(8, 8), nn.Linear(8, words)
        self.beams, self.words = beams, words

    def forward(self, state: torch.Tensor) -> torch.Tensor:
        tokens, scores = torch.zeros(self.beams, 1, dtype=torch.long), torch.zeros(self.beams, 1)
        state = state.expand(self.beams, -1)
        for _ in range(4):
            state = self.layer(self.embedding(tokens[:, -1]), state)
            best = (scores + self.out(state).log_softmax(-1)).flatten().topk(self.beams)
            parents = best.indices // self.words
            tokens = torch.cat([tokens[parents], (best.indices % self.words)[:, None]], -1)
            state, scores = state[parents], best.values[:, None]
            if (tokens[:, -1] == self.words - 1).all():
                break
        return tokens


@case
def beam_search() -> Case:
    return Case(
        BeamSearch(), (torch.randn(1, 8),),
        macs=4 * 3 * (2 * 8 * 24 + 8 * 11),
        ops=("embedding", "gru_cell", "topk") * 4,
    )
