"""Where a model runs: the device is there, all of the model and its inputs are on it, and what is said when it is full."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from opscope._load import native
from opscope.engine.forwards import argument_names
from opscope.engine.nested import named_tensors
from opscope.engine.structural_copy import root_module
from opscope.errors import error
from opscope.inputs import Inputs
from opscope.measurement.environment import free_memory_of, memory_of

_FULL = "DefaultCPUAllocator"  # in what the CPU's allocator raises, which has no type of its own


def check_available(device: torch.device) -> torch.device:
    """The device by its whole name, 'cuda:0'; an error where this machine or this PyTorch has none."""
    if device.type == "cpu":
        return torch.device("cpu")
    if device.type == "meta":
        raise error("nothing runs on the meta device: its tensors have no data", "on", "run it on the CPU or a GPU")
    module = getattr(torch, device.type, None)
    if module is None or not hasattr(module, "is_available") or not module.is_available():
        raise error(f"there is no {device.type} device here", "on", _why_none(device.type))
    count = module.device_count()
    if device.index is not None and device.index >= count:
        there = f"there {'is' if count == 1 else 'are'} {count}, from {device.type}:0"
        raise error(f"there is no {device}", "on", f"{there} on")
    return torch.device(device.type, module.current_device() if device.index is None else device.index)


def _why_none(kind: str) -> str:
    if kind == "cuda" and not torch.backends.cuda.is_built():
        return f"torch {torch.__version__} is built for the CPU alone: install one that is built for CUDA, or run on the CPU"
    if kind == "cuda":
        runtime = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
        return f"torch {torch.__version__} is built for {runtime} and finds no GPU: look at the driver and CUDA_VISIBLE_DEVICES"
    return f"torch {torch.__version__} is built without it, or finds none"


def check_one_device(model: Any, inputs: Inputs, asked: torch.device | None, name: str) -> torch.device:
    """The one device of all weights and inputs; else an error with the tensors that are elsewhere."""
    places: dict[torch.device, list[str]] = {}
    for tensor_name, tensor in named_parts(model, inputs):
        if torch.nn.parameter.is_lazy(tensor) or tensor.dim() > 0 or tensor.device.type != "cpu":  # a number on the CPU goes with anything
            places.setdefault(tensor.device, []).append(tensor_name)
    meta = places.pop(torch.device("meta"), [])
    if meta:
        hint = "build the model on a real device; opscope.profile needs no data"
        raise error(f"{_some(meta)} on the meta device, and have no data", name, hint)
    if len(places) > 1:
        found = "; ".join(f"{_some(names)} on {device}" for device, names in places.items())
        hint = f"put all on one: model.to('{next(iter(places))}'), and its inputs"
        raise error(f"the model is on {len(places)} devices, and only one can be measured", found, hint)
    device = next(iter(places), asked or torch.device("cpu"))
    if asked is not None and device != asked:
        hint = f"move it, model.to('{asked}'), and its inputs; or leave `on` out"
        raise error(f"your model is on {device}, and `on` is {asked}", name, hint)
    return device


def named_parts(model: Any, inputs: Inputs) -> Iterator[tuple[str, torch.Tensor]]:
    """Weights by their path, inputs by their argument."""
    root = root_module(model)
    if root is not None:
        yield from root.named_parameters()
        yield from root.named_buffers()
    names = argument_names(model, len(inputs.args))
    given = dict(zip(names, inputs.args, strict=True)) | inputs.kwargs
    for name, value in given.items():
        for path, tensor in named_tensors(value, name):
            yield f"input {path}", tensor


def _some(names: list[str]) -> str:
    """'conv1.weight is', 'conv1.weight and 59 others are'."""
    if len(names) == 1:
        return f"{names[0]} is"
    others = f"{len(names) - 1} others" if len(names) > 2 else names[1]
    return f"{names[0]} and {others} are"


@dataclass
class RanOut:
    """What is left of an error once the frames that hold the model's activations are gone."""

    op: str
    where: str
    device: torch.device


def ran_out(problem: BaseException | None) -> bool:
    """Whether a device's memory ran out, in the error or in what it came from."""
    while problem is not None:
        if isinstance(problem, (torch.OutOfMemoryError, MemoryError)) or _FULL in str(problem):
            return True
        problem = problem.__cause__
    return False


def out_of_memory(left: RanOut, predicted_peak: Callable[[], int]) -> Exception:
    """The error for it: the op, the module, and what the run was going to need beside what there is."""
    gc.collect()
    if left.device.type == "cuda":
        torch.cuda.empty_cache()
    what = f"{left.device} ran out of memory" + (f" in {left.op}" if left.op else "")
    free = native.format_bytes(free_memory_of(left.device))
    there = f"{left.device} has {native.format_bytes(memory_of(left.device))}, {free} of it free now"
    try:
        needs = f"a run is predicted to need {native.format_bytes(predicted_peak())} at its peak; "
    except Exception:  # a model whose shapes depend on data, say: the rest is worth saying all the same
        needs = ""
    return error(what, left.where, f"{needs}{there}: take a smaller batch, a smaller input or another dtype")
