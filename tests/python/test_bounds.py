"""Sizes that depend on data: captured at their largest, flagged, and adjustable."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import opscope
from engine_helpers import called, graph_of, ops_of, outputs_of
from opscope.engine import abstract_run
from opscope.sources import torchvision_models

sys.path.insert(0, str(Path(__file__).parents[1]))
from models.data_dependent import Detector  # noqa: E402

X = torch.randn(3, 8)


def capture(model: Any, *args: Any, limits: dict[str, int] | None = None, device: Any = None) -> Any:
    return abstract_run.capture(model, args, {}, tracer="static", name="model", limits=limits, device=device)


def shapes_of(function: Callable[..., Any], *args: Any, limits: dict[str, int] | None = None, device: Any = None) -> Any:
    graph = json.loads(capture(called(function), *args, limits=limits, device=device).to_json())
    return [shape for shape, _ in outputs_of(graph)]


def notes_of(graph: Any, kind: str) -> list[tuple[str, str]]:
    return [(row["op"], row["message"]) for row in json.loads(graph.to_json())["diagnostics"] if row["kind"] == kind]


# --- the largest size of each op, which is the size a real run gives when everything is kept

ONES = torch.ones(3, 8)
MASK = ONES > 0
DISTINCT = torch.arange(24.0).view(3, 8)

FUNCTIONS: dict[str, tuple[Callable[[torch.Tensor], Any], torch.Tensor]] = {
    "nonzero": (torch.nonzero, ONES),
    "nonzero tuple": (lambda x: torch.nonzero(x, as_tuple=True), ONES),
    "argwhere": (torch.argwhere, ONES),
    "where": (lambda x: torch.where(x > 0), ONES),
    "mask": (lambda x: x[x > 0], ONES),
    "mask of rows": (lambda x: x[x[:, 0] > 0], ONES),
    "mask of columns": (lambda x: x[:, x[0] > 0], ONES),
    "mask and index": (lambda x: x[x[:, 0] > 0, torch.tensor([0, 1, 2])], ONES),
    "masked_select": (lambda x: x.masked_select(x > 0), ONES),
    "masked_select, broadcast": (lambda x: x.masked_select(x[:1] > 0), ONES),
    "assign one": (lambda x: x.clone().masked_fill_(x > 0, 2).index_put_((x > 0,), torch.tensor(0.0)), ONES),
    "assign": (lambda x: _assigned(x), ONES),
    "unique": (torch.unique, DISTINCT),
    "unique, all": (lambda x: torch.unique(x, return_inverse=True, return_counts=True), DISTINCT),
    "unique, dim": (lambda x: torch.unique(x, dim=1, return_inverse=True, return_counts=True), DISTINCT),
    "unique_consecutive": (lambda x: torch.unique_consecutive(x, return_inverse=True), DISTINCT),
    "unique_consecutive, dim": (lambda x: torch.unique_consecutive(x, dim=0, return_counts=True), DISTINCT),
    "count": (lambda x: torch.zeros(int((x > 0).sum())), ONES),
    "count by row": (lambda x: [torch.zeros(int(n)) for n in (x > 0).sum(1)], ONES),
    "counts": (lambda x: x.new_zeros((x > 0).sum(1).tolist()), ONES),
    "count_nonzero": (lambda x: torch.zeros(x.count_nonzero().item()), ONES),
    "longest": (lambda x: torch.arange((x > 0).sum(1).max().item()), ONES),
    "larger count": (lambda x: torch.zeros(torch.max((x[:1] > 0).sum(), (x > 0).sum()).item()), ONES),
    "maximum": (lambda x: torch.zeros(torch.maximum((x[:1] > 0).sum(), (x > 0).sum()).item()), ONES),
    "smaller count": (lambda x: torch.zeros(torch.min((x > 0).sum(), (x[:1] > 0).sum()).item()), ONES),
    "difference": (lambda x: torch.zeros(((x > 0).sum() - (x > 1).sum()).item()), ONES),
    "all but one": (lambda x: torch.zeros(((x > 0).sum() - 1).item()), ONES),
    "difference of differences": (
        lambda x: torch.zeros(((x > 0).sum() - ((x > 2).sum() - (x > 0).sum())).item()),
        ONES,
    ),
    "product": (lambda x: torch.zeros(((x > 0).sum(1)[0] * ((x > 0).sum(0)[0] - (x > 1).sum())).item()), ONES),
    "condition as a number": (lambda x: torch.zeros(((x > 0).sum() > 3).long().item()), ONES),
    "condition of a count": (lambda x: torch.zeros((x > 0).sum().bool().long().item()), ONES),
    "bincount": (lambda x: torch.bincount(x.long().flatten(), minlength=5), ONES),
}


def _assigned(x: torch.Tensor) -> torch.Tensor:
    made = torch.zeros_like(x)
    made[x > 0] = x[x > 0] * 2
    return made


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_largest_size_is_that_of_keeping_all(name: str) -> None:
    function, x = FUNCTIONS[name]
    real = function(x)
    expected = [tuple(part.shape) for part in ([real] if isinstance(real, torch.Tensor) else real)]
    assert shapes_of(function, x) == expected
    assert shapes_of(function, x, device="cuda:0") == expected


def test_what_is_kept_has_values() -> None:
    """Code that loops over the indices it found, or reads them, goes on."""

    def run(x: torch.Tensor) -> list[torch.Tensor]:
        rows = torch.nonzero(x[:, 0] > 0).flatten()
        assert rows.tolist() == [0, 1, 2]
        return [x[row] for row in rows] + [x[int(row)] for row in rows] + [x[rows[:2]]]

    assert shapes_of(run, X) == [(8,)] * 6 + [(2, 8)]


# --- limits


@pytest.mark.parametrize(
    ("limits", "function", "expected"),
    [
        ({"nonzero": 2}, torch.nonzero, (2, 2)),
        ({"nonzero": 2}, lambda x: x[x > 0], (2,)),
        ({"nonzero": 100}, lambda x: x[x > 0], (24,)),
        ({"nonzero": 0}, lambda x: x[x > 0], (0,)),
        ({"unique": 4}, torch.unique, (4,)),
        ({"repeat_interleave": 10}, lambda x: x[0].repeat_interleave(x[1].long()), (10,)),
        ({"bincount": 6}, lambda x: x.long().flatten().bincount(), (6,)),
        ({"item": 5}, lambda x: torch.zeros(int(x[0, 0].item())), (5,)),
        ({"item": 5}, lambda x: torch.zeros(x.long().max()), (5,)),
    ],
)
def test_limits(limits: dict[str, int], function: Callable[..., Any], expected: tuple[int, ...]) -> None:
    assert shapes_of(function, X, limits=limits) == [expected]


def test_a_misspelt_limit() -> None:
    with pytest.raises(opscope.Error, match="no limit called 'nmz'") as caught:
        capture(nn.Linear(8, 4), X, limits={"nmz": 3})
    assert "did you mean nms?" in caught.value.hint and "repeat_interleave" in caught.value.hint
    with pytest.raises(opscope.Error, match="cannot be negative"):
        capture(nn.Linear(8, 4), X, limits={"nms": -1})


def test_without_a_natural_bound_the_error_names_the_limit() -> None:
    with pytest.raises(opscope.Error, match="repeat_interleave needs values") as caught:
        capture(called(lambda x: x[0].repeat_interleave(x[1].long())), X)
    assert "--limit repeat_interleave=N" in caught.value.hint
    with pytest.raises(opscope.Error, match="needs values") as caught:
        capture(called(lambda x: x[: int(x[0, 0])]), X)
    assert "--limit item=N" in caught.value.hint


# --- what is flagged


class Selects(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.after, self.beside = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> Any:
        x = self.before(x)
        kept = x[x[:, 0] > 0]
        filled = torch.zeros(len(kept), 8)
        filled[:] = kept
        return self.after(filled), self.beside(x), kept.sum()


def test_what_rests_on_a_bound_is_an_upper_bound() -> None:
    graph = capture(Selects(), X)
    profile = opscope.Profile(graph.profile())
    confidence = {layer.name: layer.confidence for layer in profile.layers}
    assert confidence["after"] == "upper_bound"
    assert confidence["before"] == confidence["beside"] == "exact"
    assert notes_of(graph, "bound") == [
        ("aten::index", "1 size depends on data and was taken as the largest possible, up to 3 (--limit nonzero=N)")
    ]
    text = graph.profile().to_text()
    assert "upper bounds" in text.splitlines()[1] + text.splitlines()[0]
    assert "--limit nonzero=N" in " ".join(text.split())


@pytest.mark.parametrize("largest", [0, 1])
def test_a_size_of_none_or_one_is_a_bound_too(largest: int) -> None:
    class Counts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.after = nn.Linear(8, 8), nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            count = (self.before(x)[:, 0] > 0).sum() - (len(x) - largest)
            return self.after(x.new_ones(count.item(), 8))

    layers = opscope.Profile(capture(Counts(), X).profile()).layers
    confidence = {layer.name: layer.confidence for layer in layers}
    assert confidence["after"] == "upper_bound" and confidence["before"] == "exact"


def test_what_has_no_known_largest_value_is_refused() -> None:
    for function in (lambda n: torch.add(n, n, alpha=-1), lambda n: torch.max(n, n * 0.5 // 1), lambda n: n**2):
        with pytest.raises(opscope.Error, match="needs values"):
            capture(called(lambda x, of=function: torch.zeros(int(of((x > 0).sum()).item()))), X)


def test_a_write_into_a_tensor_of_fixed_size_does_not_spread() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        made = torch.zeros(3, 8)
        made.index_add_(0, torch.where(x[:, 0] > 0)[0], x[x[:, 0] > 0])
        return made @ x.t()

    ops = json.loads(capture(called(run), X).to_json())["ops"]
    assert [op["op"] for op in ops if not op.get("bounded")][-2:] == ["aten::t", "aten::matmul"]
    assert [op["op"] for op in ops if op.get("bounded")][-1] == "aten::index_add_"


# --- conditions on data


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        (lambda x: (x > 0).any(), True),
        (lambda x: not (x > 0).any(), False),
        (lambda x: (x > 0).sum() > 0, True),
        (lambda x: (x > 0).sum() == 0, False),
        (lambda x: (x > 0).sum().item() > 23, True),
        (lambda x: (x >= 0).all(), False),
        (lambda x: not (x >= 0).all(), True),
        (lambda x: (~torch.isnan(x)).all(), True),
        (lambda x: torch.isnan(x).any(), False),
        (lambda x: torch.isinf(x).any() | torch.isnan(x).any(), False),
        (lambda x: torch.isfinite(x).all(), True),
        (lambda x: not torch.isfinite(x).all(), False),
        (lambda x: (x != x).any(), False),
        (lambda x: len(x[x > 0]) > 0, True),
        (lambda x: x.nonzero().numel() == 0, False),
    ],
)
def test_conditions(condition: Callable[[torch.Tensor], Any], holds: bool) -> None:
    ops = ops_of(called(lambda x: x.relu() if condition(x) else x.tanh()), X)
    assert ops[-1] == ("relu" if holds else "tanh")


def test_a_condition_that_raises_is_assumed_the_other_way() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        if (x > 100).any():
            raise ValueError("out of range")
        return x.relu()

    graph = capture(called(run), X)
    [(op, text)] = notes_of(graph, "assumption")
    assert op == "aten::is_nonzero" and text.startswith("a condition on data is assumed not to hold (")

    def asserts(x: torch.Tensor) -> torch.Tensor:
        if not (x < 100).all() or (x > 200).any() or not (x > -100).all():
            raise ValueError("out of range")
        return x.relu()

    assert ops_of(called(asserts), X)[-1] == "relu"

    def always(x: torch.Tensor) -> torch.Tensor:
        if (x > 100).any():
            raise ValueError("out of range")
        raise ValueError("in any case")

    with pytest.raises(opscope.Error, match="in any case"):
        capture(called(always), X)


def test_a_loop_that_only_data_ends_is_refused() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        while (x > 0).any():
            x = x - 1
        return x

    with pytest.raises(opscope.Error, match="depends on data does not end"):
        capture(called(run), X)
    assert outputs_of(graph_of(called(run), X, tracer="auto")) == [((3, 8), "float32")]


def test_sizes_that_do_not_fit_together_end_in_a_real_run() -> None:
    def run(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x[x > 0], x[x <= 0]]).view(3, 8)

    with pytest.raises(opscope.Error) as caught:
        capture(called(run), X)
    assert "taken at their upper bounds" in caught.value.hint
    graph = graph_of(called(run), X, tracer="auto")
    assert graph["capture"]["tracer"] == "eager" and outputs_of(graph) == [((3, 8), "float32")]


# --- detectors

IMAGE = torch.empty(3, 800, 800)
DETECTIONS = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": 100,
    "fasterrcnn_mobilenet_v3_large_fpn": 100,
    "fasterrcnn_resnet50_fpn": 100,
    "fasterrcnn_resnet50_fpn_v2": 100,
    "fcos_resnet50_fpn": 100,
    "keypointrcnn_resnet50_fpn": 100,
    "maskrcnn_resnet50_fpn": 100,
    "maskrcnn_resnet50_fpn_v2": 100,
    "retinanet_resnet50_fpn": 300,
    "retinanet_resnet50_fpn_v2": 300,
    "ssd300_vgg16": 200,
    "ssdlite320_mobilenet_v3_large": 300,
}
# Those whose published count (torchvision's _ops, in units of 1e9 MACs) is for a square image of 800, or of their own.
PUBLISHED = ("fcos_resnet50_fpn", "retinanet_resnet50_fpn", "ssd300_vgg16", "ssdlite320_mobilenet_v3_large")


@pytest.mark.parametrize("name", DETECTIONS)
def test_detectors_without_weights(name: str) -> None:
    model = torchvision_models.build(name, with_data=False)
    graph = capture(model, [IMAGE])
    data, profile = json.loads(graph.to_json()), json.loads(graph.profile().to_json())
    shapes = {data["values"][i]["name"]: data["values"][i]["shape"] for i in data["outputs"]}
    assert shapes["[0].boxes"] == [DETECTIONS[name], 4]
    if "mask" in name:
        assert shapes["[0].masks"] == [100, 1, 800, 800]
    if "keypoint" in name:
        assert shapes["[0].keypoints"] == [100, 17, 3]
    assert profile["coverage"]["unknown"] == 0 and profile["coverage"]["upper_bound"] > 100
    assert "torchvision::nms" in [op for op, _ in notes_of(graph, "bound")]
    if name in PUBLISHED:
        import torchvision

        published = torchvision.models.get_model_weights(name).DEFAULT.meta["_ops"]
        assert profile["totals"]["macs"] / 1e9 == pytest.approx(published, rel=0.002)


def test_fewer_boxes_cost_less() -> None:
    model = torchvision_models.build("maskrcnn_resnet50_fpn", with_data=False)
    macs = [
        json.loads(capture(model, [IMAGE], limits=limits).profile().to_json())["totals"]["macs"]
        for limits in (None, {"nms": 1}, {"nms": 0})
    ]
    assert macs[0] > macs[1] > macs[2]


def test_torchvision_is_put_back() -> None:
    from torchvision import extension
    from torchvision.models.detection import roi_heads
    from torchvision.ops import boxes

    def functions() -> list[Any]:
        names = ("paste_mask_in_image", "heatmaps_to_keypoints")
        return [
            roi_heads.RoIHeads.forward,
            boxes._batched_nms_vanilla,
            extension._has_ops,
            *(getattr(roi_heads, name) for name in names),
        ]

    before = functions()
    capture(torchvision_models.build("keypointrcnn_resnet50_fpn", with_data=False), [torch.empty(3, 64, 64)])
    assert functions() == before


def test_missing_operators_are_answered_for_during_a_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    from torchvision import extension, ops

    def missing() -> bool:
        return False

    monkeypatch.setattr(extension, "_has_ops", missing)
    boxes, scores = torch.rand(5, 4), torch.rand(5)
    with pytest.raises(RuntimeError, match="Couldn't load custom C"):
        ops.nms(boxes, scores, 0.5)
    assert shapes_of(lambda b, s: ops.nms(b, s, 0.5), boxes, scores) == [(5,)]
    assert extension._has_ops is missing


# --- mixtures of experts


@pytest.mark.parametrize("experts", ["eager", "grouped_mm", "batched_mm"])
@pytest.mark.parametrize("kind", ["Mixtral", "Qwen3Moe", "DeepseekV3"])
def test_experts_cost_what_a_token_uses(kind: str, experts: str) -> None:
    """Whichever implementation runs: FlopCounterMode's count of a real run of the one it sees whole."""
    import transformers
    from torch.utils.flop_counter import FlopCounterMode

    sizes = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
    sizes |= {"num_key_value_heads": 4, "max_position_embeddings": 64, "num_experts_per_tok": 2}
    own = {
        "Mixtral": {"num_local_experts": 8},
        "Qwen3Moe": {"num_experts": 8, "moe_intermediate_size": 16, "head_dim": 8},
        "DeepseekV3": {"n_routed_experts": 8, "moe_intermediate_size": 16, "first_k_dense_replace": 1, "n_group": 2}
        | {"topk_group": 1, "kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8}
        | {"v_head_dim": 8},
    }
    config = getattr(transformers, f"{kind}Config")(**sizes, **own[kind])
    config._attn_implementation = "eager"  # FlopCounterMode sees through no fused attention on the CPU
    ids = torch.randint(0, 64, (2, 24))

    config._experts_implementation = "eager"
    real = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        real(ids)
    config._experts_implementation = experts
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config).eval()
    graph = capture(model, ids)
    assert 2 * json.loads(graph.profile().to_json())["totals"]["macs"] == counter.get_total_flops()
    assert any(op == "aten::topk" and "balanced routing" in text for op, text in notes_of(graph, "assumption"))
    assert "bound" not in {row["kind"] for row in json.loads(graph.to_json())["diagnostics"]}


def test_captures_of_a_detector_hold_no_memory() -> None:
    import gc
    import os

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    model, image = Detector().eval(), torch.randn(1, 3, 8, 8)

    def captures(times: int) -> int:
        for _ in range(times):
            capture(model, image)
        gc.collect()
        return resident()

    captures(100)
    before = captures(1)
    assert captures(400) - before < 3 << 20
