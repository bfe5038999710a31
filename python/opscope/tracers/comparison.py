"""Every tracer on one model, and the files asked for: what `opscope trace` shows."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from opscope.errors import Error, error
from opscope.inputs import Inputs
from opscope.tracers import Traced, TracedPart
from opscope.tracers.exports import export_file
from opscope.tracers.random_data import fill_inputs, give_buffers_numbers, stir, with_numbers
from opscope.tracers.saved_code import check_code, save_code, weights_path
from opscope.tracers.silence import quiet

_KINDS = {".py": "python", ".pt2": "pt2", ".onnx": "onnx", ".mlir": "mlir"}


def compare(
    source: Any,
    options: Any,
    request: Mapping[str, Any],
    status: Callable[[str], None],
    describe: Callable[[BaseException], dict[str, Any]],
) -> dict[str, Any]:
    """A row for each tracer of the request, with the file of its capture or why there is none; the same for files."""
    from opscope.api import Tracing

    tracing = Tracing(source, None, options, status)
    code, exports, weights = request.get("save_graph"), request.get("exports") or [], bool(request.get("weights"))
    is_random = bool(code or exports) and _build_to_check(tracing)
    with contextlib.suppress(Exception):  # every row says it, and none of them takes the time of the others
        importlib.import_module("torch._dynamo")
        tracing.ready()
    rows: list[dict[str, Any]] = []
    traced: dict[str, tuple[Any, Traced | None]] = {}
    for index, tracer in enumerate(request["tracers"]):
        status(f"tracing {source.name}: {tracer}")
        name = f"{index}.json"

        def save(tracer: str = tracer, name: str = name) -> dict[str, Any]:
            traced[tracer] = tracing.graph("auto" if tracer == "static" and not request.get("strict_static") else tracer)
            graph = traced[tracer][0]
            graph.save(os.path.join(request["folder"], name))
            return {"capture": name, "seconds": graph.seconds}

        rows.append(_row({"tracer": tracer}, save, describe))
    files = []
    if code:
        first = next(((graph, made) for graph, made in traced.values() if made is not None), None)
        files.append(_row(_file(code), lambda: {"notes": _saved(first, code, weights, is_random)}, describe))
    for path in exports:
        status(f"exporting {path}")

        def export(path: str = path) -> dict[str, Any]:
            return {"notes": _exported(tracing.ready(), path)}

        files.append(_row(_file(path), export, describe))
    return {"rows": rows, "files": files}


def _row(
    start: dict[str, Any], make: Callable[[], dict[str, Any]], describe: Callable[[BaseException], dict[str, Any]]
) -> dict[str, Any]:
    began = time.perf_counter()
    try:
        made = make()
        return {**start, "seconds": time.perf_counter() - began, **made}
    except Exception as problem:
        return {**start, "seconds": time.perf_counter() - began, "error": describe(problem)}


def _file(path: str) -> dict[str, Any]:
    return {"path": path, "kind": _KINDS[os.path.splitext(path)[1].lower()]}


def _build_to_check(tracing: Any) -> bool:
    """The model with data and inputs on which every op matters; what is the user's own stays as it is.

    Whether the weights are random: a model by its name, without a checkpoint.
    """
    is_made_here = tracing.source.with_data is not None
    tracing.build_with_data()
    try:
        call = tracing.call()
    except Error:
        return is_made_here  # every tracer's row says what is wrong
    if is_made_here:
        stir(call.source.model)
    if call.plan is not None:
        call.arguments = fill_inputs(call.arguments, call.plan, call.source.model)
    device = call.settings()["device"] or torch.device("cpu")
    call.arguments = Inputs(*with_numbers(call.arguments.args, device), **with_numbers(call.arguments.kwargs, device))
    give_buffers_numbers(call.source.model, device)
    return is_made_here


def _saved(made: tuple[Any, Traced] | None, path: str, weights: bool, is_random: bool) -> list[str]:
    if made is None:
        raise error("there is no tracer's graph to save", path, "see why above; --save-graph FILE.json keeps the engine's")
    graph, traced = made
    with quiet():
        notes = [*save_code(traced, path, weights), *_other_weights(graph, traced)]
        if weights:
            random = ", random: a model by its name has no checkpoint" if is_random else ""
            notes.append(f"weights in {weights_path(path)}{random}")
        return [*notes, check_code(traced, path, weights_path(path) if weights else None)]


def _other_weights(graph: Any, traced: Traced) -> list[str]:
    """A graph that Dynamo runs for several modules of a kind: the file has the weights of one of them."""
    several = {index: calls for index, (_, calls) in enumerate(graph.parts) if calls > 1}
    if not several:
        return []
    written = json.loads(graph.to_json())
    weights = {value["id"] for value in written["values"] if value["kind"] == "parameter"}
    read: dict[int, set[int]] = {index: set() for index in several}
    for op in written["ops"]:
        index = written["nodes"][op["node"]].get("part", 0) if "node" in op else None
        if index in read:
            read[index].update(weights.intersection(_tensors_of(op["arguments"])))
    return [
        f"graph {index + 1} runs {calls} times with other weights; those of its first run are here"
        for index, calls in several.items()
        if len(read[index]) > _weights_taken(traced.parts[index])
    ]


def _weights_taken(part: TracedPart) -> int:
    taken = [*part.module.parameters(), *(value for value in part.args if isinstance(value, torch.nn.Parameter))]
    return len({id(value) for value in taken})


def _tensors_of(value: Any) -> Iterator[int]:
    """Ids of the tensors in a written op's arguments."""
    if isinstance(value, dict) and isinstance(value.get("tensor"), int):
        yield value["tensor"]
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors_of(part)


def _exported(ready: Any, path: str) -> list[str]:
    with quiet():
        return export_file(ready.model, ready.args, ready.kwargs, path, has_data=ready.computes)
