"""A model as a file that other tools read: .pt2 (torch.export), .onnx, .mlir (StableHLO through torch-mlir).

Each is made of the same non-strict export, on a copy of the model that shares its tensors: exporting leaves fake
tensors in models that keep what they compute. What PyTorch prints meanwhile is kept in `said`, not shown.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from opscope.engine.nested import replace, tensors_in
from opscope.engine.structural_copy import structural_copy
from opscope.errors import Error, error
from opscope.tracers import failure_of
from opscope.tracers.export import export_program
from opscope.tracers.saved_code import write_error, write_whole
from opscope.tracers.silence import quiet

_INSTALL = f"{sys.executable} -m pip install"


def export_file(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    path: str,
    said: list[str] | None = None,
    has_data: bool = True,
) -> list[str]:
    """Writes the file that the path's ending names, whole or not at all. What a reader should know of it, one line each.

    Where the weights have no data, or only memory for it, those in the file are zeros.
    """
    ending = os.path.splitext(path)[1]
    if ending not in _WRITERS:
        raise error(f"'{ending or path}' is not a format to export to", path, "end it in .pt2, .onnx or .mlir")
    tracer, write = _WRITERS[ending]
    _require(ending, path)
    notes: list[str] = []
    said = [] if said is None else said
    try:
        with _kept(said):
            write(_exported(model, args, kwargs, notes, ending == ".mlir", has_data), path, notes)
    except Exception as problem:
        raise (problem if hasattr(problem, "hint") else _failure(tracer, problem, path, said)) from problem
    return notes


def _failure(tracer: str, problem: Exception, path: str, said: list[str]) -> Error:
    """With what was printed meanwhile behind what PyTorch says; another tracer writes no such file."""
    made = failure_of(tracer, problem, path)
    made.detail = "\n".join([getattr(made, "detail", ""), *said]).strip()
    usable = [clause for clause in made.hint.split("; ") if "--tracer" not in clause]
    made.hint = "; ".join(usable) or "change the model there, or save a graph as Python: --save-graph FILE.py"
    return made


def _require(ending: str, path: str) -> None:
    """Says what is missing before minutes are spent on an export that nothing can write."""
    needs = {".onnx": ("onnx", "onnxscript"), ".mlir": ("torch_mlir.fx",)}
    for module in needs.get(ending, ()):
        try:
            with quiet():
                importlib.import_module(module)
        except Exception as problem:
            package = module.partition(".")[0].replace("_", "-")
            other = ", or export to .onnx or .pt2" if ending == ".mlir" else ", or export to .pt2"
            missing = isinstance(problem, ModuleNotFoundError)
            what = f"{ending} needs {package}, which is not installed" if missing else f"{package} does not import: {problem}"
            raise error(what, path, f"{_INSTALL} {package}{other}") from problem


# --- the export -----------------------------------------------------------------------------------------------


def _exported(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    notes: list[str],
    all_in_state: bool,
    has_data: bool,
) -> torch.export.ExportedProgram:
    copy, is_empty = _ready_copy(model, all_in_state, has_data)
    args, kwargs = replace((args, kwargs), "", lambda tensor, _: _zeros(tensor) if tensor.is_meta else tensor)
    notes += ["the model was built without weights: those in the file are zeros"] if is_empty else []
    with torch.no_grad():
        try:
            return export_program(copy, args, kwargs)
        except Exception as problem:
            if "is not a known type" not in str(problem):  # of an output: transformers' caches
                raise
        copy, _ = _ready_copy(model, all_in_state, has_data)
        copy.forward = _plain_outputs(copy.forward)
        notes.append("outputs that are neither tensors nor plain containers are exported as their tensors")
        return export_program(copy, args, kwargs)


def _ready_copy(model: torch.nn.Module, all_in_state: bool, has_data: bool) -> tuple[torch.nn.Module, bool]:
    """A copy to export, and whether zeros stand for its weights: they take no room until they are written."""
    copy: torch.nn.Module = structural_copy(model, without_data=False)
    made: dict[int, torch.Tensor] = {}
    for module in copy.modules():
        for name, weight in module._parameters.items():
            if weight is not None and (weight.is_meta or not has_data):
                zeros = made.setdefault(id(weight), torch.nn.Parameter(_zeros(weight), weight.requires_grad))
                module._parameters[name] = zeros  # type: ignore[assignment]
        for name, buffer in module._buffers.items():
            module._buffers[name] = _zeros(buffer) if buffer is not None and buffer.is_meta else buffer
        if all_in_state:  # torch-mlir looks for every buffer in the state dict
            module._non_persistent_buffers_set.clear()
    return copy, bool(made)


def _zeros(tensor: torch.Tensor) -> torch.Tensor:
    return torch.zeros(tuple(tensor.shape), dtype=tensor.dtype)


def _plain_outputs(forward: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(forward)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return _plain(forward(*args, **kwargs))

    return plain


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (torch.Tensor, bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return list(tensors_in(value))


# --- the formats ----------------------------------------------------------------------------------------------


def _write_pt2(program: torch.export.ExportedProgram, path: str, _: list[str]) -> None:
    write_whole(path, lambda stream: torch.export.save(program, stream))


def _write_onnx(program: torch.export.ExportedProgram, path: str, notes: list[str]) -> None:
    made: Any = torch.onnx.export(program, dynamo=True, verbose=False)
    target = os.path.realpath(path)
    try:
        with tempfile.TemporaryDirectory(prefix=".opscope-", dir=os.path.dirname(target)) as folder:
            made.save(os.path.join(folder, os.path.basename(target)))
            others = sorted(set(os.listdir(folder)) - {os.path.basename(target)})
            for name in [*others, os.path.basename(target)]:  # the file itself last: it names the others
                os.replace(os.path.join(folder, name), os.path.join(os.path.dirname(target), name))
    except OSError as problem:
        raise write_error(path, problem) from problem
    notes.append(f"opset {made.model.opset_imports['']}, torch.onnx of torch {torch.__version__.partition('+')[0]}")
    notes += [f"weights are in {name} beside it: ONNX files end at 2 GB" for name in others]


def _write_mlir(program: torch.export.ExportedProgram, path: str, notes: list[str]) -> None:
    fx = importlib.import_module("torch_mlir.fx")
    for node in program.graph.nodes:  # taking attention apart changes strides, and then a view may not be one
        if node.target is torch.ops.aten.view.default:
            node.target = torch.ops.aten.reshape.default
    module = fx.export_and_import(program, output_type="stablehlo", func_name="main", decomposition_table=_decompositions())
    write_whole(path, lambda stream: module.operation.print(file=stream, binary=True))
    notes.append(f"StableHLO by torch-mlir {_version('torch-mlir')}; weights are in it, as hexadecimal text")


def _decompositions() -> Any:
    """torch-mlir's own, and those of ops that it does not lower to StableHLO whole."""
    table = importlib.import_module("torch_mlir.extras.fx_decomp_util").get_decomposition_table()
    kinds = ("nearest1d", "nearest2d", "nearest3d", "bilinear2d", "bicubic2d")
    missing = [getattr(torch.ops.aten, f"upsample_{kind}") for kind in kinds]
    return {**torch._decomp.get_decompositions(missing), **table}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "of no known version"


_WRITERS: dict[str, tuple[str, Callable[[torch.export.ExportedProgram, str, list[str]], None]]] = {
    ".pt2": ("export", _write_pt2),
    ".onnx": ("onnx", _write_onnx),
    ".mlir": ("mlir", _write_mlir),
}


@contextmanager
def _kept(said: list[str]) -> Iterator[None]:
    """Adds what is printed meanwhile, by Python or below it, to a list."""
    with quiet() as kept, _nothing_from_below() as below:
        try:
            yield
        finally:
            said += [text for text in (kept.getvalue(), below()) if text.strip()]


@contextmanager
def _nothing_from_below() -> Iterator[Callable[[], str]]:
    """Holds back what C++ writes on its own, past Python's streams: MLIR's diagnostics go straight to descriptor 2."""
    sys.stdout.flush()
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file:
        before = [(number, os.dup(number)) for number in (1, 2)]
        for number, _ in before:
            os.dup2(file.fileno(), number)
        try:
            yield lambda: _text_of(file)
        finally:
            for number, kept in before:
                os.dup2(kept, number)
                os.close(kept)


def _text_of(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode(errors="replace"))
