"""`opscope reconcile`, Python's half: for each model its capture, and what the tools said of the same call."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from opscope.api import Call, call_of
from opscope.errors import error
from opscope.options import Options
from opscope.peers.runs import check_tools, reconcile_call
from opscope.sources import Source

Status = Callable[[str], None]


def peers_of(source: Source, inputs: Any, options: Options, tools: Sequence[str], status: Status) -> tuple[Any, dict[str, Any]]:
    """The native graph of a source's model, and the tools' answers: what C++ compares."""
    if options.training:
        raise error("the tools count a forward pass only", "training", "leave it out")
    if source.with_data is not None:
        status(f"building {source.name} with weights")
        source.model, source.with_data = source.with_data(), None
    call: Call = call_of(source, inputs, options)
    status(f"capturing {source.name}")
    graph = call.capture("auto")
    call.add_notes(graph)
    rows = reconcile_call(call, tools, status)
    bytes_of_weights = sum(parameter.nbytes for parameter in source.model.parameters())
    return graph, {"peers": rows, "weight_bytes": bytes_of_weights}


def reconcile_models(
    request: dict[str, Any],
    find: Callable[[dict[str, Any]], tuple[Source, Options]],
    describe: Callable[[Exception], dict[str, Any]],
    status: Status,
) -> None:
    """A model that cannot be had is told of and the next goes on; where it is the only one it is the error."""
    check_tools(request["tools"])
    models = request["models"]
    for index, model in enumerate(models):
        path = os.path.join(request["folder"], f"{index}.peers.json")
        try:
            source, options = find({**request, "model": model or None, "tracer": "eager"})
            graph, answer = peers_of(source, None, options, request["tools"], status)
            graph.save(os.path.join(request["folder"], f"{index}.json"))
        except Exception as problem:
            if len(models) == 1:
                raise
            answer = {"error": describe(problem)}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(answer, file)
