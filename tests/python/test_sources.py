"""From a name to a model: torchvision, files, modules, the registry; and what is said when it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import opscope
from opscope import registry
from opscope.sources import find_source, torchvision_models

FILE = """
import torch
from torch import nn
import helper_beside_it

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.fc = nn.Linear(helper_beside_it.SIZE, width)
    def forward(self, x):
        return self.fc(x)

class NeedsArguments(Net):
    def __init__(self, width):
        super().__init__(width)

def make():
    return Net(7)

def with_inputs():
    return Net(), torch.zeros(2, 3)

def with_keywords():
    import opscope
    return Net(), opscope.Inputs(x=torch.zeros(5, 3))

class Nested:
    make = staticmethod(make)

instance = Net(9)
number = 3

def not_a_model():
    return "text"

def raises():
    raise KeyError("checkpoint")
"""


@pytest.fixture()
def user_file(tmp_path: Path) -> Path:
    (tmp_path / "helper_beside_it.py").write_text("SIZE = 3\n")
    path = tmp_path / "my_models.py"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("attribute", "shape", "macs"),
    [
        ("Net", (1, 3), 3 * 4),
        ("make", (1, 3), 3 * 7),
        ("Nested.make", (1, 3), 3 * 7),
        ("instance", (1, 3), 3 * 9),
        ("with_inputs", None, 2 * 3 * 4),
        ("with_keywords", None, 5 * 3 * 4),
        ("with_inputs", (6, 3), 6 * 3 * 4),  # a shape given goes before the file's own inputs
        ("", (1, 3), 3 * 4),  # Net: the only class that needs no arguments
    ],
)
def test_files(user_file: Path, attribute: str, shape: tuple[int, ...] | None, macs: int) -> None:
    result = opscope.profile(f"{user_file}:{attribute}" if attribute else str(user_file), input_shape=shape)
    assert result.totals.macs == macs and result.model == (attribute or "Net")


CLASSES = """
from torch import nn
class Block(nn.Linear):
    def __init__(self, width):
        super().__init__(3, width)
class First(Block):
    def __init__(self):
        super().__init__(4)
class Second(Block):
    def __init__(self):
        super().__init__(5)
