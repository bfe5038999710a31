#!/usr/bin/env python3
"""Looks at the sources without running them: clang-format, ruff and mypy on everything, clang-tidy on C++ files that changed.

Changed is what differs from the merge base with main, what is not committed among it; on main itself, the last commit.
`--all` gives clang-tidy all of src, which takes an hour of one core. clang-tidy reads the flags of build/tidy, a CMake
configuration that compiles each file alone."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent
TIDY = ROOT / "build" / "tidy"
MOST_CHANGED = 24  # files for clang-tidy in a check that is to be quick; the rest is `make test-all`'s


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def tracked(*patterns: str) -> list[str]:
    return [path for path in git("ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns) if (ROOT / path).exists()]


def base_revision() -> str:
    """The commit to compare with; "" where there is none, as in a clone of depth one."""
    head = git("rev-parse", "HEAD")
    for main in ("origin/main", "main"):
        base = git("merge-base", "HEAD", main)
        if base and (base != head or git("status", "--porcelain")):
            return base[0]
    return next(iter(git("rev-parse", "--verify", "--quiet", "HEAD~1")), "")


def changed_units() -> list[str]:
    """The .cc files of src that changed, or whose headers did, those with most changed lines first."""
    lines: dict[str, int] = {}
    base = base_revision()
    for row in git("diff", "--numstat", "--no-renames", base, "--", "src") if base else []:
        added, _, path = row.split("\t")
        lines[path] = int(added) if added.isdigit() else 0
    for path in git("ls-files", "--others", "--exclude-standard", "--", "src"):
        lines[path] = 1_000_000
    units: dict[str, int] = {}
    for path, count in lines.items():
        unit = str(Path(path).with_suffix(".cc"))
        if (ROOT / unit).exists():
            units[unit] = max(count, units.get(unit, 0))
    return sorted((unit for unit, count in units.items() if count > 0), key=lambda unit: (-units[unit], unit))


def run(name: str, command: Iterable[str | Path]) -> bool:
    started = time.monotonic()
    done = subprocess.run([str(word) for word in command], cwd=ROOT, capture_output=True, text=True, check=False)
    passed = done.returncode == 0
    print(f"{'ok    ' if passed else 'FAILED'}  {name}  {time.monotonic() - started:.0f} s", flush=True)
    if not passed:
        print((done.stdout + done.stderr).rstrip(), flush=True)
    return passed


def configure_tidy() -> set[str]:
    """The files that CMake compiles, with their flags in build/tidy; nothing is compiled."""
    command = ["cmake", "-G", "Ninja", "-S", ROOT, "-B", TIDY, "-DCMAKE_UNITY_BUILD=OFF", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"]
    command += ["-DCMAKE_CXX_COMPILER=g++", f"-DPython3_EXECUTABLE={sys.executable}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return {str(Path(entry["file"]).relative_to(ROOT)) for entry in json.loads((TIDY / "compile_commands.json").read_text())}


def tidy(units: list[str]) -> bool:
    known = configure_tidy()
    command = [TOOLS / "clang-tidy", "-p", TIDY, "--quiet", "--extra-arg=-Wno-unknown-warning-option"]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return all(list(pool.map(lambda unit: run(f"clang-tidy {unit}", [*command, unit]), [u for u in units if u in known])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="clang-tidy over all of src")
    asked = parser.parse_args()
    cheap = [
        ("clang-format", [TOOLS / "clang-format", "--dry-run", "-Werror", *tracked("*.cc", "*.h")]),
        ("ruff", [TOOLS / "ruff", "check", "--quiet", *tracked("*.py")]),
        ("mypy", [TOOLS / "mypy", "--no-error-summary"]),
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        passed = all(list(pool.map(lambda check: run(*check), cheap)))
    units = tracked("src/*.cc") if asked.all else changed_units()
    if not asked.all and len(units) > MOST_CHANGED:
        print(f"clang-tidy: the {MOST_CHANGED} of {len(units)} changed files with most new lines; `make test-all` does all")
        units = units[:MOST_CHANGED]
    if units:
        passed &= tidy(units)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
