"""Peak memory on the CPU as opscope predicts it against the peak of a real run, forward and in training.

The real peak comes from the allocator's own reports (torch.profiler's memory events). What was there before the run,
weights, inputs and the optimiser's state, is a part of both. A GPU's is memory_cuda.py's.

    python bench/memory.py [--models resnet18,bert] [--runs forward,adamw] [--json FILE]
    python bench/memory.py --json FILE --write docs/memory_measured.md
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

Made = tuple[nn.Module, dict[str, torch.Tensor]]


# --- models: torchvision's and ultralytics' by name, transformers' from configs, all with random weights


def _torchvision(name: str, batch: int, size: int = 224) -> Made:
    from opscope.sources import torchvision_models

    return torchvision_models.build(name, with_data=True), {"x": torch.rand(batch, 3, size, size)}


def _yolo(batch: int) -> Made:
    from opscope.engine import torchvision_ops

    torchvision_ops.prepare()
    from ultralytics.nn.tasks import DetectionModel

    return DetectionModel("yolov8n.yaml", verbose=False), {"x": torch.rand(batch, 3, 320, 320)}


def _transformers(model: str, config: str, settings: dict[str, Any], inputs: Callable[[], dict[str, torch.Tensor]]) -> Made:
    from opscope.engine import torchvision_ops

    torchvision_ops.prepare()
    import transformers

    made = getattr(transformers, model)(getattr(transformers, config)(**settings))
    return made, inputs()


def _tokens(batch: int, length: int, *names: str) -> Callable[[], dict[str, torch.Tensor]]:
    return lambda: {name: torch.randint(0, 1000, (batch, length)) for name in names}


_CAUSAL = {"use_cache": False}
_SMALL_LLAMA = dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12,
                    num_key_value_heads=4, vocab_size=32000)  # fmt: skip

CPU_MODELS: dict[str, Callable[[], Made]] = {
    "resnet18": lambda: _torchvision("resnet18", 8),
    "resnet50": lambda: _torchvision("resnet50", 8),
    "mobilenet_v2": lambda: _torchvision("mobilenet_v2", 8),
    "efficientnet_b0": lambda: _torchvision("efficientnet_b0", 8),
    "vit_b_16": lambda: _torchvision("vit_b_16", 4),
    "swin_t": lambda: _torchvision("swin_t", 4),
    "convnext_tiny": lambda: _torchvision("convnext_tiny", 4),
    "densenet121": lambda: _torchvision("densenet121", 4),
    "bert": lambda: _transformers("BertModel", "BertConfig", {}, _tokens(8, 128, "input_ids", "attention_mask")),
    "gpt2": lambda: _transformers("GPT2LMHeadModel", "GPT2Config", _CAUSAL, _tokens(4, 128, "input_ids")),
    "t5-small": lambda: _transformers("T5ForConditionalGeneration", "T5Config", _CAUSAL, _tokens(8, 128, "input_ids", "decoder_input_ids")),
    "llama-small": lambda: _transformers("LlamaForCausalLM", "LlamaConfig", _SMALL_LLAMA | _CAUSAL, _tokens(4, 256, "input_ids")),
    "yolov8n": lambda: _yolo(8),
}

# --- how a model is run: opscope's options, and the same written out for a real run

ADAPTED = {"bert": "query,value", "t5-small": "q,v", "llama-small": "q_proj,v_proj"}
BLOCKS = ("resnet50", "vit_b_16", "swin_t", "convnext_tiny", "bert", "gpt2", "t5-small", "llama-small")
CONVOLUTIONAL = ("resnet18", "resnet50", "mobilenet_v2", "efficientnet_b0", "convnext_tiny", "densenet121", "yolov8n")
Optimizers = dict[str, Callable[..., torch.optim.Optimizer]]
OPTIMIZERS: Optimizers = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamw:fused": lambda parameters: torch.optim.AdamW(parameters, fused=True),
    "sgd-momentum": lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9),
}


@dataclass(frozen=True)
class Way:
    """How a model is run."""

    optimizer: str = ""  # "": forward alone
    dtype: torch.dtype = torch.float32
    autocast: bool = False
    checkpoint: bool = False
    lora: bool = False
    channels_last: bool = False
    only: tuple[str, ...] = ()  # models; none: all

    def options(self, name: str) -> dict[str, Any]:
        asked: dict[str, Any] = {"training": True, "optimizer": self.optimizer} if self.optimizer else {}
        asked |= {"autocast": "bfloat16"} if self.autocast else {}
        asked |= {"checkpoint": "layers"} if self.checkpoint else {}
        asked |= {"lora": f"r=16,targets={ADAPTED[name]}"} if self.lora else {}
        return asked | ({"channels_last": True} if self.channels_last else {})

    def prepare(self, name: str, model: nn.Module) -> None:
        """What the options ask for, done by hand to a model of one's own."""
        if self.lora:
            _adapt(model, ADAPTED[name].split(","))
        if self.channels_last:
            model.to(memory_format=torch.channels_last)
        if self.checkpoint:
            _checkpoint(model)


