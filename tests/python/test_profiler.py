"""opscope.Profiler: graphs of parts, layers and ops with the times of one run; the model stays what it is."""

from __future__ import annotations

import copy
import io
import os
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import opscope
import pytest
import torch
from opscope import Profiler, _native
from torch import nn

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
GOLDEN = HERE / "golden"

X = torch.randn(2, 8)


class Residual(nn.Module):
    """A residual add, ops outside modules, a module called twice, one that runs nothing, and an op that gives no tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.relu = nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU()
        self.nothing = nn.Identity()
        self.head = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 4))
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        y = self.relu(self.norm(self.first(x)))
        y = self.nothing(x + y)
        if y.sum().item() > 1e9:
            raise ArithmeticError("too much")
        return self.head(self.relu(y.unflatten(1, (2, 4)).flatten(1)))


class Fails(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.fails = nn.Linear(8, 8), True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.fc(x)
        if self.fails:
            raise KeyError("on purpose")
        return y


def is_clean() -> bool:
    """No hook, no replaced call, no mode in this thread."""
    mode = torch._C._dispatch_key_parse("TESTING_ONLY_GenericMode")
    plain = nn.Module.__call__ is nn.Module._wrapped_call_impl
    hooks = nn.modules.module._has_any_global_hook()
    return plain and not hooks and not _native.capturing() and not torch._C._dispatch_tls_is_dispatch_key_included(mode)


def has_no_hooks(model: nn.Module) -> bool:
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return not any(getattr(module, kind) for module in model.modules() for kind in kinds)


def names(graph: Any) -> list[str]:
    return [node.name for node in graph.nodes]


def edges(graph: Any) -> set[tuple[str, str]]:
    return {(edge.from_name, edge.to_name) for edge in graph.edges}


def small_llama(layers: int = 2) -> Any:
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=layers, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=64, bos_token_id=1, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def tokens() -> dict[str, torch.Tensor]:
    ids = torch.arange(2, 8)[None]
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def generated(model: Any) -> list[int]:
    return model.generate(**tokens(), max_new_tokens=6, do_sample=False)[0].tolist()


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


# --- the model stays what it is


def test_a_pass_leaves_no_trace() -> None:
    model = Residual().train()
    before = copy.deepcopy(model.state_dict())
    state = torch.random.get_rng_state()
    prof = Profiler(model, auto_profile=False)
    prof.profile_once(X)
    prof.profile_detail(X)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    assert torch.equal(torch.random.get_rng_state(), state) and model.calls == 0
    assert is_clean() and has_no_hooks(model) and model.training


def test_a_cache_stays_as_it_was() -> None:
    import transformers

    cache = transformers.DynamicCache()
    prof = Profiler(small_llama().model, auto_profile=False)
    for length in (0, 6):
        prof.profile_once(**tokens(), past_key_values=cache)
        assert cache.get_seq_length() == length
        prof(input_ids=tokens()["input_ids"], past_key_values=cache)


def test_layers_that_are_made_by_the_first_call() -> None:
    prof = Profiler(nn.Sequential(nn.LazyLinear(4), nn.ReLU()), auto_profile=False)
    assert names(prof.profile_once(X)) == ["0", "1"] and isinstance(prof[0], nn.LazyLinear)
    assert prof(X).shape == (2, 4) and not isinstance(prof[0], nn.LazyLinear)


@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu", dtype=torch.bfloat16)])
def test_modes_around_the_first_call_hold(around: Any) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
    prof = Profiler(model)
    with around():
        made, expected = prof(X), model(X)
    assert torch.equal(made, expected) and made.dtype == expected.dtype
    assert made.requires_grad == expected.requires_grad and made.is_inference() == expected.is_inference()


def losses(profiles: bool, auto: bool = False) -> list[float]:
    torch.manual_seed(3)
    model: Any = Residual().train()
    if profiles or auto:
        model = Profiler(model, auto_profile=auto, capture_ops=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    seen = []
    for step in range(6):
        x, y = torch.randn(16, 8), torch.randint(4, (16,))
        if profiles and step % 2:
            model.profile_once(x)
            model.profile_detail(x)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(loss.item())
    return seen


def test_training_goes_on_bit_for_bit() -> None:
    plain = losses(False)
    assert losses(True) == plain
    assert losses(False, auto=True) == plain  # the profiled call is a step of the training


def test_the_first_call_is_the_callers_own() -> None:
    torch.manual_seed(1)
    plain, model = Residual().train(), Residual().train()
    model.load_state_dict(plain.state_dict())
    prof = Profiler(model)
    assert prof.graph is None
    torch.manual_seed(2)
    expected = plain(X)
    torch.manual_seed(2)
    made = prof(X)
    assert torch.equal(made, expected) and made.requires_grad and model.calls == 1
    assert torch.equal(model.norm.running_mean, plain.norm.running_mean)
    made.sum().backward()
    expected.sum().backward()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(model.parameters(), plain.parameters(), strict=True))
    graph = prof.graph
    assert graph is not None and [row.name for row in graph.inputs] == ["x"]
    prof(X)
    assert prof.graph is graph and is_clean()


def test_exceptions_are_the_models_and_all_is_put_back() -> None:
    for auto in (False, True):
        model = Fails()
        prof = Profiler(model, auto_profile=auto)
        for _ in range(3):
            with pytest.raises(KeyError, match="on purpose"):
                prof(X) if auto else prof.profile_once(X)
            assert is_clean() and has_no_hooks(model) and torch.is_grad_enabled() and prof.graph is None
        model.fails = False
        assert torch.equal(prof(X), model(X))
        assert (prof.graph is not None) == auto  # the first call that works


def test_a_thousand_passes() -> None:
    model = Residual().eval()
    prof, failing = Profiler(model, auto_profile=False), Profiler(Fails(), auto_profile=False)

    def passes(count: int) -> None:
        for _ in range(count):
            prof.profile_once(X)
            with pytest.raises(KeyError):
                failing.profile_once(X)

    passes(100)
    before = resident_bytes()
    passes(900)
    assert resident_bytes() - before < 16 << 20
    assert is_clean() and has_no_hooks(model) and len(names(prof.graph)) == 9


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_other_threads_are_not_seen() -> None:
    stop, started = threading.Event(), threading.Event()

    def work() -> None:
        layer = nn.Conv1d(8, 8, 1)
        while not stop.is_set():
            layer(torch.ones(1, 8, 4)).tanh()
            started.set()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        started.wait()
        prof = Profiler(Residual().eval(), auto_profile=False)
        alone = None
        for _ in range(20):
            types = [node.type for node in prof.profile_detail(X).nodes]
            assert "aten::tanh" not in types and not any("conv" in name for name in types)
            alone = alone or types
            assert types == alone
    finally:
        stop.set()
        thread.join()


def test_two_threads_at_once() -> None:
    seen: dict[str, list[str]] = {}

    def profile(name: str, model: nn.Module) -> None:
        prof = Profiler(model.eval(), auto_profile=False)
        for _ in range(10):
            seen[name] = [node.type for node in prof.profile_detail(X).nodes]

    models = {"tanh": nn.Sequential(nn.Linear(8, 8), nn.Tanh()), "sigmoid": nn.Sequential(nn.Sigmoid(), nn.Linear(8, 8))}
    threads = [threading.Thread(target=profile, args=item) for item in models.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {"tanh": ["aten::linear", "aten::tanh"], "sigmoid": ["aten::sigmoid", "aten::linear"]}
    assert is_clean()


# --- a Profiler is a model, and a part of one


def test_inside_a_model_that_generates() -> None:
    model = small_llama()
    expected = generated(model)
    keys, parameters = list(model.state_dict()), dict(model.named_parameters())
    inner = model.model
    model.model = Profiler(model.model, granularity="module", token_kwarg="input_ids", auto_profile=False)
    assert list(model.state_dict()) == keys
    assert {name: id(p) for name, p in model.named_parameters()} == {name: id(p) for name, p in parameters.items()}
    model.model.profile_once(**tokens())
    assert generated(model) == expected
    found = names(model.model.graph)
    assert {"embed_tokens", "layers.0", "layers.1", "norm", "rotary_emb"} <= set(found)
    model.model.profile_detail(**tokens())
    assert generated(model) == expected and is_clean() and has_no_hooks(model)
    model.load_state_dict({key: value.clone() for key, value in model.state_dict().items()})
    assert generated(model) == expected
    model.model = model.model.unwrap()
    assert model.model is inner and generated(model) == expected


def test_the_first_call_inside_generate() -> None:
    model = small_llama()
    expected = generated(model)
    model.model = Profiler(model.model, token_kwarg="input_ids", capture_ops=True)
    assert generated(model) == expected
    assert "layers.1" in names(model.model.graph) and model.model.detail_graph is not None
    assert any(row.name == "input_ids" and row.shape == (1, 6) for row in model.model.graph.inputs)


def test_the_tokens_are_marked(tmp_path: Path) -> None:
    prof = Profiler(small_llama().model, token_kwarg="input_ids", auto_profile=False)
    prof.profile_once(tokens()["input_ids"])
    prof.export(tmp_path / "llama")
    assert "input_ids (tokens)   1x6 int64" in (tmp_path / "llama_module.txt").read_text()


def test_passes_through_what_a_module_has() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.LSTM(8, 4))
    model.note = "mine"  # type: ignore[assignment]
    prof = Profiler(model, auto_profile=False)
    assert isinstance(prof, nn.Module) and prof.note == "mine" and len(prof) == 2 and prof[0] is model[0]
    assert prof.eval() is prof and not model.training and prof.train() is prof and model.training
    assert prof.to(torch.float64) is prof and model[0].weight.dtype == torch.float64
    assert prof.requires_grad_(False) is prof and not model[0].weight.requires_grad
    prof.extra = nn.Linear(1, 1)
    assert dict(model.named_modules())["extra"] is prof.extra
    del prof.extra
    prof.register_buffer("table", torch.ones(3))
    assert list(prof.state_dict()) == list(model.state_dict()) and "table" in model.state_dict()
    seen: list[Any] = []
    handle = prof.register_forward_hook(lambda module, *_: seen.append(module))
    prof(torch.ones(2, 8, dtype=torch.float64))
    handle.remove()
    assert seen == [model]
    assert next(iter(prof.modules())) is prof and prof.forward == model.forward
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'missing'"):
        prof.missing


def test_copies_and_pickles() -> None:
    prof = Profiler(nn.Sequential(nn.Linear(8, 8)), granularity="layer", auto_profile=True)
    prof(X)
    for made in (copy.deepcopy(prof), pickle.loads(pickle.dumps(prof))):
        assert type(made) is Profiler and made.unwrap() is not prof.unwrap() and made.graph is None
        assert torch.equal(made(X), prof(X)) and made.graph is None  # what was profiled once is not due again
        assert names(made.profile_once(X)) == ["0"]
    file = io.BytesIO()
    torch.save(prof, file)
    file.seek(0)
    assert torch.equal(torch.load(file, weights_only=False)(X), prof(X))


def test_one_profiler_inside_another() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    model[0] = Profiler(model[0])  # due at its first call, and that is in the other's pass
    outer = Profiler(model, granularity="layer", auto_profile=False)
    assert names(outer.profile_once(X)) == ["0", "1"]
    assert model[0].graph is None
    outer(X)
    assert model[0].graph is not None


def test_captures_of_a_model_with_a_profiler_inside() -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    plain = opscope.profile(model, X).totals
    model[0] = Profiler(model[0])
    found = opscope.profile(model, X)
    assert found.totals.macs == plain.macs and [layer.name for layer in found.layers] == ["0", "1"]
    assert model[0].graph is None


@pytest.mark.parametrize("call", ["compile", "trace", "meta"])
def test_calls_that_only_look_are_not_profiled(call: str) -> None:
    prof = Profiler(nn.Sequential(nn.Linear(8, 8)))
    if call == "compile":
        torch.compile(prof, backend="eager", fullgraph=True)(X)
    elif call == "trace":
        prof.requires_grad_(False)
        assert torch.jit.trace(lambda x: prof(x), X, check_trace=False)(X).shape == (2, 8)
    else:
        Profiler(nn.Sequential(nn.Linear(8, 8, device="meta")))(X.to("meta"))
    assert prof.graph is None
    prof(X)
    assert prof.graph is not None


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
    check_golden("profiler_llama_module.txt", (tmp_path / "llama_profile_module.txt").read_text())
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
