"""What a callable that is no module reaches: the modules and parameters in its closure, its globals, its defaults, the
object whose method it is. They are then found, trained and put back as those of a module are.
"""

from __future__ import annotations

import copy
import dis
import functools
import itertools
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch

_DEPTH = 4  # from the function to a module: functions in functions, lists, objects
_VISITED = 1000  # objects: a trainer may hold a dataset
_ITEMS = 256  # of a list or dict
_FOREIGN = frozenset(("torch", "numpy", "opscope", *sys.stdlib_module_names))  # nobody's model is in their objects

Part = torch.nn.Module | torch.nn.Parameter


def holder_of(function: Any) -> torch.nn.Module | None:
    """A module that stands for a callable: what it reaches are its children and parameters; None where that is nothing."""
    found: dict[str, Part] = {}
    owners: list[Any] = []
    _gather("", function, _DEPTH, {}, found, owners)
    if not found:
        return None
    made: torch.nn.Module = type(_name_of(function), (torch.nn.Module,), {})()
    for name, part in found.items():
        table: dict[str, Any] = made._modules if isinstance(part, torch.nn.Module) else made._parameters
        table[name] = part
    made.__dict__["owners"] = owners  # what a call changes on them is put back as well
    return made


def _name_of(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _gather(
    name: str, value: Any, depth: int, seen: dict[int, Any], found: dict[str, Part], owners: list[Any]
) -> None:
    if id(value) in seen or len(seen) > _VISITED:
        return
    seen[id(value)] = value
    if isinstance(value, (torch.nn.Module, torch.nn.Parameter)):
        found[_free(name, found)] = value
        return
    if depth == 0:
        return
    if _is_plain_object(value):
        owners.append(value)
    for key, part in _parts(value):
        _gather(key if not name or _is_code(value) else f"{name}_{key}", part, depth - 1, seen, found, owners)


def _free(name: str, taken: dict[str, Part]) -> str:
    """A module's name has no dot in it, and two have two names."""
    name = name.replace(".", "_") or "model"
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _is_code(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, types.MethodType, functools.partial))


def _is_plain_object(value: Any) -> bool:
    """An object of the user's with attributes of its own; no class, module, function or tensor."""
    if isinstance(value, (type, types.ModuleType, torch.Tensor)) or _is_code(value) or _is_foreign(value):
        return False
    return isinstance(getattr(value, "__dict__", None), dict)


def _is_foreign(value: Any) -> bool:
    kind = value if isinstance(value, types.FunctionType) else type(value)
    return str(kind.__module__).partition(".")[0] in _FOREIGN


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, functools.partial):
        yield "func", value.func
        code = getattr(value.func, "__code__", None)
        names = code.co_varnames[: code.co_argcount] if code is not None else ()
        yield from itertools.zip_longest(names[: len(value.args)], value.args, fillvalue="argument")
        yield from value.keywords.items()
    elif isinstance(value, types.MethodType):
        yield "", value.__self__
        yield "func", value.__func__
    elif isinstance(value, types.FunctionType):
        yield from () if _is_foreign(value) else _variables(value)
    elif isinstance(value, dict):
        yield from ((str(key), part) for key, part in itertools.islice(list(value.items()), _ITEMS))
    elif isinstance(value, (list, tuple)):
        yield from ((str(index), part) for index, part in enumerate(value[:_ITEMS]))
    elif _is_plain_object(value):
        yield from list(vars(value).items())
        if isinstance(call := vars(type(value)).get("__call__"), types.FunctionType):
            yield from _variables(call)


def _variables(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Of the closure, the defaults, and the globals that its code reads."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not set yet
            continue
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = function.__defaults__ or ()
    yield from zip(names[len(names) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()
    for name in _globals_read(function.__code__):
        part = function.__globals__.get(name)
        if not isinstance(part, types.FunctionType) or part.__module__ == function.__module__:
            yield name, part


@functools.lru_cache(maxsize=256)
def _globals_read(code: types.CodeType) -> tuple[str, ...]:
    """In the order of the code, functions made in it included."""
    names = [step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names += _globals_read(constant)
    return tuple(dict.fromkeys(names))


def deep_copied(value: Any, memo: dict[int, Any]) -> Any:
    """As copy.deepcopy, where functions are made anew on copies of the modules that they reach."""
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, functools.partial):
        args = [deep_copied(part, memo) for part in value.args]
        made: Any = functools.partial(
            deep_copied(value.func, memo), *args, **{key: deep_copied(part, memo) for key, part in value.keywords.items()}
        )
    elif isinstance(value, types.MethodType):
        made = types.MethodType(value.__func__, deep_copied(value.__self__, memo))
    elif isinstance(value, types.FunctionType) and holder_of(value) is not None:
        return _copied_function(value, memo)
    else:
        return copy.deepcopy(value, memo)
    memo[id(value)] = made
    return made


def _copied_function(function: types.FunctionType, memo: dict[int, Any]) -> Any:
    cells = tuple(types.CellType() for _ in function.__closure__ or ())
    read = {name: function.__globals__[name] for name in _globals_read(function.__code__) if name in function.__globals__}
    of_model = {name: part for name, part in read.items() if _reaches(part)}
    own = {**function.__globals__} if of_model else function.__globals__
    made = types.FunctionType(function.__code__, own, function.__name__, function.__defaults__, cells or None)
    memo[id(function)] = made
    own.update({name: deep_copied(part, memo) for name, part in of_model.items()})
    made.__defaults__ = deep_copied(function.__defaults__, memo)
    made.__kwdefaults__ = deep_copied(function.__kwdefaults__, memo)
    made.__dict__.update(function.__dict__)
    for new, old in zip(cells, function.__closure__ or (), strict=True):
        try:
            new.cell_contents = deep_copied(old.cell_contents, memo) if _reaches(old.cell_contents) else old.cell_contents
        except ValueError:  # not set yet
            continue
    return made


def _reaches(value: Any) -> bool:
    """Whether a module or a parameter is in it; what holds none is shared."""
    return isinstance(value, (torch.nn.Module, torch.nn.Parameter)) or holder_of(value) is not None
