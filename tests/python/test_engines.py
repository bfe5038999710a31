"""Which engine is taken for which torch, and how one is compiled at its first use. The compiler here is a script that
writes what it is asked for; tools/test_wheel.sh compiles a real engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from opscope import engines
from opscope.engines import compiling

COMPILER = """#!/bin/sh
# Says that it ran, waits where it is told to, and writes the file behind -o.
[ "$1" = --version ] && exit
echo "$$" >>"$RUNS"
[ -n "$FAILS" ] && { echo "unit.cc:3: error: no such thing" >&2; exit 1; }
while [ -n "$WAITS" ] && [ -e "$WAITS" ]; do sleep 0.05; done
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo "made of $$" >"$2"; shift; done
"""


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("2.8.0", (2, 8)),
        ("2.13.1+cpu", (2, 13)),
        ("2.13.0+cu130", (2, 13)),
        ("2.15.0+rocm7.1", (2, 15)),
        ("2.16.0.dev20261101+cpu", None),
        ("2.13.0a0+git1f2e3d4", None),
        ("2.13.0+mine", None),
        ("2.14.0rc3", None),
        ("nonsense", None),
    ],
)
def test_releases_share_an_engine_and_nothing_else_does(version: str, minor: tuple[int, int] | None) -> None:
    assert engines.release(version) == minor


def test_the_installed_torch_is_known_without_importing_it() -> None:
    code = "import sys; from opscope import engines; print(engines.installed_torch()); print('torch' in sys.modules)"
    words = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()
    import torch

    assert repr(torch.__version__)[1:-1] in words[0] and words[1] == "False"


def test_the_engine_of_a_minor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "FOLDER", tmp_path)
    for minor in (10, 8, 13):
        (tmp_path / f"torch_2_{minor}").mkdir()
        (tmp_path / f"torch_2_{minor}" / engines.FILE).touch()
    assert engines.all_made() == [(2, 8), (2, 10), (2, 13)]
    assert engines.made_for("2.13.2+cu130") == tmp_path / "torch_2_13" / engines.FILE
    assert engines.made_for("2.9.0") is None and engines.made_for("2.13.0a0+git1") is None


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kit of two units, a torch without code, the compiler above and a cache of our own."""
    folder = tmp_path / "kit"
    for name in ("units/a.cc", "units/b.cc", "units/precompiled.h", "../libopscope.so", "src/x.h", "flags", "key"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/version.py").write_text("__version__ = '9.9.0.dev1'\n")
    compiler = tmp_path / "c++"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("OPSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def runs(kit: Path) -> int:
    log = kit.parent / "runs"
    return len(log.read_text().splitlines()) if log.exists() else 0


def first_use(kit: Path, said: list[str] | None = None) -> Path:
    say = said.append if said is not None else lambda _: None
    return compiling.first_use(kit, kit.parent / "torch", "9.9.0.dev1", "_native.so", say)


IN_A_PROCESS = (
    "import sys, pathlib; from opscope.engines import compiling; kit = pathlib.Path(sys.argv[1]);"
    "print(compiling.first_use(kit, kit.parent / 'torch', '9.9.0.dev1', '_native.so', lambda text: None))"
)


def start(kit: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", IN_A_PROCESS, str(kit)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def wait_for(condition: object) -> None:
    assert callable(condition)
    limit = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_an_engine_is_compiled_once(kit: Path) -> None:
    said: list[str] = []
    made = first_use(kit, said)
    assert made.read_text().startswith("made of ") and len(said) == 1 and "torch 9.9.0.dev1" in said[0]
    assert runs(kit) == 4  # the header, two units, the link
    assert first_use(kit, said) == made and runs(kit) == 4 and len(said) == 1
    assert {path.name for path in made.parent.iterdir()} == {"_native.so", "lock"}


def test_another_torch_or_another_opscope_is_another_engine(kit: Path) -> None:
    made = first_use(kit)
    (kit.parent / "torch/version.py").write_text("__version__ = '9.9.0.dev1'\ngit_version = 'other'\n")
    other = first_use(kit)
    (kit / "key").write_text("changed")
    assert len({made, other, first_use(kit)}) == 3


def test_two_first_uses_compile_once(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = kit.parent / "gate"
    gate.touch()
    monkeypatch.setenv("WAITS", str(gate))
    both = [start(kit), start(kit)]
    wait_for(lambda: runs(kit) == 1)
    time.sleep(0.3)
    gate.unlink()
    paths = {process.communicate()[0] for process in both}
    assert len(paths) == 1 and runs(kit) == 4


def test_a_first_use_that_is_killed_leaves_no_engine(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = kit.parent / "gate"
    gate.touch()
    monkeypatch.setenv("WAITS", str(gate))
    killed = start(kit)
    wait_for(lambda: runs(kit) == 1)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert not list((kit.parent / "cache").rglob("_native.so"))
    gate.unlink()
    made = first_use(kit)
    assert made.read_text().startswith("made of ") and not list(made.parent.glob("work.*"))


def test_a_compiler_that_fails_is_not_asked_again(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILS", "1")
    with pytest.raises(compiling.CannotCompile, match=r"unit.cc:3: error: no such thing") as problem:
        first_use(kit)
    before = runs(kit)
    with pytest.raises(compiling.CannotCompile, match="failed before"):
        first_use(kit)
    assert runs(kit) == before
    log = Path(problem.value.hint.split()[0])
    assert "no such thing" in log.read_text()
    log.unlink()
    monkeypatch.delenv("FAILS")
    assert first_use(kit).exists()


def test_no_compiler(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(kit))
    with pytest.raises(compiling.CannotCompile, match="no C\\+\\+ compiler") as problem:
        first_use(kit)
    assert "apt install g++" in problem.value.hint


def test_an_engine_that_somebody_else_may_have_written_is_not_loaded(kit: Path) -> None:
    first_use(kit).chmod(0o666)
    with pytest.raises(compiling.CannotCompile, match="somebody else"):
        first_use(kit)


def test_a_cache_that_cannot_be_written(kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (kit.parent / "file").touch()
    monkeypatch.setenv("OPSCOPE_CACHE_DIR", str(kit.parent / "file"))
    with pytest.raises(compiling.CannotCompile, match="cannot be written") as problem:
        first_use(kit)
    assert "OPSCOPE_CACHE_DIR" in problem.value.hint


def test_the_oldest_torch_is_the_same_everywhere() -> None:
    root = Path(__file__).resolve().parents[2]
    oldest = ".".join(map(str, engines.OLDEST))
    assert f"set(OPSCOPE_OLDEST_TORCH {oldest})" in (root / "cmake/torch.cmake").read_text()
    assert f'torch = ["torch>={oldest}"]' in (root / "pyproject.toml").read_text()
