"""Runs a saved file in a fresh interpreter and compares what it gives with the model's own outputs, bit by bit."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.utils.stateless import _reparametrize_module
from torch.utils import _pytree as pytree

from opscope.errors import error, first_line
from opscope.nested import replace, tensors_in
from opscope.structural_copy import structural_copy
from opscope.tracers.saved_code.file import SavedFile, file_of
from opscope.tracers.saved_code.functions import Unwritable
from opscope.tracers.saved_code.inputs import has_data

if TYPE_CHECKING:
    from opscope.tracers.traced import Traced

_TOLERANCE = 1e-5
_MOST_MADE_UP = 4 << 30  # bytes of weights that a check makes up where there are none
_LONGEST = 3600  # seconds that a file may run

# What the fresh interpreter does: no opscope in it, the same threads and precision as here.
_RUNNER = """
import importlib.util, sys, torch
path, weights, given, result = sys.argv[1:]
job = torch.load(given, weights_only=False)
torch.set_num_threads(job["threads"])
torch.set_float32_matmul_precision(job["precision"])
spec = importlib.util.spec_from_file_location("saved_graph", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
several, outputs = len(job["inputs"]) > 1, []
for name, inputs in job["inputs"].items():
    part = getattr(module, name)
    model = part().to(module.DEVICE)
    model.load_state_dict(module.load_weights(weights, part) if several else module.load_weights(weights))
    torch.manual_seed(0)
    with torch.no_grad():
        outputs.append(model(*inputs))
assert "opscope" not in sys.modules
torch.save(outputs, result)
"""


def check_code(traced: Traced, path: str, weights_path: str | None) -> str:
    """'bit-equal' or 'within 1e-5: why'; raises where the file gives something else than the model.

    Without a weights file, the model's own weights are used; where it has none, random ones.
    """
    file, data = _file_of(traced, path), _Data()
    if (missing := data.missing_bytes(file)) > _MOST_MADE_UP:
        return f"not run: the model has no weights, and random ones would take {missing >> 30} GiB"
    with torch.no_grad(), _same_randomness():
        graphs = [_graph_outputs(part, data) for part in traced.parts]
        outputs = _file_outputs(traced, file, path, weights_path, data)
        for number, (ours, theirs) in enumerate(zip(outputs, graphs, strict=True)):
            _require_close(ours, theirs, f"part {number + 1} of the graph" if len(graphs) > 1 else "the graph", path)
        if len(graphs) > 1:
            pairs = list(zip(outputs, graphs, strict=True))
            return _verdict(pairs, lambda: "the file computes in another order than the graph")
        return _against_model(traced, outputs[0], path, data)


def _file_of(traced: Traced, path: str) -> SavedFile:
    try:
        return file_of(traced)
    except Unwritable as problem:
        raise error(f"the graph cannot be written as Python: {problem}", path) from problem


# --- the data -------------------------------------------------------------------------------------------------


class _Data:
    """Tensors with data for those that have none: the same numbers for the same shape, whoever asks."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        if has_data(tensor) or tensor.layout is not torch.strided:
            return tensor
        if id(tensor) not in self._made:
            self._made[id(tensor)] = (tensor, _made_up(tensor))
        return self._made[id(tensor)][1]

    def fresh(self, value: Any) -> Any:
        """A nested value with its own tensors, so that what runs on them may write them."""
        return replace(value, "", lambda tensor, _: self.of(tensor).detach().clone())

    def missing_bytes(self, file: SavedFile) -> int:
        tensors = {id(t): t for part in file.parts.values() for t in part.state.values() if not has_data(t)}
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())

    @contextlib.contextmanager
    def within(self, module: torch.nn.Module) -> Iterator[None]:
        """The module with data in its tensors and with buffers of its own, for a run that leaves it as it was."""
        state: dict[str, torch.Tensor] = {name: self.of(tensor) for name, tensor in module.named_parameters()}
        state |= {name: self.of(tensor).detach().clone() for name, tensor in module.named_buffers()}
        with _reparametrize_module(module, state):
            yield


