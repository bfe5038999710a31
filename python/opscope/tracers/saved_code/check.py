"""Runs a saved file in a fresh interpreter and compares what it gives with the model's own outputs, bit by bit."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.utils.stateless import _reparametrize_module

from opscope.engine.nested import replace, tensors_in
from opscope.engine.structural_copy import structural_copy
from opscope.errors import error, first_line
from opscope.tracers.random_data import made_up_weight
from opscope.tracers.saved_code import output_comparison as compared
from opscope.tracers.saved_code.file import SavedFile, file_of
from opscope.tracers.saved_code.functions import Unwritable
from opscope.tracers.saved_code.inputs import has_data
from opscope.tracers.saved_code.output_comparison import leaves

if TYPE_CHECKING:
    from opscope.tracers.traced import Traced

_GRAPHS, _OTHER_ORDER = "the graph's", "the file computes in another order than the graph"
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
    """How near the file's outputs are to the model's: bit-equal, or within 1e-5 and why; raises where they are not.

    Without a weights file, the model's own weights are used; where it has none, made-up ones.
    """
    file, data = _file_of(traced, path), _Data(traced)
    if (missing := data.missing_bytes(file)) > _MOST_MADE_UP:
        return f"not run: the model has no weights, and made-up ones would take {missing >> 30} GiB"
    with torch.no_grad(), _same_randomness():
        graphs = [_graph_outputs(part, data) for part in traced.parts]
        outputs = _file_outputs(traced, file, path, weights_path, data)
        for number, (ours, theirs) in enumerate(zip(outputs, graphs, strict=True)):
            whose = f"part {number + 1} of the graph" if len(graphs) > 1 else "the graph"
            compared.require_close(compared.require_as_many(ours, theirs, whose, path), whose, path)
        if len(graphs) > 1:
            pairs = [pair for each in zip(outputs, graphs, strict=True) for pair in zip(*each, strict=True)]
            return compared.verdict("each graph", "Dynamo's", pairs, lambda: _OTHER_ORDER)
        return _against_model(traced, outputs[0], graphs[0], path, data)


def _file_of(traced: Traced, path: str) -> SavedFile:
    try:
        return file_of(traced)
    except Unwritable as problem:
        raise error(f"the graph cannot be written as Python: {problem}", path) from problem


# --- the data -------------------------------------------------------------------------------------------------


class _Data:
    """Tensors with data for those that have none: the same numbers whoever asks."""

    def __init__(self, traced: Traced) -> None:
        self._made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._empty: dict[int, int] = {}  # by memory that nobody wrote: its weight's number
        if not traced.has_data and isinstance(traced.root, torch.nn.Module):
            self._empty = {weight.data_ptr(): number for number, weight in enumerate(traced.root.parameters())}

    def _has(self, tensor: torch.Tensor) -> bool:
        return has_data(tensor) and not (self._empty and tensor.data_ptr() in self._empty)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._has(tensor) or tensor.layout is not torch.strided:
            return tensor
        if id(tensor) not in self._made:
            seed = self._empty[tensor.data_ptr()] if has_data(tensor) else tensor.numel()
            made = made_up_weight(tensor, seed)
            is_weight = isinstance(tensor, torch.nn.Parameter)  # kernels are chosen by it
            self._made[id(tensor)] = tensor, torch.nn.Parameter(made, tensor.requires_grad) if is_weight else made
        return self._made[id(tensor)][1]

    def fresh(self, value: Any) -> Any:
        """A nested value with its own tensors, so that what runs on them may write them."""
        return replace(value, "", lambda tensor, _: self.of(tensor).detach().clone())

    def missing_bytes(self, file: SavedFile) -> int:
        tensors = {id(t): t for part in file.parts.values() for t in part.state.values() if not self._has(t)}
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())

    @contextlib.contextmanager
    def within(self, module: torch.nn.Module) -> Iterator[None]:
        """The module with data in its tensors and with buffers of its own, for a run that leaves it as it was."""
        state: dict[str, torch.Tensor] = {name: self.of(tensor) for name, tensor in module.named_parameters()}
        state |= {name: self.of(tensor).detach().clone() for name, tensor in module.named_buffers()}
        with _reparametrize_module(module, state):
            yield


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
    return leaves(found)


def _model_outputs(traced: Traced, data: _Data) -> tuple[list[Any], set[int]]:
    """And which tensors among them, by id, the model was given or keeps."""
    args, kwargs, root = data.fresh(tuple(traced.args)), data.fresh(dict(traced.kwargs)), traced.root
    if isinstance(root, torch.nn.Module):
        root = _without_leftovers(root)
    torch.manual_seed(0)
    with data.within(root) if isinstance(root, torch.nn.Module) else contextlib.nullcontext():
        found = leaves(root(*args, **kwargs))
        kept = [*root.parameters(), *root.buffers()] if isinstance(root, torch.nn.Module) else []
        return found, {id(tensor) for tensor in (*tensors_in((args, kwargs)), *kept)} & set(map(id, found))


def _without_leftovers(model: torch.nn.Module) -> torch.nn.Module:
    """A copy without the fake tensors that tracing left in a model that keeps what it computes (YOLO's anchors).

    A module that has some forgets what hides its class's own values too: they say for which shape the tensors are.
    """
    made: torch.nn.Module = structural_copy(model, without_data=False)
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
        return [leaves(each) for each in torch.load(result, weights_only=False)]


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


# --- comparing ------------------------------------------------------------------------------------------------


def _against_model(traced: Traced, ours: list[Any], graphs: list[Any], path: str, data: _Data) -> str:
    def beside_graph(why: str) -> str:
        pairs = compared.require_as_many(ours, graphs, "the graph", path)
        return f"{compared.verdict('outputs', _GRAPHS, pairs, lambda: _OTHER_ORDER)}; {why}"

    try:
        theirs, given = _model_outputs(traced, data)
    except Exception as problem:
        return beside_graph(f"the model itself did not run: {first_line(problem)}")
    pairs, is_reordered = _paired(traced, ours, theirs, given)
    if theirs and not pairs:
        return beside_graph("the model returns only what it was given")
    compared.require_close(pairs, "the model", path)
    told = compared.verdict("outputs", "the model's", pairs, lambda: _reason(traced, ours, data))
    return f"{told}, as a flat tuple in Dynamo's order" if is_reordered else told


def _paired(traced: Traced, ours: list[Any], theirs: list[Any], given: set[int]) -> tuple[compared.Pairs, bool]:
    """The file's outputs with the model's, and whether Dynamo returns others or in another order."""
    pairs = compared.in_order(ours, theirs)
    by_dynamo = traced.tracer in ("dynamo", "dynamo_export")
    if by_dynamo and (len(ours) != len(theirs) or not all(compared.is_close(one, other) for one, other in pairs or ())):
        return compared.in_any_order(ours, theirs, given), True
    return pairs if pairs is not None else list(itertools.zip_longest(ours, theirs)), False


def _reason(traced: Traced, ours: list[Any], data: _Data) -> str:
    """Which of PyTorch's shortcuts the model takes and its graph does not: the one without which they agree."""
    for reason, without in _SHORTCUTS:
        with without():
            pairs, _ = _paired(traced, ours, *_model_outputs(traced, data))
        if all(compared.is_same(one, other) for one, other in pairs):
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
