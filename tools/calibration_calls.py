"""Chooses the calls that `opscope calibrate` times: a few thousand that cover what real models do.

    python tools/calibration_calls.py candidates --to build/candidates.txt [--seconds 1500]
    python tools/calibration_calls.py choose build/candidates.txt --to build/calls.txt --count 6000
    python tools/calibration_calls.py sample data/calibrations/h200.calls --to data/calls/cuda.txt --count 8000
    python tools/calibration_calls.py candidates --device cpu --only published --to build/cpu_published.txt --seconds 400
    python tools/calibration_calls.py candidates --device cpu --only drawn --to build/cpu_drawn.txt --seconds 400
    python tools/calibration_calls.py choose build/cpu_published.txt build/cpu_drawn.txt --device cpu --to data/calls/cpu.txt

`candidates` captures models, those for a GPU without one, at sizes drawn from a seed: published ones of torchvision and
timm at several batches and dtypes, and layers of any width of all kinds; a third of them training. Those for a CPU are
smaller, mostly float32, and few are training. `choose` orders the calls so that each is the one most unlike all before
it, family by family: a part of the list, from its begin, covers the same space more thinly. Of several files it takes
turns; for a CPU, which has less time, a third are calls of the first file as they come. `sample` draws from calls that were
timed elsewhere, of each group nearly as many as there are: where there are thousands, those tell models better than the
ones most unlike each other (on an H200, 7,500 calls tell runs of published sizes to 4.3 % instead of 8.9 %, odd ones to 6.2 %
instead of 7.7 %). `--odd 0.7` draws sizes as nobody
publishes them: of any alignment, heads, images and batches too.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import calibration_images as images
import calibration_layers as layers
from calibration_layers import Case, draw, targets
from calibration_models import from_transformers, published

MOST_TEXT = 700  # characters of a call: lists of many tensors are long
MOST_STEP = 12000  # of an optimizer's, which goes over all of a model's
MOST_BYTES = {"cuda": 6 << 30, "cpu": 64e6}  # of what a call moves
MOST_FLOPS = {"cuda": 6e12, "cpu": 4e9}  # some 50 ms of one core
SHARES = {
    "matmul": 0.27,
    "conv": 0.27,
    "attention": 0.08,
    "pointwise": 0.11,
    "copy": 0.06,
    "norm": 0.07,
    "reduction": 0.04,
    "softmax": 0.02,
}
OTHER_SHARE = 0.02  # of each other family
FAMILIES = (*SHARES, "recurrent", "pool", "gather", "create", "sort", "other")
LARGE_GROUPS = 0.8  # power of a group's size that it is drawn by: large ones a little less
MADE_BY_OTHERS = ("mkldnn_rnn_layer_backward", "_cudnn_rnn_backward")  # they read what only a forward pass can have left
CPU_DTYPES = (torch.float32, torch.float32, torch.float32, torch.float32, torch.bfloat16)
DTYPES = (torch.float32, torch.bfloat16, torch.bfloat16, torch.float32, torch.float16)
LAYERS: list[tuple[Callable[[], Case], float]] = [
    (layers.mlp, 10), (layers.vocabulary, 1), (layers.attention, 10), (layers.biased, 3), (layers.decode, 4), (layers.block, 8),
    (layers.rotary, 2), (layers.mixed, 6), (layers.norms, 4), (layers.windows, 4), (layers.recurrent, 4), (layers.lookup, 2),
    (layers.gathers, 1), (layers.batched, 4), (layers.masks, 1), (layers.scan, 2), (layers.encoder_layers, 4), (layers.graphs, 1),
    (layers.towers, 1), (layers.many_parameters, 1), (images.convolution, 18), (images.first_convolution, 4), (images.residual, 9),
    (images.next_block, 3), (images.in_one, 3), (images.in_three, 3), (images.transposed, 2), (images.grouped, 3),
    (images.groups_of_channels, 2), (images.resized, 2), (images.inverted, 4), (images.dense, 2), (images.turned_resize, 2),
    (images.sound, 1),
]  # fmt: skip
device = "cuda"  # that calls are for


def calls_of(native: Any, capture: Any, case: Case, training: bool, autocast: bool, dtype: torch.dtype) -> list[str]:
    model, inputs = targets(case)
    options: dict[str, Any] = {"tracer": "static", **({"device": "cuda"} if device == "cuda" else {})}
    if training:
        options |= {"training": True, "optimizer": draw.choice(["sgd", "adamw", "adamw"])}
    if autocast:
        options["autocast"] = "bfloat16"
    else:
        model = model.to(dtype)
        inputs = tuple(x.to(dtype) if x is not None and x.is_floating_point() else x for x in inputs)
    model.train(training)
    return [text for text, _ in native.call_texts(capture(model, inputs, **options)._graph)]


def without_data(make: Callable[[], tuple[str, Case]]) -> tuple[str, Case]:
    state = draw.getstate()
    try:
        with torch.device("meta"):
            return make()
    except NotImplementedError:  # it initialises its weights by their values
        draw.setstate(state)
        return make()


def candidates(to: Path, seconds: float, only: str, trained: float) -> None:
    import opscope
    from opscope._load import native
    from opscope.engine import torchvision_ops

    torchvision_ops.prepare()
    begin, seen, failed = time.monotonic(), set(), 0
    makers, weights = zip(*LAYERS, (from_transformers, 14), strict=True)
    with to.open("a") as file:
        while time.monotonic() - begin < seconds:
            draw_published = only == "published" or (not only and draw.random() < 0.25)
            name = ""
            try:
                if draw_published:
                    name, case = without_data(published)
                else:
                    maker = draw.choices(makers, weights)[0]
                    name, case = without_data(lambda maker=maker: (maker.__name__, maker()))
                training = draw.random() < trained and any(True for _ in case[0].parameters())
                texts = calls_of(
                    native,
                    opscope.capture,
                    case,
                    training,
                    draw.random() < (0.03 if device == "cpu" else 0.4 if training else 0.05),
                    draw.choice(DTYPES if device == "cuda" else CPU_DTYPES),
                )
            except Exception as problem:
                failed += 1
                print(f"{name}: {type(problem).__name__} {str(problem)[:100]}", file=sys.stderr)
                continue
            for text in texts:
                if text not in seen and len(text) <= (MOST_STEP if "_foreach_" in text or "_fused_" in text else 2500):
                    seen.add(text)
                    file.write(text + "\n")
    print(len(seen), "calls,", failed, "cases failed")


def cover(features: list[dict[str, Any]], known: list[dict[str, Any]]) -> Iterator[int]:
    """All of them, each the one farthest from those before it and from what is known: sizes in doublings, another op or kind
    a few more."""
    every = known + features
    sizes = np.zeros((len(every), max(len(each["sizes"]) for each in every)), np.float32)
    for row, each in zip(sizes, every, strict=True):
        row[: len(each["sizes"])] = each["sizes"]
    ops = np.unique([each["op"] + each["dtype"] for each in every], return_inverse=True)[1]
    kinds = np.array([each["kind"] for each in every], np.uint32)
    own = slice(len(known), None)
    nearest = np.full(len(features), np.inf, np.float32)

    def look_at(at: int) -> None:
        apart = ((sizes[own] - sizes[at]) ** 2).sum(1) + 9.0 * (ops[own] != ops[at])
        apart += np.array([2.0], np.float32) * np.bitwise_count(kinds[own] ^ kinds[at])
        np.minimum(nearest, apart, out=nearest)

    for at in range(len(known)):
        look_at(at)
    at = int(nearest.argmax()) if known else int(np.argsort([each["bytes"] for each in features])[len(features) // 2])
    for _ in features:
        yield at
        look_at(len(known) + at)
        nearest[at] = -1
        at = int(nearest.argmax())


def any_order(features: list[dict[str, Any]], known: list[dict[str, Any]]) -> Iterator[int]:
    """As often as models have them."""
    yield from draw.sample(range(len(features)), len(features))


def choose(
    texts: list[str], count: int, shares: dict[str, float], order: Callable[..., Iterator[int]], known: list[dict[str, Any]]
) -> list[str]:
    from opscope._load import native

    features = native.op_features(native.graph_of_calls(texts))
    families: dict[str, list[int]] = defaultdict(list)
    for i, each in enumerate(features):
        if (
            len(texts[i]) <= (MOST_STEP if "_foreach_" in texts[i] or "_fused_" in texts[i] else MOST_TEXT)
            and each["bytes"] <= MOST_BYTES[device]
            and each["products"] <= MOST_FLOPS[device]
            and not each["idle"]
        ):
            families[each["family"]].append(i)
    ranked: list[tuple[float, int]] = []
    for family, members in families.items():
        most = min(len(members), int(count * shares.get(family, OTHER_SHARE)))
        for rank, at in enumerate(order([features[i] for i in members], [each for each in known if each["family"] == family])):
            if rank == most:
                break
            ranked.append((rank / most, members[at]))
        print(family, len(members), "candidates,", most, "chosen", file=sys.stderr)
    return [texts[i] for _, i in sorted(ranked)]


def sample(texts: list[str], count: int) -> list[str]:
    """Of each group of a family in each dtype, and of as many in any part of the list from its begin."""
    from opscope._load import native

    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for text, each in zip(texts, native.op_features(native.graph_of_calls(texts)), strict=True):
        groups[each["family"], each["group"], each["dtype"]].append(text)
    whole = sum(len(group) ** LARGE_GROUPS for group in groups.values())
    ranked: list[tuple[float, str]] = []
    for group in groups.values():
        most = max(1, min(len(group), round(count * len(group) ** LARGE_GROUPS / whole)))
        ranked += [((rank + draw.random()) / most, text) for rank, text in enumerate(draw.sample(group, most))]
    return [text for _, text in sorted(ranked)]


def shares_of(text: str) -> dict[str, float]:
    shares = {family: float(share) for family, share in (part.split("=") for part in text.split(","))}
    if unknown := [family for family in shares if family not in FAMILIES]:
        raise argparse.ArgumentTypeError(f"no family of ops called {unknown[0]}: {', '.join(FAMILIES)}")
    return shares


def in_turns(lists: list[list[str]]) -> list[str]:
    """Each once."""
    found = {text: None for row in itertools.zip_longest(*lists) for text in row if text}
    return list(found)


def main(arguments: list[str]) -> None:
    global device
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["candidates", "choose", "sample"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, default=1500)
    parser.add_argument("--only", default="", choices=["", "published", "drawn"])
    parser.add_argument("--count", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--training", type=float, help="part of the models that take a training step; 0.33, for a CPU 0.08")
    parser.add_argument("--shares", type=shares_of, default={}, help="of families, beside the usual: conv=0.35,norm=0.1")
    parser.add_argument("--known", type=Path, help="calls that were timed: those least like them come first")
    parser.add_argument("--odd", type=float, default=0.25, help="part of the sizes that are no multiple of 8")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    device = layers.device = asked.device
    layers.odd = asked.odd
    draw.seed(asked.seed)
    if asked.what != "candidates" and not asked.files:
        parser.error(f"{asked.what} which calls? name their file")
    if asked.what == "candidates":
        usual = 0.33 if device == "cuda" else 0.08
        return candidates(asked.to, asked.seconds, asked.only, usual if asked.training is None else asked.training)
    from opscope._load import native

    if asked.what == "sample":
        timed = [call[0] for file in asked.files for call in native.read_measured_list(str(file))]
        asked.to.write_text(native.write_call_list(sample(timed, asked.count)))
        return
    texts = [[line for line in file.read_text().splitlines() if not any(name in line for name in MADE_BY_OTHERS)] for file in asked.files]
    orders = [(each, cover) for each in texts] + ([(texts[0], any_order)] if device == "cpu" else [])
    timed = [] if asked.known is None else [call[0] for call in native.read_measured_list(str(asked.known))]
    known = native.op_features(native.graph_of_calls(timed)) if timed else []
    lists = [choose(each, asked.count // len(orders), SHARES | asked.shares, order, known) for each, order in orders]
    asked.to.write_text(native.write_call_list(in_turns(lists)))


if __name__ == "__main__":
    main(sys.argv[1:])
