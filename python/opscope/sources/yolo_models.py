"""ultralytics' models, by the names of their weights: from the weights file where the user trusts it, else from
the architecture's yaml file that ultralytics ships, which has everything but the weights."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opscope.engine import torchvision_ops
from opscope.errors import error, first_line, three_nearest
from opscope.inputs import InputSpec
from opscope.options import Options
from opscope.sources import building

if TYPE_CHECKING:
    from opscope.sources import Source

PREFIX = "yolo"
PACKAGE = "ultralytics"
INSTALL_HINT = f"{sys.executable} -m pip install ultralytics"

#: What a task's models have at the end of their names.
_TASK_SUFFIX = {
    "detect": "", "segment": "-seg", "pose": "-pose", "obb": "-obb", "classify": "-cls", "semantic": "-sem", "depth": "-depth",
}  # fmt: skip


@functools.cache
def installed() -> bool:
    return importlib.util.find_spec("ultralytics") is not None


def version_text() -> str:
    return building.version_text("ultralytics")


def dependencies() -> list[str]:
    return building.package_file("ultralytics", "__init__.py")


@functools.cache
def _architectures() -> dict[str, tuple[Path, str]]:
    """name -> its yaml file and family, by the files' own lists of scales; nothing is imported."""
    found: dict[str, tuple[Path, str]] = {}
    for folder in building.package_file("ultralytics", "cfg", "models"):
        for path in sorted(Path(folder).glob("*/*.yaml")):
            family = f"YOLO{path.parent.name}" if path.parent.name[0] in "v0123456789" else path.parent.name
            for name in _names_of(path):
                found[name] = (path, family)
    return found