def _made_up(tensor: torch.Tensor) -> torch.Tensor:
    made = torch.empty(tuple(tensor.shape), dtype=tensor.dtype)
    if not tensor.is_floating_point():
        return made.zero_()
    generator = torch.Generator().manual_seed(tensor.numel())
    return made.copy_(torch.randn(tuple(tensor.shape), generator=generator) * 0.02)


@contextlib.contextmanager
def _same_randomness() -> Iterator[None]:
    with torch.random.fork_rng():
        yield


# --- the three runs -------------------------------------------------------------------------------------------


def _graph_outputs(part: Any, data: _Data) -> list[Any]:
    """Of the tracer's own graph, run node by node, which asks for no codegen and takes what placeholders take."""
    weights = {id(tensor) for tensor in tensors_in(part.args) if isinstance(tensor, torch.nn.Parameter)}
    args = [data.of(value) if id(value) in weights else data.fresh(value) for value in part.args]
    torch.manual_seed(0)
    with data.within(part.module):
        found = torch.fx.Interpreter(part.module).run(*args, enable_io_processing=False)
    return _leaves(found)


def _model_outputs(traced: Traced, data: _Data) -> list[Any]:
    args, kwargs, root = data.fresh(tuple(traced.args)), data.fresh(dict(traced.kwargs)), traced.root
    if isinstance(root, torch.nn.Module):
        root = _without_leftovers(root)
    torch.manual_seed(0)
    with data.within(root) if isinstance(root, torch.nn.Module) else contextlib.nullcontext():
        return _leaves(root(*args, **kwargs))


def _without_leftovers(model: torch.nn.Module) -> torch.nn.Module:
    """A copy without the fake tensors that tracing left in a model that keeps what it computes (YOLO's anchors).

    A module that has some forgets what hides its class's own values too: they say for which shape the tensors are.
    """
    made = structural_copy(model, without_data=False)
    for module in made.modules():
        own = [name for name in vars(module) if not name.startswith("_") and name != "training" and hasattr(type(module), name)]
        if any(isinstance(value, torch.Tensor) and not has_data(value) for value in vars(module).values()):
            for name in own:
                delattr(module, name)
    return made


def _file_outputs(traced: Traced, file: SavedFile, path: str, weights: str | None, data: _Data) -> list[list[Any]]:
    with tempfile.TemporaryDirectory(prefix="opscope-") as folder:
        given, result = os.path.join(folder, "inputs.pt"), os.path.join(folder, "outputs.pt")
        if weights is None:
            weights = os.path.join(folder, "weights.pt")
            torch.save(_states(file, data), weights)
        inputs = {name: tuple(data.fresh(value) for value in part.inputs) for name, part in file.parts.items()}
        precision = torch.get_float32_matmul_precision()
        torch.save({"inputs": inputs, "threads": torch.get_num_threads(), "precision": precision}, given)
        _run([os.path.abspath(path), os.path.abspath(weights), given, result], path, folder)
        return [_leaves(each) for each in torch.load(result, weights_only=False)]


def _states(file: SavedFile, data: _Data) -> dict[str, Any]:
    states = {
        name: {key: data.of(tensor).detach() for key, tensor in part.state.items()} for name, part in file.parts.items()
    }
    return states if len(states) > 1 else next(iter(states.values()), {})


def _run(arguments: list[str], path: str, folder: str) -> None:
    command = [sys.executable, "-c", _RUNNER, *arguments]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_LONGEST, check=False)
    except subprocess.TimeoutExpired as problem:
        raise error(f"the saved file did not end within {_LONGEST} s", path) from problem
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        place = next((line.strip() for line in reversed(lines) if path in line), path)
        made = error(f"the saved file does not run: {lines[-1]}", place, "the file is kept: run it to see where it stops")
        made.__cause__ = RuntimeError(done.stderr)
        raise made


def _leaves(value: Any) -> list[Any]:
    """Tensors and numbers of an output, in order; classes of a library's own count as what they hold."""
    if isinstance(value, (bool, int, float)):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in _leaves(part)]
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in _leaves(part)]
    if isinstance(value, torch.Tensor):
        return [value]
    leaves = pytree.tree_leaves(value)
    if leaves and leaves[0] is not value:
        return [leaf for part in leaves for leaf in _leaves(part)]
    return list(tensors_in(value))


