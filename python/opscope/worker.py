"""The half of the command line that needs Python, run as `python -m opscope.capture REQUEST`.

The request is a JSON object. Answers are JSON objects, one a line, on the stdout that the caller gave us;
file descriptor 1 is then pointed at stderr, so that nothing a model prints can get between them.
"""

from __future__ import annotations

import ctypes
import dataclasses
import importlib
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

_PR_SET_PDEATHSIG = 1  # of <sys/prctl.h>
_TOLD_SECONDS = 0.2  # between words of progress
_FLAGS = frozenset({
    "autocast", "channels_last", "checkpoint", "device", "freeze", "gpu", "kv_block", "kv_cache", "kv_capacity", "kv_dtype", "lora",
    "master_weights", "min_time", "on", "phase", "repeat_ops", "runs", "threads", "warmup",
})  # fmt: skip  # arguments that errors name


class Answers:
    """The protocol's side of the pipe."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._told = 0.0  # when progress was

    def send(self, kind: str, value: Any) -> None:
        self._stream.write(json.dumps({kind: value}) + "\n")
        self._stream.flush()

    def status(self, text: str) -> None:
        self.send("status", text)

    def progress(self, done: int, total: int, doing: str) -> None:
        """Not more often than a person sees: what is measured shares the processor with whoever reads this."""
        now = time.monotonic()
        if now - self._told < _TOLD_SECONDS and (done < total or total == 0):
            return
        self._told = now
        self.send("progress", {"done": done, "total": total, "doing": doing})


def _end_with_caller() -> None:
    """A caller that is killed can end nobody: the kernel then ends us, who would work for no one."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def main(arguments: list[str]) -> int:
    _end_with_caller()
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
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
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


def describe(problem: BaseException) -> dict[str, Any]:
    """An opscope error as it is; anything else by its type and first line."""
    where, hint = getattr(problem, "where", None), getattr(problem, "hint", None)
    if where is not None and hint is not None:
        where = f"--{where.replace('_', '-')}" if where in _FLAGS else where
        what = getattr(problem, "what", None) or str(problem)
        return _error(str(what), where, hint, getattr(problem, "candidates", []), problem)
    lines = str(problem).strip().splitlines() or [""]
    return _error(f"{type(problem).__name__}: {lines[0]}", problem=problem)


def _error(
    what: str, where: str = "", hint: str = "", candidates: Any = (), problem: BaseException | None = None
) -> dict[str, Any]:
    text = getattr(problem, "detail", "")  # what a tracer said
    if not text and problem is not None:
        try:
            text = "".join(traceback.format_exception(problem))
        except RuntimeError:  # of frames that Dynamo has rewritten Python cannot tell the columns
            text = "".join(traceback.format_exception_only(problem))
    return {"what": what, "where": where, "hint": hint, "candidates": list(candidates), "traceback": text}


def _options(request: dict[str, Any]) -> Any:
    """The request's fields under the names that Python has for them; what is null is as by default."""
    from opscope.options import OPTIONS, Options

    named = {name: (given["shape"], given["dtype"]) for name, given in (request.get("inputs") or {}).items()}
    return Options(**{name: value for name, value in request.items() if name in OPTIONS}, named_inputs=named)


def _source(request: dict[str, Any], options: Any, answers: Answers) -> Any:
    from opscope.sources import DEFAULT_MODEL, find_source

    source = find_source(request.get("model") or DEFAULT_MODEL, options, answers.status)
    source.owned = True  # by this process, which is for this request: a module that a file holds may be cast too
    return source


def _load_engine(answers: Answers) -> None:
    """Says what is wrong where torch is missing or another, and that an engine is compiled for it where it is."""
    from opscope import engines

    engines.say = lambda text: answers.status(f"[1/1] {text}")
    importlib.import_module("opscope._load")


def _load_package(answers: Answers) -> None:
    answers.status("importing torch")
    _load_engine(answers)
    importlib.import_module("torch").manual_seed(0)  # weights that a model makes for itself are the same each time


