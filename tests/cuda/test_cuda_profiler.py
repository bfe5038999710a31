"""opscope.Profiler on a GPU: times on the device's clock, the model as it was. Run by `make test-cuda`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

from opscope import Profiler

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(script: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, str(EXAMPLES / script)], capture_output=True, text=True, cwd=folder, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_devices_clock(tmp_path: Path) -> None:
    printed = run_example("profiler_resnet18.py", tmp_path)
    assert "==== Detail Graph Stats ====" in printed
    for kind in ("module", "detail"):
        text = (tmp_path / f"resnet18_profile_{kind}.txt").read_text()
        assert "device cuda:0 (" in text.splitlines()[0] and "on the device's own clock" in text


def test_nodes_add_up_to_the_run_at_most() -> None:
    model = nn.Sequential(*(nn.Linear(2048, 2048) for _ in range(8))).cuda()
    x = torch.randn(1024, 2048, device="cuda")
    model(x)
    prof = Profiler(model, auto_profile=False, capture_ops=True)
    prof.profile_once(x)
    for graph in (prof.graph, prof.detail_graph):
        totals = graph._native.stats()
        assert len(graph.nodes) == 8 and all(node.time_seconds > 0 for node in graph.nodes)
        assert totals["time_seconds"] <= totals["run_seconds"]


def test_llama_generates_as_before(tmp_path: Path) -> None:
    assert "as before the Profiler: True" in run_example("profiler_hf_llama.py", tmp_path)


def test_training_goes_on_as_without(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.Dropout(0.5), nn.Linear(64, 8)).cuda()
    start = {key: value.clone() for key, value in model.state_dict().items()}

    def losses(auto: bool, passes: bool) -> list[float]:
        model.load_state_dict(start)
        trained = Profiler(model, auto_profile=auto) if auto or passes else model
        optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
        torch.manual_seed(0)
        seen = []
        for _ in range(4):
            x, y = torch.randn(32, 64, device="cuda"), torch.randint(8, (32,), device="cuda")
            if passes:
                trained.profile_once(x)
            loss = nn.functional.cross_entropy(trained(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        return seen

    plain = losses(False, False)
    assert losses(False, True) == plain and losses(True, False) == plain


def test_other_examples(tmp_path: Path) -> None:
    assert "==== By layer ====" in run_example("profiler_transformer.py", tmp_path)
    assert "as without the Profiler: True" in run_example("profiler_epochs.py", tmp_path)


def test_a_cuda_graph_is_not_disturbed() -> None:
    prof = Profiler(nn.Linear(8, 8).cuda())
    x = torch.randn(4, 8, device="cuda")
    prof.unwrap()(x)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = prof(x)
    graph.replay()
    torch.cuda.synchronize()
    assert prof.graph is None and torch.allclose(y, prof.unwrap()(x))
