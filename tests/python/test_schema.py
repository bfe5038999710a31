"""What opscope writes is what schema/*.json says: no key more, no key less."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import torch
from torch import nn

import opscope

SCHEMAS = Path(__file__).resolve().parents[2] / "schema"
CORPUS = Path(__file__).resolve().parents[1] / "fuzz" / "corpus"


class LooksAtValues(nn.Module):
    """Has what a plain network has not: a buffer, a real run, a diagnostic, outputs in a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        y = self.fc(x) * self.scale
        return {"y": y} if float(y.sum()) > 1e9 else {"y": y, "half": y[..., ::2].clone()}


def validator(name: str) -> jsonschema.protocols.Validator:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


@pytest.fixture(scope="module")
def captured() -> dict[str, opscope.Capture]:
    return {
        "resnet18": opscope.capture("resnet18", source_lines=True),
        "LooksAtValues": opscope.capture(LooksAtValues(), torch.zeros(2, 4)),
        "lstm": opscope.capture(nn.LSTM(3, 5, num_layers=2), input_shape=(7, 1, 3)),
        "training": opscope.capture(nn.Linear(4, 4), torch.zeros(2, 4), training=True, optimizer="adam"),
        "fx": opscope.trace(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.zeros(2, 4), tracer="fx"),
    }


MODELS = ["resnet18", "LooksAtValues", "lstm", "training", "fx"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("convention", ["opscope", "torch"])
def test_profiles(captured: dict[str, opscope.Capture], model: str, convention: str) -> None:
    validator("profile").validate(captured[model].profile(convention=convention).to_dict())


@pytest.mark.parametrize("model", MODELS)
def test_captures(captured: dict[str, opscope.Capture], model: str) -> None:
    validator("capture").validate(json.loads(captured[model].to_json()))


def test_a_tracers_capture() -> None:
    data = json.loads((CORPUS / "traced.json").read_text())
    check = validator("capture")
    check.validate(data)
    for name in ("parts", "breaks", "nodes"):
        for key in data[name][0]:
            changed = {**data[name][0], key: None}
            assert not check.is_valid({**data, name: [changed]}), (name, key)
    assert not check.is_valid(json.loads((CORPUS / "node_kind.json").read_text()))


def test_the_schemas_are_strict(captured: dict[str, opscope.Capture]) -> None:
    for name, data in (
        ("profile", captured["lstm"].profile().to_dict()),
        ("capture", json.loads(captured["lstm"].to_json())),
    ):
        check = validator(name)
        assert not check.is_valid({**data, "surprise": 1})
        for key in data:
            if key != "lifetimes":  # not every capture tells them
                assert not check.is_valid(_without(data, key)), key


def _without(data: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != key}
