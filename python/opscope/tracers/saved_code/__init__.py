"""A traced model as one Python file that runs by itself: a class per graph, its inputs, and how to load weights.

The text is made in file.py; here are the weights beside it, and the writing, which happens whole or
not at all.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from opscope.errors import error
from opscope.tracers.saved_code.check import check_code
from opscope.tracers.saved_code.file import file_of
from opscope.tracers.saved_code.functions import Unwritable
from opscope.tracers.saved_code.inputs import has_data
from opscope.tracers.saved_code.tree import GraphClassText

if TYPE_CHECKING:
    from opscope.tracers.traced import Traced

__all__ = ["check_code", "save_code", "weights_path"]


def weights_path(path: str) -> str:
    """model.py's weights are model.pt, in the same folder."""
    return os.path.splitext(path)[0] + ".pt"


def save_code(traced: Traced, path: str, weights: bool) -> list[str]:
    """Writes the file and, if asked, its weights beside it. What a reader should know, one line each."""
    try:
        file = file_of(traced)
    except Unwritable as problem:
        what = f"the graph cannot be written as Python: {problem}"
        raise error(what, path, "try another tracer") from problem
    if weights:
        _require_data(traced, file.parts, path)
        states = plain_states(file.parts)
        write_whole(weights_path(path), lambda stream: torch.save(states, stream))
    write_whole(path, lambda stream: stream.write(file.source.encode()))
    return file.notes


# --- writing --------------------------------------------------------------------------------------------------


def _require_data(traced: Traced, parts: dict[str, GraphClassText], path: str) -> None:
    tensors = {name: tensor for part in parts.values() for name, tensor in part.state.items()}
    empty = [name for name, tensor in tensors.items() if not has_data(tensor)]
    if empty or not traced.has_data:
        why = f" ({empty[0]} has only a shape)" if empty else ""
        raise error(
            f"the model was built without data, so there are no weights to save{why}",
            path,
            "load it with its weights, or save the graph alone",
        )


def plain_states(parts: dict[str, GraphClassText]) -> dict[str, Any]:
    memo: dict[int, torch.Tensor] = {}
    states = {name: {key: _plain_tensor(tensor, memo) for key, tensor in part.state.items()} for name, part in parts.items()}
    return states if len(states) > 1 else next(iter(states.values()), {})


def _plain_tensor(tensor: torch.Tensor, memo: dict[int, torch.Tensor]) -> torch.Tensor:
    """On the CPU, without the storage around a view; tied tensors stay one."""
    if id(tensor) not in memo:
        plain = tensor.detach().cpu()
        is_whole = plain.untyped_storage().nbytes() == plain.numel() * plain.element_size()
        memo[id(tensor)] = plain.as_subclass(torch.Tensor) if is_whole else plain.clone()
    return memo[id(tensor)]


def write_whole(path: str, fill: Callable[[Any], Any]) -> None:
    """A temporary file beside the destination, renamed over it when it is whole; as the command line writes files."""
    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise error("cannot write the file: is a directory", path, "give the name of a file in it")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise error("cannot write the file: permission denied", path, "choose a path that you may write to")
    try:
        mode = os.stat(target).st_mode & 0o7777 if os.path.exists(target) else 0o666 & ~_umask()
        descriptor, temporary = tempfile.mkstemp(prefix=os.path.basename(target) + ".", dir=os.path.dirname(target))
    except OSError as problem:
        raise write_error(path, problem) from problem
    try:
        with os.fdopen(descriptor, "wb") as file:
            fill(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.rename(temporary, target)
    except BaseException as problem:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(problem, (OSError, RuntimeError)):  # torch's writer says what the disk says as a RuntimeError
            raise write_error(path, problem) from problem
        raise


def write_error(path: str, problem: BaseException) -> Exception:
    reason = (getattr(problem, "strerror", None) or str(problem).splitlines()[0]).lower()
    folder = os.path.dirname(path) or "."
    is_missing = isinstance(problem, FileNotFoundError)
    hint = f"the folder {folder} does not exist; make it first, or choose another" if is_missing else ""
    return error(f"cannot write the file: {reason}", path, hint)


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current
