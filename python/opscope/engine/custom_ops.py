"""Costs of operators that the cost table does not have: the user's own, and formulas given to PyTorch's counter or fvcore."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from opscope._load import native

#: A number, or a function of the op's own arguments (tensors have .shape and .dtype but no data). A function
#: with a parameter called `outputs` is given the op's results too.
Formula = int | Callable[..., int]


@dataclass(frozen=True)
class DeclaredOp:
    macs: Formula | None = None
    flops: Formula | None = None
    bytes: Formula | None = None
    fvcore_handle: Callable[..., Any] | None = None
    source: str = ""  # whose formulas they are, where not the user's


DECLARED: dict[str, DeclaredOp] = {}

#: MACs, flops and bytes, None where not declared, and whose formula it is: "" for the user's own, "torch", "fvcore", "bitsandbytes".
Cost = tuple[int | None, int | None, int | None, str]


def register_op(
    name: str,
    *,
    macs: Formula | None = None,
    flops: Formula | None = None,
    bytes: Formula | None = None,
    fvcore_handle: Callable[..., Any] | None = None,
) -> None:
    """Says what an op costs: opscope.register_op("mylib::foo", macs=lambda x, w: x.numel() * w.shape[0]).

    `flops` is all arithmetic, the MACs at two each included; left out, it is the MACs'. Bytes left out: every
    input is read once and every output written once. What is left out for an op of the cost table stays as the table
    has it. `fvcore_handle` is a function that `FlopCountAnalysis.set_op_handle` takes; what it counts is taken as MACs.
    """
    if "::" not in name:
        raise ValueError(f"register_op({name!r}): an op's name has its namespace in it, as in 'mylib::foo'")
    given = {"macs": macs, "flops": flops, "bytes": bytes}
    if fvcore_handle is not None:
        if macs is not None or flops is not None:
            raise ValueError(f"register_op({name!r}): a handle counts what macs and flops would; give one of them")
        if not callable(fvcore_handle):
            raise TypeError(f"register_op({name!r}): a handle is a function of inputs and outputs, not {fvcore_handle!r}")
    elif all(formula is None for formula in given.values()):
        raise ValueError(f"register_op({name!r}): give at least one of macs, flops and bytes")
    for label, formula in given.items():
        _check_formula(name, label, formula)
    DECLARED[name] = DeclaredOp(macs, flops, bytes, fvcore_handle)


def _check_formula(name: str, label: str, formula: Formula | None) -> None:
    if formula is None or callable(formula):
        return
    if isinstance(formula, bool) or not isinstance(formula, int) or formula < 0:
        raise TypeError(f"register_op({name!r}): {label} is a whole number or a function, not {formula!r}")


def costed_ops() -> list[str]:
    """The names of all ops whose cost is not the table's alone; an op of several parts is then recorded whole."""
    return list(_other_formulas() | DECLARED)


def declare_costs(graph: Any, costed: list[str]) -> None:
    """Gives the graph the costs that were declared for its ops, and says where other tools' formulas were taken."""
    if not costed:
        return
    told: set[str] = set()
    for index, name, arguments, outputs in graph.calls_of(costed):
        given = {key: _shape_only(value) for key, value in arguments.items() if "." not in key}
        made = [_shape_only(value) for value in outputs]
        cost: Cost | None
        if name in DECLARED:
            cost, words = declared_cost(name, list(given.values()), made), ""
        else:
            cost, words = _others_cost(name, _other_formulas()[name], given, made)
        if cost is not None:
            graph.declare_cost(index, *cost)
        if words and words not in told:
            told.add(words)
            graph.add_diagnostic("declared", name, "", words)


def _shape_only(value: Any) -> Any:
    """(shape, dtype) pairs become meta tensors: what a formula may ask of a tensor, and no data."""
    if isinstance(value, tuple):
        return torch.empty(value[0], dtype=getattr(torch, value[1]), device="meta")
    if isinstance(value, list):
        return [_shape_only(item) for item in value]
    return value


def declared_cost(op_name: str, args: Sequence[Any], outputs: Sequence[Any], kwargs: Mapping[str, Any] | None = None) -> Cost | None:
    """What the user declared for one call; None for an op nobody declared."""
    declared = DECLARED.get(op_name)
    if declared is None:
        return None
    call = (args, outputs, kwargs or {})
    size = _evaluate(op_name, "bytes", declared.bytes, *call)
    if (handle := declared.fvcore_handle) is not None:
        counted = _evaluate(op_name, "handle", lambda *_, **__: _handle_count(handle, args, outputs), *call)
        return counted, None, size, "fvcore"
    return _evaluate(op_name, "macs", declared.macs, *call), _evaluate(op_name, "flops", declared.flops, *call), size, declared.source


