"""Tries opscope with every supported torch and Python, each pair in an environment of its own.

    compatibility.py                     all pairs
    compatibility.py --ends              the oldest torch, the pinned one and the newest, on the pinned torch's Python
    compatibility.py --torch 2.8.0       this torch only; may be repeated, and so may --python 3.12
    compatibility.py --write PAGE        brings the rows of the pairs that were tried up to date in docs/compatibility.md

A pair gets its torch, the torchvision for it and the packages of requirements.txt; opscope is built there as a user
would build it. Then the Python tests run, and the models of `make test`, whose MACs must be those of the pinned torch.
With uv on the path, environments share the files of their packages, which are gigabytes each.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
TORCHES = ("2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0")
NEWEST_ON = {"3.10": "2.14.1", "3.12": "2.15.0", "3.13": "2.15.0", "3.14": "2.15.0"}  # torch 2.15 has left 3.10
BASE = "3.11"  # the Python on which every torch is tried

NOT_TESTED = "not tested"


@dataclass(frozen=True)
class Pair:
    torch: str
    python: str

    @property
    def name(self) -> str:
        return f"torch-{self.torch}-python-{self.python}"


PAIRS = (*(Pair(torch, BASE) for torch in TORCHES), *(Pair(torch, python) for python, torch in NEWEST_ON.items()))


@dataclass
class Cell:
    """What was seen of a pair; a part that was not reached says so."""

    build: str = NOT_TESTED  # of torch: "CPU" or "CUDA 13.0"
    built: str = NOT_TESTED
    tests: str = NOT_TESTED
    zoo: str = NOT_TESTED
    problems: list[str] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        return not self.problems


def main() -> int:
    options = _parse()
    cells = {}
    for pair in _chosen(options):
        cells[pair] = Trial(pair, options.folder).cell(options.keep)
        print(_row(pair, cells[pair]), flush=True)
        for problem in cells[pair].problems:
            print(f"  {problem}", flush=True)
        if options.write:
            write_page(options.write, {pair: cells[pair]})
    return 0 if all(cell.is_well for cell in cells.values()) else 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", action="append", default=[], metavar="VERSION")
    parser.add_argument("--python", action="append", default=[], metavar="VERSION")
    parser.add_argument("--ends", action="store_true")
    parser.add_argument("--keep", action="store_true", help="what an earlier run found out about a pair stays")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "compat", help="of the environments and their logs")
    parser.add_argument("--write", type=Path, metavar="PAGE")
    return parser.parse_args()


def _chosen(options: argparse.Namespace) -> list[Pair]:
    torches = {TORCHES[0], pinned("torch"), TORCHES[-1]} if options.ends else set(options.torch)
    pythons = {BASE} if options.ends else set(options.python)
    return [p for p in PAIRS if (not torches or p.torch in torches) and (not pythons or p.python in pythons)]


def pinned(package: str) -> str:
    found = re.search(rf"^{package}==(\S+)$", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert found, f"requirements.txt does not name {package}"
    return found[1]


class Failed(Exception):
    """A step of a trial; its log is in the pair's folder."""


