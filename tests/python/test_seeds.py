"""docs/seeds.md: every right-hand side of its tables, run as it is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import docs_helpers as docs
import opscope

PAGE = docs.ROOT / "docs" / "seeds.md"
_CELLS = re.compile(r"(?<!\\)\|")


def right_sides() -> list[tuple[int, str]]:
    """Code in the second column of two-column tables, with its line."""
    found = []
    for number, line in enumerate(PAGE.read_text().splitlines(), 1):
        cells = _CELLS.split(line)[1:-1]
        if len(cells) == 2:
            found += [(number, code) for code in re.findall(r"`([^`]+)`", cells[1])]
    return found


def is_command(code: str) -> bool:
    return code.startswith(("opscope ", "python "))


COMMANDS = [docs.Command(f"docs/seeds.md:{line}", code) for line, code in right_sides() if is_command(code)]
EXPRESSIONS = [(line, code) for line, code in right_sides() if re.match(r"opscope\.|prof\b|extractor\b|from |torch\.|\[", code)]


def run_commands(folder: Path, cache: Path, slow: bool) -> None:
    (folder / "my_models.py").write_text(
        "import opscope, torch\nopscope.MODEL_REGISTRY['my_model'] = lambda: (torch.nn.Linear(4, 4), torch.zeros(1, 4))\n"
    )
    shell = docs.Shell(folder, cache)
    failures = [shell.failure(command) for command in docs.runnable(COMMANDS, slow)]
    assert not any(failures), "\n".join(filter(None, failures))


def test_every_right_side_is_of_one_kind() -> None:
    assert len(COMMANDS) > 70 and len(EXPRESSIONS) > 35
    other = {code for _, code in right_sides()} - {command.text for command in COMMANDS} - {code for _, code in EXPRESSIONS}
    assert all(docs.FLAG.fullmatch(code) for code in other), other


def test_quick_commands(tmp_path: Path, docs_cache: Path) -> None:
    run_commands(tmp_path, docs_cache, slow=False)


@pytest.mark.slow
def test_all_commands(tmp_path: Path, docs_cache: Path) -> None:
    run_commands(tmp_path, docs_cache, slow=True)


class MyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1, self.relu = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return self.relu(self.bn1(self.conv1(input)))


def small_llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    return LlamaForCausalLM(LlamaConfig(vocab_size=100, **sizes)).eval()


def test_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model, x = MyModel().eval(), torch.zeros(1, 3, 32, 32)
    names: dict[str, Any] = {"opscope": opscope, "torch": torch, "MyModel": MyModel, "model": model, "x": x}
    names |= {"traced": torch.fx.symbolic_trace(model), "tensor": opscope.TensorDescriptor((1, 8)), "llama": small_llama()}
    names["prof"] = opscope.Profiler(model, auto_profile=False)
    names["extractor"] = opscope.dynamo.trace_model_with_dynamo(model, x)
    with docs.kept(opscope.MODEL_REGISTRY):
        for line, code in EXPRESSIONS:
            try:
                exec(compile(code, f"docs/seeds.md:{line}", "exec"), names)
            except Exception as problem:
                raise AssertionError(f"docs/seeds.md:{line}: {code}: {problem}") from problem
    assert {"net_module.txt", "net_detail.txt", "graph.svg", "output"} <= {path.name for path in tmp_path.iterdir()}
