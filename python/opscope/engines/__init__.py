"""Which engine fits the torch that is installed.

The engine is native code for one minor release of torch. A wheel has one for each that it supports; for any other
torch (a nightly, one's own build) it has the sources, and `compiling` makes the engine at its first use.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

OLDEST = (2, 8)  # that the engine compiles with
FOLDER = Path(__file__).resolve().parent
KIT = FOLDER / "kit"  # what an engine is compiled from
CORE = FOLDER / "libopscope.so"  # the torch-free part of every engine here
FILE = "_native" + importlib.machinery.EXTENSION_SUFFIXES[0]  # "_native.cpython-311-x86_64-linux-gnu.so"

# The releases and their builds for CPUs and GPUs share one interface; "2.16.0.dev20261101", "2.13.0a0+git1f2e" do not.
_RELEASE = re.compile(r"(\d+)\.(\d+)\.\d+(\.post\d+)?(\+(cpu|cu\d+|rocm[\d.]+|xpu)[\w.]*)?")


def _say(text: str) -> None:
    print(f"opscope: {text}", file=sys.stderr, flush=True)


say: Callable[[str], None] = _say  # who hears that an engine is compiled


class Torch(NamedTuple):
    """The torch that is installed, known without importing it."""

    version: str
    folder: Path


def installed_torch() -> Torch | None:
    """None where there is none."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent
    if (loaded := sys.modules.get("torch")) is not None:
        return Torch(str(loaded.__version__), folder)
    try:
        line = re.search(r"^__version__ = '([^']+)'", (folder / "version.py").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        line = None
    if line:
        return Torch(line[1], folder)
    from importlib.metadata import version  # slow to import

    return Torch(version("torch"), folder)


def release(version: str) -> tuple[int, int] | None:
    """'2.13.0+cpu' -> (2, 13): what the C++ interface of a release goes by; None for what is no release."""
    found = _RELEASE.fullmatch(version)
    return (int(found[1]), int(found[2])) if found else None


def numbers(version: str) -> tuple[int, int]:
    """The first two of any version, a nightly's too."""
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def made_for(version: str) -> Path | None:
    """The engine that came with the package for this torch."""
    if (minor := release(version)) is None:
        return None
    path = FOLDER / f"torch_{minor[0]}_{minor[1]}" / FILE
    return path if path.is_file() else None


def all_made() -> list[tuple[int, int]]:
    """The torch minors that the package has engines for."""
    names = (path.parent.name.split("_") for path in FOLDER.glob(f"torch_*_*/{FILE}"))
    return sorted((int(major), int(minor)) for _, major, minor in names)
