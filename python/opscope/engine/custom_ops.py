"""Costs that users declare for their own operators, asked for by the engine while it captures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

#: A number, or a function of the op's own arguments (tensors have .shape and .dtype but no data). A function
#: with a parameter called `outputs` is given the op's results too.
Formula = int | Callable[..., int]


@dataclass(frozen=True)
class DeclaredOp:
    macs: Formula | None = None
    flops: Formula | None = None
    bytes: Formula | None = None


DECLARED: dict[str, DeclaredOp] = {}


def register_op(
    name: str, *, macs: Formula | None = None, flops: Formula | None = None, bytes: Formula | None = None
) -> None:
    """Says what a custom op costs: opscope.register_op("mylib::foo", macs=lambda x, w: x.numel() * w.shape[0]).

    `flops` is all arithmetic, the MACs at two each included; left out, it is the MACs'. Bytes left out: every
    input is read once and every output written once.
    """
    if "::" not in name:
        raise ValueError(f"register_op({name!r}): an op's name has its namespace in it, as in 'mylib::foo'")
    if macs is None and flops is None and bytes is None:
        raise ValueError(f"register_op({name!r}): give at least one of macs, flops and bytes")
    for label, formula in (("macs", macs), ("flops", flops), ("bytes", bytes)):
        _check_formula(name, label, formula)
    DECLARED[name] = DeclaredOp(macs, flops, bytes)


def _check_formula(name: str, label: str, formula: Formula | None) -> None:
    if formula is None or callable(formula):
        return
    if isinstance(formula, bool) or not isinstance(formula, int) or formula < 0:
        raise TypeError(f"register_op({name!r}): {label} is a whole number or a function, not {formula!r}")


def declared_cost(
    op_name: str, args: Sequence[Any], outputs: Sequence[Any], kwargs: Mapping[str, Any] | None = None
) -> tuple[int | None, int | None, int | None] | None:
    """(macs, flops, bytes) for one call, None where not declared; None at all for an op nobody declared."""
    declared = DECLARED.get(op_name)
    if declared is None:
        return None
    call = (args, outputs, kwargs or {})
    return (
        _evaluate(op_name, "macs", declared.macs, *call),
        _evaluate(op_name, "flops", declared.flops, *call),
        _evaluate(op_name, "bytes", declared.bytes, *call),
    )


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
