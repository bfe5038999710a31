"""`import opscope` is cheap, and says in one line what is wrong with the environment."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opscope import _load


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_import_loads_neither_torch_nor_torchvision() -> None:
    code = "import sys, opscope; print([m for m in ('torch', 'torchvision', 'numpy') if m in sys.modules])"
    assert run(code).stdout.strip() == "[]"


def test_profiling_ones_own_model_does_not_import_torchvision() -> None:
    code = (
        "import sys, torch, opscope; opscope.profile(torch.nn.Linear(2, 2), torch.zeros(1, 2));"
        "print('torchvision' in sys.modules)"
    )
    done = run(code)
    assert done.stdout.strip() == "False", done.stderr


def test_every_exported_name_exists() -> None:
    import opscope

    assert [name for name in opscope.__all__ if not hasattr(opscope, name)] == []


def test_importing_the_capture_submodule_does_not_hide_the_function() -> None:
    done = run("import opscope.capture, opscope; print(callable(opscope.capture))")
    assert done.stdout.strip() == "True", done.stderr


@pytest.mark.parametrize(
    ("built_for", "says"), [("1.9.1", "opscope was built for torch 1.9.1 and torch "), ("9.9.9+cu999", "torch 9.9.9+cu999")]
)
def test_native_module_of_another_torch(built_for: str, says: str) -> None:
    code = (
        f"import opscope._build as b; b.TORCH_VERSION = {built_for!r}\n"
        "import opscope\ntry: opscope.profile\nexcept ImportError as e: print(e)"
    )
    text = run(code).stdout.strip()
    assert says in text and "pip install --no-build-isolation" in text and "\n" not in text


def test_no_torch() -> None:
    code = (
        "import importlib.util as u, opscope; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'torch' else find(name, *a)\n"
        "try: opscope.profile\nexcept ImportError as e: print(e)"
    )
    text = run(code).stdout.strip()
    assert text.startswith("torch is not installed; run: ") and "pip install torch==" in text


def test_local_versions_do_not_matter() -> None:
    assert _load.release("2.13.0+cpu") == _load.release("2.13.1+cu130") != _load.release("2.12.0")
