"""The ops of every model in timm's benchmark tables, captured as those runs were made.

`python bench/timm_graphs.py RESULTS` reads benchmark-infer-amp-nchw-*.csv of a checkout of timm's results folder and
writes a capture for each model, batch and image size to build/timm: inference in CUDA's autocast to float16, without a
GPU. Captures that are there are kept. bench/predict_timm.py fits and judges predicted times on them.

The tables' numbers of parameters and the times of models with group norms say that those runs had branches folded into
one (--reparam) and norms in float16 (--fast-norm); so have these.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import pathlib
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
CAPTURES = ROOT / "build" / "timm"

# What is fitted and judged: the table's device, and the file of its eager runs. Compiled runs are in the -dynamo file.
TABLES = {
    "rtx-4090": "pt291-cu128-4090",
    "rtx-5090": "pt291-cu130-5090",
    "rtx-pro-6000-max-q": "pt291-cu130-pro6000maxq",
    "rtx-3090": "pt240-cu124-rtx3090",
}

LEFT_OUT = {"sequencer2d_s", "sequencer2d_m", "sequencer2d_l"}  # recurrent layers, which need a run with data

Key = tuple[str, int, int]  # model, batch, image size


def table(results: pathlib.Path, name: str) -> dict[Key, float]:
    """Seconds a step."""
    path = results / f"benchmark-infer-amp-nchw-{name}.csv"
    if not path.exists():
        return {}
    with path.open() as lines:
        rows = csv.DictReader(lines)
        return {
            (row["model"], int(row["infer_batch_size"]), int(row["infer_img_size"])): float(row["infer_step_time"]) / 1000 for row in rows
        }


def capture_file(key: Key) -> pathlib.Path:
    return CAPTURES / f"{key[0]}-b{key[1]}-i{key[2]}.json.gz"


def wanted(results: pathlib.Path) -> dict[tuple[str, int], list[Key]]:
    """By model and image size, which are built once: the batches that any table has."""
    keys = {key for name in TABLES.values() for file in (name, f"{name}-dynamo") for key in table(results, file) if key[0] not in LEFT_OUT}
    groups: dict[tuple[str, int], list[Key]] = defaultdict(list)
    for key in sorted(keys):
        groups[key[0], key[2]].append(key)
    return groups


def built(name: str, image_size: int) -> Iterator[Any]:
    """The model as it is by default; then made for the image size, without fast norms, and with weights to fold."""
    from opscope.engine import torchvision_ops

    torchvision_ops.prepare()  # for a torchvision without its own ops
    import timm
    import torch

    sized: dict[str, Any] = {"img_size": image_size}
    for device, options, fast_norm in (("meta", {}, True), ("meta", sized, True), ("meta", {}, False), ("cpu", {}, True)):
        timm.layers.set_fast_norm(fast_norm)
        with torch.device(device):
            try:
                yield timm.utils.reparameterize_model(timm.create_model(name, pretrained=False, **options).eval())
            except (NotImplementedError, RuntimeError):  # no data to fold
                continue


def capture(keys: list[Key]) -> str:
    """Writes what is missing; says what went wrong."""
    import torch

    import opscope

    missing = [key for key in keys if not capture_file(key).exists()]
    problem = ""
    models = built(missing[0][0], missing[0][2]) if missing else iter(())
    while missing:
        try:
            model = next(models)
            for key in list(missing):
                image = torch.empty(key[1], 3, key[2], key[2], device=next(model.parameters()).device)
                with torch.inference_mode():
                    graph = opscope.capture(model, image, device="cuda", autocast="float16", name=key[0])
                capture_file(key).write_bytes(gzip.compress(graph.to_json().encode(), 4))
                missing.remove(key)
        except StopIteration:
            return problem
        except Exception as error:  # a model that this timm or opscope cannot make: the next one is as good
            problem = problem or f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", type=pathlib.Path, help="timm's results folder")
    options = parser.parse_args()
    CAPTURES.mkdir(parents=True, exist_ok=True)
    failed = {}
    groups = wanted(options.results)
    for done, ((name, size), keys) in enumerate(groups.items(), 1):
        if problem := capture(keys):
            failed[f"{name} at {size}"] = problem
        if done % 50 == 0:
            print(f"{done} of {len(groups)} models, {len(failed)} failed", file=sys.stderr, flush=True)
    (CAPTURES / "failed.json").write_text(json.dumps(failed, indent=1))
    for name, problem in failed.items():
        print(f"{name}: {problem}")


if __name__ == "__main__":
    main()
