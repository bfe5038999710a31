"""Which line of the user's code something came from: the innermost that is neither PyTorch's nor opscope's."""

from __future__ import annotations

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


def line_of(problem: BaseException) -> str:
    """'model.py:42' of an exception."""
    frames = traceback.extract_tb(problem.__traceback__)
    return _innermost([(frame.filename, str(frame.lineno)) for frame in frames])


def _innermost(frames: Iterable[tuple[str, str]]) -> str:
    for file, line in reversed(list(frames)):
        if not file.startswith((TORCH_FOLDER, OWN_FOLDER, "<")):
            return f"{file}:{line}"
    return ""
