"""What the documentation says can be typed: fenced blocks of its pages, the commands in them, and where they stand."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHELL = ("", "sh", "bash", "console")
FLAG = re.compile(r"--?[a-z][\w-]*( \w+)?|[a-z_]+")
_FENCE = re.compile(r"^(\s*)```(\S*)\s*$")
_PLACEHOLDER = re.compile(r"^(MODEL|FILE|NODE|KIND|COMMAND|PATTERN|TRACE|NAME|TEXT|PATH|BASE|NEW|A|B)\b|\.\.\.")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int  # of its first line, from 1
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    place: str
    text: str
    exit_code: int = 0  # what the page says it ends with

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)

    @property
    def is_form(self) -> bool:
        """A form to fill in (`opscope profile MODEL`), not something to type."""
        return any(_PLACEHOLDER.search(word) for word in self.words)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    start, language, indent, lines = 0, "", "", []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = _FENCE.match(line)
        if fence and not start:
            start, (indent, language), lines = number + 1, fence.groups(), []
        elif fence and start:
            yield Block(page, start, language, "\n".join(lines))
            start = 0
        elif start:
            lines.append(line.removeprefix(indent))
    assert not start, f"{page}:{start}: the block does not end"


def named_file(block: Block) -> str | None:
    """A block that begins with `# my_model.py`, and is whole, is that file."""
    found = re.match(r"# (\w+\.(?:py|toml))\n", block.text)
    return found[1] if found and (found[1].endswith(".toml") or "import " in block.text) else None


def commands_of(block: Block) -> Iterator[Command]:
    """The lines of a shell block that call opscope or Python; with `$` in front of any, only those."""
    if block.language not in SHELL:
        return
    prompt = any(line.startswith("$ ") for line in block.text.splitlines())
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        if prompt and not line.startswith("$ "):
            continue
        said = re.search(r"# exit code (\d+)", line)
        line = _without_words(line.removeprefix("$ ").strip())
        if re.match(r"(opscope|python3?) ", line):
            yield Command(block.place, line, int(said[1]) if said else 0)


def shown(block: Block) -> Iterator[tuple[Command, list[str]]]:
    """Commands behind `$` with the lines below each; `...` stands for lines that were cut."""
    if block.language in SHELL and block.text.startswith("$ "):
        for part in re.split(r"^\$ ", block.text.replace("\\\n", " "), flags=re.M)[1:]:
            line, *printed = part.splitlines()
            yield Command(block.place, _without_words(line)), [each for each in printed if each.strip() not in ("", "...")]


def _without_words(line: str) -> str:
    """What follows two spaces or a `#` says what the line does."""
    return re.split(r"\s{2,}|\s+# ", line)[0].strip()


def inline_commands(page: Path) -> Iterator[Command]:
    """`opscope profile MODEL --flag` in running text."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if _FENCE.match(line):
            inside = not inside
        if not inside:
            for text in re.findall(r"`(opscope [a-z-]+[^`]*)`", line):
                yield Command(f"{page.relative_to(ROOT)}:{number}", text)


#: Captured in seconds, and by many commands, so that the cache has them after the first.
QUICK_MODELS = ("resnet18", "bert-base-uncased", "yolov8n", "yolov8n.pt", "my_model.py:build")
_OF_ONE_MODEL = ("profile", "explore", "fuse", "memory", "explain", "draw", "plot", "capture")
_SLOW = re.compile(r"^python|^opscope (measure|trace|reconcile|sweep|fit|diff|compare) |--tracer|--against|--training|--batch-sizes")


_WRITTEN_AFTER = ("-o", "--output", "--save", "--save-graph", "--export", "--trace", "--write-budget", "--pareto", "-v", "--visualize")


def is_slow(command: Command) -> bool:
    """Runs a model, asks a tracer, or captures what no other command does: left to `make test-all`."""
    if _SLOW.search(command.text):
        return True
    words = [word for word in command.words[1:] if word not in ("--model",)]
    if words[0] not in _OF_ONE_MODEL:
        return False
    model = words[2] if words[0] == "plot" else words[1] if len(words) > 1 else ""
    sized = any(word in ("--seq-len", "--batch", "--image-size", "--input-shape", "--dtype", "--phase") for word in words)
    return sized or not (model in QUICK_MODELS or model.endswith((".json", ".onnx")))


class Shell:
    """Runs what the pages say in a folder of its own, with one cache for all of them."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        programs = folder / ".programs"
        programs.mkdir()
        here = Path(sys.executable).parent
        (programs / "opscope").symlink_to(os.environ.get("OPSCOPE_PROGRAM", here / "opscope"))
        # A link would be a Python without its environment's packages: that is looked for beside the program.
        (programs / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
        (programs / "python").chmod(0o755)
        (folder / "examples").symlink_to(ROOT / "examples")
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{here}:{os.environ['PATH']}",
            "OPSCOPE_PYTHON": sys.executable,
            "OPSCOPE_CACHE_DIR": str(cache),
            "OMP_NUM_THREADS": "1",
        }

    def lacks(self, command: Command) -> list[str]:
        """Files that it reads and nobody has written: the reader's own."""
        pairs = list(zip(command.words, command.words[1:], strict=False))
        written = {word for before, word in pairs if before in _WRITTEN_AFTER}
        files = {word.split(":")[0] for _, word in pairs if word not in written}
        return [path for path in files if re.search(r"\.(json|toml|py|onnx|pt2|gz)$", path) and not (self.folder / path).exists()]

    def run(self, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", text], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600
        )

    def failure(self, command: Command) -> str | None:
        done = self.run(command.text)
        may_say_no = re.search(r"^opscope check |--strict|--exit-code", command.text)
        if done.returncode == command.exit_code or (may_say_no and done.returncode == 1):
            return None
        return f"{command.place}: {command.text}\n  exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-600:]}"


def runnable(commands: Iterable[Command], slow: bool) -> Iterator[Command]:
    """Those to run now: the quick ones alone leave out what reads a file that a slow one writes."""
    left_out: set[str] = set()
    for command in commands:
        files = {word for word in command.words if re.search(r"\.[a-z]\w{1,5}$", word)}
        if not slow and (is_slow(command) or files & left_out - {"my_model.py", "yolov8n.pt"}):
            left_out |= files
        else:
            yield command


@contextlib.contextmanager
def kept(*tables: dict[Any, Any]) -> Iterator[None]:
    """What the pages register is gone again afterwards."""
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, old in zip(tables, before, strict=True):
            table.clear()
            table.update(old)
