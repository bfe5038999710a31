"""Every tracer on one model, and the files asked for: what `opscope trace` shows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from opscope.errors import error
from opscope.tracers import Traced
from opscope.tracers.exports import export_file
from opscope.tracers.quiet import quiet
from opscope.tracers.saved_code import check_code, save_code, weights_path

_KINDS = {".py": "python", ".pt2": "pt2", ".onnx": "onnx", ".mlir": "mlir"}


def compare(
    source: Any,
    options: Any,
    request: Mapping[str, Any],
    status: Callable[[str], None],
    describe: Callable[[Exception], dict[str, Any]],
) -> dict[str, Any]:
    """A row for each tracer of the request, with the file of its capture or why there is none; the same for files."""
    from opscope.api import Tracing

    tracing = Tracing(source, None, options, status)
    code, exports = request.get("save_graph"), request.get("exports") or []
    if code or exports:
        tracing.build_with_data()
    rows, traced = [], {}
    for index, tracer in enumerate(request["tracers"]):
        status(f"tracing {source.name}: {tracer}")
        name = f"{index}.json"

        def save(tracer: str = tracer, name: str = name) -> dict[str, Any]:
            graph, traced[tracer] = tracing.graph("auto" if tracer == "static" else tracer)
            graph.save(os.path.join(request["folder"], name))
            return {"capture": name, "seconds": graph.seconds}

        rows.append(_row({"tracer": tracer}, save, describe))
    files = []
    if code:
        first = next((each for each in traced.values() if each is not None), None)
        files.append(_row(_file(code), lambda: {"notes": _saved(first, code, bool(request.get("weights")))}, describe))
    for path in exports:
        status(f"exporting {path}")
        ready = tracing.ready()
        files.append(_row(_file(path), lambda p=path: {"notes": _exported(ready, p)}, describe))
    return {"rows": rows, "files": files}


def _row(
    start: dict[str, Any], make: Callable[[], dict[str, Any]], describe: Callable[[Exception], dict[str, Any]]
) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        made = make()
        return {**start, "seconds": time.perf_counter() - began, **made}
    except Exception as problem:
        return {**start, "seconds": time.perf_counter() - began, "error": describe(problem)}


def _file(path: str) -> dict[str, Any]:
    return {"path": path, "kind": _KINDS[os.path.splitext(path)[1].lower()]}


def _saved(traced: Traced | None, path: str, weights: bool) -> list[str]:
    if traced is None:
        raise error("there is no tracer's graph to save", path, "see why above; --save-graph FILE.json keeps the engine's")
    with quiet():
        return [*save_code(traced, path, weights), check_code(traced, path, weights_path(path) if weights else None)]


def _exported(ready: Any, path: str) -> list[str]:
    with quiet():
        return export_file(ready.model, ready.args, ready.kwargs, path)
