"""Compiles the engine against a torch, from the kit that a wheel holds. It needs a C++20 compiler and Python's headers.

The engines of a wheel are made by the same code: python compiling.py KIT TORCH FILE.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

CORE = "libopscope.so"  # beside the kit: the torch-free part
COMPILERS = ("c++", "g++", "clang++")
_LIBRARIES = ("torch_python", "torch", "torch_cpu", "c10")


class CannotCompile(Exception):
    """`hint` says what would help."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def compiler() -> list[str]:
    """$CXX, or the first that is on the PATH."""
    if chosen := shlex.split(os.environ.get("CXX", "")):
        return chosen
    for name in COMPILERS:
        if found := shutil.which(name):
            return [found]
    raise CannotCompile("there is no C++ compiler to make one with", "install one (Debian: apt install g++)")


def check_headers() -> str:
    folder = sysconfig.get_path("include")
    if not Path(folder, "Python.h").is_file():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise CannotCompile(
            "Python's headers, which compiling one needs, are missing", f"install them (Debian: apt install python{version}-dev)"
        )
    return folder


def compile_engine(kit: Path, torch_folder: Path, torch_version: str, output: Path, work: Path) -> None:
    """Compiles the kit's units in `work`, as many at a time as there are processors, and links them into `output`.

    Raises subprocess.CalledProcessError, with what the compiler said, where it fails."""
    command = compiler()
    include = torch_folder / "include"
    flags = [
        *(kit / "flags").read_text(encoding="utf-8").splitlines(),
        f'-DOPSCOPE_TORCH_VERSION="{torch_version}"',
        f"-I{kit / 'src'}",
        *(f"-isystem{folder}" for folder in (include, include / "torch/csrc/api/include", check_headers())),
    ]
    with concurrent.futures.ThreadPoolExecutor(_processes()) as pool:
        header = str(shutil.copy(kit / "units/precompiled.h", work))
        if _precompiles(command):
            _run([*command, *flags, "-x", "c++-header", header, "-o", f"{header}.gch"], work)
            flags.append("-fpch-preprocess")  # lets ccache see what is precompiled
        units = sorted((kit / "units").glob("*.cc"), key=lambda unit: -unit.stat().st_size)  # those of many files first
        objects = [str(work / f"{unit.stem}.o") for unit in units]
        jobs = [
            pool.submit(_run, [*command, *flags, "-include", header, "-c", str(unit), "-o", made], work)
            for unit, made in zip(units, objects, strict=True)
        ]
        try:
            for job in concurrent.futures.as_completed(jobs):
                job.result()
        finally:
            for job in jobs:
                job.cancel()
    # Neither path goes into the engine: both libraries are in the process before it.
    libraries = [str(kit.parent / CORE), f"-L{torch_folder / 'lib'}", *(f"-l{name}" for name in _LIBRARIES)]
    _run([*command, "-shared", "-s", "-Wl,--as-needed", *objects, *libraries, "-o", str(output)], work)


def first_use(kit: Path, torch_folder: Path, torch_version: str, name: str, say: Callable[[str], None]) -> Path:
    """The engine in the user's cache, compiled if it is not there yet. One process compiles, others wait for it;
    what is interrupted leaves nothing that could be taken for an engine."""
    folder = _cache() / _key(kit, torch_folder, torch_version)
    made = folder / name
    if _is_ours(made):
        return made
    compiler(), check_headers()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(folder):
            if _is_ours(made):
                return made
            log = folder / "failed.log"
            if log.exists():
                raise CannotCompile(f"compiling one failed before: {log}", "delete that file to try again")
            say(f"compiling an engine for torch {torch_version} into {folder}: once, some minutes")
            _compile_in(folder, kit, torch_folder, torch_version, made, log)
    except OSError as problem:
        raise CannotCompile(
            f"it cannot be written: {problem}", "set OPSCOPE_CACHE_DIR to a folder of yours that can be written"
        ) from problem
    return made


def _compile_in(folder: Path, kit: Path, torch_folder: Path, version: str, made: Path, log: Path) -> None:
    for left in folder.glob("work.*"):  # by one that was killed: the lock says that none is at work
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="work.", dir=folder) as work:
        output = Path(work, made.name)
        try:
            compile_engine(kit, torch_folder, version, output, Path(work))
        except subprocess.CalledProcessError as problem:
            if problem.returncode > 0:  # not one that was killed
                log.write_text(f"{shlex.join(problem.cmd)}\n{problem.stderr}", encoding="utf-8")
            raise CannotCompile(_first_error(problem.stderr), f"{log} has all that the compiler said") from problem
        os.replace(output, made)


def _cache() -> Path:
    """The program's cache folder (src/base/files.cc): engines have a folder there."""
    if chosen := os.environ.get("OPSCOPE_CACHE_DIR"):
        return Path(chosen, "engines")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "opscope", "engines")


def _key(kit: Path, torch_folder: Path, torch_version: str) -> str:
    """Another torch, another Python or another opscope is another engine."""
    python = sys.implementation.cache_tag or ""
    texts = [python, torch_version, *((path.read_text(encoding="utf-8")) for path in (torch_folder / "version.py", kit / "key"))]
    return f"torch_{torch_version}_{python}_{hashlib.sha256('|'.join(texts).encode()).hexdigest()[:16]}"


def _is_ours(made: Path) -> bool:
    """It is there, and nobody else could have written it: it will be loaded."""
    try:
        facts = made.stat()
    except OSError:
        return False
    if facts.st_uid != os.getuid() or facts.st_mode & 0o022:
        raise CannotCompile(f"{made} may have been written by somebody else", "delete it")
    return True


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with open(folder / "lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # goes with the process, however that ends
        yield


def _processes() -> int:
    """$MAX_JOBS, as for PyTorch's own extensions, or as many as have a processor and the 2 GB that one takes."""
    if (chosen := os.environ.get("MAX_JOBS", "")).isdigit():
        return max(1, int(chosen))
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2_000_000_000
    return max(1, min(len(os.sched_getaffinity(0)), memory))


def _precompiles(command: list[str]) -> bool:
    """GCC takes a precompiled header by its name; clang is asked for it otherwise, and does without."""
    return "clang" not in subprocess.run([*command, "--version"], capture_output=True, text=True).stdout


def _run(command: list[str], work: Path) -> None:
    plain = {**os.environ, "LC_ALL": "C"}
    subprocess.run(command, check=True, cwd=work, env=plain, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def _first_error(text: str) -> str:
    lines = text.strip().splitlines() or ["the compiler said nothing"]
    return next((line for line in lines if "error" in line), lines[-1])


if __name__ == "__main__":
    kit_folder, torch_place, output_file = (Path(word).resolve() for word in sys.argv[1:4])
    scope: dict[str, str] = {}
    exec((torch_place / "version.py").read_text(encoding="utf-8"), scope)
    output_file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        try:
            compile_engine(kit_folder, torch_place, scope["__version__"], output_file, Path(scratch))
        except subprocess.CalledProcessError as failed:
            sys.exit(f"{shlex.join(failed.cmd)}\n{failed.stderr}")
