"""The documentation holds: what it says can be typed runs, flags exist, links lead somewhere, Python blocks work."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from torch import nn

import docs_helpers as docs
import opscope
from opscope.engine.custom_ops import DECLARED

PROGRAM = os.environ.get("OPSCOPE_PROGRAM", str(Path(sys.executable).parent / "opscope"))
PAGES = docs.pages()
# What needs a GPU, minutes of it, a terminal, a git history, or a trace that somebody else recorded.
NOT_RUN = re.compile(r"--on cuda|calibrate --on|--hardware this|--interactive|read-trace|HEAD|main:|--base-rev|completion")
# Where every file is made on the page, or by prepared() below; elsewhere some are the reader's own.
COMPLETE = ("README.md", "docs/guide.md")


def name_of(page: Path) -> str:
    return str(page.relative_to(docs.ROOT))


def page_commands(page: Path) -> list[docs.Command]:
    found = [command for block in docs.blocks(page) for command in docs.commands_of(block)]
    return [command for command in found if not command.is_form and not NOT_RUN.search(command.text)]


RUN_PAGES = [page for page in PAGES if page_commands(page)]
QUICK_PAGES = [page for page in RUN_PAGES if page.parent.name != "reference"]  # which repeats what others show


def prepared(folder: Path, cache: Path, page: Path) -> docs.Shell:
    """A folder with the files that the page speaks of: those it shows, and a model of each format."""
    write_model_files(folder)
    for block in docs.blocks(page):
        if name := docs.named_file(block):
            (folder / name).write_text(block.text + "\n")
    return docs.Shell(folder, cache)


def write_model_files(folder: Path) -> None:
    (folder / "my_model.py").write_text(OWN_MODEL)
    (folder / "my_models.py").write_text("import opscope\nfrom my_model import build\nopscope.register_model('mine', build)\n")


OWN_MODEL = """
import torch
from torch import nn


class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, x):
        y = torch.relu(self.stem(x))
        print("half way")  # Dynamo breaks here
        return self.head(y.mean((2, 3)))


def build():
    return MyModel(), torch.zeros(1, 3, 32, 32)
