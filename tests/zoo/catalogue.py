"""What the zoo must hold: every model that the installed libraries name, or one for each of their files."""

from __future__ import annotations

import importlib
from types import ModuleType

import file_models
import transformers_configs
from opscope.sources import hf_known
from opscope.sources.hf_known import Known
from table import Row

#: What the documentation promises by name.
NAMED = [
    "hf:meta-llama/Llama-3.1-8B",
    "hf:meta-llama/Llama-3.1-8B phase=decode past_len=4096",
    "hf:meta-llama/Llama-3.1-405B",
    "hf:mistralai/Mixtral-8x7B-v0.1",
    "hf:deepseek-ai/DeepSeek-V3",
    "hf:facebook/mms-tts-eng tracer=static",
]
#: How long it speaks is drawn at random: a real run's work is no number to hold anything to.
RANDOM = {"facebook/mms-tts-eng"}


def bare(rows: list[Row]) -> list[Row]:
    """An empty row for each model that has none."""
    have = {row.key for row in rows}
    return [Row(spec, options) for spec, _, options in (key.partition(" ") for key in _named() if key not in have)]


def missing(rows: list[Row]) -> list[str]:
    have = {row.key for row in rows}
    lacking = [key for key in _named() if key not in have]
    timm = _library("timm")
    families = dict(timm.listed())
    covered = {families.get(row.spec.partition(":")[2]) for row in rows if row.group == "timm"}
    return lacking + [f"a model of timm's {family}.py" for family in sorted(set(families.values()) - covered)]


def _named() -> list[str]:
    """Detectors twice: with bounds on their boxes, and really run, where the counter sees the same boxes."""
    torchvision = _library("torchvision")
    names = [f"torchvision:{name}" for name, _ in torchvision.listed()]
    names += [f"torchvision:{name} tracer=eager" for name, family in torchvision.listed() if "detection" in family]
    names += [f"yolo:{name}" for name, _ in _library("yolo").listed()]
    names += [f"small:{name}" for name in transformers_configs.MODELS]
    names += [f"hf:{name}" for name in _known_architectures()] + NAMED
    names += file_models.names()
    return list(dict.fromkeys(names))


def _known_architectures() -> list[str]:
    """Of the well-known ids, the smallest of each architecture and class."""
    smallest: dict[tuple[str, str], Known] = {}
    for model in {row.id: row for row in hf_known.table().values()}.values():
        key = (model.config.get("model_type", ""), model.class_name)
        if key not in smallest or model.parameters.start < smallest[key].parameters.start:
            smallest[key] = model
    return [model.id for model in smallest.values() if model.id not in RANDOM]


def _library(name: str) -> ModuleType:
    return importlib.import_module(f"opscope.sources.{name}_models")
