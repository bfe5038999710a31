"""How long memory is held in a capture is how long a real run holds it."""

from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from opscope.engine import abstract_run

F = nn.functional
X = torch.rand(4, 8)


def document(model: Any, *inputs: torch.Tensor, **options: Any) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(abstract_run.capture(model, inputs, {}, **options).to_json())
    return result


def lives(found: dict[str, Any]) -> list[tuple[int, int | None, int | None]]:
    """Bytes, the op that made it and the last that ran before it went, of all that ops made."""
    spans = zip(found["storages"], found["lifetimes"], strict=True)
    return sorted((size, *life) for size, life in spans if life[0] is not None)


def names(found: dict[str, Any]) -> list[str]:
    return [op["op"].removeprefix("aten::") for op in found["ops"]]


# --- models whose variables hold what their ops no longer need


def dropped(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    z = y * 2
    del y
    return z.relu()


def kept(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    z = y * 2
    z = z.relu()
    z = z.exp()
    return z  # y goes with the frame


def viewed(x: torch.Tensor) -> torch.Tensor:
    y = (x + 1).view(-1)[:5]
    z = y.exp()
    return z.sum()


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    y += 2
    y.relu_()
    return y.sum()


def generated(x: torch.Tensor) -> torch.Tensor:
    def parts() -> Iterator[torch.Tensor]:
        for scale in (1, 2, 3):
            part = x * scale
            yield part.exp()

    total = torch.zeros_like(x)
    for part in parts():
        total = total + part
    return total


def residual(x: torch.Tensor) -> torch.Tensor:
    for _ in range(3):
        kept_for_later = x
        x = F.relu(x + 1)
        x = x * 2
        x = x + kept_for_later
    return x


class Held(nn.Module):
    """A list that outlives the ops that fill it, and a module's frame that holds its argument."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.ReLU()) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = []
        for block in self.blocks:
            x = block(x)
            seen.append(x)
        return torch.cat(seen)


@pytest.mark.parametrize("model", [dropped, kept, viewed, in_place, generated, residual, Held()], ids=lambda m: getattr(m, "__name__", "held"))
def test_held_as_long_as_in_a_real_run(model: Callable[..., Any]) -> None:
    statically, really = document(model, X, tracer="static"), document(model, X, tracer="eager")
    assert names(statically) == names(really)
    assert lives(statically) == lives(really)


def test_let_go_and_kept() -> None:
    assert [life[1:] for life in lives(document(dropped, X))] == [(0, 1), (1, 2), (2, None)]
    assert [life[1:] for life in lives(document(kept, X))] == [(0, 3), (1, 2), (2, 3), (3, None)]


def test_inputs_and_weights_are_there_all_along() -> None:
    found = document(nn.Linear(8, 8), X)
    there = [value["storage"] for value in found["values"] if value["kind"] in ("input", "parameter")]
    assert len(there) == 3 and all(found["lifetimes"][storage] == [None, None] for storage in there)


class Cache:
    def __init__(self, layers: int) -> None:
        self.keys = [torch.rand(1, 6, 8) for _ in range(layers)]


def test_what_a_model_takes_out_of_its_cache_goes() -> None:
    def decode(x: torch.Tensor, cache: Cache) -> torch.Tensor:
        for layer in range(len(cache.keys)):
            cache.keys[layer] = torch.cat([cache.keys[layer], x[None, :1]], 1)
        return x.relu()

    cache = Cache(3)
    found = json.loads(abstract_run.capture(decode, (X, cache), {}).to_json())
    spans = {v["name"]: found["lifetimes"][v["storage"]] for v in found["values"] if v["kind"] == "input"}
    cats = [index for index, name in enumerate(names(found)) if name == "cat"]
    assert spans == {"x": [None, None]} | {f"cache.keys[{layer}]": [None, op] for layer, op in enumerate(cats)}
    assert [tuple(keys.shape) for keys in cache.keys] == [(1, 6, 8)] * 3  # the caller's own is as it was


def test_what_comes_and_goes_inside_an_op_is_its_workspace() -> None:
    scores, classes = torch.rand(16, 64), torch.zeros(16, dtype=torch.long)
    found = document(F.cross_entropy, scores, classes)
    (op,) = found["ops"]
    assert op["workspace"] == 16 * 64 * 4 + 4  # log_softmax's result, and the sum of the weights
    assert len(found["storages"]) == 3


def workspace_of(call: Callable[..., Any], op: str, *inputs: torch.Tensor) -> int:
    return int(next(each.get("workspace", 0) for each in document(call, *inputs)["ops"] if each["op"] == f"aten::{op}"))


def real_workspace(call: Callable[..., Any], *inputs: torch.Tensor) -> int:
    """By the allocator's own reports: the most that is held, without what stays."""
    call(*inputs)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = call(*inputs)
    events: Any = profiler.profiler
    now = peak = 0
    for event in sorted(events.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return peak - int(kept.untyped_storage().nbytes())


def test_the_mean_of_halves_is_that_of_a_copy() -> None:
    x = torch.rand(64, 128)
    for dtype in (torch.bfloat16, torch.float16):
        told = workspace_of(lambda x: x.mean(), "mean", x.to(dtype))
        assert told == 64 * 128 * 4 == pytest.approx(real_workspace(lambda x: x.mean(), x.to(dtype)), abs=256)
    assert workspace_of(lambda x: x.mean(), "mean", x) == 0


def test_a_maximum_is_found_with_its_place() -> None:
    x = torch.rand(2, 3, 16, 16)
    for dtype in (torch.float32, torch.bfloat16):
        told = workspace_of(lambda x: F.max_pool2d(x, 2), "max_pool2d", x.to(dtype))
        assert told == 2 * 3 * 8 * 8 * 8 == real_workspace(lambda x: F.max_pool2d(x, 2), x.to(dtype))


@pytest.mark.parametrize(
    ("groups", "window", "last", "dtype", "weights"),
    [
        (1, 3, True, torch.float32, 2),  # its blocks, and the sum beside them
        (32, 7, True, torch.float32, 257),  # in 256 parts
        (32, 3, True, torch.float32, 2),
        (1, 3, True, torch.bfloat16, 2),
    ],
)
def test_the_gradient_of_a_convolutions_weight(groups: int, window: int, last: bool, dtype: torch.dtype, weights: int) -> None:
    layout = torch.channels_last if last else torch.contiguous_format
    x = torch.rand(2, 32, 8, 8, dtype=dtype).to(memory_format=layout)
    w = torch.rand(32, 32 // groups, window, window, dtype=dtype).to(memory_format=layout)

    def gradients(grad: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> Any:
        pad = [window // 2, window // 2]
        return torch.ops.aten.convolution_backward(grad, x, w, None, [1, 1], pad, [1, 1], False, [0, 0], groups, [True, True, False])

    assert workspace_of(gradients, "convolution_backward", x, x, w) == weights * w.nbytes


def test_what_autograd_saves_is_memory_of_its_own() -> None:
    def step(x: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            return F.cross_entropy(x.requires_grad_(), classes)

    found = document(step, torch.rand(16, 64), torch.zeros(16, dtype=torch.long))
    assert [16 * 64 * 4, 0, None] in [list(life) for life in lives(found)]


def test_memory_that_another_thread_lets_go() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        box = [x + 1]
        thread = threading.Thread(target=box.clear)
        thread.start()
        thread.join()
        return x.relu().exp()

    assert lives(document(model, X))[0] == (128, 0, 0)


def test_memory_that_outlives_its_capture() -> None:
    leaked: list[torch.Tensor] = []

    def model(x: torch.Tensor) -> torch.Tensor:
        leaked.append(x + 1)
        return leaked[0].exp()

    found = document(model, X)
    assert [life[1:] for life in lives(found)] == [(0, None), (1, None)]
    del found
    gc.collect()
    leaked.clear()
    assert len(document(model, X)["ops"]) == 2


def test_a_mask_is_let_go_by_backward() -> None:
    def step(x: torch.Tensor) -> torch.Tensor:
        with torch.enable_grad():
            y = F.dropout(x.requires_grad_(), 0.5, True)
            y.sum().backward()
            return y.detach() + 1

    found = document(step, torch.rand(4, 8))
    constants = [value["storage"] for value in found["values"] if value["kind"] == "constant" and value["shape"] == [4, 8]]
    assert constants and all(found["lifetimes"][storage][1] is not None for storage in constants)
