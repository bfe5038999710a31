"""What the zoo must hold: every model that the installed libraries name, or one for each of their files."""

from __future__ import annotations

import importlib
from types import ModuleType

import transformers_configs
from table import Row

#: Detectors are captured with bounds on their boxes; a real run of them is held against the counter too.
EAGER_TOO = "torchvision.models.detection"


def completed(rows: list[Row]) -> list[Row]:
    """The rows, and a bare one for each model without."""
    have = {row.key for row in rows}
    return rows + [Row(*key.partition(" ")[::2]) for key in _named() if key not in have]


def missing(rows: list[Row]) -> list[str]:
    have = {row.key for row in rows}
    lacking = [key for key in _named() if key not in have]
    timm = _library("timm")
    families = dict(timm.listed())
    covered = {families.get(row.spec.partition(":")[2]) for row in rows if row.group == "timm"}
    return lacking + [f"a model of timm's {family}.py" for family in sorted(set(families.values()) - covered)]


def _named() -> list[str]:
    torchvision = _library("torchvision")
    names = [f"torchvision:{name}" for name, _ in torchvision.listed()]
    names += [f"torchvision:{name} tracer=eager" for name, family in torchvision.listed() if "detection" in family]
    names += [f"yolo:{name}" for name, _ in _library("yolo").listed()]
    names += [f"small:{name}" for name in transformers_configs.MODELS]
    names += [f"hf:{name}" for name, _ in _library("hf").listed()]
    return names


def _library(name: str) -> ModuleType:
    return importlib.import_module(f"opscope.{name}_models")
