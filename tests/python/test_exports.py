"""Models exported to .pt2, .onnx and StableHLO: the files are whole, other tools read them, and nothing is printed."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
import pytest
import torch
from torch import Tensor, nn

import opscope
from opscope.engine import torch_version
from opscope.tracers.exports import export_file
from small_models import ConvNet, Keywords

TORCH_MLIR = "torch-mlir==20261001"
BUILD = Path(__file__).parents[2] / "build"


class Caching(nn.Module):
    """Keeps what it computes, and returns an object of its own: what exporting stumbles over."""

    class Result:
        def __init__(self, value: Tensor) -> None:
            self.value = value

    grid: Tensor | None = None

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> dict[str, Any]:
        if self.grid is None:
            self.grid = torch.arange(4.0) * 2
        y = self.fc(x) + self.grid
        return {"y": y, "more": self.Result(y * 2)}


def test_pt2(tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    model, x = ConvNet().eval(), torch.rand(2, 3, 8, 8)
    path = tmp_path / "model.pt2"
    assert export_file(model, (x,), {}, str(path)) == []
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.levelno > logging.DEBUG] == []
    again = torch.export.load(path).module()
    assert torch.equal(again(x), model(x))
    assert os.listdir(tmp_path) == ["model.pt2"]


def test_onnx(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.onnx"
    notes = export_file(Keywords().eval(), (torch.rand(2, 6),), {"b": torch.rand(2, 7)}, str(path))
    assert capfd.readouterr() == ("", "")
    made = onnx.load(path)
    onnx.checker.check_model(made)
    assert notes == [f"opset {made.opset_import[0].version}, torch.onnx of torch {torch.__version__.partition('+')[0]}"]
    assert [value.name for value in made.graph.input] == ["a", "b"]
    assert os.listdir(tmp_path) == ["model.onnx"]


def test_weights_beyond_what_onnx_holds_are_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = torch.onnx.ONNXProgram
    save = program.save
    monkeypatch.setattr(program, "save", lambda self, path: save(self, path, external_data=True))
    notes = export_file(ConvNet().eval(), (torch.rand(1, 3, 8, 8),), {}, str(tmp_path / "model.onnx"))
    assert notes[1:] == ["weights are in model.onnx.data beside it: ONNX files end at 2 GB"]
    assert sorted(os.listdir(tmp_path)) == ["model.onnx", "model.onnx.data"]
    onnx.checker.check_model(str(tmp_path / "model.onnx"))


@pytest.mark.skipif(torch_version.RELEASE < (2, 10), reason="torch.export refuses attributes that forward sets before torch 2.10")
def test_the_model_stays_as_it_was_and_unknown_outputs_are_taken_apart(tmp_path: Path) -> None:
    model, x = Caching().eval(), torch.rand(2, 4)
    notes = export_file(model, (x,), {}, str(tmp_path / "model.pt2"))
    assert notes == ["outputs that are neither tensors nor plain containers are exported as their tensors"]
    assert model.grid is None and "forward" not in vars(model)
    given = torch.export.load(tmp_path / "model.pt2").module()(x)
    assert torch.equal(given["y"], model(x)["y"]) and torch.equal(given["more"][0], model(x)["more"].value)


def test_a_model_without_data_is_exported_with_zeros(tmp_path: Path) -> None:
    model = ConvNet().eval().to("meta")
    notes = export_file(model, (torch.rand(1, 3, 8, 8),), {}, str(tmp_path / "model.pt2"))
    assert notes == ["the model was built without weights: those in the file are zeros"]
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    memory = ConvNet().eval()
    assert notes == export_file(memory, (torch.rand(1, 3, 8, 8),), {}, str(tmp_path / "model.pt2"), has_data=False)
    state = torch.export.load(tmp_path / "model.pt2").state_dict
    assert not any(bool(state[name].any()) for name, _ in memory.named_parameters())


class Jumps(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        print("the model talks")
        logging.getLogger("torch").error("and logs")
        return x * 2 if x.sum() > 0 else x


@pytest.mark.parametrize("ending", [".pt2", ".onnx"])
def test_failures_are_told_in_words_and_leave_nothing(ending: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, said = tmp_path / f"model{ending}", []
    path.write_text("what was there")
    with pytest.raises(opscope.Error) as told:
        export_file(Jumps(), (torch.rand(2),), {}, str(path), said)
    assert told.value.hint and "--tracer" not in told.value.hint and len(str(told.value).splitlines()) == 1
    assert "the model talks" in told.value.detail
    assert capfd.readouterr() == ("", "")
    assert "the model talks" in "".join(said)
    assert path.read_text() == "what was there" and os.listdir(tmp_path) == [path.name]


def test_folders_that_are_not_there_and_unknown_endings(tmp_path: Path) -> None:
    for name in ("model.pt2", "model.onnx"):
        with pytest.raises(opscope.Error, match="cannot write the file") as told:
            export_file(nn.Linear(2, 2), (torch.rand(2),), {}, str(tmp_path / "missing" / name))
        assert "does not exist; make it first" in told.value.hint
    with pytest.raises(opscope.Error, match="is not a format to export to") as told:
        export_file(nn.Linear(2, 2), (torch.rand(2),), {}, str(tmp_path / "model.tflite"))
    assert told.value.hint == "end it in .pt2, .onnx or .mlir"


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_mlir", None)
    with pytest.raises(opscope.Error, match=r"\.mlir needs torch-mlir, which is not installed") as told:
        export_file(nn.Linear(2, 2), (torch.rand(2),), {}, str(tmp_path / "model.mlir"))
    assert told.value.hint == f"{sys.executable} -m pip install torch-mlir, or export to .onnx or .pt2"


def test_what_torch_mlir_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call's shape; the real package is tested with the slow tests."""
    asked: dict[str, Any] = {}

    class Operation:
        def print(self, file: Any, binary: bool) -> None:
            file.write(b"module {}\n")

    class Module:
        operation = Operation()

    def export_and_import(program: Any, **options: Any) -> Any:
        os.write(2, b"a diagnostic from below\n")
        asked.update(options, program=program)
        return Module()

    package, fx, extras, decompositions = (ModuleType(name) for name in ("torch_mlir", "fx", "extras", "fx_decomp_util"))
    fx.export_and_import = export_and_import  # type: ignore[attr-defined]
    decompositions.get_decomposition_table = dict  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_mlir", package)
    monkeypatch.setitem(sys.modules, "torch_mlir.fx", fx)
    monkeypatch.setitem(sys.modules, "torch_mlir.extras", extras)
    monkeypatch.setitem(sys.modules, "torch_mlir.extras.fx_decomp_util", decompositions)
    said: list[str] = []
    export_file(ConvNet().eval(), (torch.rand(1, 3, 8, 8),), {}, str(tmp_path / "model.mlir"), said)
    assert asked["output_type"] == "stablehlo" and isinstance(asked["program"], torch.export.ExportedProgram)
    assert said == ["a diagnostic from below\n"]
    assert (tmp_path / "model.mlir").read_text() == "module {}\n"


