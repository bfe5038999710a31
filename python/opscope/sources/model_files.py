"""Model files that only torch can open: TorchScript archives and pickles. Recognised by what is inside.

torch.export's `.pt2` and ONNX files are read in C++ (src/readers).
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from opscope.engine import torchvision_ops
from opscope.errors import error, first_line
from opscope.options import Options
from opscope.sources import hf_known, hf_models, user_code, yolo_models

if TYPE_CHECKING:
    from opscope.sources import Source

_RUNS_CODE = {
    "pickle": "it is a pickle, which can run any code when it is opened",
    "torchscript": "it is a TorchScript archive, whose code can read and write files when it is opened",
}


def find(spec: str, request: Options, status: Callable[[str], None]) -> Source | None:
    """The model in a file or folder; None where it is a name, or a file that is not one of torch's."""
    if _is_path(spec) and not os.path.exists(spec):
        return _missing(spec, request, status)
    if hf_known.config_file(spec) is not None:
        return hf_models.find(spec, request, status) if hf_models.installed() else None
    kind = _kind_of(spec)
    if kind == "torchscript":
        _need_trust(spec, kind, request)
        return _torchscript(spec, status)
    if kind == "pickle":
        return _pickle(spec, request, status)
    return None


def _is_path(spec: str) -> bool:
    if ":" in spec or spec.endswith(".py"):
        return False  # users' own code
    return spec.startswith((".", "/", "~")) or spec.endswith((".onnx", ".pt2", ".pt", ".pth", ".bin", ".json"))


def _missing(spec: str, request: Options, status: Callable[[str], None]) -> Source:
    """Weights that are not here may be the name of a YOLO model."""
    if yolo_models.installed() and (found := yolo_models.find(spec, request, status)):
        return found
    raise error("no such file", spec, "opscope list shows the models that have names")


def _kind_of(path: str) -> str | None:
    if not os.path.isfile(path):
        return None
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = [name.split("/", 1)[-1] for name in archive.namelist()]
        if "constants.pkl" in members or any(name.startswith("code/") for name in members):
            return "torchscript"
        return "pickle" if "data.pkl" in members else None
    with open(path, "rb") as file:
        return "pickle" if file.read(2) in (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05") else None


def _need_trust(path: str, kind: str, request: Options) -> None:
    if request.trust:
        return
    raise error(
        f"{os.path.basename(path)} is not opened: {_RUNS_CODE[kind]}",
        path,
        "if you know where it comes from, say --trust (trust=True)\n"
        "or name the code that makes the model: my_model.py:build",
    )


def _torchscript(path: str, status: Callable[[str], None]) -> Source:
    from opscope.sources import Source

    status(f"loading {path}")
    torchvision_ops.prepare()  # a scripted detector names them
    try:
        model = torch.jit.load(path, map_location="cpu")
    except Exception as problem:
        raise error(f"not a TorchScript archive that this torch can load: {first_line(problem)}", path) from problem
    return Source(
        model.eval(),
        os.path.splitext(os.path.basename(path))[0],
        f"TorchScript, {os.path.basename(path)}",
        owned=True,
        cacheable=True,
        dependencies=[os.path.abspath(path)],
    )


def _pickle(path: str, request: Options, status: Callable[[str], None]) -> Source | None:
    if yolo_models.installed() and (found := yolo_models.find(path, request, status)):
        return found
    _need_trust(path, "pickle", request)
    status(f"loading {path}")
    torchvision_ops.prepare()
    user_code.add_to_path(os.getcwd())  # for the classes that it names
    try:
        held = torch.load(path, map_location="cpu", weights_only=False)
    except Exception as problem:
        raise error(f"cannot be loaded: {first_line(problem)}", path, "is what it was made with installed?") from problem
    return _from_held(path, held)


def _from_held(path: str, held: Any) -> Source:
    """A module, or the module that a checkpoint has under the usual names; weights alone are no model."""
    from opscope.sources import Source

    candidates = [held, *(held.get(key) for key in ("ema", "model", "net", "module"))] if isinstance(held, dict) else [held]
    model = next((each for each in candidates if isinstance(each, torch.nn.Module)), None)
    if model is None:
        what = f"weights of {len(held)} entries" if isinstance(held, dict) else f"a {type(held).__name__}"
        raise error(
            f"it holds {what}, not a model", path, "weights alone do not say how they are used: my_model.py:build does"
        )
    name = os.path.splitext(os.path.basename(path))[0]
    return Source(model.eval(), name, os.path.basename(path), owned=True)
