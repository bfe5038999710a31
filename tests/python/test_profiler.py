"""opscope.Profiler: graphs of parts, layers and ops with the times of one run, and its files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from torch import nn

import opscope
from opscope import Profiler
from opscope.engine import torch_version
from profiler_helpers import Residual, X, edges, names, small_llama, tokens

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
GOLDEN = HERE / "golden"


def masked(text: str) -> str:
    """A file without what differs from run to run: times, shares, their order, the machine."""
    text = re.sub(r"device .*", "device D", text, count=1)
    text = re.sub(r"\d+\.\d{4}", "T", text)
    text = re.sub(r"<?\d+(\.\d)?%", "S", text)
    text = re.sub(r"(longest +T).*", r"\1", text)
    lines = [re.sub(r" +", " ", line).rstrip() for line in text.splitlines()]
    if "By type" in lines:
        start = lines.index("By type") + 2
        lines[start:] = sorted(lines[start:])
    return "\n".join(lines) + "\n"


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("OPSCOPE_OVERWRITE"):
        path.write_text(masked(text))
    assert masked(text) == path.read_text()


# --- graphs


def test_parts_and_what_runs_between_them() -> None:
    prof = Profiler(Residual().eval(), auto_profile=False)
    graph = prof.profile_once(X)
    assert graph is prof.graph and prof.detail_graph is None
    assert names(graph) == ["first", "norm", "relu", "add", "sum", "unflatten", "flatten", "relu#2", "head"]
    assert {("first", "norm"), ("norm", "relu"), ("relu", "add"), ("add", "unflatten"), ("relu#2", "head")} <= edges(graph)
    by_name = {node.name: node for node in graph.nodes}
    assert by_name["head"].parameters == 8 * 8 + 8 + 8 * 4 + 4 and by_name["head"].type == "Sequential"
    assert by_name["first"].parameter_bytes == 4 * (8 * 8 + 8) and by_name["add"].type == "aten::add"
    assert [node.id for node in graph.nodes] == list(range(9))
    assert [(row.name, row.nodes) for row in graph.inputs] == [("x", [0, 3])]
    assert graph.outputs[0].shape == (2, 4) and graph.outputs[0].nodes == [8]


def test_leaf_layers() -> None:
    graph = Profiler(Residual().eval(), granularity="layer").profile_once(X)
    assert {"head.0", "head.2"} <= set(names(graph)) and "head" not in names(graph)
    assert {("head.0", "head.1"), ("head.1", "head.2"), ("relu", "add"), ("add", "unflatten")} <= edges(graph)
    assert "nothing" not in names(graph)  # an Identity runs no op: edges go through it


def test_ops_alone_and_those_without_tensors_left_out() -> None:
    prof = Profiler(Residual().eval(), auto_profile=False)
    detail = prof.profile_detail(X)
    assert all(node.type.startswith("aten::") and not node.is_module for node in detail.nodes)
    assert not any("item" in node.type or "_local_scalar_dense" in node.type for node in detail.nodes)
    assert ("relu.relu", "add") in edges(detail) and ("unflatten", "flatten") in edges(detail)
    assert prof.graph is not None  # of the same run, since there was no pass of its own


def test_both_from_one_pass() -> None:
    model = Residual().eval()
    prof = Profiler(model, auto_profile=False, capture_ops=True)
    prof.profile_once(X)
    graphs = prof.get_graphs()
    assert set(graphs) == {"module_graph", "detail_graph"}
    assert graphs["module_graph"] is prof.graph and graphs["detail_graph"] is prof.detail_graph is not None
    assert model.calls == 0  # put back


def test_one_forward_for_each_pass() -> None:
    calls = []
    model = nn.Sequential(nn.Linear(8, 8))
    model.register_forward_hook(lambda *_: calls.append(1))
    prof = Profiler(model, auto_profile=False)
    prof.profile_once(X)
    prof.profile_detail(X)
    assert len(calls) == 2
    prof(X)
    assert len(calls) == 3


def test_a_frame_gives_way_to_its_parts() -> None:
    prof = Profiler(small_llama(), token_kwarg="input_ids", auto_profile=False)
    found = names(prof.profile_once(tokens()["input_ids"]))
    assert {"model.embed_tokens", "model.layers.0", "model.layers.1", "model.norm", "lm_head"} <= set(found)
    assert "model" not in found


def test_every_edge_is_there() -> None:
    """Each op's tensors come from a node or from outside: what the detail graph joins, the op graph of the capture joins."""
    prof = Profiler(small_llama().model, auto_profile=False, capture_ops=True)
    prof.profile_once(**tokens())
    reached = {edge.to_id for edge in prof.detail_graph.edges}
    given = {number for row in prof.detail_graph.inputs for number in row.nodes}
    made_here = {node.id for node in prof.detail_graph.nodes if node.id not in reached | given}
    types = {node.type for node in prof.detail_graph.nodes if node.id in made_here}
    assert types <= {"aten::arange", "aten::full", "aten::zeros", "aten::ones", "aten::to", "aten::_to_copy",
                     "aten::unsqueeze", "aten::slice", "aten::expand", "aten::select", "aten::empty", "aten::lift_fresh",
                     "aten::scalar_tensor", "aten::new_ones", "aten::tril", "aten::float"}, types  # fmt: skip


