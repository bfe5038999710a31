"""Runs a model under the capture engine: hands it its inputs, follows its outputs, and puts everything back.

What is set for the time of a capture is set in one place, `_Surroundings`, and undone however the model ends.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch

from opscope import custom_ops, structural_copy, torchvision_ops
from opscope._load import native
from opscope.errors import error, first_line
from opscope.structural_copy import root_module

_FakeTensor = torch._subclasses.fake_tensor.FakeTensor
_TORCH_FOLDER = str(Path(torch.__file__).parent) + "/"
_OWN_FOLDER = str(Path(__file__).parent) + "/"
_USE_EAGER = 'give weights and inputs with data and use tracer="eager" (--tracer eager)'
_OWN_REASON = "opscope: "  # before the engine's own reasons, in errors that pass through PyTorch
_FLIPS = 8  # conditions on data that are tried the other way before a static capture gives up


def capture(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    tracer: str = "auto",
    name: str = "",
    source: str = "",
    device: Any = None,
    source_lines: bool = False,
    limits: dict[str, int] | None = None,
) -> Any:
    """The model's graph. `auto` is a static capture and, where that cannot go on and data is there, a real run.

    `limits` are sizes to take where they depend on data, by name: {"nms": 100, "nonzero": 5000}.
    """
    run = _Run(model, args, kwargs, name, source, device, source_lines, dict(limits or {}))
    if tracer == "eager":
        if not run.has_data():
            raise error(
                "a real run needs weights and inputs with data, and some are on the meta device",
                name,
                'build the model on a real device, or use tracer="static"',
            )
        return run.capture(eager=True)
    try:
        return run.capture_statically()
    except native.Error as problem:
        if tracer == "static" or getattr(problem, "is_final", True) or not run.has_data():
            raise
        stopped = problem
    graph = run.capture(eager=True)
    graph.add_diagnostic(
        "fallback", stopped.op, stopped.module, f"the static capture stopped ({stopped}), so the model was run for real"
    )
    return graph


def run_abstract(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], call: Callable[..., Any] | None = None) -> Any:
    """What a model, or a method of it, gives for these inputs by shapes alone; nothing is recorded for long.

    Tensors whose values the run does not know come back on the meta device, the others with their values.
    """
    run = _Run(model, args, kwargs, type(model).__name__, "", None, False, {})
    session = run._session(model, False, ())
    if session.is_lazy:
        model = run._initialised(False, ())
        session = run._session(model, False, ())
    given, named = run._inputs(session)
    known: dict[int, Any] = {}
    with _without_dispatch_modes(), _Surroundings(run.device), _running(session), torch.no_grad():
        try:
            outputs = (call or model)(*given, **named)
            known = {id(t): t.tolist() for t in tensors_in(outputs) if native.is_abstract(t) and not native.is_unknown(t)}
            unknown = {id(t) for t in tensors_in(outputs) if native.is_unknown(t)}
        except native.Error:
            raise
        except Exception as problem:
            raise run._explained(problem, session) from problem

    def plain(tensor: torch.Tensor, _: str) -> torch.Tensor:
        if id(tensor) in known:
            return torch.tensor(known[id(tensor)], dtype=tensor.dtype)
        if id(tensor) not in unknown:
            return tensor
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")

    return _replace(outputs, "", plain)


class _Run:
    """One model with its inputs, ready to be captured one way or the other."""

    def __init__(
        self,
        model: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str,
        source: str,
        device: Any,
        source_lines: bool,
        limits: dict[str, int],
    ) -> None:
        self.model, self.args, self.kwargs, self.name, self.source = model, args, kwargs, name, source
        self.source_lines, self.limits = source_lines, limits
        if any(isinstance(t, _FakeTensor) for t in itertools.chain(_first_weight(model), tensors_in((args, kwargs)))):
            raise error("fake tensors hold neither data nor memory to follow", name, "build it on the meta device instead")
        self.device = str(_shown_device(model, (args, kwargs), device))

    def has_data(self) -> bool:
        return not any(t.is_meta for t in itertools.chain(_model_tensors(self.model), tensors_in((self.args, self.kwargs))))

    def capture_statically(self) -> Any:
        """Conditions on data are assumed. Where one makes the model raise, it is assumed the other way."""
        flipped: list[int] = []
        while True:
            try:
                return self.capture(eager=False, flipped=flipped)
            except native.Error as problem:
                last = getattr(problem, "decisions", 0) - 1
                if last < 0 or last in flipped or len(flipped) == _FLIPS:
                    raise
                flipped.append(last)

    def capture(self, eager: bool, flipped: Sequence[int] = ()) -> Any:
        began = time.perf_counter()
        session = self._session(self.model, eager, flipped)
        grew = False if session.is_lazy else self._call(session, self.model)
        if session.is_lazy or grew:
            initialised = self._initialised(eager, flipped)
            session = self._session(initialised, eager, flipped)
            self._call(session, initialised)
        graph = session.take()
        _declare_costs(graph)
        graph.set_info(
            model=self.name, source=self.source, torch=torch.__version__, seconds=time.perf_counter() - began
        )
        return graph

    def _session(self, model: Any, eager: bool, flipped: Sequence[int]) -> Any:
        session = native.Session(self.device, eager, list(custom_ops.DECLARED), self.limits, list(flipped))
        if self.source_lines:
            session.note_source_lines(_TORCH_FOLDER, _OWN_FOLDER)
        root = root_module(model)
        session.add_model(model if root is None else root)
        return session

    def _call(self, session: Any, model: Any, keep_changes: bool = False) -> bool:
        """Calls the model under the session. Whether it made modules, parameters or buffers of its own."""
        try:
            args, kwargs = self._inputs(session)
        except native.Error:
            raise
        except RuntimeError as problem:
            raise self._explained(problem, session) from problem
        with _without_dispatch_modes(), _Surroundings(self.device), _running(session):
            try:
                outputs = model(*args, **kwargs)
                for path, tensor in named_tensors(outputs):
                    session.add_output(tensor, path)
            except native.Error:  # from a capture inside this one
                raise
            except Exception as problem:
                raise self._explained(problem, session) from problem
            grew = bool(session.grew)
            if keep_changes:
                session.keep_changes()
        return grew

    def _initialised(self, eager: bool, flipped: Sequence[int]) -> Any:
        """A copy of a lazy model after its first call. The tensors it has are shared, and as they were."""
        made = structural_copy.structural_copy(self.model, without_data=not eager)
        before = structural_copy.attributes_of(made)
        with nullcontext() if eager else structural_copy.materialised_without_data():
            self._call(self._session(made, eager, flipped), made, keep_changes=True)
        structural_copy.forget(made, before, lambda value: any(map(native.is_abstract, tensors_in(value))))
        return made

    def _inputs(self, session: Any) -> tuple[Any, dict[str, Any]]:
        """The model's inputs with unknown data taken away; the caller's own objects are left as they are."""
        memo: dict[int, Any] = {}

        def replaced(tensor: torch.Tensor, path: str) -> torch.Tensor:
            if id(tensor) not in memo:
                memo[id(tensor)] = (
                    _unflattened(tensor, path, replaced)
                    if _is_wrapper(tensor) and not session.is_eager
                    else session.add_input(tensor, path)
                )
            return memo[id(tensor)]

        names = _argument_names(self.model, len(self.args))
        args = tuple(_replace(value, name, replaced) for name, value in zip(names, self.args, strict=True))
        return args, {name: _replace(value, name, replaced) for name, value in self.kwargs.items()}

    def _explained(self, problem: Exception, session: Any) -> Exception:
        """The model's own error with the module and the line of its code; or why a static capture stops here."""
        op, module, limit = session.failure or ("", session.failed_module or "", "")
        line = _user_line(problem)
        where = ", ".join(part for part in (module or self.name, line) if part)
        if session.failure:
            made = error(
                f"{op} needs values that a static capture does not have",
                where,
                (f"set a size with --limit {limit}=N, or " if limit else "") + _USE_EAGER,
            )
        elif native.NO_DATA in str(problem):
            made = error(
                "the model's code reads a tensor's data, and a static capture has only shapes",
                where,
                _USE_EAGER,
            )
        elif _OWN_REASON in str(problem):
            made = error(first_line(problem).partition(_OWN_REASON)[2], where, _USE_EAGER)
        elif session.any_bound:
            made = error(
                first_line(problem),
                where,
                f"sizes that depend on data were taken at their largest, and that may be why: {_USE_EAGER}",
            )
        else:
            made = error(first_line(problem), where, "the model itself refused this call: check its inputs' shapes and dtypes")
        made.op, made.module = op, module
        made.decisions = 0 if session.failure else session.decisions
        made.needs_values = (
            bool(session.failure)
            or session.any_bound
            or _OWN_REASON in str(problem)
            or native.NO_DATA in str(problem)
            or isinstance(problem, NotImplementedError)
        )
        made.is_final = False
        return made