def _evaluate(
    op_name: str,
    label: str,
    formula: Formula | None,
    args: Sequence[Any],
    outputs: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> int | None:
    if formula is None or isinstance(formula, int):
        return formula
    extra = {"outputs": outputs} if _wants_outputs(formula) else {}
    try:
        value = int(formula(*args, **kwargs, **extra))
    except Exception as problem:
        from opscope.errors import error, first_line

        raise error(
            f"the {label} declared for {op_name} cannot be computed: {first_line(problem)}",
            op_name,
            "a formula takes the op's arguments in order and returns a whole number",
        ) from problem
    return max(value, 0)


def _wants_outputs(formula: Callable[..., int]) -> bool:
    try:
        return "outputs" in inspect.signature(formula).parameters
    except (TypeError, ValueError):  # a builtin without a signature
        return False


# --- Formulas that other counters were given, for ops that the table does not have


_TORCH = "torch.utils.flop_counter.register_flop_formula"
_FVCORE = "fvcore"
_known: tuple[tuple[Any, ...], dict[str, tuple[str, Any]]] = ((), {})  # for registries of these keys


def _other_formulas() -> dict[str, tuple[str, Any]]:
    """By op: whose formula, and its key in that registry."""
    global _known
    torch_module, fvcore_module = sys.modules.get("torch.utils.flop_counter"), sys.modules.get("fvcore.nn.flop_count")
    by_torch: dict[Any, Any] = getattr(torch_module, "flop_registry", {})
    by_fvcore: dict[str, Any] = getattr(fvcore_module, "_DEFAULT_SUPPORTED_OPS", {})
    keys = (*by_torch, *by_fvcore)
    if keys != _known[0]:
        found = {name: (_FVCORE, name) for name, handle in by_fvcore.items() if handle is not None}
        found |= {name: (_TORCH, key) for key in by_torch if (name := getattr(key, "_qualified_op_name", ""))}
        _known = keys, {name: whose for name, whose in found.items() if "::" in name and not native.has_cost(name)}
    return _known[1]


def _others_cost(name: str, whose: tuple[str, Any], given: dict[str, Any], outputs: list[Any]) -> tuple[Cost | None, str]:
    """The cost by another counter's formula, and what to say of it. One that fails leaves the op unknown."""
    tool, key = whose
    try:
        if tool == _TORCH:
            flops = _torch_count(key, given, outputs)
            return (flops // 2, flops, None, "torch"), f"counted by its formula of {_TORCH}, at two FLOPs for each MAC"
        handle = sys.modules["fvcore.nn.flop_count"]._DEFAULT_SUPPORTED_OPS[key]
        count = _handle_count(handle, list(given.values()), outputs)
        return (count, None, None, "fvcore"), "counted by fvcore's handle for it, whose count is taken as MACs"
    except Exception as problem:
        from opscope.errors import first_line

        return None, f"its formula of {tool} cannot be computed: {first_line(problem)}"


def _torch_count(packet: Any, given: dict[str, Any], outputs: list[Any]) -> int:
    from torch.utils.flop_counter import flop_registry

    schemas = [getattr(packet, overload)._schema for overload in packet.overloads()]
    schema = next(one for one in schemas if [argument.name for argument in one.arguments] == list(given))
    named = {argument.name for argument in schema.arguments if argument.kwarg_only}
    args = [value for name, value in given.items() if name not in named]
    kwargs = {name: value for name, value in given.items() if name in named}
    result = outputs[0] if len(outputs) == 1 else tuple(outputs)
    return max(int(flop_registry[packet](*args, **kwargs, out_val=result)), 0)


def _handle_count(handle: Callable[..., Any], args: Sequence[Any], outputs: Sequence[Any]) -> int:
    """fvcore's handles take the values of a TorchScript graph, and give a number, or numbers by name."""
    count = handle([_Value(value) for value in args], [_Value(value) for value in outputs])
    return max(int(sum(count.values()) if isinstance(count, Mapping) else count), 0)


class _Value:
    """What a handle asks of a value of a TorchScript graph."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def isCompleteTensor(self) -> bool:
        return isinstance(self._value, torch.Tensor)

    def type(self) -> _Value:
        return self

    def sizes(self) -> list[int]:
        return list(self._value.shape)

    def dim(self) -> int:
        return int(self._value.dim())

    def toIValue(self) -> Any:
        return None if self.isCompleteTensor() else self._value

    def node(self) -> _Value:
        return self

    def inputs(self) -> list[_Value]:
        return [_Value(part) for part in self._value] if isinstance(self._value, list) else []
