"""`import opscope` is cheap, and says in one line what is wrong with the environment."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


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


@pytest.mark.parametrize("built_for", ["2.7.1", "9.9.9+cu999"])
def test_native_module_of_another_torch(built_for: str) -> None:
    code = (
        f"import opscope._build as b; b.TORCH_VERSION = {built_for!r}\n"
        "import opscope\ntry: opscope.profile\nexcept ImportError as e: print(e)"
    )
    text = run(code).stdout.strip()
    assert f"opscope was built for torch {built_for} and torch " in text and "\n" not in text
    assert "-m pip install --force-reinstall --no-deps opscope" in text  # which needs no source folder


def test_torch_that_is_too_old() -> None:
    code = (
        "import opscope.engines as e; e.installed_torch = lambda: e.Torch('2.7.1+cpu', e.FOLDER)\n"
        "import opscope\ntry: opscope.profile\nexcept ImportError as e: print(e)"
    )
    text = run(code).stdout.strip()
    assert text.startswith("opscope needs torch 2.8 or newer and torch 2.7.1+cpu is installed; run: ")
    assert text.endswith('-m pip install "torch>=2.8"')


def test_the_version_is_the_programs() -> None:
    import opscope
    from opscope._load import native

    assert opscope.__version__ == native.VERSION


NO_TORCH = "import sys; sys.modules['torch'] = None\n"


@pytest.mark.parametrize("name", ["profile", "Inputs", "Error", "register_op"])
def test_no_torch(name: str) -> None:
    text = run(f"{NO_TORCH}import opscope\ntry: opscope.{name}\nexcept ImportError as e: print(e)").stdout.strip()
    assert text.startswith("torch is not installed; run: ") and "pip install torch" in text


def test_no_torch_for_the_program() -> None:
    code = "from opscope import worker; worker.main(['{\"command\": \"capture\", \"output\": \"\"}'])"
    answer = json.loads(run(NO_TORCH + code).stdout.splitlines()[-1])["error"]
    assert answer["what"] == "torch is not installed" and "pip install torch" in answer["hint"]
