"""`python -m opscope.capture`: requests in, JSON lines out, and nothing of the model's own prints between them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opscope


def ask(request: Any, **environment: str) -> tuple[int, list[dict[str, Any]], str]:
    text = request if isinstance(request, str) else json.dumps(request)
    done = subprocess.run(
        [sys.executable, "-m", "opscope.capture", text],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_named_model(tmp_path: Path) -> None:
    output = tmp_path / "capture.json"
    code, answers, stderr = ask({"command": "capture", "model": None, "batch": 2, "output": str(output)})
    assert code == 0, answers
    assert answers[-1] == {"done": {"cacheable": True}}
    assert {"status": "importing torchvision"} in answers and stderr == ""
    assert opscope.load(output).profile().inputs[0].shape == [2, 3, 224, 224]
    paths = [Path(row["path"]).name for row in json.loads(output.read_text())["capture"]["dependencies"]]
    assert paths.count("version.py") == 2 and any(name.startswith("_native") for name in paths)


NOISY = """
import sys, os
import torch
print("import says hello")
class Noisy(torch.nn.Linear):
    def __init__(self):
        super().__init__(3, 4)
    def forward(self, x):
        print("forward says hello")
        os.write(1, b"straight to the descriptor\\n")
        return super().forward(x)
class Exits(Noisy):
    def __init__(self):
        sys.exit(5)
class Raises(Noisy):
    def forward(self, x):
        raise ValueError("no such luck\\nsecond line")
"""


@pytest.fixture()
def noisy(tmp_path: Path) -> str:
    path = tmp_path / "noisy_model.py"
    path.write_text(NOISY)
    return str(path)


def test_prints_do_not_reach_the_protocol(noisy: str, tmp_path: Path) -> None:
    request = {
        "command": "capture",
        "model": f"{noisy}:Noisy",
        "input_shape": [[2, 3]],
        "output": str(tmp_path / "capture.json"),
    }
    code, answers, stderr = ask(request)
    assert code == 0 and answers[-1] == {"done": {"cacheable": False}}
    for text in ("import says hello", "forward says hello", "straight to the descriptor"):
        assert text in stderr


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("resnet81", "no model called 'resnet81'"),
        ("{noisy}:Exits", "the model's code called exit(5)"),
        ("{noisy}:Raises", "no such luck"),
    ],
)
def test_errors(noisy: str, tmp_path: Path, model: str, says: str) -> None:
    output = tmp_path / "capture.json"
    request = {
        "command": "capture",
        "model": model.format(noisy=noisy),
        "input_shape": [[2, 3]],
        "output": str(output),
    }
    code, answers, _ = ask(request)
    found = answers[-1]["error"]
    assert code == 2 and says in found["what"] and "\n" not in found["what"]
    assert set(found) == {"what", "where", "hint", "candidates", "traceback"}
    assert not output.exists()
    assert ("resnet18" in found["candidates"]) == (model == "resnet81")


@pytest.mark.parametrize("request_text", ["", "not json", "{}", '{"command": "dance"}', "[]"])
def test_bad_requests(request_text: str) -> None:
    code, answers, _ = ask(request_text)
    assert code == 2 and answers[-1]["error"]["what"].startswith("not a request")


def test_list(tmp_path: Path) -> None:
    registry, output = tmp_path / "names.py", tmp_path / "list.json"
    registry.write_text("import opscope, torch\nopscope.register_model('my_resnet', lambda: torch.nn.Identity())\n")
    code, _, _ = ask({"command": "list", "registry": str(registry), "output": str(output)})
    listing = json.loads(output.read_text())
    names = {row["name"]: row["source"] for row in listing["models"]}
    assert code == 0 and names["my_resnet"] == "registered in names.py"
    assert names["resnet18"].startswith("torchvision ") and names["gpt2"].startswith("transformers ")
    assert set(listing["dependencies"][0]) == {"path", "bytes", "modified_ns"}


def test_a_module_that_a_file_holds_is_cast_too(tmp_path: Path) -> None:
    (tmp_path / "held.py").write_text("import torch\nmodel = torch.nn.Linear(3, 4)\n")
    output = tmp_path / "capture.json"
    request = {"command": "capture", "model": f"{tmp_path}/held.py:model", "input_shape": [[1, 3]], "dtype": "bfloat16"}
    code, answers, _ = ask({**request, "output": str(output)})
    assert code == 0, answers
    ops = opscope.load(output).profile().ops
    assert {value["dtype"] for value in ops[0]["inputs"]} == {"bfloat16"}


@pytest.mark.parametrize(
    ("asked", "where"),
    [({"on": "tpu"}, "--on"), ({"runs": 0}, "--runs"), ({"min_time": -1}, "--min-time")],
)
def test_errors_name_flags(tmp_path: Path, asked: dict[str, Any], where: str) -> None:
    code, answers, _ = ask({"command": "measure", "model": None, "output": str(tmp_path / "m.json"), **asked})
    assert code == 2 and answers[-1]["error"]["where"] == where
    assert "=" not in answers[-1]["error"]["hint"]
