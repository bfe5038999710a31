"""What a model raised in a capture, as an error that says where and what to do."""

from __future__ import annotations

from typing import Any

from opscope._load import native
from opscope.engine.source_lines import line_of, loop_line_of
from opscope.errors import Error, error, first_line

_USE_EAGER = 'give weights and inputs with data and use tracer="eager" (--tracer eager)'
_OWN_REASON = "opscope: "  # before the engine's own reasons, in errors that pass through PyTorch
_TOO_FEW_ROWS = "Expected more than 1 value per channel"  # batch norm's own words, in training
_CONDITIONS = ("aten::is_nonzero", "aten::item", "aten::_local_scalar_dense")  # what bool(tensor) calls


def explained(problem: Exception, session: Any, name: str, is_training: bool) -> Error:
    """The model's own error with the module and the line of its code; or why a static capture stops here."""
    op, module, limit, reason = session.failure or (session.failed_op, session.failed_module or "", "", "")
    line = loop_line_of(problem) if reason else line_of(problem)
    where = ", ".join(part for part in (module or name, line) if part)
    if reason:
        made = error(
            reason.partition(" (")[0],
            where,
            f"a loop there may depend on data: say how its condition turns out with --assume FILE:LINE=false, {_USE_EAGER}; "
            "for a model that is so large, raise --max-ops",
        )
    elif session.failure:
        made = error(
            f"{op} needs values that a static capture does not have",
            where,
            (f"set a size with --limit {limit}=N, or " if limit else "")
            + (f"say how the condition turns out with --assume {_short(line)}=true, or " if op in _CONDITIONS and line else "")
            + _USE_EAGER,
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
            f"data-dependent sizes were taken at their upper bounds, which may be the cause: {_USE_EAGER}",
        )
    elif is_training and _TOO_FEW_ROWS in str(problem):
        made = error(first_line(problem), where, "batch norm has no statistics of one value: take a larger batch (--batch 2)")
    else:
        made = error(first_line(problem), where, "the model itself refused this call: check its inputs' shapes and dtypes")
    made.op, made.module = op, module
    made.is_raised = not session.failure and not session.failed_op and native.NO_DATA not in str(problem)
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


def _short(line: str) -> str:
    return line.rpartition("/")[2]
