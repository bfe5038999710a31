"""What timing every op costs, and whether the times add up: opscope beside torch.profiler, in one interleaved run.

Rounds of a plain run, a run with every op timed by opscope and a run under torch.profiler, in turns, in one process; what
is shown is the ratio of their medians. The same is done before torch.profiler is first used, because a process in which
CUPTI was started once is slower from then on. On CUDA also: the sum of the ops' device times against the device time of a
whole run, and the total of each op type against the kernels that torch.profiler saw under the same ops.

Needs torch and transformers, and torchvision for the CPU's resnet. Run as
`python bench/overhead.py [--device cuda] [--models resnet50,vit_b_16] [--rounds N] [--json FILE]`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

import opscope

Made = tuple[nn.Module, dict[str, torch.Tensor]]
SHOWN = 0.05  # of the device time: types above it are compared one by one


# --- models, all with random weights


def _transformers(model: str, config: str, **settings: Any) -> nn.Module:
    from opscope.engine import torchvision_ops

    torchvision_ops.prepare()
    import transformers

    made: nn.Module = getattr(transformers, model)(getattr(transformers, config)(**settings))
    return made


def _image_model(name: str, model: str, batch: int, **settings: Any) -> Made:
    """torchvision's where it is, else the same network of transformers."""
    images = torch.rand(batch, 3, 224, 224)
    if importlib.util.find_spec("torchvision") is None:
        return _transformers(f"{model}ForImageClassification", f"{model}Config", **settings), {"pixel_values": images}
    from opscope.sources import torchvision_models

    return torchvision_models.build(name, with_data=True), {"x": images}


def _bert(batch: int, tokens: int) -> Made:
    ids = torch.randint(0, 30000, (batch, tokens))
    return _transformers("BertModel", "BertConfig"), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def _gpt2(batch: int, tokens: int) -> Made:
    return _transformers("GPT2LMHeadModel", "GPT2Config", use_cache=False), {"input_ids": torch.randint(0, 50000, (batch, tokens))}


def _llama_1b(batch: int, tokens: int) -> Made:
    """The shape of Llama 3.2 1B, reading a prompt."""
    model = _transformers(
        "LlamaForCausalLM", "LlamaConfig", hidden_size=2048, intermediate_size=8192, num_hidden_layers=16,
        num_attention_heads=32, num_key_value_heads=8, vocab_size=128256, tie_word_embeddings=True, use_cache=False,
    )  # fmt: skip
    return model.bfloat16(), {"input_ids": torch.randint(0, 128000, (batch, tokens))}


_BASIC = dict(depths=[2, 2, 2, 2], layer_type="basic", hidden_sizes=[64, 128, 256, 512])  # resnet18's
MODELS: dict[str, dict[str, Callable[[], Made]]] = {
    "cpu": {
        "resnet18": lambda: _image_model("resnet18", "ResNet", 1, **_BASIC),
        "bert": lambda: _bert(1, 128),
    },
    "cuda": {
        "resnet50": lambda: _image_model("resnet50", "ResNet", 32),
        "vit_b_16": lambda: _image_model("vit_b_16", "ViT", 32),
        "llama-1b": lambda: _llama_1b(4, 2048),
        "bert": lambda: _bert(64, 256),
        "gpt2": lambda: _gpt2(8, 512),
    },
}


# --- the runs


@dataclass
class Bench:
    """One model on its device."""

    model: nn.Module
    inputs: dict[str, torch.Tensor]
    device: torch.device

    def __call__(self) -> Any:
        with torch.no_grad():
            return self.model(**self.inputs)

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def seconds(self) -> float:
        self.wait()
        began = time.perf_counter()
        self()
        self.wait()
        return time.perf_counter() - began

    def activities(self) -> list[Any]:
        return [ProfilerActivity.CPU, ProfilerActivity.CUDA] if self.device.type == "cuda" else [ProfilerActivity.CPU]


def under_profiler(bench: Bench) -> float:
    """The second of two runs: the first makes what a profiler makes once."""
    with profile(activities=bench.activities()):
        bench()
        return bench.seconds()


@dataclass
class Ratios:
    rounds: int
    plain_ms: float
    opscope: float  # ratio to plain
    profiler: float | None = None


def interleaved(bench: Bench, rounds: int, with_profiler: bool) -> tuple[Ratios, Any]:
    """The ratios, and opscope's profile of the run."""
    profiled: list[float] = []

    def between(done: int, total: int, text: str) -> None:
        if with_profiler and done > 0:
            profiled.append(under_profiler(bench))

    result = opscope.measure(bench.model, bench.inputs, warmup=5, runs=rounds, progress=between)
    samples = json.loads(result._native.graph.to_json())["measurement"]
    plain = statistics.median(samples["plain_ns"]) * 1e-9
    timed = statistics.median(samples["timed_ns"]) * 1e-9
    theirs = statistics.median(profiled) / plain if profiled else None
    return Ratios(rounds, plain * 1e3, timed / plain, theirs), (result, samples)


# --- do the times add up


@dataclass
class Sum:
    """Device milliseconds of one run: all ops together, and from the first to the last thing that the device did."""

    ops_ms: float
    plain_ms: float
    timed_ms: float
    difference: float  # of the ops' sum, to the plain run


def sum_of_ops(result: Any, samples: dict[str, Any]) -> Sum:
    ops = result.totals.time_seconds
    plain, timed = (statistics.median(samples[key]) * 1e-9 for key in ("plain_device_ns", "timed_device_ns"))
    return Sum(ops * 1e3, plain * 1e3, timed * 1e3, ops / plain - 1)