def test_stats_are_printed_and_returned(capsys: pytest.CaptureFixture[str]) -> None:
    prof = Profiler(Residual().eval(), auto_profile=False, capture_ops=True)
    prof.profile_once(X)
    capsys.readouterr()
    for graph in (prof.graph, prof.detail_graph):
        totals = graph.stats()
        printed = capsys.readouterr().out
        assert printed.startswith("Statistics\n") and "forward ms" in printed and "By type" in printed
        assert totals["nodes"] == len(graph.nodes) and totals["edges"] == len(graph.edges)
        assert totals["parameters"] == sum(p.numel() for p in Residual().parameters())
        assert totals["time_seconds"] == pytest.approx(sum(node.time_seconds for node in graph.nodes))
        assert totals["run_seconds"] > 0


def test_the_run_behind_a_graph() -> None:
    graph = Profiler(Residual().eval(), auto_profile=False).profile_once(X)
    profile = graph.captured.profile()
    assert profile.totals.macs == 2 * (8 * 8 + 8 * 8 + 8 * 4)
    assert repr(graph).startswith("<opscope.ProfilerGraph by module: 9 nodes")


# --- files


def test_module_file_is_kept_unless_asked(tmp_path: Path) -> None:
    base = tmp_path / "net"
    prof = Profiler(Residual().eval(), auto_profile=False)
    prof.profile_once(X)
    assert prof.export(base) == [f"{base}_module.txt"]
    first = (tmp_path / "net_module.txt").read_text()
    prof.profile_detail(X)
    (tmp_path / "net_detail.txt").write_text("older")
    assert prof.export(base) == [f"{base}_detail.txt"]
    assert (tmp_path / "net_module.txt").read_text() == first
    assert "detail graph (ops)" in (tmp_path / "net_detail.txt").read_text()
    prof.export(base, module_include_edges=False, detail_include_edges=False, include_stats=False, overwrite_module=True)
    for kind in ("module", "detail"):
        text = (tmp_path / f"net_{kind}.txt").read_text()
        assert "Edges" not in text and "Statistics" not in text and "Nodes" in text


def test_files_differ_in_times_alone(tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        prof = Profiler(Residual().eval(), auto_profile=False, capture_ops=True)
        prof.profile_once(X)
        prof.export(tmp_path / name)
        texts.append([masked((tmp_path / f"{name}_{kind}.txt").read_text()) for kind in ("module", "detail")])
    assert texts[0] == texts[1]


def test_files_of_a_residual_model(tmp_path: Path) -> None:
    prof = Profiler(Residual().eval(), auto_profile=False, capture_ops=True)
    prof.profile_once(X)
    prof.export(tmp_path / "residual")
    check_golden("profiler_residual_module.txt", (tmp_path / "residual_module.txt").read_text())
    check_golden("profiler_residual_detail.txt", (tmp_path / "residual_detail.txt").read_text())


def run_example(script: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=600)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout


def test_resnet18_as_the_script_has_it(tmp_path: Path) -> None:
    printed = run_example("profiler_resnet18.py", tmp_path)
    assert printed.startswith("==== Module Graph Stats ====\nStatistics\n") and "==== Detail Graph Stats ====" in printed
    check_golden("profiler_resnet18_module.txt", (tmp_path / "resnet18_profile_module.txt").read_text())
    check_golden("profiler_resnet18_detail.txt", (tmp_path / "resnet18_profile_detail.txt").read_text())


def test_llama_generates_as_before(tmp_path: Path) -> None:
    printed = run_example("profiler_hf_llama.py", tmp_path, "--layers", "2")
    assert "as before the Profiler: True" in printed
    module = masked((tmp_path / "llama_profile_module.txt").read_text())
    if torch_version.RELEASE < (2, 9):  # attention is not fused, and its result is copied to be contiguous
        assert module.count(" 63 1x8x128") == 2
        module = module.replace(" 63 1x8x128", " 62 1x8x128").replace(" ops 152 ", " ops 150 ")
    check_golden("profiler_llama_module.txt", module)
    assert "aten::linear" in (tmp_path / "llama_profile_detail.txt").read_text()


def test_a_local_transformer(tmp_path: Path) -> None:
    printed = run_example("profiler_transformer.py", tmp_path, "--layers", "2", "--width", "32", "--tokens", "16")
    assert "==== By module ====" in printed and "==== By layer ====" in printed
    text = (tmp_path / "transformer_profile_module.txt").read_text()
    assert "blocks.1.mlp.2 -> blocks.1.add_1" in text


def test_many_epochs(tmp_path: Path) -> None:
    printed = run_example("profiler_epochs.py", tmp_path, "--epochs", "3")
    assert "as without the Profiler: True" in printed and "4 Conv2d" in printed


# --- what cannot be


def test_errors_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(opscope.Error, match="no such granularity: 'layers'"):
        Profiler(nn.Linear(1, 1), granularity="layers")
    with pytest.raises(opscope.Error, match="forward has no argument called 'input_id'") as found:
        Profiler(small_llama(1).model.layers[0].mlp, token_kwarg="input_id")
    assert "x" in found.value.candidates
    with pytest.raises(opscope.Error, match="nothing was profiled yet"):
        Profiler(nn.Linear(1, 1)).export(tmp_path / "x")
    with pytest.raises(opscope.Error, match="not a model"):
        Profiler(lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(opscope.Error):
        prof = Profiler(nn.Linear(8, 8), auto_profile=False)
        prof.profile_once(X)
        prof.export(tmp_path / "no" / "such" / "folder")
    with pytest.raises(opscope.Error, match="meta device"):
        Profiler(nn.Linear(8, 8, device="meta"), auto_profile=False).profile_once(X.to("meta"))
