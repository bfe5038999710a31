"""Building for other releases of torch, and the table of those that were tried."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import compatibility  # noqa: E402
from compatibility import BASE, PAIRS, TORCHES, Cell, Pair  # noqa: E402


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed")
@pytest.mark.parametrize("version", ["2.7.1+cpu", "1.13.0", "2.8.0+cu128"])
def test_cmake_refuses_a_torch_that_is_too_old(version: str, tmp_path: Path) -> None:
    package = tmp_path / "site" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "version.py").write_text(f"__version__ = '{version}'\n")
    project = tmp_path / "CMakeLists.txt"
    project.write_text(f"cmake_minimum_required(VERSION 3.24)\nproject(x NONE)\ninclude({ROOT}/cmake/torch.cmake)\n")
    command = ["cmake", "-S", str(tmp_path), "-B", str(tmp_path / "build"), f"-DPython3_EXECUTABLE={sys.executable}"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(package.parent)})
    said = " ".join(done.stderr.split())
    is_old = not version.startswith("2.8")
    assert (done.returncode != 0) == is_old, said
    assert (f"torch {version} in {sys.executable} is too old: opscope needs torch 2.8 or newer" in said) == is_old


def test_what_joins_includes_its_header() -> None:
    """fmt::join is in fmt/format.h up to fmt 10, and in fmt/ranges.h from fmt 11 on, which torch brings along."""
    sources = {path: path.read_text() for path in (ROOT / "src").rglob("*.cc")}
    joining = {path for path, text in sources.items() if "fmt::join" in text}
    assert joining and not [str(path) for path in joining if "#include <fmt/ranges.h>" not in sources[path]]


def test_the_page_has_a_row_for_every_pair_and_keeps_those_not_tried(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Head\n\n<!-- matrix -->\n<!-- end -->\n\ntail\n")
    first, last = PAIRS[0], PAIRS[-1]
    compatibility.write_page(page, {first: Cell("CPU", "yes", "9 passed", "44 equal")})
    compatibility.write_page(page, {last: Cell("CUDA 13.2", "no")})
    text = page.read_text()
    assert f"| {first.torch} | {first.python} | CPU | yes | 9 passed | 44 equal |" in text
    assert f"| {last.torch} | {last.python} | CUDA 13.2 | no | not tested | not tested |" in text
    assert len(re.findall(r"^\| \d", text, re.MULTILINE)) == len(PAIRS)
    assert text.startswith("# Head") and text.endswith("\n\ntail\n")


def test_the_pinned_torch_is_one_of_those_tried() -> None:
    assert Pair(compatibility.pinned("torch"), BASE) in PAIRS
    assert sorted(TORCHES, key=lambda version: [int(part) for part in version.split(".")]) == list(TORCHES)


def test_the_documentation_has_the_pairs_of_the_script() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text()
    assert [pair for pair, _ in compatibility._rows_of(page)] == list(PAIRS)


def test_counts_are_those_of_the_report(tmp_path: Path) -> None:
    report = tmp_path / "tests.xml"
    cases = ["<testcase classname='a' name='x'/>", "<testcase classname='a' name='y'><skipped/></testcase>"]
    cases += ["<testcase classname='a' name='z'><failure/></testcase>", "<testcase classname='b' name='w'><error/></testcase>"]
    report.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    assert compatibility._judged(report) == ("1 passed, 1 skipped, 2 failed", ["a::z", "b::w"])