# --- comparing ------------------------------------------------------------------------------------------------


def _against_model(traced: Traced, ours: list[Any], path: str, data: _Data) -> str:
    try:
        theirs = _model_outputs(traced, data)
    except Exception as problem:
        return f"bit-equal to the graph; the model itself did not run: {first_line(problem)}"
    ours = _matched(ours, theirs)
    _require_close(ours, theirs, "the model", path)
    return _verdict([(ours, theirs)], lambda: _reason(traced, ours, data))


def _matched(ours: list[Any], theirs: list[Any]) -> list[Any]:
    """A tracer may return more, or in another order (Dynamo does): for each of the model's outputs the nearest of ours."""
    if len(ours) == len(theirs) and all(map(_is_close, ours, theirs)):
        return ours
    found = []
    for wanted in theirs:
        alike = [each for each in ours if _kind(each) == _kind(wanted)]
        found.append(min(alike, key=lambda each: _distance(each, wanted), default=None))
    return found


def _kind(value: Any) -> Any:
    return (tuple(value.shape), value.dtype) if isinstance(value, torch.Tensor) else type(value)


def _is_same(one: Any, other: Any) -> bool:
    """Bit by bit, so that NaN is NaN."""
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return type(one) is type(other) and bool(one == other)
    if _kind(one) != _kind(other):
        return False
    pair = [each.detach().cpu().contiguous().flatten().view(torch.uint8) for each in (one, other)]
    return bool(torch.equal(*pair))


def _is_close(one: Any, other: Any) -> bool:
    if _is_same(one, other):
        return True
    return _kind(one) == _kind(other) and _distance(one, other) <= _TOLERANCE


def _distance(one: Any, other: Any) -> float:
    """Largest difference, relative where numbers are larger than one."""
    if not isinstance(one, torch.Tensor):
        return 0.0 if one == other else float("inf")
    if not one.is_floating_point():
        return 0.0 if torch.equal(one.cpu(), other.cpu()) else float("inf")
    a, b = one.detach().cpu().double(), other.detach().cpu().double()
    gap = torch.where((a == b) | (a.isnan() & b.isnan()), 0.0, (a - b).abs() / b.abs().clamp(min=1.0))
    return float(gap.nan_to_num(nan=float("inf")).max()) if gap.numel() else 0.0


def _require_close(ours: list[Any], theirs: list[Any], whose: str, path: str) -> None:
    if len(ours) != len(theirs):
        raise error(f"the saved file gives {len(ours)} outputs, {whose} {len(theirs)}", path)
    for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one is None or _kind(one) != _kind(other):
            raise error(f"output {index} of the saved file is {_said(one)}, of {whose} {_said(other)}", path)
        if not _is_close(one, other):
            gap = f"differs from {whose}'s by {_distance(one, other):.3g}"
            raise error(f"output {index} ({_said(one)}) of the saved file {gap}", path)


def _said(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def _verdict(pairs: list[tuple[list[Any], list[Any]]], reason: Callable[[], str]) -> str:
    if all(_is_same(one, other) for ours, theirs in pairs for one, other in zip(ours, theirs, strict=True)):
        return "bit-equal"
    return f"within 1e-5: {reason()}"


def _reason(traced: Traced, ours: list[Any], data: _Data) -> str:
    """Which of PyTorch's shortcuts the model takes and its graph does not: the one without which they agree."""
    for reason, without in _SHORTCUTS:
        with without():
            theirs = _model_outputs(traced, data)
        if all(map(_is_same, _matched(ours, theirs), theirs)):
            return reason
    return "the tracer's graph computes the same in another order or in smaller steps"


@contextlib.contextmanager
def _no_fast_path() -> Iterator[None]:
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _plain_attention() -> Any:
    return torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)


_SHORTCUTS: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("the model takes the fused fast path of nn.MultiheadAttention, the graph its single ops", _no_fast_path),
    ("the model's attention is one fused kernel, the graph's single ops", _plain_attention),
    ("the model's products go through oneDNN, the graph's do not", lambda: torch.backends.mkldnn.flags(enabled=False)),
)
