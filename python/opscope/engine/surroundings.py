"""Global settings of PyTorch during a capture, chosen so that every op is seen, and restored after it."""

from __future__ import annotations

import copy
import ctypes
import functools
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

import torch

from opscope._load import native
from opscope.engine import attention_path, checkpointing, threads, torch_version, torchvision_ops
from opscope.engine.nested import with_attributes_of
from opscope.engine.threads import Undo, replaced

_lock = threading.RLock()
_turns = threading.Condition(_lock)
_here = threading.local()  # .measuring: this thread's runs are timed, or will be


def _set_all(each: Iterator[Undo], undo: list[Undo]) -> None:
    """Sets every switch, or none where one fails; `undo` gets what undoes them."""
    try:
        for undo_one in each:
            undo.append(undo_one)
    except BaseException:
        _undo_all(undo)
        raise


def _undo_all(undo: list[Undo]) -> None:
    """The last first, and all of them, whatever one raises. An ExitStack takes as long as to capture twenty ops."""
    while undo:
        last = undo.pop()
        try:
            last()
        except BaseException:
            _undo_all(undo)
            raise


class _Switches:
    """Set by the first who needs them and put back by the last, whichever thread that is."""

    def __init__(self, set_each: Callable[[], Iterator[Undo]]) -> None:
        self._set_each, self._users = set_each, 0
        self._undo: list[Undo] = []

    def __enter__(self) -> None:
        with _lock:
            if self._users == 0:
                _set_all(self._set_each(), self._undo)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with _lock:
            self._users -= 1
            if self._users == 0:
                _undo_all(self._undo)


class Surroundings:
    """Switches that make PyTorch show every op, set while any thread captures and then put back."""

    _pretending = 0  # users whose GPU is not there

    def __init__(self, device: str) -> None:
        self._pretends = device.startswith("cuda") and not torch.cuda.is_available()
        self._undo: list[Undo] = []

    def __enter__(self) -> None:
        _set_all(self._set_each(), self._undo)

    def __exit__(self, *_: object) -> None:
        _undo_all(self._undo)

    def _set_each(self) -> Iterator[Undo]:
        yield from _kept_generators()
        yield _follow()
        for switches in (_EVERY_RUN, _SHOWN):
            switches.__enter__()
            yield switches.__exit__
        yield _interpreted()
        if self._pretends:
            self._pretend(1)
            yield lambda: self._pretend(-1)
            _PRETENDED.__enter__()
            yield _PRETENDED.__exit__

    def _pretend(self, users: int) -> None:
        with _lock:
            Surroundings._pretending += users


class _Threads:
    """Those whose modules' calls are followed, and the one that has PyTorch for itself."""

    following: list[int] = []  # one as often as it follows
    alone: int | None = None


def _follow() -> Undo:
    """This thread has the calls of modules followed, once no other has PyTorch for itself."""
    me = threading.get_ident()
    with _lock:
        if _Threads.alone not in (None, me):
            _turns.wait_for(lambda: _Threads.alone in (None, me))
        _Threads.following.append(me)

    def follow_no_more() -> None:
        with _lock:
            _Threads.following.remove(me)
            _turns.notify_all()

    return follow_no_more


@contextmanager
def among_others() -> Iterator[None]:
    follow_no_more = _follow()
    try:
        yield
    finally:
        follow_no_more()


@contextmanager
def alone() -> Iterator[None]:
    """No capture runs in any other thread: symbolic tracing replaces methods of torch.nn.Module for all of them."""
    me = threading.get_ident()
    with _lock:
        _turns.wait_for(lambda: {me}.issuperset(_Threads.following) and _Threads.alone is None)
        _Threads.alone = me
    try:
        yield
    finally:
        with _lock:
            _Threads.alone = None
            _turns.notify_all()


@contextmanager
def measured() -> Iterator[None]:
    """Around real runs that are timed: the model as its owner runs it, but for compilers, which would hide its ops."""
    undo: list[Undo] = []
    _set_all(_measuring(), undo)
    try:
        yield
    finally:
        _undo_all(undo)