def _without_dispatch_modes() -> Any:
    """A FlopCounterMode or FakeTensorMode around a capture would get between the model and the engine."""
    if torch._C._len_torch_dispatch_stack() == 0:
        return nullcontext()
    return torch.utils._python_dispatch._disable_current_modes()


@contextmanager
def _running(session: Any) -> Iterator[None]:
    try:
        session.start()
    except native.Error as problem:
        problem.is_final, problem.needs_values = True, False
        raise
    try:
        yield
    finally:
        session.stop()


def _declare_costs(graph: Any) -> None:
    calls = [(call[0], name, *call[1:]) for name in custom_ops.DECLARED for call in graph.calls_of(name)]
    for index, name, arguments, outputs in sorted(calls, key=lambda call: call[0]):
        args = [_shape_only(value) for value in arguments.values()]
        cost = custom_ops.declared_cost(name, args, [_shape_only(value) for value in outputs])
        if cost is not None:
            graph.declare_cost(index, *cost)


def _shape_only(value: Any) -> Any:
    """(shape, dtype) pairs become meta tensors: what a formula may ask of a tensor, and no data."""
    if isinstance(value, tuple):
        return torch.empty(value[0], dtype=getattr(torch, value[1]), device="meta")
    if isinstance(value, list):
        return [_shape_only(item) for item in value]
    return value


