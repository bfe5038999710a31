"""The installed program and the package give the same numbers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opscope

PROGRAM = str(Path(sys.executable).parent / "opscope")


def run(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "OPSCOPE_PYTHON": sys.executable}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, env=environment)


def without_time(data: dict[str, Any]) -> dict[str, Any]:
    data["capture"].pop("seconds")
    return data


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def test_same_numbers_as_the_package(cache: Path) -> None:
    first = run("profile", "resnet18", "--format", "json", cache=cache)
    assert first.returncode == 0, first.stderr
    assert without_time(json.loads(first.stdout)) == without_time(opscope.profile("resnet18").to_dict())
    again = run("profile", "resnet18", "--format", "json", cache=cache)
    assert again.stdout == first.stdout  # from the cache: the same bytes, the capture's time included


def test_users_own_file(cache: Path, tmp_path: Path) -> None:
    path = tmp_path / "own_model.py"
    path.write_text("import torch\ndef make():\n    return torch.nn.Linear(3, 4), torch.zeros(2, 3)\n")
    done = run("profile", f"{path}:make", "--format", "json", cache=cache)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["totals"]["macs"] == 2 * 3 * 4


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("profile", "resnet81"), "resnet18"),
        (("profile", "resnet18", "--input-shape", "1", "3", "-4", "224"), "shape"),
        (("profile", "resnet18", "--input-shape", "1", "4", "224", "224"), "conv1"),
        (("profile", "nothing_here.py:Net"), "nothing_here.py"),
    ],
)
def test_errors_are_one_line_and_a_hint(cache: Path, arguments: tuple[str, ...], says: str) -> None:
    done = run(*arguments, cache=cache)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("opscope: ") and says in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.splitlines()) <= 3
