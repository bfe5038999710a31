#!/usr/bin/env python3
"""Writes docs/reference/commands.md and ops.md from the program's own tables; --check only says whether they are right.

    tools/reference.py OPSCOPE [--check]
"""

from __future__ import annotations

import difflib
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"

OPS = """# Ops

The cost table, made from the program's own rows by `opscope ops --format md`; `make reference` writes it anew. What the
categories count is in [conventions](../conventions.md), what the fusion classes may do in [fusion](../fusion.md#the-rules).
`n` elements come out of an op and `m` go in; `opscope explain MODEL NODE` puts one call's values into its formula. An op
that is not here is counted as its parts where it has any, and else listed as unknown, never as zero.

"""


def output(program: str, *arguments: str) -> str:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def pages(program: str) -> dict[Path, str]:
    return {
        FOLDER / "commands.md": output(program, "help", "--format", "md"),
        FOLDER / "ops.md": OPS + output(program, "ops", "--format", "md"),
    }


def difference(path: Path, right: str) -> list[str]:
    there = path.read_text() if path.exists() else ""
    return list(difflib.unified_diff(there.splitlines(), right.splitlines(), str(path), "the program", lineterm="", n=0))


def main(program: str, check: bool) -> int:
    wrong = 0
    for path, text in pages(program).items():
        lines = difference(path, text)
        if check and lines:
            print(f"{path} is out of date; `make reference` writes it anew:", *lines[:30], sep="\n")
            wrong = 1
        elif lines:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return wrong


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--check"]
    if len(words) != 1:
        sys.exit(__doc__)
    sys.exit(main(words[0], "--check" in sys.argv))
