"""Real traces of torch.profiler, made here on the CPU, joined by the installed program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile, schedule

import opscope

PROGRAM = os.environ.get("OPSCOPE_PROGRAM", str(Path(sys.executable).parent / "opscope"))


def read_trace(*arguments: str) -> dict[str, Any]:
    command = [PROGRAM, "read-trace", *arguments, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def record(run: Callable[[], Any], path: Path, steps: int = 0, **options: Any) -> None:
    """A trace of one run, or of as many steps as given after one to warm up."""
    run()
    plan = schedule(wait=0, warmup=1, active=steps, repeat=1) if steps else None
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=plan,
        on_trace_ready=lambda profiler: profiler.export_chrome_trace(str(path)),
        **options,
    ) as profiler:
        for _ in range(steps + 1 if steps else 1):
            run()
            if steps:
                profiler.step()


def resnet18() -> tuple[nn.Module, Tensor]:
    import torchvision

    return torchvision.models.resnet18().eval(), torch.randn(1, 3, 64, 64)


def bert() -> tuple[nn.Module, Tensor]:
    from transformers import BertConfig, BertModel

    size = BertConfig(hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=128)
    return BertModel(size).eval(), torch.randint(0, 1000, (2, 16))


MODELS = {"resnet18": resnet18, "bert": bert}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("shapes", [True, False])
def test_every_op_of_a_forward_run(name: str, shapes: bool, tmp_path: Path) -> None:
    model, x = MODELS[name]()
    trace, graph = tmp_path / "trace.json.gz", tmp_path / "graph.json"
    with torch.no_grad():
        record(lambda: model(x), trace, steps=3, record_shapes=shapes)
        opscope.capture(model, x).save(str(graph))
    joined = read_trace(str(trace), str(graph))
    found = joined["trace"]
    assert (found["runs"], found["steps"], found["on_device"]) == (3, 3, False)
    assert found["joined_ops"] == found["ops"], joined["missing_ops"]
    assert found["joined_share"] > 0.95, joined["not_joined"]
    assert found["notes"] == []
    assert sum(op["time_seconds"] for op in joined["ops"]) > 0


def test_runs_without_steps(tmp_path: Path) -> None:
    model, x = resnet18()
    trace, graph = tmp_path / "trace.json", tmp_path / "graph.json"
    with torch.no_grad():
        record(lambda: [model(x) for _ in range(4)], trace)
        opscope.capture(model, x).save(str(graph))
    found = read_trace(str(trace), str(graph))["trace"]
    assert (found["runs"], found["steps"], found["joined_ops"]) == (4, 0, found["ops"])


def test_a_training_step(tmp_path: Path) -> None:
    model, x = resnet18()
    x = x.repeat(2, 1, 1, 1)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def step() -> None:
        optimizer.zero_grad()
        model(x).mean().backward()
        optimizer.step()

    trace, graph = tmp_path / "trace.json", tmp_path / "graph.json"
    record(step, trace, steps=2, record_shapes=True, with_stack=True)
    opscope.capture(model, x, training=True, optimizer="sgd").save(str(graph))
    joined = read_trace(str(trace), str(graph))
    found = joined["trace"]
    assert found["runs"] == 2
    assert found["joined_ops"] > 0.95 * found["ops"], joined["missing_ops"]
    assert found["joined_share"] > 0.95, joined["not_joined"]


def test_times_go_to_the_right_op(tmp_path: Path) -> None:
    """Two layers of the same kind, one with a thousand times the work of the other."""
    model = nn.Sequential(nn.Linear(16, 16), nn.Linear(16, 4096), nn.Linear(4096, 4096)).eval()
    x = torch.randn(256, 16)
    trace, graph, saved = tmp_path / "trace.json", tmp_path / "graph.json", tmp_path / "measured.json"
    with torch.no_grad():
        record(lambda: model(x), trace, steps=3)
        opscope.capture(model, x).save(str(graph))
    joined = read_trace(str(trace), str(graph), "--save", str(saved))
    times = {op["module"]: op["time_seconds"] for op in joined["ops"]}
    assert max(times, key=lambda module: times[module]) == "2"
    done = subprocess.run([PROGRAM, "profile", str(saved), "--format", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["totals"]["time_seconds"] == pytest.approx(sum(times.values()))


def test_a_large_trace_in_little_memory(tmp_path: Path) -> None:
    """200 MB, most of it events that tell nothing; what is kept is a small part of it."""
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    trace, graph = tmp_path / "trace.json", tmp_path / "graph.json"
    opscope.capture(model, torch.randn(1, 4)).save(str(graph))
    head, long_name = '{"ph": "X", "pid": 1, "tid": 1, ', "f" * 900
    python = head + f'"cat": "python_function", "name": "{long_name}", "ts": 1, "dur": 1, "args": {{}}}},\n'
    runs = 20_000
    with trace.open("w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        for i in range(runs):
            for at, op in ((0, "aten::linear"), (20, "aten::relu")):
                begin = f"{100 * i + at}.5"
                file.write(f'{head}"cat": "cpu_op", "name": "{op}", "ts": {begin}, "dur": 10.25, "args": {{}}}},\n')
            file.write(python * 10)
        file.write('{"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {}}\n]}')
    # Begun by a small process: the memory of the one that begins it counts as the program's own.
    code = "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:]).returncode"
    code += "; print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(done)"
    command = [PROGRAM, "read-trace", str(trace), str(graph), "--format", "json"]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["trace"]
    assert (found["runs"], found["joined_share"]) == (runs, 1.0)
    assert trace.stat().st_size > 190e6
    assert int(done.stderr) * 1024 < 100e6


def test_another_model(tmp_path: Path) -> None:
    trace, graph = tmp_path / "trace.json", tmp_path / "graph.json"
    record(lambda: torch.fft.rfft(torch.randn(64)), trace)
    opscope.capture(nn.Conv2d(1, 1, 3), torch.randn(1, 1, 8, 8)).save(str(graph))
    done = subprocess.run([PROGRAM, "read-trace", str(trace), str(graph)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "none of the trace's ops are the model's" in done.stderr
