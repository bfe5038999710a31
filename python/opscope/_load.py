"""Loads the native module that fits the torch that is installed.

A native module beside another torch than its own fails with an undefined symbol or crashes later. Choosing reads
torch's version from its file and costs no import.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from opscope import engines

PIP = f"{sys.executable} -m pip install"
REINSTALL = f"run: {PIP} --force-reinstall --no-deps opscope"


class LoadError(ImportError):
    """opscope cannot start in this environment. `hint` says what to run."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what = what
        self.where = sys.executable
        self.hint = hint


def _built_here(version: str) -> Path | None:
    """The engine of a build from source, if it is for this torch."""
    found = importlib.util.find_spec("opscope._native") if _built_for() else None
    fits = engines.numbers(_built_for()) == engines.numbers(version)
    return Path(found.origin) if fits and found and found.origin else None


def _built_for() -> str:
    """The torch that the package was built from source for; "" in a wheel for every torch, or where nothing is built."""
    try:
        from opscope._build import TORCH_VERSION
    except ImportError:
        return ""
    return str(TORCH_VERSION)


def _compiled(torch: engines.Torch, problem_so_far: str = "") -> Path:
    if not engines.KIT.is_dir():
        built = f"was built for torch {_built_for()}" if _built_for() else "has no native module"
        raise LoadError(f"opscope {built} and torch {torch.version} is installed", REINSTALL)
    from opscope.engines import compiling

    try:
        return compiling.first_use(engines.KIT, torch.folder, torch.version, engines.FILE, engines.say)
    except compiling.CannotCompile as problem:
        so_far = problem_so_far or f"opscope has no engine for torch {torch.version}"
        what = f"{so_far}, and {problem}"
        raise LoadError(what, f"{problem.hint}{_other_torch()}") from None


def _other_torch() -> str:
    """What to run instead of compiling."""
    if not (made := engines.all_made()):
        return ""
    (first, oldest), (last, newest) = made[0], made[-1]
    return f', or run: {PIP} "torch>={first}.{oldest},<{last}.{newest + 1}"'


def _module(path: Path) -> ModuleType:
    name = "opscope._native"
    if engines.CORE.is_file():
        ctypes.CDLL(str(engines.CORE))  # what engines of a wheel are linked with, by its name
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[name] = module
    sys.modules["opscope"]._native = module  # type: ignore[attr-defined]  # as an import would
    return module


def load_native() -> ModuleType:
    torch = engines.installed_torch()
    if torch is None:
        raise LoadError("torch is not installed", f"run: {PIP} torch")
    if engines.numbers(torch.version) < engines.OLDEST:
        oldest = ".".join(map(str, engines.OLDEST))
        raise LoadError(
            f"opscope needs torch {oldest} or newer and torch {torch.version} is installed",
            f'run: {PIP} "torch>={oldest}"',
        )
    path = _built_here(torch.version) or engines.made_for(torch.version)
    importlib.import_module("torch")  # its libraries have to be in the process before ours
    try:
        return _module(path or _compiled(torch))
    except LoadError:
        raise
    except ImportError as error:
        if path is None or not engines.KIT.is_dir():
            raise LoadError(f"opscope's native module does not load: {error}", REINSTALL) from error
        so_far = f"opscope's engine for torch {torch.version} does not load ({error})"
    return _module(_compiled(torch, so_far))  # for a build of torch that only calls itself as a release does


native: ModuleType = load_native()
native.add_picture_folder(str(Path(__file__).resolve().parent))