"""
ONE = CLASSES.replace("def __init__(self):", "def __init__(self, depth):", 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (CLASSES + "def create_model(): return Second()\ndef build(): return First()\n", "build"),
        (CLASSES + "def create_model(): return Second()\ndef build(width): return Block(width)\n", "create_model"),
        (CLASSES + "def create_model(): return Second()\n", "create_model"),
        (ONE, "Second"),
        ("from torch import nn\nmodel = nn.Linear(3, 4)\n", "model"),
    ],
)
def test_a_file_alone(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "alone.py"
    path.write_text(text)
    assert opscope.profile(str(path), input_shape=(1, 3)).model == found


@pytest.mark.parametrize(
    ("text", "says", "hints"),
    [
        (CLASSES, "which model of", ["alone.py:First or ", "alone.py:Second"]),
        (CLASSES.split("class First")[0], "no model that can be made without arguments", ["Block(width)", "build()"]),
        ("def helper(): pass\n", "no model that can be made without arguments", ["it has helper", "build()"]),
        ("", "no model that can be made without arguments", ["write a function build()"]),
    ],
)
def test_a_file_alone_that_has_no_one_model(tmp_path: Path, text: str, says: str, hints: list[str]) -> None:
    path = tmp_path / "alone.py"
    path.write_text(text)
    with pytest.raises(opscope.Error) as caught:
        opscope.profile(str(path), input_shape=(1, 3))
    assert says in str(caught.value) and all(hint in caught.value.hint for hint in hints)


@pytest.mark.parametrize(
    ("attribute", "says", "hint"),
    [
        ("Nett", "has no 'Nett'", "Net"),
        ("number", "is an int, not a model", "name an nn.Module"),
        ("not_a_model", "gave a str, not a model", "return an nn.Module"),
        ("NeedsArguments", "needs arguments: width", "without arguments"),
        ("raises", "raised KeyError: 'checkpoint'", ""),
    ],
)
def test_wrong_attributes(user_file: Path, attribute: str, says: str, hint: str) -> None:
    with pytest.raises(opscope.Error) as caught:
        opscope.profile(f"{user_file}:{attribute}" if attribute else str(user_file), input_shape=(1, 3))
    assert says in str(caught.value) and hint in caught.value.hint and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("import torch\nx = = 1\n", "SyntaxError: invalid syntax", 2),
        ("import torch\n\nimport no_such_package\n", "ModuleNotFoundError: No module named 'no_such_package'", 3),
        ("\n\n\nraise ValueError('bad weights')\n", "ValueError: bad weights", 4),
    ],
)
def test_a_file_that_does_not_import(tmp_path: Path, text: str, says: str, line: int) -> None:
    path = tmp_path / "broken_model.py"
    path.write_text(text)
    with pytest.raises(opscope.Error) as caught:
        opscope.profile(f"{path}:Net", input_shape=(1, 3))
    assert says in str(caught.value) and caught.value.where == f"{path}:{line}"
    assert ("pip install no_such_package" in caught.value.hint) == ("no_such_package" in text)


def test_missing_files_and_modules(tmp_path: Path) -> None:
    with pytest.raises(opscope.Error, match="no such file"):
        opscope.profile(f"{tmp_path}/nothing.py:Net")
    with pytest.raises(opscope.Error, match="no Python module called 'no_such_module'"):
        opscope.profile("no_such_module:Net")


def test_modules() -> None:
    source = find_source("torch.nn:Identity")
    assert isinstance(source.model, torch.nn.Identity) and source.text == "torch.nn"
    assert opscope.profile("torch.nn:Identity", input_shape=(1, 3)).totals.macs == 0


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("qwen", "Qwen/Qwen3-8B"),
        ("llama3", "meta-llama/Meta-Llama-3-8B"),
        ("TinyLlama", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"),
        ("ResNet-18", "resnet18"),
        ("*LLAMA-3.2-1b", "meta-llama/Llama-3.2-1B"),
    ],
)
def test_lists_find_what_people_type(typed: str, found: str) -> None:
    assert found in opscope.list_models(typed)


def test_a_part_of_a_name_is_looked_up() -> None:
    with pytest.raises(opscope.Error) as caught:
        opscope.profile("qwen")
    assert caught.value.hint == "opscope list qwen" and all("Qwen" in name for name in caught.value.candidates)


def test_hints_for_files_and_folders_name_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("")
    (tmp_path / "notes.txt").write_text("")
    for name, hint in ((tmp_path, str(tmp_path / "net.py")), (tmp_path / "notes.txt", ".pt2")):
        with pytest.raises(opscope.Error) as caught:
            opscope.profile(str(name))
        assert hint in caught.value.hint


def test_unknown_names_say_the_nearest() -> None:
    with pytest.raises(opscope.Error) as caught:
        opscope.profile("resnet81")
    assert str(caught.value) == "no model called 'resnet81'"
    assert "resnet18" in caught.value.candidates and caught.value.hint == "opscope list resnet"
    assert "did you mean" in caught.value.__notes__[0]


def test_registered_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "MODEL_REGISTRY", registry.MODEL_REGISTRY)
    path = tmp_path / "my_registry.py"
    path.write_text(
        "import opscope, torch\n"
        "opscope.register_model('mine', lambda: torch.nn.Linear(3, 5))\n"
        "opscope.MODEL_REGISTRY['direct'] = lambda: (torch.nn.Linear(3, 6), torch.zeros(2, 3))\n"
        "@opscope.register_model('decorated')\ndef make(): return torch.nn.Linear(3, 7)\n"
    )
    monkeypatch.setenv("OPSCOPE_REGISTRY", str(path))
    try:
        assert opscope.profile("mine", input_shape=(1, 3)).totals.macs == 15
        assert opscope.profile("direct").totals.macs == 36
        assert {"mine", "direct", "decorated"} <= set(opscope.list_models())
        assert opscope.list_models("deco*") == ["decorated"]
        with pytest.raises(opscope.Error) as caught:
            opscope.profile("minne")
        assert "mine" in caught.value.candidates
    finally:
        for name in ("mine", "direct", "decorated"):
            opscope.MODEL_REGISTRY.pop(name, None)
        registry._loaded.clear()


def test_a_registry_that_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPSCOPE_REGISTRY", str(tmp_path / "nothing.py"))
    with pytest.raises(opscope.Error, match="no such file"):
        opscope.list_models()
    with pytest.raises(TypeError, match="callable"):
        opscope.register_model("x", 3)


def test_the_zoo_is_listed() -> None:
    assert "resnet18" in opscope.list_models("resnet")
    assert {"mobilenet_v2", "mobilenet_v3_large", "mobilenet_v3_small"} <= set(opscope.list_models("mobilenet_v*"))
    assert len(opscope.list_models()) > 1500


def test_named_models_are_built_without_data() -> None:
    model = torchvision_models.build("regnet_y_128gf")  # 2.6 GB with data
    assert {weight.device.type for weight in model.parameters()} == {"meta"} and not model.training
    assert {buffer.device.type for buffer in model.buffers()} == {"cpu"}
    assert torch.nn.Linear(1, 1).weight.device.type == "cpu"


@pytest.mark.parametrize(
    ("name", "batch", "shapes"),
    [
        ("r3d_18", 2, [[2, 3, 16, 224, 224]]),
        ("raft_small", None, [[1, 3, 520, 960]] * 2),
        ("fcn_resnet50", 2, [[2, 3, 224, 224]]),
        ("quantized_resnet18", None, [[1, 3, 224, 224]]),
    ],
)
def test_each_kind_has_its_inputs(name: str, batch: int | None, shapes: list[list[int]]) -> None:
    assert [row.shape for row in opscope.profile(name, batch=batch).inputs] == shapes


def test_given_inputs_follow_the_dtype(user_file: Path) -> None:
    result = opscope.profile(f"{user_file}:with_keywords", dtype="bfloat16")
    assert [row.dtype for row in result.inputs] == ["bfloat16"]
    with pytest.raises(opscope.Error, match="dtype does not change"):
        opscope.profile(torch.nn.Linear(3, 4), torch.zeros(1, 3), dtype="bfloat16")


def test_a_library_that_does_not_import_is_the_users_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_library.py").write_text("import json\njson.loads('{')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(opscope.Error, match="does not import: JSONDecodeError") as caught:
        opscope.profile("broken_library:Net", input_shape=(1, 3))
    assert caught.value.where == f"{tmp_path / 'broken_library.py'}:2"
    assert caught.value.__notes__[0] == f"at {caught.value.where}"


@pytest.mark.parametrize(
    ("name", "options", "note"),
    [
        ("inception_v3", {}, "the images are 224x224; the published weights are for 299x299 (--image-size 299)"),
        ("inception_v3", {"image_size": 299}, ""),
        ("efficientnet_b7", {}, "the images are 224x224; the published weights are for 600x600 (--image-size 600)"),
        ("vit_b_16", {}, ""),  # 224 of some of its weights, 384 of others
        ("resnet18", {"batch": 4}, ""),
        ("resnet18", {"image_size": 96}, "the images are 96x96; the published weights are for 224x224 (--image-size 224)"),
        ("fcn_resnet50", {}, "the images are 224x224; the published weights are for a shorter side of 520 (--image-size 520)"),
        ("r3d_18", {}, "the images are 224x224; the published weights are for 112x112 (--image-size 112)"),
    ],
)
def test_images_of_another_size_than_the_weights_are_for_are_noted(name: str, options: dict[str, int], note: str) -> None:
    diagnostics = json.loads(opscope.capture(name, **options).to_json())["diagnostics"]
    assert [each["message"] for each in diagnostics if "published weights" in each["message"]] == ([note] if note else [])
