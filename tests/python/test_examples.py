"""The examples run as they are printed in the docs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(script: str, *arguments: str, fails: bool = False) -> str:
    done = subprocess.run([sys.executable, EXAMPLES / script, *arguments], capture_output=True, text=True, timeout=600)
    assert (done.returncode != 0) == fails, done.stderr
    if not fails:
        assert done.stderr == ""
    return done.stderr if fails else done.stdout


def test_small_models_through_dynamo() -> None:
    text = run("dynamo_tracing.py")
    assert text.count("Graph Partition 1\n") == 3 and text.count("Graph Partition 2\n") == 1
    assert "the model branches on a tensor's value" in text
    simple = 3 * 16 * 9 * 32 * 32 + 16 * 32 * 9 * 16 * 16 + 32 * 8 * 8 * 10
    assert f"{simple:,} MACs in all, 0 graph breaks" in text and ", 1 graph break\n" in text
    rows = [line.split() for line in text[text.index("--- compare") :].splitlines()]
    works = {(row[0], row[1]) for row in rows if len(row) == 6 and row[2].isdigit()}
    everything = {(model, tracer) for model in ("simple", "control", "loops") for tracer in ("fx", "dynamo", "export")}
    assert everything - works == {("control", "fx"), ("control", "export"), ("loops", "fx")}


def test_one_example_alone_and_a_wrong_name() -> None:
    text = run("dynamo_tracing.py", "loops")
    assert "--- loops" in text and "--- simple" not in text
    assert "no example called 'loop'" in run("dynamo_tracing.py", "loop", fails=True)


@pytest.mark.parametrize(("model", "name"), [("bert", "BertModel"), ("vit", "ViTForImageClassification")])
def test_transformers_models_and_their_saved_graphs(model: str, name: str, tmp_path: Path) -> None:
    saved = tmp_path / "output" / f"{model}_graph.py"
    text = run("huggingface_models.py", "--model", model, "--layers", "1", "--save-graph", str(saved))
    assert name in text and "Graph Partition 1" in text and f"saved {saved}" in text
    done = subprocess.run([sys.executable, saved], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_yolo() -> None:
    text = run("yolo_tracing.py", "--image-size", "64")
    assert "fx             failed" in text and "dynamo_export  used" in text and "553 nodes in 1 graph\n" in text


@pytest.mark.slow
def test_all_transformers_models_in_full(tmp_path: Path) -> None:
    text = run("huggingface_models.py", "--model", "all", "--save-graph", str(tmp_path / "graph.py"))
    assert "DetrForObjectDetection" in text
    assert {path.name for path in tmp_path.glob("*.py")} == {"graph_detr.py", "graph_bert.py", "graph_vit.py"}


@pytest.mark.slow
def test_yolo_in_full(tmp_path: Path) -> None:
    assert "saved" in run("yolo_tracing.py", "yolov8n.yaml", "--save-graph", str(tmp_path / "yolo.py"))