@dataclass
class TypeTotal:
    type: str
    opscope_ms: float
    profiler_ms: float
    difference: float | None


@dataclass
class Totals:
    types: list[TypeTotal] = field(default_factory=list)  # above SHOWN
    rest: list[TypeTotal] = field(default_factory=list)
    elsewhere: dict[str, float] = field(default_factory=dict)  # kernels under no op of opscope's, by who launched them


def kernel_totals(bench: Bench, types: set[str], runs: int = 5) -> tuple[dict[str, float], dict[str, float]]:
    """Milliseconds of kernels in a run by the outermost op that opscope has too, and those under none, by name."""
    with profile(activities=bench.activities()) as profiler:
        for _ in range(runs):
            bench()
        bench.wait()
    found: dict[str, float] = defaultdict(float)
    elsewhere: dict[str, float] = defaultdict(float)

    def visit(event: Any) -> None:
        name = type_of(event.name)
        if name in types:
            found[name] += event.device_time_total
            return
        if event.self_device_time_total > 0:
            elsewhere[event.name] += event.self_device_time_total
        for child in event.cpu_children:
            visit(child)

    for event in profiler.events():
        if event.cpu_parent is None and event.device_type == torch.autograd.DeviceType.CPU:
            visit(event)
    return {k: v / runs * 1e-3 for k, v in found.items()}, {k: v / runs * 1e-3 for k, v in elsewhere.items()}


def type_of(name: str) -> str:
    """'relu' of 'aten::relu_': as opscope calls types of ops."""
    return name.rpartition("::")[2].removesuffix("_") if "::" in name else ""


def compared(bench: Bench, result: Any) -> Totals:
    ours = {row.type: row.time_seconds * 1e3 for row in result.types if row.time_seconds > 0}
    theirs, elsewhere = kernel_totals(bench, {row.type for row in result.types})
    whole, made = sum(ours.values()), Totals(elsewhere=elsewhere)
    for name in sorted({*ours, *theirs}, key=lambda name: -ours.get(name, 0)):
        mine, seen = ours.get(name, 0.0), theirs.get(name, 0.0)
        row = TypeTotal(name, mine, seen, mine / seen - 1 if seen > 0 else None)
        (made.types if max(mine, seen) > SHOWN * whole else made.rest).append(row)
    return made


# --- all of it


@dataclass
class Report:
    model: str
    alone: Ratios  # before torch.profiler was used in this process
    beside: Ratios
    sum: Sum | None = None
    totals: Totals | None = None


def measured(device: torch.device, name: str, rounds: int) -> Report:
    torch.manual_seed(0)
    model, inputs = MODELS[device.type][name]()
    bench = Bench(model.eval().to(device), {key: value.to(device) for key, value in inputs.items()}, device)
    alone, first = interleaved(bench, rounds, with_profiler=False)
    if device.type != "cuda":
        return Report(name, alone, interleaved(bench, rounds, with_profiler=True)[0])
    made = sum_of_ops(*first)
    beside, _ = interleaved(bench, rounds, with_profiler=True)
    return Report(name, alone, beside, made, compared(bench, first[0]))


def lines_of(report: Report) -> Iterator[str]:
    alone, beside = report.alone, report.beside
    yield (f"{report.model:12} plain {beside.plain_ms:8.2f} ms   opscope {beside.opscope:6.3f}   torch.profiler {beside.profiler:6.3f}"
           f"   ({beside.rounds} rounds; opscope alone {alone.opscope:6.3f} of {alone.plain_ms:.2f} ms)")  # fmt: skip
    if report.sum is not None:
        total = report.sum
        yield (f"  sum of ops {total.ops_ms:9.3f} ms   whole run on the device {total.plain_ms:9.3f} ms   {total.difference:+7.2%}"
               f"   (timed run {total.timed_ms:.3f} ms)")  # fmt: skip
    if report.totals is None:
        return
    yield f"  {'op type':30} {'opscope ms':>11} {'profiler ms':>11} {'difference':>11}"
    for row in report.totals.types:
        yield _row(row)
    yield "  under 5% of the device time:"
    for row in report.totals.rest:
        yield _row(row)
    for name, seen in report.totals.elsewhere.items():
        yield f"  under no op of opscope's: {name} {seen:.4f} ms"


def _row(row: TypeTotal) -> str:
    shown = "" if row.difference is None else f"{row.difference:+.2%}"
    return f"  {row.type:30} {row.opscope_ms:11.4f} {row.profiler_ms:11.4f} {shown:>11}"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--models", default="", help="by name, with commas; all")
    parser.add_argument("--rounds", type=int, default=0, help="of the interleaved run; 100 on CUDA, 30 on the CPU")
    parser.add_argument("--json", default="", help="write all of it here too")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    device = torch.device(asked.device, 0) if asked.device == "cuda" else torch.device("cpu")
    shown = torch.cuda.get_device_name(device) if device.type == "cuda" else f"cpu, {torch.get_num_threads()} threads"
    print(f"torch {torch.__version__} on {shown}", flush=True)
    rounds = asked.rounds or (100 if device.type == "cuda" else 30)
    done = []
    for name in [each for each in asked.models.split(",") if each] or list(MODELS[device.type]):
        done.append(measured(device, name, rounds))
        print("\n".join(lines_of(done[-1])), flush=True)
        if asked.json:
            with open(asked.json, "w", encoding="utf-8") as file:
                json.dump({"torch": torch.__version__, "device": shown, "models": [asdict(each) for each in done]}, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
