"""Python text for the values that stand in a traced graph, and what a file must import or define for them.

`Text` belongs to one file: it gives each value its expression and keeps the imports and the definitions that
those expressions need.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import importlib
import inspect
import keyword
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch
import torch.nn.functional as F

from opscope.tracers.saved_code import functions
from opscope.tracers.saved_code.functions import Unwritable

# Where a function is looked for before its own words about itself are believed: the name a person would write.
_NAMESPACES: tuple[tuple[str, Any], ...] = (
    ("torch", torch),
    ("F", F),
    ("torch.Tensor", torch.Tensor),
    ("operator", operator),
    ("math", math),
    ("torch.special", torch.special),
    ("torch.linalg", torch.linalg),
    ("torch.fft", torch.fft),
    ("torch._C._nn", torch._C._nn),
)
INFIX = {
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.floordiv: "//",
    operator.mod: "%",
    operator.pow: "**",
    operator.matmul: "@",
    operator.and_: "&",
    operator.or_: "|",
    operator.xor: "^",
    operator.lt: "<",
    operator.le: "<=",
    operator.eq: "==",
    operator.ne: "!=",
    operator.gt: ">",
    operator.ge: ">=",
}
_TORCH_NAMESPACES = {"aten", "prims", "prim", "higher_order", "_c10d_functional", "quantized", "inductor", "export"}


class Text:
    def __init__(self, device: torch.device) -> None:
        self.device = torch.device("cpu") if device.type == "meta" else device
        self.imports: set[str] = set()  # whole lines
        self.definitions: dict[str, str] = {}  # name: source, in the order they need each other
        self.helpers: set[str] = set()
        self.notes: list[str] = []
        self.operators: set[str] = set()  # 'torchvision::nms', of libraries other than torch
        self._inlined: dict[int, str] = {}

    def taken(self) -> set[str]:
        return {line.split()[-1] for line in self.imports} | set(self.definitions)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    # --- values -----------------------------------------------------------------------------------------------

    def value(self, value: Any, of: Callable[[Any], str | None] = lambda _: None) -> str:
        """The expression of a value; `of` is asked first and gives what stands for nodes and tensors."""
        if (given := of(value)) is not None:
            return given
        if value is None or value is Ellipsis or isinstance(value, (bool, str, bytes)):
            return "..." if value is Ellipsis else repr(value)
        if isinstance(value, enum.Enum):
            return f"{self.reference(type(value))}.{value.name}"
        if isinstance(value, (int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self._number(value)
        if isinstance(value, (torch.device, torch.dtype, torch.layout, torch.memory_format)):
            return self._torch_constant(value)
        if isinstance(value, slice):
            return f"slice({', '.join(self.value(part, of) for part in (value.start, value.stop, value.step))})"
        if isinstance(value, range):
            return repr(value)
        if isinstance(value, (list, tuple, set, dict)):
            return self._container(value, of)
        if callable(value):
            return self.reference(value)
        if dataclasses.is_dataclass(value):
            parts = [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value) if each.init]
            return f"{self.reference(type(value))}({', '.join(f'{name}={self.value(part, of)}' for name, part in parts)})"
        raise Unwritable(f"a {type(value).__name__} has no form in Python text")

    def _number(self, value: Any) -> str:
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            hint = value.node.hint
            if hint is None:
                raise Unwritable("a size that depends on data has no value")
            value = hint
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        # bool, int and float subclasses (numpy's) print their own way
        base = next(kind for kind in (bool, int, float, complex) if isinstance(value, kind))
        return base.__repr__(value) if base is not bool else repr(bool(value))

    def _torch_constant(self, value: Any) -> str:
        if not isinstance(value, torch.device):
            return str(value)
        indexless = value.type == self.device.type and (value.index is None or value.index == self.device.index)
        return "DEVICE" if value.type == "meta" or indexless else f'torch.device("{value}")'

    def _container(self, value: Any, of: Callable[[Any], str | None]) -> str:
        if isinstance(value, dict):
            pairs = ", ".join(f"{self.value(key, of)}: {self.value(part, of)}" for key, part in value.items())
            return f"{{{pairs}}}"
        parts = [self.value(part, of) for part in value]
        if isinstance(value, list):
            return f"[{', '.join(parts)}]"
        if isinstance(value, torch.Size):
            return f"torch.Size([{', '.join(parts)}])"
        if isinstance(value, set):
            return f"{{{', '.join(sorted(parts))}}}" if parts else "set()"
        if type(value) is not tuple and hasattr(value, "_fields"):
            return f"{self.reference(type(value))}({', '.join(parts)})"
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"

    # --- functions and classes --------------------------------------------------------------------------------

    def reference(self, function: Any) -> str:
        """The name of a function or class in the file, which then imports or defines it."""
        if isinstance(function, torch._ops.OpOverload):
            return f"{self._operator(function)}.{function._overloadname}"
        if isinstance(function, torch._ops.OpOverloadPacket):
            return self._operator(getattr(function, function.overloads()[0]))
        if isinstance(function, torch._ops.HigherOrderOperator):
            return self._higher_order(function)
        if id(function) in self._inlined:
            return self._inlined[id(function)]
        return self._by_namespace(function) or self._by_own_name(function) or self._inline(function)

    def _operator(self, overload: Any) -> str:
        namespace, name = overload.namespace, overload._opname
        if namespace not in _TORCH_NAMESPACES:
            self.operators.add(f"{namespace}::{name}")
        return f"torch.ops.{namespace}.{name}"

    def _higher_order(self, function: Any) -> str:
        module, name = type(function).__module__, function.__name__
        if getattr(torch.ops.higher_order, name, None) is function:
            importlib.import_module(module)
            self.imports.add(f"import {module}")  # which registers it
            return f"torch.ops.higher_order.{name}"
        raise Unwritable(f"the operator {name} is not among torch.ops.higher_order")

    def _by_namespace(self, function: Any) -> str | None:
        name = getattr(function, "__name__", None)
        if not isinstance(name, str) or not name.isidentifier():
            return None
        if getattr(builtins, name, None) is function:
            return name
        for prefix, namespace in _NAMESPACES:
            if inspect.getattr_static(namespace, name, None) is function or _same(namespace, name, function):
                if prefix in ("math", "operator"):
                    self.imports.add(f"import {prefix}")
                return f"{prefix}.{name}"
        return None

    def _by_own_name(self, function: Any) -> str | None:
        """What torch itself and the standard library define, by the module that they say they are of."""
        module = getattr(function, "__module__", None) or ""
        qualified = getattr(function, "__qualname__", getattr(function, "__name__", ""))
        if not module or not functions.is_standard(module) or "<" in qualified:
            return None
        found: Any = importlib.import_module(module)
        for part in qualified.split("."):
            found = getattr(found, part, None)
        if found is not function:
            return None
        if module == "builtins":
            return str(qualified)
        self.imports.add(f"import {module}")
        return f"{module}.{qualified}"

    def _inline(self, function: Any) -> str:
        """The function's own source in the file, with what it uses; a library's that cannot be so is imported."""
        try:
            name = functions.inline(function, self)
        except Unwritable as problem:
            if (imported := functions.library_import(function, self)) is None:
                raise Unwritable(f"{_called(function)} can be neither imported nor written out: {problem}") from problem
            name = imported
            self.note(f"imports {_called(function)}: {problem}")
        self._inlined[id(function)] = name
        return name


def _same(namespace: Any, name: str, function: Any) -> bool:
    """Bound methods of torch's C objects are made anew at each look: torch.add is torch.add, but not for `is`."""
    found = getattr(namespace, name, None)
    return found is not None and (found is function or (inspect.isbuiltin(found) and found == function))


def _called(function: Any) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', function)}"


def identifier(name: str, taken: Iterable[str]) -> str:
    """A Python name from any text, different from those taken."""
    base = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name) or "_"
    base = f"_{base}" if base[0].isdigit() else base
    if keyword.iskeyword(base) or hasattr(builtins, base):
        base += "_"
    made, number = base, 1
    taken = taken if isinstance(taken, (set, dict)) else set(taken)
    while made in taken:
        number += 1
        made = f"{base}_{number}"
    return made

