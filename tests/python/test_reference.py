"""docs/reference/python.md is what the package says of itself; tests/cli has the same for commands and ops."""

from __future__ import annotations

import importlib.util
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "python_reference.py"


def test_python_reference_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("python_reference", TOOL)
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert not tool.difference(), "\n".join(["out of date: `make reference`", *tool.difference()[:20]])
