"""Loads the native module, after checking that it was built for the torch that is installed.

A native module beside another torch than its own fails with an undefined symbol or crashes later; the check
reads two version files and costs no import.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from types import ModuleType

REBUILD = "pip install --no-build-isolation --force-reinstall --no-deps ."


class LoadError(ImportError):
    """opscope cannot start in this environment. `hint` says what to run."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what = what
        self.where = sys.executable
        self.hint = hint


def release(version: str) -> tuple[str, ...]:
    """'2.13.0+cpu' -> ('2', '13'): the part of a torch version that its C++ interface goes with."""
    return tuple(version.split("+")[0].split(".")[:2])


def _built_for() -> str:
    try:
        from opscope._build import TORCH_VERSION
    except ImportError:
        raise LoadError(
            "opscope's native module is not built", f"in opscope's source folder run: {REBUILD}"
        ) from None
    return str(TORCH_VERSION)


def _installed_torch() -> str:
    if importlib.util.find_spec("torch") is None:
        raise LoadError(
            "torch is not installed", f"run: {sys.executable} -m pip install torch=={_built_for().split('+')[0]}"
        )
    if "torch" in sys.modules:
        return str(sys.modules["torch"].__version__)
    return importlib.metadata.version("torch")


def load_native() -> ModuleType:
    built_for, installed = _built_for(), _installed_torch()
    if release(built_for) != release(installed):
        raise LoadError(
            f"opscope was built for torch {built_for} and torch {installed} is installed",
            f"in opscope's source folder run: {REBUILD}",
        )
    import torch  # noqa: F401  its libraries have to be in the process before ours

    try:
        return importlib.import_module("opscope._native")
    except ImportError as error:
        raise LoadError(
            f"opscope's native module does not load: {error}", f"in opscope's source folder run: {REBUILD}"
        ) from error


native: ModuleType = load_native()
