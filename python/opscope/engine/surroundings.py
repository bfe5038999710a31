"""Global settings of PyTorch during a capture, chosen so that every op is seen, and restored after it."""

from __future__ import annotations

import ctypes
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from opscope._load import native
from opscope.engine import torchvision_ops

_lock = threading.Condition(threading.RLock())
_here = threading.local()  # .measuring: this thread's runs are timed, or will be


class _Switches:
    """Set by the first who needs them and put back by the last, whichever thread that is."""

    def __init__(self, set_each: Callable[[], Iterator[Callable[[], None]]]) -> None:
        self._set_each, self._users, self._undo = set_each, 0, ExitStack()

    def __enter__(self) -> None:
        with _lock:
            if self._users == 0:
                self._undo = _set_all(self._set_each)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with _lock:
            self._users -= 1
            if self._users == 0:
                self._undo.close()


class Surroundings:
    """Switches that make PyTorch show every op, set while any thread captures and then put back."""

    _pretending = 0  # users whose GPU is not there

    def __init__(self, device: str) -> None:
        self._pretends = device.startswith("cuda") and not torch.cuda.is_available()
        self._own_undo = ExitStack()

    def __enter__(self) -> None:
        with ExitStack() as undo:
            _keep_generators(undo)
            undo.enter_context(among_others())
            undo.enter_context(_COMPILERS)
            undo.enter_context(_SHOWN)
            undo.callback(_interpreted())
            self._pretend(1)
            undo.callback(self._pretend, -1)
            self._own_undo = undo.pop_all()

    def __exit__(self, *_: object) -> None:
        self._own_undo.close()

    def _pretend(self, users: int) -> None:
        with _lock:
            Surroundings._pretending += users if self._pretends else 0


class _Threads:
    """Those whose modules' calls are followed, and the one that has PyTorch for itself."""

    following: list[int] = []  # one as often as it follows
    alone: int | None = None


@contextmanager
def among_others() -> Iterator[None]:
    """This thread has the calls of modules followed, once no other has PyTorch for itself."""
    me = threading.get_ident()
    with _lock:
        _lock.wait_for(lambda: _Threads.alone in (None, me))
        _Threads.following.append(me)
    try:
        yield
    finally:
        with _lock:
            _Threads.following.remove(me)
            _lock.notify_all()


@contextmanager
def alone() -> Iterator[None]:
    """No capture runs in any other thread: symbolic tracing replaces methods of torch.nn.Module for all of them."""
    me = threading.get_ident()
    with _lock:
        _lock.wait_for(lambda: {me}.issuperset(_Threads.following) and _Threads.alone is None)
        _Threads.alone = me
    try:
        yield
    finally:
        with _lock:
            _Threads.alone = None
            _lock.notify_all()


@contextmanager
def measured() -> Iterator[None]:
    """Around real runs that are timed: the model as its owner runs it, but for compilers, which would hide its ops."""
    with ExitStack() as undo:
        _keep_generators(undo)
        undo.enter_context(among_others())
        undo.enter_context(_COMPILERS)
        undo.callback(_interpreted())
        undo.callback(setattr, _here, "measuring", is_measuring())
        _here.measuring = True
        _show_higher_order_ops()
        yield


def is_measuring() -> bool:
    """Whether this thread is inside measured(), in a run that the engine watches or in a plain one."""
    return getattr(_here, "measuring", False)


def _interpreted() -> Callable[[], None]:
    """What is scripted runs op by op, in this thread; what undoes it."""
    optimise = torch._C._get_graph_executor_optimize()
    torch._C._set_graph_executor_optimize(False)
    return lambda: torch._C._set_graph_executor_optimize(optimise)


class _Generator:
    """A random number generator that is not PyTorch's own. To get its state takes as long as to capture fifty ops, so
    the last one is kept, with the memory that it was in: where that reads the same, so does the state."""

    def __init__(self, memory: Callable[[], bytes | None], get: Callable[[], Any], put_back: Callable[[Any], None]) -> None:
        self._memory, self._get, self._put_back = memory, get, put_back
        self._last: tuple[bytes | None, Any] = (None, None)

    def keep(self) -> Callable[[], None]:
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


def _bytes_of(value: Any) -> bytes:
    """An object's own memory, without its reference count and type."""
    head = object.__basicsize__
    return ctypes.string_at(id(value) + head, type(value).__basicsize__ - head)


def _python_memory() -> bytes | None:
    generator: Any = vars(random)["_inst"]
    return _bytes_of(generator) + repr(generator.gauss_next).encode()


def _numpy_memory() -> bytes | None:
    generator = sys.modules["numpy"].random.mtrand._rand
    bits = generator._bit_generator
    if type(bits).__name__ != "MT19937":
        return None
    return _bytes_of(generator) + ctypes.string_at(bits.ctypes.state_address, _TWISTER_BYTES)


_TWISTER_BYTES = 4 * 624 + 4  # the state's words, and the place in it
_PYTHON = _Generator(_python_memory, random.getstate, random.setstate)
_NUMPY = _Generator(
    _numpy_memory,
    lambda: sys.modules["numpy"].random.get_state(),
    lambda state: sys.modules["numpy"].random.set_state(state),
)


def _keep_generators(undo: ExitStack) -> None:
    """Has `undo` put the random number generators that are not PyTorch's own back to where they are now."""
    undo.callback(_PYTHON.keep())
    if "numpy" in sys.modules:
        undo.callback(_NUMPY.keep())
    if torch.cuda.is_initialized():
        undo.callback(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())