def _capture(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    _load_package(answers)
    from opscope.api import capture_source

    options = _options(request)
    source = _source(request, options, answers)
    answers.status(f"capturing {source.name}")
    graph = capture_source(source, None, options, answers.status)
    if source.cacheable:
        for path in [*own_files(), *source.dependencies]:
            graph.add_dependency(path)
    graph.save(request["output"])
    return {"cacheable": source.cacheable}


def _capture_many(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    """Each model on its own: one that fails is told of and the next goes on."""
    _load_package(answers)
    for index, model in enumerate(request["models"]):
        one = {**request, "model": model, "output": os.path.join(request["folder"], f"{index}.json")}
        try:
            answers.send("finished", {"index": index, **_capture(one, answers)})
        except (Exception, SystemExit) as problem:
            answers.send("finished", {"index": index, "error": describe(problem)})
    return {}


def _trace(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    """Each tracer on its own, and the files that were asked for; what fails is told of and the next goes on."""
    _load_package(answers)
    from opscope.tracers.comparison import compare

    options = _options(request)
    source = _source(request, options, answers)
    _write(os.path.join(request["folder"], "trace.json"), compare(source, options, request, answers.status, describe))
    return {"cacheable": False}


def _measure(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    """The model run for real, with the times of its ops in the capture."""
    _load_package(answers)
    from opscope.measurement.measurement import Runs, measure_source

    given: dict[str, Any] = {field.name: request.get(field.name) for field in dataclasses.fields(Runs)}
    asked = Runs(**given)
    options = _options({**request, "tracer": "eager"})
    source = _source(request, options, answers)
    graph = measure_source(source, None, options, asked, answers.status, answers.progress)
    graph.save(request["output"])
    return {"cacheable": False}


def _calibrate(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    """A device's ops timed, and the path of the file that has them."""
    _load_package(answers)
    from opscope.measurement.calibration import calibrate_device

    options: dict[str, Any] = {name: request.get(name) for name in ("quick", "threads", "seconds", "calls")}
    path = calibrate_device(request["on"], request["file"], **options, status=answers.status, progress=answers.progress)
    Path(request["output"]).write_text(path, encoding="utf-8")
    return {"cacheable": False}


def _sweep(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    """The model at the sizes that come on stdin, until it is closed."""
    _load_package(answers)
    from opscope.questions.sweep import serve

    options = _options(request)
    source = _source(request, options, answers)
    answers.status(f"capturing {source.name}")
    kept = [*own_files(), *source.dependencies] if source.cacheable else []
    serve(source, options, sys.stdin, request["output"], answers.send, lambda _: None, describe, kept)
    return {"cacheable": False}


def _inductor(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    """The kernels that Inductor makes of Dynamo's graphs, and the capture by these."""
    _load_package(answers)
    from opscope.tracers.inductor import write_kernels

    options = _options(request)
    write_kernels(_source(request, options, answers), options, request["against"], request["folder"], answers.status)
    return {"cacheable": False}


def _reconcile(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    """Other tools run on each model, beside its capture."""
    _load_package(answers)
    from opscope.peers.worker import reconcile_models

    def find(one: dict[str, Any]) -> Any:
        options = _options(one)
        return _source(one, options, answers), options

    reconcile_models(request, find, describe, answers.status)
    return {"cacheable": False}


def _inputs(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    _load_package(answers)
    from opscope.api import plan_for

    options = _options(request)
    source = _source(request, options, answers)
    plan = plan_for(source, options)
    rows = [{"name": r.name, "shape": r.shape, "dtype": r.dtype, "value": r.value, "why": r.why} for r in plan.rows]
    notes = source.notes_for(plan.make()) if source.trained_at else source.notes
    _write(request["output"], {"inputs": rows, "notes": [*notes, *plan.notes]})
    return {"cacheable": False}


def _list(request: dict[str, Any], answers: Answers) -> dict[str, Any]:
    answers.status("importing torchvision and timm")
    _load_engine(answers)
    from opscope.sources import known_models

    models, files = known_models(request.get("registry"))
    found = [{"name": known.name, "source": known.source, "family": known.family} for known in models]
    _write(request["output"], {"models": found, "dependencies": [_stamp(path) for path in [*own_files(), *files]]})
    return {"cacheable": request.get("registry") is None and not os.environ.get("OPSCOPE_REGISTRY")}


def _write(path: str, answer: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(answer, file)


_COMMANDS = {
    "calibrate": _calibrate,
    "capture": _capture,
    "capture_many": _capture_many,
    "inductor": _inductor,
    "inputs": _inputs,
    "list": _list,
    "measure": _measure,
    "sweep": _sweep,
    "reconcile": _reconcile,
    "trace": _trace,
}


def own_files() -> list[str]:
    """Files that any capture depends on: torch's version, the engine, the code that makes models and inputs."""
    import torch

    package = Path(os.path.abspath(__file__)).parent
    own: set[str] = set()
    for folder, below, files in os.walk(package):
        below[:] = [name for name in below if not name.startswith(("kit", "torch_"))]  # engines, and what they are made of
        own.update(os.path.join(folder, name) for name in files if name.endswith((".py", ".json")))
    engine = importlib.util.find_spec("opscope._native")  # one of several, and of an editable install elsewhere
    if engine and engine.origin:
        own.add(os.path.abspath(engine.origin))
    return [os.path.abspath(str(torch.version.__file__)), *sorted(own)]


def _stamp(path: str) -> dict[str, Any]:
    status = os.stat(path)
    return {"path": path, "bytes": status.st_size, "modified_ns": status.st_mtime_ns}

