"""One worker of the zoo: reads a request a line, answers a line. A model that ends the process ends this one only."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("YOLO_VERBOSE", "False")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch  # noqa: E402

import file_models  # noqa: E402
import partitions  # noqa: E402
import reference  # noqa: E402
import transformers_configs  # noqa: E402
from opscope.engine import torchvision_ops  # noqa: E402

Answer = dict[str, Any]


def main() -> None:
    # Libraries print at will: the answers keep the real stdout for themselves.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    torchvision_ops.prepare()
    for line in sys.stdin:
        request = json.loads(line)
        answer = _COMMANDS[request["command"]](
            request["spec"], _options(request["options"]), Path(request["folder"]), *request.get("more", ())
        )
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _options(text: str) -> dict[str, Any]:
    """'tracer=eager seq_len=64' -> {"tracer": "eager", "seq_len": 64}"""
    pairs = (part.split("=", 1) for part in text.split())
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


def public_spec(spec: str, folder: Path) -> str:
    """What a user would type: small configs are folders with a config.json, and files are files; `folder` has them."""
    group, _, name = spec.partition(":")
    if group == "small":
        return str(transformers_configs.write(name, folder / "configs"))
    if group == "file":
        return str(_file(name, folder))
    return spec


def _file(name: str, folder: Path) -> Path:
    written = folder / "files" / name
    if written.exists():
        return written
    opened = _opener(public_spec(file_models.source_of(name), folder), {})
    return file_models.write(name, folder / "files", *opened(True))


def profile(spec: str, options: dict[str, Any], folder: Path) -> Answer:
    """The model as a user profiles it, in torch's convention."""
    import opscope

    began = time.perf_counter()
    torch.manual_seed(0)
    try:
        found = opscope.profile(public_spec(spec, folder), convention="torch", **options)
    except Exception as problem:
        return {"error": _one_line(problem), "seconds": time.perf_counter() - began}
    return {
        "seconds": time.perf_counter() - began,
        "inputs": ", ".join(_input_text(row) for row in found.inputs),
        "ops": found.totals.ops,
        "params": found.totals.params,
        "flops": found.totals.flops,
        "tracer": found.capture.tracer,
        "ms": found.capture.seconds * 1e3,
        "slow": {row["op"]: row["count"] for row in found.capture.slow_path},
        "unknown": {row["op"]: row["count"] for row in found.coverage.unknown_ops},
        "types": {row.type: row.ops for row in found.types},
        "partition": partitions.check(found.to_dict()),
        "notes": [f"{note.kind}: {note.op} {note.message}" for note in found.diagnostics],
    }


def trace(spec: str, options: dict[str, Any], folder: Path, tracers: list[str]) -> Answer:
    """The engine's numbers and each tracer's, or why it has none. The model stays without data."""
    from opscope import api
    from opscope.options import Options

    began = time.perf_counter()
    torch.manual_seed(0)
    try:
        asked = Options(**options)
        source = api._source_of(public_spec(spec, folder), asked)
        source.with_data = None
        tracing = api.Tracing(source, None, asked, lambda _: None)
        answer = {"engine": _numbers(tracing.graph("static")[0])}
    except Exception as problem:
        return {"error": _one_line(problem), "seconds": time.perf_counter() - began}
    for tracer in tracers:
        start = time.perf_counter()
        try:
            answer[tracer] = _numbers(tracing.graph(tracer)[0])
        except Exception as problem:
            answer[tracer] = {"error": _one_line(problem), "hint": getattr(problem, "hint", "")}
        answer[tracer]["seconds"] = time.perf_counter() - start
    return answer


def _numbers(graph: Any) -> Answer:
    """Modules with what they do, and the layers that have MACs, in their order.

    A module that is called but belongs to no other ('mixer.<SiLU>') is unknown to tracers, and its work its caller's.
    """
    import opscope

    found = opscope.Graph(graph).profile()
    return {
        "tracer": found.capture.tracer,
        "params": found.totals.params,
        "macs": found.totals.macs,
        "modules": [[row.path, row.macs] for row in found.modules if "<" not in row.path],
        "layers": [[row.name, row.macs] for row in found.layers if row.macs],
    }


def _one_line(problem: Exception) -> str:
    return " ".join(f"{type(problem).__name__}: {problem}".split())[:400]


def _input_text(row: Any) -> str:
    return f"{row['name']} {'x'.join(map(str, row['shape'])) or 'scalar'} {row['dtype']}"


def refer(spec: str, options: dict[str, Any], folder: Path) -> Answer:
    """FlopCounterMode's count and the parameters, on the model and inputs that opscope itself finds."""
    group, _, name = spec.partition(":")
    opened = _opener(public_spec(file_models.source_of(name) if group == "file" else spec, folder), options)
    params = reference.parameter_count(opened(False)[0])
    if spec.endswith(".onnx"):
        params = file_models.onnx_parameter_count(_file(name, folder))
    flops, how, why = reference.count(opened)
    return {"params": params, "flops": flops, "counted_on": how, "why": why}


def _opener(spec: str, options: dict[str, Any]) -> Callable[[bool], reference.Call]:
    from opscope.inputs.plan import plan_inputs
    from opscope.options import Options
    from opscope.sources import find_source

    sizes = ("input_shape", "batch", "seq_len", "image_size", "phase", "past_len")
    wanted = {name: value for name, value in options.items() if name in sizes}

    def opened(with_data: bool) -> reference.Call:
        torch.manual_seed(0)  # what a detector finds depends on its weights
        source = find_source(spec, Options(task=options.get("task"), tracer="eager" if with_data else "auto"))
        made = plan_inputs(source, Options(**wanted), None).make()
        return source.model, made.args, made.kwargs

    return opened


_COMMANDS: dict[str, Callable[..., Answer]] = {"profile": profile, "refer": refer, "trace": trace}

if __name__ == "__main__":
    main()