def _set_all(set_each: Callable[[], Iterator[Callable[[], None]]]) -> ExitStack:
    """Sets every switch, or none where one fails; what undoes them."""
    with ExitStack() as undo:
        for undo_one in set_each():
            undo.callback(undo_one)
        return undo.pop_all()


def _set(owner: Any, attribute: str, value: Any) -> Callable[[], None]:
    before = getattr(owner, attribute)
    setattr(owner, attribute, value)
    return lambda: setattr(owner, attribute, before)


def _without_compilers() -> Iterator[Callable[[], None]]:
    """What is compiled runs as it was before. Sets each switch and yields what undoes it."""
    if "torch._dynamo" in sys.modules:
        stance = torch.compiler.set_stance("force_eager")
        stance.__enter__()
        yield lambda: stance.__exit__(None, None, None)
    yield _set(torch, "compile", _uncompiled(torch.compile))


def _showing_ops() -> Iterator[Callable[[], None]]:
    """Sets each switch and yields what undoes it."""
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield lambda: torch.backends.mha.set_fastpath_enabled(fast_path)

    yield _set(torch.cuda, "_lazy_init", _not_started(torch.cuda._lazy_init))
    yield _set(torch._tensor_str, "_str", _printed(torch._tensor_str._str))
    yield _set(torch.Tensor, "__deepcopy__", _copied(torch.Tensor.__deepcopy__))
    yield _set(torch.Tensor, "new", _made_new(torch.Tensor.new))
    yield _set(torch.Tensor, "new_tensor", _made_new_tensor(torch.Tensor.new_tensor))
    yield _set(torch.Tensor, "tolist", _listed(torch.Tensor.tolist))
    yield from torchvision_ops.answers()
    _show_higher_order_ops()


_COMPILERS, _SHOWN = _Switches(_without_compilers), _Switches(_showing_ops)


@contextmanager
def held() -> Iterator[None]:
    """For many captures in a row: what all of them set is set once. Patching torch.Tensor costs more than a small capture."""
    with _COMPILERS, _SHOWN:
        yield


def _uncompiled(compile: Callable[..., Any]) -> Callable[..., Any]:
    def uncompiled(model: Any = None, **options: Any) -> Any:
        if not (native.capturing() or is_measuring()):
            return compile(model, **options)
        return model if model is not None else lambda function: function

    return uncompiled


def _not_started(lazy_init: Callable[[], None]) -> Callable[[], None]:
    def not_started() -> None:
        if not (Surroundings._pretending and native.capturing()):
            lazy_init()

    return not_started


def _printed(text_of: Callable[..., str]) -> Callable[..., str]:
    def printed(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> str:
        if native.is_abstract(tensor):
            return f"tensor(..., size={tuple(tensor.shape)}, dtype={tensor.dtype}, device='{tensor.device}')"
        return text_of(tensor, *args, **kwargs)

    return printed


def _copied(deepcopy: Callable[..., Any]) -> Callable[..., Any]:
    def copied(tensor: torch.Tensor, memo: dict[int, Any]) -> Any:
        if native.is_abstract(tensor) and native.capturing():
            return memo.setdefault(id(tensor), tensor.clone())
        return deepcopy(tensor, memo)

    return copied


def _made_new(new: Callable[..., Any]) -> Callable[..., Any]:
    def made_new(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if not native.is_abstract(tensor):
            return new(tensor, *args, **kwargs)
        if len(args) == 1 and isinstance(args[0], (list, torch.Tensor)) and not isinstance(args[0], torch.Size):
            return torch.as_tensor(args[0], dtype=tensor.dtype)
        return tensor.new_empty(args[0] if len(args) == 1 and isinstance(args[0], tuple) else args)

    return made_new


def _made_new_tensor(new_tensor: Callable[..., Any]) -> Callable[..., Any]:
    """The binding finds a device by the dispatch key, and an abstract tensor's names none."""

    def made_new_tensor(tensor: torch.Tensor, data: Any, **options: Any) -> Any:
        if not native.is_abstract(tensor):
            return new_tensor(tensor, data, **options)
        return torch.tensor(data, **dict[str, Any](dtype=tensor.dtype, device=tensor.device) | options)

    return made_new_tensor


def _listed(tolist: Callable[..., Any]) -> Callable[..., Any]:
    """The binding would read memory; number by number, counts have an upper bound and the rest an error's reason."""

    def listed(tensor: torch.Tensor) -> Any:
        if not native.is_abstract(tensor) or not native.is_unknown(tensor):
            return tolist(tensor)
        return [listed(part) for part in tensor] if tensor.dim() else tensor.item()

    return listed


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
    mode = torch._C.DispatchKeySet(torch._C._dispatch_key_parse("TESTING_ONLY_GenericMode"))

    def run(*args: Any, **kwargs: Any) -> Any:
        if native.capturing():
            return kernel(*args, **kwargs)
        with torch._C._ExcludeDispatchKeyGuard(mode):
            return operator(*args, **kwargs)

    return run


def _cond(predicate: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any) -> Any:
    if isinstance(predicate, torch.Tensor) and native.is_unknown(predicate):
        native.note("assumption", "higher_order::cond", "depends on data; the true branch is assumed")
        return true_fn(*operands)
    return true_fn(*operands) if predicate else false_fn(*operands)
