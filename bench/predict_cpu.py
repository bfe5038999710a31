"""Eager time of whole models on the processor at hand, measured and predicted by a calibration of it.

    opscope calibrate --on cpu --threads 1 -o build/cpu-1.toml
    python bench/predict_cpu.py measure --threads 1 --to build/cpu_times.jsonl
    python bench/predict_cpu.py predict --calibration build/cpu-1.toml --to build/cpu_times.jsonl
    python bench/predict_cpu.py write docs/measured/predict_cpu.md --from build/cpu_times.jsonl

The machine should be idle. A measured time is the median of runs within two seconds, at least seven, after three that do
not count; no gradients, float32. A second measurement of a model replaces the first; `predict` builds the models again and
runs none of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import opscope
from opscope._load import native
from opscope.engine import torchvision_ops

torchvision_ops.prepare()
Row = dict[str, Any]
SECONDS, LEAST_RUNS, WARM_UP = 2.0, 7, 3


def image(size: int = 224) -> tuple[torch.Tensor, ...]:
    return (torch.rand(1, 3, size, size),)


def tokens(length: int = 128) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, 1000, (1, length)),)


def torchvision_model(name: str) -> Any:
    import torchvision.models

    return getattr(torchvision.models, name)(weights=None)


def timm_model(name: str) -> Any:
    import timm

    return timm.create_model(name, pretrained=False)


def text_model(name: str, **settings: Any) -> Any:
    import transformers

    config, _, kind = name.partition(":")
    return getattr(transformers, kind)(getattr(transformers, config)(**settings))


MODELS: dict[str, tuple[Callable[[], Any], Callable[[], tuple[torch.Tensor, ...]]]] = {
    "resnet18": (lambda: torchvision_model("resnet18"), image),
    "resnet50": (lambda: torchvision_model("resnet50"), image),
    "mobilenet_v3_large": (lambda: torchvision_model("mobilenet_v3_large"), image),
    "efficientnet_b0": (lambda: torchvision_model("efficientnet_b0"), image),
    "vgg11": (lambda: torchvision_model("vgg11"), image),
    "convnext_tiny": (lambda: torchvision_model("convnext_tiny"), image),
    "swin_t": (lambda: torchvision_model("swin_t"), image),
    "vit_small_patch16_224 (timm)": (lambda: timm_model("vit_small_patch16_224"), image),
    "bert-base 1x128": (lambda: text_model("BertConfig:BertModel"), tokens),
    "gpt2 1x128": (lambda: text_model("GPT2Config:GPT2LMHeadModel", use_cache=False), tokens),
    "distilbert 1x128": (lambda: text_model("DistilBertConfig:DistilBertModel"), tokens),
    # None of these was looked at while the list of calls was chosen.
    "densenet121": (lambda: torchvision_model("densenet121"), image),
    "regnet_y_800mf": (lambda: torchvision_model("regnet_y_800mf"), image),
    "ghostnet_100 (timm)": (lambda: timm_model("ghostnet_100"), image),
    "electra-small 1x192": (lambda: text_model("ElectraConfig:ElectraModel"), lambda: tokens(192)),
}  # fmt: skip


def measured(name: str) -> Row:
    make, inputs = MODELS[name]
    torch.manual_seed(0)
    model, given = make().eval(), inputs()
    with torch.no_grad():
        for _ in range(WARM_UP):
            model(*given)
        seconds: list[float] = []
        while sum(seconds) < SECONDS or len(seconds) < LEAST_RUNS:
            begun = time.perf_counter()
            model(*given)
            seconds.append(time.perf_counter() - begun)
    seconds.sort()
    tenth = len(seconds) // 10
    return {"eager_seconds": statistics.median(seconds), "least": seconds[0], "p90": seconds[-1 - tenth], "runs": len(seconds)}


def predicted(name: str, calibration: Path) -> Row:
    make, inputs = MODELS[name]
    told = opscope.predict(make().eval(), inputs(), hardware=str(calibration))
    totals = told.to_dict()["totals"]
    row = {key: totals[key] for key in totals if key.startswith("predicted")}
    run = told.to_dict().get("prediction") or told.to_dict().get("hardware") or {}
    return row | {"host_seconds": run.get("host_seconds"), "sources": run.get("sources")}


def rows_of(path: Path) -> dict[tuple[str, int], Row]:
    found: dict[tuple[str, int], Row] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        row = json.loads(line)
        key = (row["model"], row["threads"])
        found[key] = found.get(key, {}) | row
    return found


def facts_of(calibration: Path) -> dict[str, str]:
    return dict(json.loads(native.read_calibration(str(calibration)).to_format("json"))["facts"])


def write(page: Path, rows: dict[tuple[str, int], Row]) -> None:
    text = page.read_text()
    begin, end = "<!-- rows -->", "<!-- end of rows -->"
    before, rest = text.split(begin)
    page.write_text(before + begin + "\n" + "\n".join(table(rows)) + "\n" + end + rest.split(end)[1])


def table(rows: dict[tuple[str, int], Row]) -> Iterator[str]:
    for threads in sorted({threads for _, threads in rows}):
        of = {
            model: row for (model, number), row in rows.items() if number == threads and {"eager_seconds", "predicted_seconds"} <= set(row)
        }
        if not of:
            continue
        errors = {model: row["predicted_seconds"] / row["eager_seconds"] - 1 for model, row in of.items()}
        sizes = sorted(abs(error) for error in errors.values())
        within = sum(row["predicted_p10_seconds"] <= row["eager_seconds"] <= row["predicted_p90_seconds"] for row in of.values())
        yield f"**{threads} thread{'s' if threads > 1 else ''}**: median error {statistics.median(sizes):.1%}, worst {sizes[-1]:.1%}; {within} of {len(of)} measured times within p10 to p90."
        yield ""
        yield "| model | predicted ms | p10 to p90 | measured ms | p90 of its runs | error |"
        yield "|---|---:|---:|---:|---:|---:|"
        for model, row in of.items():
            spread = f"{row['predicted_p10_seconds'] * 1e3:.3g} to {row['predicted_p90_seconds'] * 1e3:.3g}"
            yield f"| {model} | {row['predicted_seconds'] * 1e3:.4g} | {spread} | {row['eager_seconds'] * 1e3:.4g} | {row['p90'] * 1e3:.4g} | {errors[model]:+.1%} |"
        yield ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "predict", "write"])
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--calibration", type=Path)
    parser.add_argument("--models", default="", help="names, separated by commas")
    parser.add_argument("--to", type=Path)
    parser.add_argument("--from", dest="given", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.what == "write":
        return write(asked.page, rows_of(asked.given))
    threads = int(facts_of(asked.calibration)["threads"]) if asked.calibration else asked.threads
    torch.set_num_threads(threads)
    with asked.to.open("a") as file:
        for name in [name for name in asked.models.split(",") if name] or MODELS:
            found = measured(name) if asked.what == "measure" else predicted(name, asked.calibration)
            row = {"model": name, "threads": threads} | found
            file.write(json.dumps(row) + "\n")
            print(row, flush=True)


if __name__ == "__main__":
    main()