"""


def write_onnx(folder: Path) -> None:
    """What the README profiles with --dim batch=8."""
    batch = torch.export.Dim("batch")
    torch.onnx.export(
        nn.Sequential(nn.Linear(4, 8), nn.ReLU()), (torch.zeros(2, 4),), folder / "model.onnx",
        dynamic_shapes={"input": {0: batch}}, dynamo=True, verbose=False,
    )  # fmt: skip


def run_page(page: Path, folder: Path, cache: Path, slow: bool) -> None:
    shell = prepared(folder, cache, page)
    commands = page_commands(page)
    if any("model.onnx" in command.text for command in commands):
        write_onnx(folder)
    failures: list[str | None] = []
    for command in docs.runnable(commands, slow):
        if missing := shell.lacks(command):
            failures += [f"{command.place}: {path} is not there" for path in missing if name_of(page) in COMPLETE]
        else:
            failures.append(shell.failure(command))
    assert not any(failures), "\n".join(filter(None, failures))


@pytest.mark.parametrize("page", QUICK_PAGES, ids=name_of)
def test_quick_commands_run(page: Path, tmp_path: Path, docs_cache: Path) -> None:
    run_page(page, tmp_path, docs_cache, slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN_PAGES, ids=name_of)
def test_all_commands_run(page: Path, tmp_path: Path, docs_cache: Path) -> None:
    run_page(page, tmp_path, docs_cache, slow=True)


def settled(line: str) -> str:
    """Without what differs from one run to the next."""
    return re.sub(r"static capture [\d.]+ m?s", "static capture", line).rstrip()


@pytest.mark.slow
@pytest.mark.parametrize("page", [docs.ROOT / name for name in COMPLETE], ids=name_of)
def test_what_is_shown_is_printed(page: Path, tmp_path: Path) -> None:
    shell = prepared(tmp_path, tmp_path / "cache", page)
    shell.environment |= {"COLUMNS": "100", "OMP_NUM_THREADS": "2"}  # threads decide a convolution's workspace on a CPU
    wrong = []
    for command, lines in (each for block in docs.blocks(page) for each in docs.shown(block)):
        printed = {settled(line) for line in shell.run(command.text).stdout.splitlines()}
        wrong += [f"{command.place}: {line}" for line in lines if settled(line) not in printed]
    assert not wrong, "\n".join(wrong)


# --- flags ------------------------------------------------------------------------------------------------------


@functools.cache
def flags_of(command: str) -> set[str]:
    done = subprocess.run([PROGRAM, "help", command], capture_output=True, text=True)
    assert done.returncode == 0, f"no command called {command}"
    return {"--help", *re.findall(r"(?<![\w-])--?[a-z][\w-]*", done.stdout.split("Examples:")[0])}


def wrong_flags(command: docs.Command) -> list[str]:
    wrong = []
    for text in re.split(r"&&|\|(?= )", command.text):
        words = text.replace("'", "").replace('"', "").split()
        if words[:1] != ["opscope"] or len(words) < 2 or words[1] in ("COMMAND", "help", "version"):
            continue
        name = "profile" if words[1].startswith("-") else words[1]
        if not re.fullmatch(r"[a-z-]+", name):
            continue
        given = [re.split(r"[=|,.:)]", word)[0] for word in words[1:] if re.match(r"--?[a-z]", word)]
        wrong += [f"{command.place}: {name} {flag}" for flag in given if flag not in flags_of(name)]
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_flags_exist(page: Path) -> None:
    commands = [command for block in docs.blocks(page) for command in docs.commands_of(block)]
    wrong = [each for command in [*commands, *docs.inline_commands(page)] for each in wrong_flags(command)]
    assert not wrong, "\n".join(wrong)


# --- links ------------------------------------------------------------------------------------------------------


def without_blocks(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)


@functools.cache
def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    found: dict[str, int] = {}
    result = set()
    for title in re.findall(r"^#+ (.+)$", without_blocks(page), re.M):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).strip().replace(" ", "-")
        result.add(f"{slug}-{found[slug]}" if slug in found else slug)
        found[slug] = found.get(slug, 0) + 1
    return result


@pytest.mark.parametrize("page", docs.pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", without_blocks(page))):
        path, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            wrong.append(target)
    assert not wrong, f"{name_of(page)}: {', '.join(wrong)}"


def test_every_page_is_in_the_index() -> None:
    index = (docs.ROOT / "docs" / "README.md").read_text()
    missing = [str(page.relative_to(docs.ROOT / "docs")) for page in docs.pages()[1:] if page.name != "README.md"]
    assert not [page for page in missing if f"({page}" not in index]


def test_the_workflow_installs_what_the_readme_says() -> None:
    page = docs.ROOT / "docs" / "examples" / "opscope-check.yml"
    workflow = yaml.safe_load(page.read_text())
    typed = "\n".join(step.get("run", "") for step in workflow["jobs"]["check"]["steps"]).replace("\\\n", " ")
    commands = [docs.Command(name_of(page), line) for line in typed.splitlines() if line.startswith("opscope ")]
    assert len(commands) == 3 and not [flag for command in commands for flag in wrong_flags(command)]
    readme = (docs.ROOT / "README.md").read_text()
    libraries = re.findall(r"\b\S+-dev\b", typed)
    assert len(libraries) == 5 and all(name in readme for name in libraries)
    assert f"torch=={workflow['env']['TORCH']}\n" in (docs.ROOT / "requirements.txt").read_text()


# --- Python -----------------------------------------------------------------------------------------------------


class MyModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu(self.stem(x)).mean((2, 3)))


BERT, LLAMA = ("BertConfig", "BertModel"), ("LlamaConfig", "LlamaForCausalLM")


def small(config: str, kind: str) -> nn.Module:
    import transformers

    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    made: nn.Module = getattr(transformers, kind)(getattr(transformers, config)(vocab_size=100, **sizes))
    return made.eval()


def namespace(page: Path) -> dict[str, Any]:
    """What the pages take for granted: a model of one's own with its inputs, and one that reads tokens."""
    ids = torch.ones(1, 16, dtype=torch.long)
    x = torch.zeros(1, 3, 32, 32)
    names: dict[str, Any] = {"torch": torch, "nn": nn, "opscope": opscope, "MyModel": MyModel, "ids": ids, "x": x}
    names |= {"mask": torch.ones_like(ids), "model": MyModel().eval(), "inputs": x, "batches": [x] * 14}
    names["traced"] = torch.fx.symbolic_trace(names["model"])
    names |= {"bert": small(*BERT), "llama": small(*LLAMA), "tokens": {"input_ids": ids, "attention_mask": names["mask"]}}
    return names | ({"model": names["bert"], "inputs": names["tokens"]} if page.name == "README.md" else {})


def python_blocks(page: Path) -> list[docs.Block]:
    return [block for block in docs.blocks(page) if block.language == "python" and not docs.named_file(block)]


@pytest.mark.parametrize("page", [page for page in PAGES if python_blocks(page)], ids=name_of)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    write_model_files(tmp_path)
    names = namespace(page)
    with docs.kept(DECLARED, opscope.MODEL_REGISTRY):
        for block in python_blocks(page):
            try:
                exec(compile(block.text, block.place, "exec"), names)
            except Exception as problem:
                raise AssertionError(f"{block.place}: {type(problem).__name__}: {problem}") from problem