WAYS: dict[str, Way] = {
    "forward": Way(),
    "forward-bf16": Way(dtype=torch.bfloat16),
    "adam": Way("adam"),
    "adamw": Way("adamw"),
    "adamw-fused": Way("adamw:fused"),
    "sgd-momentum": Way("sgd-momentum"),
    "bf16-adamw": Way("adamw", torch.bfloat16),
    "autocast-adamw": Way("adamw", autocast=True),
    "checkpoint-adamw": Way("adamw", checkpoint=True, only=BLOCKS),
    "lora-adamw": Way("adamw", lora=True, only=tuple(ADAPTED)),
    "lora-bf16-adamw": Way("adamw", torch.bfloat16, lora=True, only=tuple(ADAPTED)),
    "channels-last": Way(channels_last=True, only=CONVOLUTIONAL),
    "channels-last-adamw": Way("adamw", channels_last=True, only=CONVOLUTIONAL),
}


class Adapted(nn.Module):
    """A linear layer that is frozen, and two in float32 that are trained beside it, as peft has them: alpha is as large as the rank is."""

    def __init__(self, base: nn.Linear, rank: int = 16) -> None:
        super().__init__()
        self.base = base
        self.a = nn.Linear(base.in_features, rank, bias=False)
        self.b = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        own: torch.Tensor = self.base(x)
        return (own + self.b(self.a(x.to(self.a.weight.dtype)))).to(own.dtype)


def _adapt(model: nn.Module, targets: list[str]) -> None:
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in targets and isinstance(child, nn.Linear):
                setattr(module, name, Adapted(child))


def _checkpoint(model: nn.Module) -> None:
    from torch.utils.checkpoint import checkpoint

    from opscope.engine.recipe.blocks import repeated_blocks

    for block in repeated_blocks(model):
        plain = block.forward
        block.forward = lambda *given, plain=plain, **named: checkpoint(plain, *given, use_reentrant=False, **named)  # type: ignore[method-assign]


# --- the real run


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    held = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(held.values())


class Step:
    """What is measured: a forward run, or a step of training that is not the first."""

    def __init__(self, model: nn.Module, inputs: dict[str, torch.Tensor], way: Way) -> None:
        self.model, self.way = model.train(bool(way.optimizer)), way
        self.inputs = {name: self._laid_out(tensor) for name, tensor in inputs.items()}
        trained = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = OPTIMIZERS[way.optimizer](trained) if way.optimizer else None

    def _laid_out(self, tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        tensor = tensor.to(self.way.dtype)
        return tensor.to(memory_format=torch.channels_last) if self.way.channels_last and tensor.dim() == 4 else tensor

    def __call__(self) -> Any:
        from opscope.engine.training import loss_of

        if self.optimizer is None:
            with torch.no_grad():
                return self.model(**self.inputs)
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.way.autocast):
            outputs = self.model(**self.inputs)
            loss, _ = loss_of(outputs)
        assert loss is not None
        loss.backward()
        self.optimizer.step()
        return outputs

    def there(self) -> Iterator[torch.Tensor]:
        yield from (*self.model.parameters(), *self.model.buffers(), *self.inputs.values())
        for state in self.optimizer.state.values() if self.optimizer else ():
            yield from (value for value in state.values() if isinstance(value, torch.Tensor))


