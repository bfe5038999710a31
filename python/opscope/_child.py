"""The half of the command line that needs Python, run as `python -m opscope.capture REQUEST`.

The request is a JSON object. Answers are JSON objects, one a line, on the stdout that the caller gave us;
file descriptor 1 is then pointed at stderr, so that nothing a model prints can get between them.
"""

from __future__ import annotations

import importlib
import json
import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any, TextIO


class Answers:
    """The protocol's side of the pipe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def send(self, kind: str, value: Any) -> None:
        self._stream.write(json.dumps({kind: value}) + "\n")
        self._stream.flush()

    def status(self, text: str) -> None:
        self.send("status", text)


def main(arguments: list[str]) -> int:
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    answers = Answers(stream)
    try:
        request = json.loads(arguments[0])
        command = _COMMANDS[request["command"]]
    except (IndexError, KeyError, ValueError, TypeError) as problem:
        answers.send("error", _error(f"not a request: {type(problem).__name__} {problem}"))
        return 2
    return _run(command, request, answers)


def _run(command: Callable[[dict[str, Any], Answers], Any], request: dict[str, Any], answers: Answers) -> int:
    warnings.simplefilter("ignore")  # libraries' deprecations; the report has its own diagnostics
    try:
        answers.send("done", command(request, answers))
        return 0
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 2
    except SystemExit as problem:  # a user's file that calls sys.exit
        answers.send("error", _error(f"the model's code called exit({problem.code})"))
        return 2
    except Exception as problem:
        answers.send("error", describe(problem))
        return 2


def describe(problem: Exception) -> dict[str, Any]:
    """An opscope error as it is; anything else by its type and first line."""
    where, hint = getattr(problem, "where", None), getattr(problem, "hint", None)
    if where is not None and hint is not None:
        what = getattr(problem, "what", None) or str(problem)
        return _error(str(what), where, hint, getattr(problem, "candidates", []), problem)
    lines = str(problem).strip().splitlines() or [""]
    return _error(f"{type(problem).__name__}: {lines[0]}", problem=problem)


def _error(
    what: str, where: str = "", hint: str = "", candidates: Any = (), problem: Exception | None = None
) -> dict[str, Any]:
    text = "".join(traceback.format_exception(problem)) if problem is not None else ""
    return {"what": what, "where": where, "hint": hint, "candidates": list(candidates), "traceback": text}


def _capture(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    answers.status("importing torch")
    importlib.import_module("opscope._load")  # says what is wrong where torch is missing or another
    from opscope.api import capture_source
    from opscope.sources import DEFAULT_MODEL, find_source

    tracer = request.get("tracer") or "auto"
    spec = request.get("model") or DEFAULT_MODEL
    source = find_source(spec, request.get("registry"), with_data=tracer == "eager", status=answers.status)
    source.owned = True  # by this process, which is for one capture: a module that a file holds may be cast too
    answers.status(f"capturing {source.name}")
    graph = capture_source(
        source,
        input_shape=request.get("input_shape"),
        batch=request.get("batch"),
        dtype=request.get("dtype"),
        device=request.get("device"),
        tracer=tracer,
        source_lines=bool(request.get("source_lines")),
        status=answers.status,
    )
    if source.cacheable:
        for path in [*own_files(), *source.dependencies]:
            graph.add_dependency(path)
    graph.save(request["output"])
    return {"cacheable": source.cacheable}


def _list(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    answers.status("importing torchvision")
    importlib.import_module("opscope._load")
    from opscope.api import matches
    from opscope.sources import known_models

    models, files = known_models(request.get("registry"))
    found = [
        {"name": name, "source": source} for name, source in sorted(models) if matches(name, request.get("pattern"))
    ]
    listing = {"models": found, "dependencies": [_stamp(path) for path in [*own_files(), *files]]}
    with open(request["output"], "w", encoding="utf-8") as file:
        json.dump(listing, file)
    return {"cacheable": request.get("registry") is None and not os.environ.get("OPSCOPE_REGISTRY")}


_COMMANDS = {"capture": _capture, "list": _list}


def own_files() -> list[str]:
    """Files that any capture depends on: torch's version, the engine, the code that makes models and inputs."""
    import torch
    from opscope import _engine, _native, inputs, sources, torchvision_models, torchvision_ops

    modules = (torch.version, _native, _engine, inputs, sources, torchvision_models, torchvision_ops)
    return [os.path.abspath(str(module.__file__)) for module in modules]


def _stamp(path: str) -> dict[str, Any]:
    status = os.stat(path)
    return {"path": path, "bytes": status.st_size, "modified_ns": status.st_mtime_ns}