# --- nested inputs and outputs -------------------------------------------------------------------------------

_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.dtype, torch.device, torch.nn.Module, type)


def _parts(value: Any) -> list[tuple[str, Any, Any]]:
    """(path suffix, key, part) of a container, or of an object by its attributes; nothing for the rest."""
    if isinstance(value, _PLAIN) or callable(value):
        return []
    if isinstance(value, dict):
        return [(f".{key}" if isinstance(key, str) else f"[{key!r}]", key, part) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{index}]", index, part) for index, part in enumerate(value)]
    if dataclasses.is_dataclass(value):
        fields = dataclasses.fields(value)
        return [(f".{field.name}", field.name, getattr(value, field.name, None)) for field in fields]
    attributes = getattr(value, "__dict__", None)
    return [(f".{key}", key, part) for key, part in attributes.items()] if isinstance(attributes, dict) else []


def named_tensors(value: Any, path: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor in a nested structure with the way to it; each object is entered once."""
    seen = set() if seen is None else seen
    if isinstance(value, torch.Tensor) and _is_wrapper(value):
        for name in value.__tensor_flatten__()[0]:
            yield from named_tensors(getattr(value, name), f"{path}.{name.strip('_')}", seen)
        return
    if isinstance(value, torch.Tensor):
        yield path.removeprefix("."), value
        return
    parts = _parts(value)
    if not parts or id(value) in seen:
        return
    seen.add(id(value))
    for suffix, _, part in parts:
        yield from named_tensors(part, path + suffix, seen)


def _is_wrapper(tensor: torch.Tensor) -> bool:
    """A __torch_dispatch__ subclass that says which tensors it is made of: jagged nested ones, torchao's."""
    return type(tensor) is not torch.Tensor and torch.utils._python_dispatch.is_traceable_wrapper_subclass(tensor)


def _unflattened(tensor: Any, path: str, replaced: Callable[[torch.Tensor, str], torch.Tensor]) -> torch.Tensor:
    """The wrapper with the tensors inside it replaced."""
    names, context = tensor.__tensor_flatten__()
    inner = {name: replaced(getattr(tensor, name), path + name) for name in names}
    made: torch.Tensor = type(tensor).__tensor_unflatten__(inner, context, tensor.size(), tensor.stride())
    return made


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    return (tensor for _, tensor in named_tensors(value))


def _replace(
    value: Any, path: str, replaced: Callable[[torch.Tensor, str], torch.Tensor], inside: tuple[int, ...] = ()
) -> Any:
    """A copy of a nested structure with its tensors replaced; what holds no tensor is passed as it is."""
    if isinstance(value, torch.Tensor):
        return replaced(value, path)
    if next(tensors_in(value), None) is None:
        return value
    if id(value) in inside:
        raise error(f"the input {path} contains itself", path, "give inputs without cycles")
    inside = (*inside, id(value))
    parts = [(key, _replace(part, path + suffix, replaced, inside)) for suffix, key, part in _parts(value)]
    if isinstance(value, tuple):
        items = [part for _, part in parts]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    made = copy.copy(value)
    for key, part in parts:
        if isinstance(value, (dict, list)):
            made[key] = part
        elif part is not getattr(value, key, None):
            object.__setattr__(made, key, part)
    return made


def _argument_names(model: Any, count: int) -> list[str]:
    """The names of forward's positional parameters: 'x', or 'args[1]' where they are a *args."""
    try:
        parameters = inspect.signature(getattr(model, "forward", model)).parameters.values()
    except (TypeError, ValueError):
        return [f"args[{index}]" for index in range(count)]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return names + [f"{rest}[{index}]" for index in range(count - len(names))]


def _model_tensors(model: Any) -> Iterator[torch.Tensor]:
    root = root_module(model)
    if root is not None:
        yield from root.parameters()
        yield from root.buffers()


def _first_weight(model: Any) -> Iterator[torch.Tensor]:
    return itertools.islice(_model_tensors(model), 1)


def _shown_device(model: Any, inputs: Any, device: Any) -> torch.device:
    """The device that the capture's tensors show: the caller's choice, else the weights', else the inputs'."""
    if device is not None:
        asked = torch.device(device)
        return torch.device(asked.type, 0) if asked.type == "cuda" and asked.index is None else asked
    for tensor in itertools.chain(_first_weight(model), tensors_in(inputs)):
        if not tensor.is_meta:
            return tensor.device
    return torch.device("cpu")


def _user_line(problem: BaseException) -> str:
    """'model.py:42', the innermost line that is neither PyTorch's nor opscope's."""
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if not frame.filename.startswith((_TORCH_FOLDER, _OWN_FOLDER, "<")):
            return f"{frame.filename}:{frame.lineno}"
    return ""


# --- what a capture sets around the model -------------------------------------------------------------------


class _Surroundings:
    """Switches that make PyTorch show every op, set while any thread captures and then put back."""

    _lock = threading.Lock()
    _users = 0
    _pretending = 0  # users whose GPU is not there
    _undo = ExitStack()

    def __init__(self, device: str) -> None:
        self._pretends = device.startswith("cuda") and not torch.cuda.is_available()
        self._own_undo = ExitStack()

    def __enter__(self) -> None:
        with ExitStack() as undo:
            _keep_generators(undo)
            with self._lock:
                if _Surroundings._users == 0:
                    _Surroundings._undo = _set_all()
                _Surroundings._users += 1
                _Surroundings._pretending += self._pretends
            self._own_undo = undo.pop_all()

    def __exit__(self, *_: object) -> None:
        with self._own_undo, self._lock:
            _Surroundings._users -= 1
            _Surroundings._pretending -= self._pretends
            if _Surroundings._users == 0:
                _Surroundings._undo.close()


def _keep_generators(undo: ExitStack) -> None:
    """Has `undo` put the random number generators that are not PyTorch's own back to where they are now."""
    undo.callback(random.setstate, random.getstate())
    if "numpy" in sys.modules:
        numpy_random = sys.modules["numpy"].random
        undo.callback(numpy_random.set_state, numpy_random.get_state())
    if torch.cuda.is_initialized():
        undo.callback(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())


def _set_all() -> ExitStack:
    """Sets every switch, or none where one fails; what undoes them."""
    with ExitStack() as undo:
        for undo_one in _switches():
            undo.callback(undo_one)
        return undo.pop_all()


def _set(owner: Any, attribute: str, value: Any) -> Callable[[], None]:
    before = getattr(owner, attribute)
    setattr(owner, attribute, value)
    return lambda: setattr(owner, attribute, before)


def _switches() -> Iterator[Callable[[], None]]:
    """Sets each switch and yields what undoes it."""
    fast_path = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    yield lambda: torch.backends.mha.set_fastpath_enabled(fast_path)

    optimise = torch._C._get_graph_executor_optimize()
    torch._C._set_graph_executor_optimize(False)
    yield lambda: torch._C._set_graph_executor_optimize(optimise)

    if "torch._dynamo" in sys.modules:
        stance = torch.compiler.set_stance("force_eager")
        stance.__enter__()
        yield lambda: stance.__exit__(None, None, None)
    yield _set(torch, "compile", _uncompiled(torch.compile))

    yield _set(torch.cuda, "_lazy_init", _not_started(torch.cuda._lazy_init))
    yield _set(torch._tensor_str, "_str", _printed(torch._tensor_str._str))
    yield _set(torch.Tensor, "__deepcopy__", _copied(torch.Tensor.__deepcopy__))
    yield _set(torch.Tensor, "new", _made_new(torch.Tensor.new))
    yield _set(torch.Tensor, "new_tensor", _made_new_tensor(torch.Tensor.new_tensor))
    yield _set(torch.Tensor, "tolist", _listed(torch.Tensor.tolist))
    yield from torchvision_ops.answers()
    _show_higher_order_ops()


def _uncompiled(compile: Callable[..., Any]) -> Callable[..., Any]:
    def uncompiled(model: Any = None, **options: Any) -> Any:
        if not native.capturing():
            return compile(model, **options)
        return model if model is not None else lambda function: function

    return uncompiled


def _not_started(lazy_init: Callable[[], None]) -> Callable[[], None]:
    def not_started() -> None:
        if not (_Surroundings._pretending and native.capturing()):
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
        return torch.tensor(data, **{"dtype": tensor.dtype, "device": tensor.device} | options)

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
            operator.py_impl(mode)(_cond)
        elif name == "custom_function_call":
            operator.fallthrough(mode)  # functorch's own levels take an autograd.Function apart
        elif dense in operator.py_kernels:
            operator.py_impl(mode)(operator.py_kernels[dense])


def _cond(predicate: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any) -> Any:
    if isinstance(predicate, torch.Tensor) and native.is_unknown(predicate):
        native.note("assumption", "higher_order::cond", "depends on data; the true branch is assumed")
        return true_fn(*operands)
    return true_fn(*operands) if predicate else false_fn(*operands)


# --- for tests of the shape rules -----------------------------------------------------------------------------


@contextmanager
def abstract_calls(device: str = "cpu") -> Iterator[Any]:
    """Abstract tensors to call single ops on: the session's `abstract`, `storage_id`, `slow_path`, `rule_hits`."""
    session = native.Session(device, False)
    session.add_model(lambda: None)
    with _Surroundings(device), _running(session):
        yield session