def _measuring() -> Iterator[Undo]:
    yield from _kept_generators()
    yield _follow()
    _EVERY_RUN.__enter__()
    yield _EVERY_RUN.__exit__
    yield _interpreted()
    before, _here.measuring = is_measuring(), True
    yield lambda: setattr(_here, "measuring", before)


def is_measuring() -> bool:
    """Whether this thread is inside measured(), in a run that the engine watches or in a plain one."""
    return getattr(_here, "measuring", False)


def _interpreted() -> Undo:
    """What is scripted runs op by op, in this thread; what undoes it."""
    optimise = torch._C._get_graph_executor_optimize()
    torch._C._set_graph_executor_optimize(False)
    return lambda: torch._C._set_graph_executor_optimize(optimise)


class _DynamoUnseen(MetaPathFinder):
    """Where a model's call imports Dynamo, the ops that this runs are none of the model's."""

    def find_spec(self, name: str, path: Any, _: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == "torch._dynamo" else None
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _unseen(spec.loader.exec_module)  # type: ignore[method-assign]
        return spec


_DYNAMO_UNSEEN = _DynamoUnseen()


def _unseen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, outside the capture of the thread that calls it."""
    mode = torch._C.DispatchKeySet(torch._C._dispatch_key_parse("TESTING_ONLY_GenericMode"))

    def run(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(mode):
            return function(*args, **kwargs)

    return run


class _Generator:
    """A random number generator that is not PyTorch's own. To get its state takes as long as to capture fifty ops, so
    the last one is kept, with the memory that it was in: where that reads the same, so does the state."""

    def __init__(self, memory: Callable[[], object | None], get: Callable[[], Any], put_back: Callable[[Any], None]) -> None:
        self._memory, self._get, self._put_back = memory, get, put_back
        self._last: tuple[object | None, Any] = (None, None)

    def keep(self) -> Undo:
        """Remembers the state; what puts it back."""
        memory = self._memory()
        seen, state = self._last
        if memory is None or memory != seen:
            state = self._get()
            self._last = memory, state

        def put_back() -> None:
            if memory is None or memory != self._memory():
                self._put_back(state)

        return put_back


class _Memory:
    """Some of an object's memory, found once and then only read."""

    def __init__(self, place: Callable[[Any], tuple[int, int]]) -> None:
        self._place = place
        self._owner: Any = None
        self._bytes: ctypes.Array[ctypes.c_char] = ctypes.create_string_buffer(0)

    def of(self, owner: Any) -> bytes:
        if owner is not self._owner:
            address, size = self._place(owner)
            self._owner, self._bytes = owner, (ctypes.c_char * size).from_address(address)
        return self._bytes.raw


def _own_place(value: Any) -> tuple[int, int]:
    """Where an object's own memory is, and how much, without its reference count and type."""
    head = object.__basicsize__
    return id(value) + head, type(value).__basicsize__ - head


_TWISTER_BYTES = 4 * 624 + 4  # the state's words, and the place in it
_PYTHON_MEMORY, _NUMPY_MEMORY = _Memory(_own_place), _Memory(_own_place)
_TWISTER_MEMORY = _Memory(lambda bits: (bits.ctypes.state_address, _TWISTER_BYTES))


def _python_memory() -> object:
    generator: Any = vars(random)["_inst"]
    return _PYTHON_MEMORY.of(generator), generator.gauss_next


def _numpy_memory() -> object | None:
    generator = sys.modules["numpy"].random.mtrand._rand
    bits = generator._bit_generator
    if type(bits).__name__ != "MT19937":
        return None
    return _NUMPY_MEMORY.of(generator), _TWISTER_MEMORY.of(bits)


_PYTHON = _Generator(_python_memory, random.getstate, random.setstate)
_NUMPY = _Generator(
    _numpy_memory,
    lambda: sys.modules["numpy"].random.get_state(),
    lambda state: sys.modules["numpy"].random.set_state(state),
)


def _kept_generators() -> Iterator[Undo]:
    """What puts the random number generators that are not PyTorch's own back to where they are now."""
    yield _PYTHON.keep()
    if "numpy" in sys.modules:
        yield _NUMPY.keep()
    if torch.cuda.is_initialized():
        states = torch.cuda.get_rng_state_all()
        yield lambda: torch.cuda.set_rng_state_all(states)


def _in_every_run() -> Iterator[Undo]:
    """What is compiled runs as it was before; threads are followed. Sets each switch and yields what undoes it."""
    frames = sys.modules.get("torch._dynamo.eval_frame")
    if frames is not None:
        yield replaced(frames, "_stance", _eager_stance(frames))  # torch.compiler.set_stance takes as long as to capture two ops
    elif torch_version.IMPORTING_DYNAMO_RUNS_OPS:
        sys.meta_path.insert(0, _DYNAMO_UNSEEN)
        yield lambda: sys.meta_path.remove(_DYNAMO_UNSEEN)
    yield replaced(torch, "compile", _uncompiled(torch.compile))
    yield from threads.followed()
    checkpointing.show()
    _show_higher_order_ops()


def _showing_ops() -> Iterator[Undo]:
    """Sets each switch and yields what undoes it."""
    yield from attention_path.shown()
    yield replaced(torch.cuda, "_lazy_init", _not_started(torch.cuda._lazy_init))
    yield replaced(torch._tensor_str, "_str", _printed(torch._tensor_str._str))
    yield _with_copies()
    yield from torchvision_ops.answers()


def _pretending_device() -> Iterator[Undo]:
    """Where a GPU is not there: autograd has no thread for it, and PyTorch would not cast for it."""
    run_backward: Any = _seen_by_autograd(torch.autograd.graph._engine_run_backward)
    for owner in (torch.autograd, torch.autograd.graph):
        yield replaced(owner, "_engine_run_backward", run_backward)
    function: Any = torch.autograd.Function
    applied = vars(function)["apply"]
    function.apply = classmethod(_seen_by_autograd(applied.__func__))
    yield lambda: setattr(function, "apply", applied)
    yield replaced(torch.cuda.amp.common, "amp_definitely_not_available", lambda: False)
    yield replaced(torch.cuda, "get_device_capability", lambda *_: native.cuda_capability())
    yield replaced(torch.cuda, "is_bf16_supported", lambda *_, **__: native.cuda_capability() >= (8, 0))


@functools.cache
def _seen_by_autograd(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with tensors of a device that is not there on the CPU for autograd's own code."""

    def run(*args: Any, **kwargs: Any) -> Any:
        before = native.set_autograd_looks(True)
        try:
            return function(*args, **kwargs)
        finally:
            native.set_autograd_looks(before)

    return run


_EVERY_RUN, _SHOWN, _PRETENDED = _Switches(_in_every_run), _Switches(_showing_ops), _Switches(_pretending_device)


@contextmanager
def held() -> Iterator[None]:
    """For many captures in a row: what all of them set is set once. Patching torch.Tensor costs more than a small capture."""
    with _EVERY_RUN, _SHOWN:
        yield


@functools.cache
def _eager_stance(frames: Any) -> Any:
    return frames.DynamoStance("force_eager")


@functools.cache
def _uncompiled(compile: Callable[..., Any]) -> Callable[..., Any]:
    def uncompiled(model: Any = None, **options: Any) -> Any:
        if not (native.capturing() or is_measuring()):
            return compile(model, **options)
        return model if model is not None else lambda function: function

    return uncompiled


@functools.cache
def _not_started(lazy_init: Callable[[], None]) -> Callable[[], None]:
    def not_started() -> None:
        if not (Surroundings._pretending and native.capturing()):
            lazy_init()

    return not_started


@functools.cache
def _printed(text_of: Callable[..., str]) -> Callable[..., str]:
    def printed(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> str:
        if native.is_abstract(tensor):
            return f"tensor(..., size={tuple(tensor.shape)}, dtype={tensor.dtype}, device='{tensor.device}')"
        return text_of(tensor, *args, **kwargs)

    return printed


_plain_deepcopy: Callable[..., Any] = torch.Tensor.__deepcopy__


def _with_copies() -> Undo:
    """Has a copy of an abstract tensor be one too."""
    global _plain_deepcopy
    _plain_deepcopy, undo = torchvision_ops.replace_method(torch.Tensor, "__deepcopy__", _copied, _copied_by_name)
    return undo


def _copied_by_name(self: Any, memo: Any) -> Any:
    from opscope.engine.surroundings import _copied  # the code runs with another module's globals

    return _copied(self, memo)


def _copied(tensor: torch.Tensor, memo: dict[int, Any]) -> Any:
    if native.is_abstract(tensor) and native.capturing():
        made = tensor.clone()
        vars(made).update(copy.deepcopy(vars(tensor), memo))
        return memo.setdefault(id(tensor), with_attributes_of(tensor, made))
    return _plain_deepcopy(tensor, memo)


def _made_new(tensor: torch.Tensor, *args: Any, **_: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], (list, torch.Tensor)) and not isinstance(args[0], torch.Size):
        return torch.as_tensor(args[0], dtype=tensor.dtype)
    return tensor.new_empty(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)


def _made_new_tensor(tensor: torch.Tensor, data: Any, **options: Any) -> Any:
    """The binding finds a device by the dispatch key, and an abstract tensor's names none."""
    return torch.tensor(data, **dict[str, Any](dtype=tensor.dtype, device=tensor.device) | options)


def _listed(tensor: torch.Tensor) -> Any:
    """The binding would read memory; number by number, counts have an upper bound and the rest an error's reason."""
    return [part.tolist() for part in tensor] if tensor.dim() else tensor.item()


class _Address:
    """Where an abstract tensor would lie: code may ask how it is aligned and whether another lies there. It never becomes
    a number, which code could read from."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._storage = tensor.untyped_storage()._cdata
        self._offset = int(tensor.storage_offset()) * tensor.element_size()

    def __mod__(self, alignment: int) -> int:
        return self._offset % alignment  # PyTorch's allocators align to 64 bytes and more

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Address) and (self._storage, self._offset) == (other._storage, other._offset)

    def __hash__(self) -> int:
        return hash((self._storage, self._offset))

    def __index__(self) -> int:
        raise RuntimeError("this tensor was made by an opscope capture: it has no data, so it has no address")


native.answer_abstract("data_ptr", _Address)
native.answer_abstract("new", _made_new)
native.answer_abstract("new_tensor", _made_new_tensor)
native.answer_abstract("tolist", _listed)


_shown_higher_order_ops: set[str] = set()


def _show_higher_order_ops() -> None:
    """Control-flow operators take Python functions; under a capture they are run as plain Python."""
    operators = torch._ops._higher_order_ops
    if len(operators) == len(_shown_higher_order_ops):
        return
    mode = torch._C._dispatch_key_parse("TESTING_ONLY_GenericMode")
    dense = torch._C.DispatchKey.CompositeExplicitAutograd
    for name, operator in list(operators.items()):
        _shown_higher_order_ops.add(name)
        if mode in operator.py_kernels:
            continue
        if name == "cond":
            operator.py_impl(mode)(_while_capturing(operator, _cond))
        elif name == "custom_function_call":
            operator.fallthrough(mode)  # functorch's own levels take an autograd.Function apart
        elif dense in operator.py_kernels:
            operator.py_impl(mode)(_while_capturing(operator, operator.py_kernels[dense]))


def _while_capturing(operator: Any, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel for captures; where a tracer only looks on, the operator as it is without opscope."""
    plain = _unseen(operator)

    def run(*args: Any, **kwargs: Any) -> Any:
        return (kernel if native.capturing() else plain)(*args, **kwargs)

    return run


def _cond(predicate: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any) -> Any:
    if isinstance(predicate, torch.Tensor) and native.is_unknown(predicate):
        predicate = native.decide("higher_order::cond", True)
    return true_fn(*operands) if predicate else false_fn(*operands)