# --- the real torch-mlir, in an interpreter of its own ------------------------------------------------------------

_SCRIPT = """
import sys
from opscope.engine import torchvision_ops
torchvision_ops.prepare()
import torch, transformers
from torch import nn
from opscope.tracers.exports import export_file
sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
models = {
    "convnet": lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Upsample(scale_factor=2.0)),
    "bert": lambda: transformers.BertModel(transformers.BertConfig(**sizes)),
    "gpt2": lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=32, n_layer=1, n_head=2)),
}
model = models[sys.argv[1]]()
x = torch.rand(1, 3, 8, 8) if sys.argv[1] == "convnet" else torch.zeros(1, 8, dtype=torch.long)
for note in export_file(model.eval(), (x,), {}, sys.argv[2]):
    print(note)
"""


@pytest.fixture(scope="module")
def torch_mlir() -> str:
    """A folder with torch-mlir in it, apart from .venv as the peers of `make bench` are."""
    folder = BUILD / "torch_mlir"
    if not (folder / "torch_mlir").is_dir():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), TORCH_MLIR]
        subprocess.run(command, check=True, capture_output=True)
    return str(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ops"), [("convnet", ("convolution",)), ("bert", ("dot_general",)), ("gpt2", ("dot_general", "tanh"))]
)
def test_stablehlo(name: str, ops: tuple[str, ...], torch_mlir: str, tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    search = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), torch_mlir]))
    command = [sys.executable, "-W", "ignore", "-c", _SCRIPT, name, str(path)]
    environment = os.environ | {"PYTHONPATH": search, "TRANSFORMERS_VERBOSITY": "error"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("StableHLO by torch-mlir")
    text = path.read_text()
    assert "func.func @main(" in text
    assert all(f"stablehlo.{op}" in text for op in ops)
    assert "torch.aten" not in text
