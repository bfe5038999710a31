"""Which line of the user's code something came from: the innermost that is neither PyTorch's nor opscope's."""

from __future__ import annotations

import ast
import linecache
import re
import traceback
from collections.abc import Iterable
from pathlib import Path

import torch

TORCH_FOLDER = str(Path(torch.__file__).parent) + "/"
OWN_FOLDER = str(Path(__file__).parents[1]) + "/"
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')


def user_line(text: str) -> str:
    """'model.py:42' of the text of a stack, such as a tracer keeps for a node."""
    return _innermost(_FRAME.findall(text))


def frames_of(problem: BaseException) -> traceback.StackSummary:
    """Where an exception came from. By lines alone: code that Dynamo has rewritten has no columns, and traceback.extract_tb
    raises for want of them."""
    return traceback.StackSummary.extract(traceback.walk_tb(problem.__traceback__))


def line_of(problem: BaseException) -> str:
    """'model.py:42' of an exception."""
    return _innermost([(frame.filename, str(frame.lineno)) for frame in frames_of(problem)])


def loop_line_of(problem: BaseException) -> str:
    """'model.py:42' of the innermost `while` around where an exception came from, else of the innermost `for`."""
    frames = [frame for frame in frames_of(problem) if not _is_foreign(frame.filename)]
    for kinds in ((ast.While,), (ast.For, ast.AsyncFor)):
        for frame in reversed(frames):
            if line := _loop_around(frame.filename, frame.lineno or 0, kinds):
                return f"{frame.filename}:{line}"
    return line_of(problem)


def _loop_around(file: str, line: int, kinds: tuple[type[ast.AST], ...]) -> int:
    """The line of the innermost loop of these kinds around a line of a file; 0 where there is none."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return 0
    loops = (node for node in ast.walk(tree) if isinstance(node, kinds))
    return max((node.lineno for node in loops if node.lineno <= line <= node.end_lineno), default=0)  # type: ignore[attr-defined]


def _is_foreign(file: str) -> bool:
    return file.startswith((TORCH_FOLDER, OWN_FOLDER, "<"))


def _innermost(frames: Iterable[tuple[str, str]]) -> str:
    for file, line in reversed(list(frames)):
        if not _is_foreign(file):
            return f"{file}:{line}"
    return ""