def peak_on_cpu(step: Step) -> int:
    from torch.profiler import ProfilerActivity, profile

    if step.optimizer is not None:
        step()
        step.model.zero_grad()
    gc.collect()
    there = _bytes(step.there())
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    events = [event for event in profiler.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return there + peak


# --- the prediction


def predicted(name: str, model: nn.Module, inputs: dict[str, torch.Tensor], way: Way) -> tuple[int, float]:
    import opscope

    given = {key: tensor.to(way.dtype) if tensor.is_floating_point() else tensor for key, tensor in inputs.items()}
    began = time.perf_counter()
    result = opscope.profile(model, given, **way.options(name))
    return json.loads(result.to_json())["memory"]["peak_memory_bytes"], time.perf_counter() - began


@dataclass
class Row:
    model: str
    run: str
    predicted: int
    measured: int
    error: float
    seconds: float


def rows(names: list[str], runs: list[str]) -> Iterator[Row]:
    for name in names or list(CPU_MODELS):
        for run in runs or list(WAYS):
            way = WAYS[run]
            if way.only and name not in way.only:
                continue
            gc.collect()
            torch.manual_seed(0)
            model, inputs = CPU_MODELS[name]()
            model.to(way.dtype).train(bool(way.optimizer))
            told, seconds = predicted(name, model, inputs, way)
            way.prepare(name, model)
            found = peak_on_cpu(Step(model, inputs, way))
            yield Row(name, run, told, found, told / found - 1, seconds)
            del model, inputs


def table(done: list[Row]) -> Iterator[str]:
    """A line a model, a column a way: how far the prediction is off."""
    ways = [run for run in WAYS if any(row.run == run for row in done)]
    yield f"| model | {' | '.join(ways)} |"
    yield f"|---|{'---:|' * len(ways)}"
    for name in dict.fromkeys(row.model for row in done):
        errors = {row.run: row.error for row in done if row.model == name}
        cells = [f"{errors[run]:+.2%}".replace("%", " %").replace("+0.00 %", "0").replace("-0.00 %", "0") if run in errors else "" for run in ways]
        yield f"| {name} | {' | '.join(cells)} |"


def all_rows(done: list[Row]) -> Iterator[str]:
    yield "| model | run | predicted MB | measured MB | |"
    yield "|---|---|---:|---:|---:|"
    for row in done:
        yield f"| {row.model} | {row.run} | {row.predicted / 1e6:,.1f} | {row.measured / 1e6:,.1f} | {row.error:+.2%} |".replace("%", " %")


def summary(done: list[Row]) -> str:
    errors = [abs(row.error) for row in done]
    near = sum(error <= 0.01 for error in errors)
    return f"{len(done)} runs of {len({row.model for row in done})} models: median {statistics.median(errors):.2%}, worst {max(errors):.2%}, {near} within 1%."


def write(page: Path, done: list[Row]) -> None:
    text = page.read_text()
    for mark, block in (("CPU", [summary(done).replace("%", " %"), "", *table(done)]), ("CPU rows", list(all_rows(done)))):
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n" + "\n".join(block) + "\n" + end + rest.split(end)[1]
    page.write_text(text)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="")
    parser.add_argument("--runs", default="", help=",".join(WAYS))
    parser.add_argument("--json", default="", help="rows as they are measured, a line each")
    parser.add_argument("--write", type=Path, help="the page whose tables are made of --json")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if asked.write:
        return write(asked.write, [Row(**json.loads(line)) for line in Path(asked.json).read_text().splitlines()])
    done = []
    for row in rows([name for name in asked.models.split(",") if name], [run for run in asked.runs.split(",") if run]):
        done.append(row)
        print(f"{row.model:16} {row.run:20} predicted {row.predicted:>13,} measured {row.measured:>13,} {row.error:+8.2%}", flush=True)
        if asked.json:
            with open(asked.json, "a") as file:
                file.write(json.dumps(asdict(row)) + "\n")
    print(summary(done))


if __name__ == "__main__":
    main(sys.argv[1:])