def _names_of(path: Path) -> list[str]:
    """yolo11-seg.yaml with scales n, s, .. -> yolo11n-seg, yolo11s-seg, ..; yolov9c.yaml -> yolov9c."""
    scales = re.findall(r"^scales:.*\n((?:[ \t]+.*\n|\n)*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    letters = re.findall(r"^\s+(\w):", scales[0], re.MULTILINE) if scales else []
    parts = re.fullmatch(r"(\D*\d+)(.*)", path.stem)
    if not letters or parts is None or re.match(r"[a-z]", parts[2]):
        return [path.stem]
    return [f"{parts[1]}{letter}{parts[2]}" for letter in letters]


def listed() -> list[tuple[str, str]]:
    return [(name, family) for name, (_, family) in _architectures().items()]


def find(spec: str, request: Options, status: Callable[[str], None]) -> Source | None:
    stem, extension = os.path.splitext(spec)
    if extension not in (".pt", ".yaml"):  # 'yolo12.5' has no extension
        stem, extension = spec, ""
    name = _with_task(_architecture_of(os.path.basename(stem)), request.task)
    if name not in _architectures() or (extension == ".yaml" and os.path.exists(spec)):
        return None
    weights = f"{stem}.pt" if extension != ".yaml" else ""
    if weights and request.trust and os.path.exists(weights):
        return _from_weights(weights, name, status)
    if weights and request.download and request.trust:
        return _from_weights(os.path.basename(weights), name, status)
    source = _from_architecture(name, request, status)
    source.cacheable = not request.trust  # another folder may have the weights
    source.notes += _why_not_the_weights(weights, extension, request)
    return source


def _architecture_of(stem: str) -> str:
    """The yaml's name for a weights file's: yolov5nu is yolov5n with the newer head, yolov5n6u its P6 form."""
    if old := re.fullmatch(r"(yolov[35][nsmlx]?(?:-spp|-tiny)?)(6?)u", stem):
        return old[1] + ("-p6" if old[2] else "")
    if old := re.fullmatch(r"(yolov[58][nsmlx])6", stem):
        return old[1] + "-p6"
    return stem


def _with_task(name: str, task: str | None) -> str:
    plain = re.sub(r"-(seg|pose|obb|cls|sem|depth)$", "", name)
    if task is None or plain not in _architectures():
        return name
    if task not in _TASK_SUFFIX:
        raise error(f"no YOLO task called '{task}'", "task", ", ".join(_TASK_SUFFIX), three_nearest(task, list(_TASK_SUFFIX)))
    wanted = plain + _TASK_SUFFIX[task]
    if wanted not in _architectures():
        there = [t for t, suffix in _TASK_SUFFIX.items() if plain + suffix in _architectures()]
        raise error(f"{plain} has no {task} model", "task", f"it has {', '.join(there)}")
    return wanted


def _why_not_the_weights(weights: str, extension: str, request: Options) -> list[str]:
    if extension == ".pt" and os.path.exists(weights):
        return [
            f"{weights} was not opened: it is a pickle, which can run code. This is the architecture of that name; "
            "--trust opens the file"
        ]
    if extension == ".pt":
        return [f"{weights} is not here, so this is the architecture that ultralytics has under that name"]
    if request.download:
        return ["weights are pickles: --download fetches them only together with --trust"]
    return []


def _from_architecture(name: str, request: Options, status: Callable[[str], None]) -> Source:
    from opscope.sources import Source

    status("importing ultralytics")
    path, _ = _architectures()[name]
    wrapper = _wrapper(path)
    status(f"building {name}")
    # ultralytics takes the scale from the name of the file, which need not exist under that name
    make = functools.partial(_architecture, wrapper, str(path.with_name(f"{name}.yaml")))
    return Source(
        building.build(make, with_data=request.tracer == "eager"),
        name,
        version_text(),
        default_inputs=_image_of(path),
        owned=True,
        cacheable=True,
        dependencies=[*dependencies(), str(path)],
        with_data=lambda: building.build(make, with_data=True),
    )


def _from_weights(path: str, name: str, status: Callable[[str], None]) -> Source:
    from opscope.sources import Source

    status(f"loading {path}")
    architecture, _ = _architectures()[name]
    wrapper = _wrapper(architecture, offline=os.path.exists(path))
    try:
        model = _model_of(wrapper, path).float().eval()
    except Exception as problem:
        raise error(f"{path} cannot be loaded: {first_line(problem)}", path, f"opscope profile {name} needs no file") from problem
    return Source(model, os.path.basename(path), version_text(), default_inputs=_image_of(architecture), owned=True)


def _image_of(architecture: Path) -> InputSpec:
    """The image that ultralytics itself counts a model's cost on: 640 wide, 224 for a classifier."""
    side = 224 if "Classify" in architecture.read_text(encoding="utf-8") else 640
    return InputSpec(shapes=((1, 3, side, side),))


def _architecture(wrapper: Any, path: str) -> Any:
    """A backbone that the yaml takes from torchvision comes without its weights, which would be downloaded."""
    models: Any = importlib.import_module("torchvision.models")
    get_model, thread = models.get_model, threading.get_ident()

    def without_weights(name: str, **options: Any) -> Any:
        ours = threading.get_ident() == thread
        return get_model(name, **{**options, "weights": None} if ours else options)

    models.get_model = without_weights
    try:
        return _model_of(wrapper, path)
    finally:
        models.get_model = get_model


def _model_of(wrapper: Any, path: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wrapper(path).model


def _wrapper(architecture: Path, *, offline: bool = True) -> Any:
    """ultralytics' class for an architecture: its YOLO class finds the others by itself, all but RT-DETR's."""
    torchvision_ops.prepare()
    with _environment(YOLO_OFFLINE="true" if offline else None, YOLO_VERBOSE="false"):
        ultralytics = importlib.import_module("ultralytics")
        importlib.import_module("ultralytics.utils")
    is_rtdetr = "RTDETRDecoder" in architecture.read_text(encoding="utf-8")
    return ultralytics.RTDETR if is_rtdetr else ultralytics.YOLO


@contextlib.contextmanager
def _environment(**wanted: str | None) -> Iterator[None]:
    """Variables that ultralytics reads as it is imported (it asks the network then); the user's own come first."""
    added = {name: value for name, value in wanted.items() if value is not None and name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
