"""Peak memory on the CPU as opscope predicts it against the peak of a real run, forward and in training.

The real peak comes from the allocator's own reports (torch.profiler's memory events). What was there before the run,
weights, inputs and the optimiser's state, is a part of both. A GPU's is memory_cuda.py's.
Run as `python bench/memory.py [--models resnet18,bert] [--json FILE]`.
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
from typing import Any

import torch
from torch import nn

OPTIMIZER = "adam"
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

# --- the real run


def _bytes(tensors: Iterable[torch.Tensor]) -> int:
    held = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    return sum(held.values())


class Step:
    """What is measured: a forward run, or a step of training that is not the first."""

    def __init__(self, model: nn.Module, inputs: dict[str, torch.Tensor], training: bool) -> None:
        from opscope.engine.recipe.optimizers import OPTIMIZERS

        self.model, self.inputs, self.training = model.train(training), inputs, training
        make = OPTIMIZERS[OPTIMIZER]
        self.optimizer = make([p for p in model.parameters() if p.requires_grad]) if training and make else None

    def __call__(self) -> Any:
        from opscope.engine.training import loss_of

        if self.optimizer is None:
            with torch.no_grad():
                return self.model(**self.inputs)
        self.optimizer.zero_grad()
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

    if step.training:
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


def predicted(step: Step) -> tuple[int, float]:
    import opscope

    options = {"training": True, "optimizer": OPTIMIZER} if step.training else {}
    began = time.perf_counter()
    result = opscope.profile(step.model, step.inputs, **options)
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
        for run in runs:
            gc.collect()
            torch.manual_seed(0)
            model, inputs = CPU_MODELS[name]()
            step = Step(model, inputs, run == "training")
            told, seconds = predicted(step)
            found = peak_on_cpu(step)
            yield Row(name, run, told, found, told / found - 1, seconds)
            del step, model, inputs


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="")
    parser.add_argument("--runs", default="forward,training")
    parser.add_argument("--json", default="")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    done = []
    for row in rows([name for name in asked.models.split(",") if name], asked.runs.split(",")):
        done.append(row)
        print(f"{row.model:16} {row.run:9} predicted {row.predicted:>13,} measured {row.measured:>13,} {row.error:+8.2%}", flush=True)
    errors = [abs(row.error) for row in done]
    print(f"median {statistics.median(errors):.2%}, worst {max(errors):.2%}")
    if asked.json:
        with open(asked.json, "w") as file:
            json.dump([asdict(row) for row in done], file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
