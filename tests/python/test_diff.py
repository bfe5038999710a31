"""opscope.diff and opscope.check, and `opscope diff` of git revisions with a real Python behind it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import opscope

PROGRAM = os.environ.get("OPSCOPE_PROGRAM", str(Path(sys.executable).parent / "opscope"))

BEFORE = """
import torch
from layers import width

def build():
    return torch.nn.Sequential(torch.nn.Linear(8, width), torch.nn.ReLU(), torch.nn.Linear(width, 4))

def example_inputs():
    return (torch.zeros(2, 8),)
"""


def net(width=16, extra=False):
    parts = [torch.nn.Linear(8, width), torch.nn.ReLU()]
    if extra:
        parts.append(torch.nn.Dropout())
    return torch.nn.Sequential(*parts, torch.nn.Linear(width, 4))


def test_a_diff_says_what_changed():
    found = opscope.diff(net(16), net(32), inputs=torch.zeros(2, 8))
    assert not found.same
    assert found.totals.params.change == 16 * 8 + 16 + 4 * 16
    first = next(row for row in found.changes if row.path == "0")
    assert first.status == "changed"
    assert first.what[0] == {"kind": "size", "name": "out_features", "base": "16", "new": "32"}
    assert sum(row.change["flops"] for row in found.changes) == found.totals.flops.change
    assert "out_features 16" in str(found)


def test_an_index_that_shifts_is_one_addition():
    found = opscope.diff(net(), net(extra=True), inputs=torch.zeros(2, 8))
    assert [(row.status, row.path) for row in found.changes] == [("added", "2")]


def test_equal_models_are_the_same(tmp_path):
    graph = opscope.capture(net(), torch.zeros(2, 8))
    assert opscope.diff(graph, graph.profile()).same
    assert "no difference" in opscope.diff(graph, graph).to_markdown(tmp_path / "diff.md")
    assert "no difference" in (tmp_path / "diff.md").read_text()


def test_a_check_is_true_where_limits_are_kept():
    inputs = torch.zeros(2, 8)
    assert opscope.check(net(), inputs, max={"params": "1K", "flops": 1_000_000})
    broken = opscope.check(net(), inputs, max="params=10")
    assert not broken
    assert broken.broken[0].text.startswith("params is 212, over 10 by 202")
    assert "over budget" in str(broken)


def test_a_check_against_an_earlier_version():
    inputs = torch.zeros(2, 8)
    base = opscope.profile(net(16), inputs)
    assert opscope.check(net(16), inputs, against=base)
    check = opscope.check(net(17), inputs, against=base, max_increase={"params": "2%"})
    assert not check.kept
    assert check.broken[0].contributors[0]["path"] == "0"
    assert opscope.check(net(17), inputs, against=base, max_increase="50%")


def test_bad_limits_say_what_would_do():
    with pytest.raises(opscope.Error, match="no metric called 'flop'"):
        opscope.check(net(), torch.zeros(2, 8), max={"flop": 1})
    with pytest.raises(opscope.Error, match="no limit"):
        opscope.check(net(), torch.zeros(2, 8))


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments], cwd=folder, check=True, capture_output=True
        )

    git("init", "-q", "-b", "main")
    (folder / "net.py").write_text(BEFORE)
    (folder / "layers.py").write_text("width = 16\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    return folder, git


def run(folder, *arguments):
    environment = {**os.environ, "OPSCOPE_CACHE_DIR": str(folder.parent / "cache"), "OPSCOPE_PYTHON": sys.executable}
    return subprocess.run([PROGRAM, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


def test_a_revision_has_its_own_imports(repository):
    folder, git = repository
    (folder / "layers.py").write_text("width = 32\n")
    spec = "net.py:build"
    result = run(folder, "diff", f"HEAD:{spec}", spec, "--input-shape", "2,8", "--format", "json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["totals"]["params"] == {"base": 212, "new": 420, "change": 208}
    git("commit", "-q", "-a", "-m", "wider")
    result = run(folder, "diff", spec, "--base-rev", "HEAD~1", "--input-shape", "2,8", "--exit-code")
    assert result.returncode == 1, result.stderr
    assert "out_features 16" in result.stdout
    assert "/tmp" not in result.stdout
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == [".git", "layers.py", "net.py"]


def test_a_check_against_a_revision(repository):
    folder, _ = repository
    arguments = ("check", "net.py:build", "--against", "HEAD:net.py:build", "--input-shape", "2,8")
    assert run(folder, *arguments).returncode == 0
    (folder / "layers.py").write_text("width = 32\n")
    result = run(folder, *arguments, "--max-increase", "2%")
    assert result.returncode == 1, result.stderr
    assert "is 420, over 216 by 204" in result.stdout


def test_an_error_of_the_old_version_is_told_by_its_revision(repository):
    folder, _ = repository
    result = run(folder, "diff", "HEAD:net.py:make", "net.py:build", "--input-shape", "2,8")
    assert result.returncode == 2
    assert "HEAD:net.py" in result.stderr
    assert "/tree/" not in result.stderr


def test_a_saved_capture_keeps_its_own_inputs(tmp_path):
    base = tmp_path / "base.json"
    opscope.capture(net(16), torch.zeros(2, 8)).save(base)
    assert opscope.check(net(16), torch.zeros(2, 8), against=base)
    assert opscope.diff(base, net(32), inputs=torch.zeros(2, 8)).totals.params.change > 0


def test_a_base_that_is_not_there():
    with pytest.raises(opscope.Error, match="no such file"):
        opscope.check(net(16), torch.zeros(2, 8), against="nosuch.json")
