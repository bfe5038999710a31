"""Sequences of different lengths, one behind the other; ops without arithmetic; notes about experts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import opscope


class PackedLstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 8)

    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        packed, _ = self.lstm(pack_padded_sequence(x, lengths, enforce_sorted=True))
        return pad_packed_sequence(packed)[0]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_packing_is_known_to_compute_nothing(tracer: str, training: bool) -> None:
    profile = opscope.profile(PackedLstm(), (torch.rand(5, 3, 4), torch.tensor([5, 3, 2])), tracer=tracer, training=training)
    assert profile.coverage.unknown == 0, profile.coverage.unknown_ops
    if not training:
        assert profile.totals.macs == (5 + 3 + 2) * 32 * (4 + 8)


def test_questions_and_copies_compute_nothing() -> None:
    def forward(x: Tensor) -> Tensor:
        return torch.narrow_copy(x, 0, 1, 2)

    profile = opscope.profile(forward, torch.rand(4, 3))
    assert profile.coverage.unknown == 0 and profile.totals.flops == 0


def attend(q: Tensor, k: Tensor, v: Tensor, offsets: Tensor, longest: int) -> Tensor:
    return torch.ops.aten._flash_attention_forward(q, k, v, offsets, offsets, longest, longest, 0.0, False, False)[0]  # type: ignore[no-any-return]


def test_offsets_that_are_known_give_exact_work() -> None:
    tokens = [torch.rand(9, 4, 8, dtype=torch.float16) for _ in range(3)]
    offsets = torch.tensor([0, 2, 5, 9], dtype=torch.int32)
    profile = opscope.profile(attend, (*tokens, offsets, 4), tracer="static")
    assert profile.totals.macs == 4 * (2 * 2 + 3 * 3 + 4 * 4) * 16
    assert profile.coverage.exact == profile.totals.ops


def test_offsets_that_depend_on_data_give_an_upper_bound() -> None:
    def forward(q: Tensor, k: Tensor, v: Tensor, scores: Tensor) -> Tensor:
        offsets = (scores * 3).cumsum(0).to(torch.int32)
        return attend(q, k, v, offsets, 4)

    tokens = [torch.rand(9, 4, 8, dtype=torch.float16) for _ in range(3)]
    profile = opscope.profile(forward, (*tokens, torch.rand(4)), tracer="static")
    (op,) = [row for row in profile.ops if "attention" in row.op]
    assert op.macs == 4 * 9 * 4 * 16 and op.confidence == "upper_bound"


def test_varlen_attention() -> None:
    varlen = pytest.importorskip("torch.nn.attention.varlen")
    tokens = [torch.rand(9, 4, 8, dtype=torch.float16) for _ in range(3)]
    offsets = torch.tensor([0, 2, 5, 9], dtype=torch.int32)
    profile = opscope.profile(lambda q, k, v, o: varlen.varlen_attn(q, k, v, o, o, 4, 4), (*tokens, offsets), tracer="static")
    assert profile.totals.macs == 4 * 29 * 16 and profile.coverage.unknown == 0


@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_quantised_lstm(tracer: str) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(4, 8, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.lstm(x)[0]  # type: ignore[no-any-return]

    model = torch.ao.quantization.quantize_dynamic(Net(), {nn.LSTM})
    profile = opscope.profile(model, torch.rand(5, 3, 4), tracer=tracer)
    assert "aten::quantized_lstm" in {op.op for op in profile.ops}
    assert profile.coverage.unknown == 0, profile.coverage.unknown_ops
    assert profile.totals.macs == 15 * 32 * (4 + 8 + 8 + 8)
    assert profile.totals.weight_bytes == 32 * (4 + 8 + 8 + 8) + 2 * 64 * 4


def test_gradients_of_bilinear_cdist_and_ctc() -> None:
    class Losses(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.bilinear, self.labels = nn.Bilinear(3, 4, 5), nn.Linear(5, 6)

        def forward(self, a: Tensor, b: Tensor, targets: Tensor) -> Any:
            x = self.bilinear(a, b)
            scores = self.labels(x).log_softmax(-1).unsqueeze(1)
            loss = nn.functional.ctc_loss(scores, targets, [7], [2])
            return {"pairs": torch.cdist(x, x[:2], p=1.0).sum(), "loss": loss}

    inputs = (torch.rand(7, 3), torch.rand(7, 4), torch.tensor([[1, 2]]))
    profile = opscope.profile(Losses(), inputs, training=True)
    names = {op.op for op in profile.ops}
    assert {"aten::_trilinear", "aten::_ctc_loss_backward"} <= names
    assert profile.coverage.unknown == 0, profile.coverage.unknown_ops


# --- notes about experts


def notes_of(profile: opscope.Profile) -> str:
    return "\n".join(f"{note.op} {note.message}" for note in profile.diagnostics)


class Routed(nn.Module):
    """Experts by another name: as many modules as there are choices."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.layers = nn.Linear(8, 4), nn.ModuleList(nn.Linear(8, 8) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        chosen = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for index, layer in enumerate(self.layers):
            rows = (chosen == index).nonzero().flatten()
            out = out.index_add(0, rows, layer(x[rows]))
        return out


def test_experts_are_named() -> None:
    assert "balanced routing" in notes_of(opscope.profile(Routed(), torch.rand(8, 8), tracer="static"))


class Greedy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body, self.table = nn.Linear(8, 16), nn.Embedding(16, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.table(self.body(x).argmax(-1))  # type: ignore[no-any-return]


class Grouped(nn.Module):
    """A grouped product that has nothing to do with experts, beside a choice."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Linear(8, 3)

    def forward(self, x: Tensor, w: Tensor, ends: Tensor) -> Any:
        return torch._grouped_mm(x, w, offs=ends), self.score(x.float()).topk(1).indices


def test_choices_that_are_none_of_experts() -> None:
    greedy = notes_of(opscope.profile(Greedy(), torch.rand(4, 8), tracer="static"))
    assert "evenly spread" in greedy and "routing" not in greedy
    inputs = (torch.rand(16, 8, dtype=torch.bfloat16), torch.rand(2, 8, 8, dtype=torch.bfloat16), torch.tensor([4, 16], dtype=torch.int32))
    grouped = notes_of(opscope.profile(Grouped(), inputs, tracer="static"))
    assert "evenly spread" in grouped and "routing" not in grouped and "expert" not in grouped