class Trial:
    """A pair's folder: its environment, what was built there and what every step said."""

    def __init__(self, pair: Pair, folder: Path) -> None:
        self.pair = pair
        self.folder = folder.resolve() / pair.name
        self.python = self.folder / "env" / "bin" / "python"

    def cell(self, keep: bool) -> Cell:
        kept = self.folder / "cell.json"
        if keep and kept.exists():
            return Cell(**json.loads(kept.read_text()))
        interpreter = shutil.which(f"python{self.pair.python}")
        if interpreter is None:
            return Cell()
        self.folder.mkdir(parents=True, exist_ok=True)
        found = Cell()
        try:
            self._install(interpreter, found)
            found.build = self._build_of_torch()
            self._build()
            found.built = "yes"
        except Failed as failed:
            found.built = "no"
            found.problems.append(str(failed))
        else:
            self._test(found)
            self._zoo(found)
        kept.write_text(json.dumps(dataclasses.asdict(found), indent=1))
        return found

    # --- the environment ---------------------------------------------------------------------------------------

    def _install(self, interpreter: str, found: Cell) -> None:
        if not self.python.exists():
            self._run("venv", [interpreter, "-m", "venv", str(self.folder / "env")])
        torch = [f"torch=={self.pair.torch}", "torchvision"]
        needed, more = _requirements()
        try:
            self._add("packages", [*torch, *needed, *more])
            return
        except Failed:
            pass
        # Not every pin has files for every Python: the releases that fit, and the names of what has none.
        self._add("torch", torch)
        for requirement in needed:
            name = requirement.partition("==")[0]
            try:
                self._add(name, [*torch, name])
            except Failed:
                found.problems.append(f"{name} cannot be installed")

    def _add(self, name: str, requirements: list[str]) -> None:
        uv = shutil.which("uv")
        command = [uv, "pip", "install", "--python"] if uv else [str(self.python), "-m", "pip", "install"]
        if uv:
            command.append(str(self.python))
        self._run(f"install-{name}", [*command, *requirements])

    def _build_of_torch(self) -> str:
        code = "import torch; print('CUDA ' + torch.version.cuda if torch.version.cuda else 'CPU')"
        return self._run("torch", [str(self.python), "-c", code]).strip()

    def _build(self) -> None:
        how = ["--no-build-isolation", "--no-deps", "--force-reinstall", "--config-settings"]
        pip = [str(self.python), "-m", "pip", "install", "--disable-pip-version-check"]
        self._run("build", [*pip, *how, f"build-dir={self.folder / 'build'}", str(ROOT)])

    # --- what is tried there -----------------------------------------------------------------------------------

    def _test(self, found: Cell) -> None:
        report = self.folder / "tests.xml"
        report.unlink(missing_ok=True)
        command = ["-m", "pytest", "tests/python", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
        try:
            self._run("tests", [str(self.python), *command])
        except Failed as failed:
            if not report.exists():
                found.tests = "crashed"
                found.problems.append(str(failed))
                return
        counts, failures = _judged(report)
        found.tests = counts
        found.problems += failures

    def _zoo(self, found: Cell) -> None:
        report = self.folder / "zoo.json"
        report.unlink(missing_ok=True)
        try:
            self._run("zoo", [str(self.python), "tests/zoo/run.py", "--fast", "--json", str(report)])
        except Failed as failed:
            if not report.exists():
                found.zoo = "crashed"
                found.problems.append(str(failed))
                return
        models = json.loads(report.read_text())
        problems = [f"{key}: {model['problem']}" for key, model in models.items() if model["problem"]]
        found.zoo = f"{len(models) - len(problems)} equal" + (f", {len(problems)} not" if problems else "")
        found.problems += problems

    def _run(self, step: str, command: list[str]) -> str:
        """Runs it in the repository with the environment's programs first; what it says goes to a log, and is given."""
        log = self.folder / f"{step}.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPSCOPE_", "PYTHON"))}
        environment["PATH"] = f"{self.python.parent}{os.pathsep}{environment['PATH']}"
        environment["OPSCOPE_CACHE_DIR"] = str(self.folder / "cache")
        environment["VIRTUAL_ENV"] = str(self.folder / "env")
        with log.open("w") as file:
            done = subprocess.run(command, cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT)
        if done.returncode:
            raise Failed(f"{step} failed; see {log}")
        return log.read_text()


def _requirements() -> tuple[list[str], list[str]]:
    """The pins of requirements.txt but torch's: what opscope is tried with, and what that needs."""
    text = (ROOT / "requirements.txt").read_text()
    direct, _, more = text.partition("# What those need")
    lines = [re.findall(r"^(?!torch==|torchvision==)[\w.-]+==\S+$", part, re.MULTILINE) for part in (direct, more)]
    return lines[0], lines[1]


def _judged(report: Path) -> tuple[str, list[str]]:
    cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))
    failures, skipped = [], 0
    for case in cases:
        kinds = {child.tag for child in case}
        skipped += "skipped" in kinds
        if kinds & {"failure", "error"}:
            failures.append(f"{case.get('classname')}::{case.get('name')}")
    passed = len(cases) - skipped - len(failures)
    text = f"{passed} passed, {skipped} skipped"
    return (f"{text}, {len(failures)} failed" if failures else text), failures


# --- the page --------------------------------------------------------------------------------------------------


def _row(pair: Pair, cell: Cell) -> str:
    pin = " (pinned)" if pair == Pair(pinned("torch"), BASE) else ""
    return f"| {pair.torch}{pin} | {pair.python} | {cell.build} | {cell.built} | {cell.tests} | {cell.zoo} |"


def _rows_of(page: str) -> Iterator[tuple[Pair, str]]:
    for line in page.splitlines():
        if found := re.match(r"\| ([\d.]+)(?: \(pinned\))? \| ([\d.]+) \|", line):
            yield Pair(found[1], found[2]), line


def write_page(path: Path, cells: dict[Pair, Cell]) -> None:
    """Rows of pairs that were not tried stay as they are."""
    page = path.read_text()
    kept = dict(_rows_of(page))
    rows = [_row(p, cells[p]) if p in cells else kept.get(p, _row(p, Cell())) for p in PAIRS]
    before, _, rest = page.partition("<!-- matrix -->\n")
    after = rest.partition("<!-- end -->")[2]
    head = "| torch | Python | build of torch | built | Python tests | models of `make test` |\n|---|---|---|---|---|---|"
    path.write_text(f"{before}<!-- matrix -->\n{head}\n" + "\n".join(rows) + f"\n<!-- end -->{after}")


if __name__ == "__main__":
    sys.exit(main())
