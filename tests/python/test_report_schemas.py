"""What the commands write with --format json is what schema/*.json says: no key more, no key less."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import torch
from torch import nn

import opscope

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("OPSCOPE_PROGRAM", str(Path(sys.executable).parent / "opscope"))

#: Schema, and the arguments that make such a document of a saved model ($M), or of two ($M, $N).
REPORTS = [
    ("profile", "profile $M"),
    ("profile", "profile $M --level op --hardware h200 --top 2"),
    ("list", "list resnet1"),
    ("ops", "ops conv"),
    ("memory", "memory $M"),
    ("memory", "plot memory $M"),
    ("fuse", "fuse $M"),
    ("explore", "explore $M"),
    ("explore", "explore $M --level op --max-nodes 3"),
    ("explore", "explore $M --level subgraph --hardware h200"),
    ("explore_node", "explore $M --node 2"),
    ("explore_path", "explore $M --path 1 2"),
    ("explain", "explain $M 0"),
    ("hardware", "profile $M --hardware h200,l4"),
    ("plot_roofline", "plot roofline $M"),
    ("plot_types", "plot types $M"),
    ("plot_icicle", "plot icicle $M --metric params"),
    ("devices", "devices"),
    ("cache", "cache"),
    ("compare", "compare $M $N"),
    ("compare", "compare $M $N --by type --hardware h200,l4"),
    ("compare", "compare $M $N --by module --metric params"),
    ("diff", "diff $M $N"),
    ("check", "check $M --max flops=1K,params=12M --min arithmetic_intensity=0.1"),
    ("check", "check $M --against $N"),
]
#: Of files that are no models.
OTHERS = [
    ("plan", f"plan --costs {ROOT}/tests/readers/files/costs.json --objective throughput,latency"),
    ("plan", f"plan --costs {ROOT}/tests/readers/files/costs.json --objective cost"),
]
#: Those that need a model to capture or to run.
OF_MODELS = [
    ("inputs", "profile $P:build --print-inputs"),
    ("sweep", "profile $P:build --batch-sizes 1,2"),
    ("trace", "trace $P:build"),
    ("trace", "trace $P:build --tracer fx"),
    ("trace", "trace $P:build --tracer hybrid --source-lines"),
    ("trace", "trace $P:cut --tracer dynamo"),
    ("trace", "trace $P:cut --save-graph $D/cut.py"),
    ("fuse_against", "fuse $P:build --against inductor"),
    ("read_trace", "read-trace $D/trace.json $P:build"),
    ("sweep", "sweep $P:build --batch 1,2"),
    ("sweep", "sweep $P:build --batch 1:300 --polynomial --memory 1GiB --hardware l4"),
    ("fit", "fit $P:build --memory 1GiB"),
    ("reconcile", "reconcile $P:build --with torch,fvcore --why"),
]
MODELS = ["resnet18", "training", "attention", "measured"]
NET = """
import torch
from torch import nn

def build():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())

class Cut(nn.Module):  # in two, by a print
    def forward(self, x):
        y = x * 2
        print("")
        return y + 1

def cut():
    return Cut(), torch.zeros(2, 3)
"""


def validator(name: str) -> jsonschema.protocols.Validator:
    schema = json.loads((ROOT / "schema" / f"{name}.schema.json").read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("captures")
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    opscope.capture("resnet18").save(made / "resnet18.json")
    opscope.capture(nn.Linear(4, 4), torch.zeros(2, 4), training=True, optimizer="adam").save(made / "training.json")
    opscope.capture(layer, torch.zeros(1, 8, 16)).save(made / "attention.json")
    opscope.measure(layer, torch.zeros(1, 8, 16), runs=2).save(str(made / "measured.json"))
    return made


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("schema", "arguments"), REPORTS, ids=[text for _, text in REPORTS])
def test_documents(folder: Path, model: str, schema: str, arguments: str) -> None:
    words = arguments.replace("$M", str(folder / f"{model}.json")).replace("$N", str(folder / "resnet18.json")).split()
    done = subprocess.run([PROGRAM, *words, "--format", "json", "--quiet"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    validator(schema).validate(json.loads(done.stdout))


@pytest.mark.parametrize(("schema", "arguments"), OTHERS, ids=[text for _, text in OTHERS])
def test_documents_of_files(schema: str, arguments: str) -> None:
    done = subprocess.run([PROGRAM, *arguments.split(), "--format", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    validator(schema).validate(json.loads(done.stdout))


def test_files_that_are_read() -> None:
    for path in (ROOT / "tests/readers/files/costs.json", ROOT / "tests/fuzz/costs_corpus/bytes.json"):
        validator("plan_costs").validate(json.loads(path.read_text()))


@pytest.mark.parametrize(("schema", "arguments"), OF_MODELS, ids=[text for _, text in OF_MODELS])
def test_documents_of_models(tmp_path: Path, schema: str, arguments: str) -> None:
    (tmp_path / "net.py").write_text(NET)
    if schema == "read_trace":
        _record(tmp_path / "trace.json")
    words = arguments.replace("$P", str(tmp_path / "net.py")).replace("$D", str(tmp_path)).split()
    environment = {**os.environ, "OPSCOPE_PYTHON": sys.executable, "OPSCOPE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([PROGRAM, *words, "--format", "json", "--quiet"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    validator(schema).validate(json.loads(done.stdout))


def _record(path: Path) -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        net(torch.zeros(1, 3, 224, 224))
    profiler.export_chrome_trace(str(path))


def test_every_schema_is_tested_and_in_the_docs() -> None:
    schemas = {path.name.removesuffix(".schema.json") for path in (ROOT / "schema").glob("*.json")}
    page = (ROOT / "docs" / "reference" / "json.md").read_text()
    assert schemas == set(re.findall(r"schema/(\w+)\.schema\.json", page))
    assert schemas - {"capture", "llm", "plan_costs"} == {schema for schema, _ in [*REPORTS, *OTHERS, *OF_MODELS]}
