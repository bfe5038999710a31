"""Names of the libraries' models, model files, and what is refused."""

from __future__ import annotations

import json
import os
import pickle
import socket
import threading
import warnings
from pathlib import Path

import pytest
import torch

import opscope
from opscope import sources
from opscope.sources import timm_models, yolo_models


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3)
        self.fc = torch.nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.conv(x).mean((2, 3)))


def header(spec: str, **options: object) -> str:
    return str(opscope.profile(spec, **options)).splitlines()[0]


@pytest.mark.parametrize(
    ("spec", "parameters"),
    [
        ("yolov8n", 3_157_200),
        ("yolo11n", 2_624_080),
        ("yolov5nu", 2_654_816),
        ("timm:resnet18", 11_689_512),
        ("test_vit", None),
        ("torchvision:squeezenet1_1", 1_235_496),
    ],
)
def test_named_models(spec: str, parameters: int | None) -> None:
    profile = opscope.profile(spec)
    assert parameters is None or profile.totals.params == parameters
    assert profile.totals.flops > 0


def test_a_prefix_insists() -> None:
    assert "torchvision 0." in header("resnet18")
    assert "timm 1." in header("timm:resnet18")


def test_timm_models_have_their_own_size() -> None:
    assert "1x3x160x160" in header("timm:test_vit")
    assert "2x3x128x128" in header("timm:test_resnet", batch=2, image_size=128)


def test_yolo_reads_640_and_classifiers_224() -> None:
    assert "1x3x640x640" in header("yolo11n")
    assert "1x3x224x224" in header("yolo11n-cls")


@pytest.mark.parametrize(
    ("weights", "architecture"),
    [("yolov5nu", "yolov5n"), ("yolov5n6u", "yolov5n-p6"), ("yolov8n6", "yolov8n-p6"), ("yolov3u", "yolov3"), ("yolo26x-seg", "yolo26x-seg")],
)
def test_every_weights_file_has_an_architecture(weights: str, architecture: str) -> None:
    assert yolo_models._architecture_of(weights) == architecture
    assert architecture in dict(yolo_models.listed())


def test_yolo_tasks() -> None:
    assert "yolo11n-seg " in header("yolo11n", task="segment")
    with pytest.raises(opscope.Error, match="no YOLO task called 'segmentt'") as caught:
        opscope.profile("yolo11n", task="segmentt")
    assert caught.value.candidates[0] == "segment"
    with pytest.raises(opscope.Error, match="yolov10n has no pose model") as caught:
        opscope.profile("yolov10n", task="pose")
    assert "it has detect" in caught.value.hint


@pytest.mark.parametrize(
    ("spec", "nearest"),
    [
        ("resnet81", "resnet18"),
        ("timm:vit_tiny_patch16_242", "vit_tiny_patch16_224"),
        ("yolov8nn", "yolov8n"),
        ("yolo:yolo11nseg", "yolo11n-seg"),
        ("hf:bert-base-uncasd", "bert-base-uncased"),
        ("bert-base-uncasd", "bert-base-uncased"),
        ("torchvision:resnet1818", "resnet18"),
    ],
)
def test_misspelt_names(spec: str, nearest: str) -> None:
    with pytest.raises(opscope.Error, match="no model called") as caught:
        opscope.profile(spec)
    # What is the same but for the marks between its words is the only one that can be meant.
    same = nearest.replace("-", "") == spec.partition(":")[2]
    assert nearest in caught.value.candidates and len(caught.value.candidates) == (1 if same else 3)
    assert caught.value.hint.startswith("opscope list")


@pytest.mark.parametrize("spec", ["nothere.onnx", "nothere.pt2", "./mybert", "resnet18.pt", "mybert/config.json"])
def test_a_missing_file_is_called_missing(spec: str) -> None:
    with pytest.raises(opscope.Error, match="no such file|cannot read the file"):
        opscope.profile(spec)


def test_misspelt_prefixes_and_tags() -> None:
    with pytest.raises(opscope.Error, match="no source called 'tmm'") as caught:
        opscope.profile("tmm:resnet18")
    assert caught.value.candidates == ["timm:resnet18"]
    with pytest.raises(opscope.Error, match="no weights called 'resnet50.nope'") as caught:
        opscope.profile("timm:resnet50.nope")
    assert len(caught.value.candidates) == 3


def test_a_task_is_its_own_librarys() -> None:
    with pytest.raises(opscope.Error, match="no task called 'fill-mak'") as caught:
        opscope.profile("bert-base-uncased", task="fill-mak")
    assert caught.value.candidates[0] == "fill-mask"


def test_every_library_is_listed() -> None:
    known = {model.name: model for model in sources.known_models()[0]}
    assert known["resnet18"].source.startswith("torchvision ") and known["resnet18"].family == "resnet"
    assert known["timm:resnet18"].source.startswith("timm ")
    assert known["yolo11n-seg"].family == "YOLO11"
    assert known["gpt2"].source.startswith("transformers ")
    assert set(opscope.discover_models("yolov8n*")) >= {"yolov8n", "yolov8n-seg"}
    assert len(known) > 1500 and "bert-base-uncased" in opscope.discover_transformers("bert")


def test_the_list_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    opscope.show_model_list("yolo11n")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Name", "Family", "Source"] and any(line.startswith("yolo11n-pose ") for line in lines)


def test_weights_files_are_not_opened_unasked(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "ran",))

    path = tmp_path / "model.pt"
    torch.save({"model": Bomb()}, path)
    with pytest.raises(opscope.Error, match="it is a pickle, which can run any code") as caught:
        opscope.profile(path)
    assert "--trust" in caught.value.hint
    legacy = tmp_path / "legacy.pth"
    legacy.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(opscope.Error, match="it is a pickle"):
        opscope.profile(legacy)
    known = tmp_path / "yolov8n.pt"
    known.write_bytes(path.read_bytes())
    assert "was not opened" in str(opscope.profile(known))
    assert not (tmp_path / "ran").exists()


def test_trusted_pickles(tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    torch.save({"epoch": 3, "model": Net().half()}, path)
    assert opscope.profile(path, trust=True, input_shape=(1, 3, 8, 8)).totals.params == 242
    torch.save(Net().state_dict(), path)
    with pytest.raises(opscope.Error, match="weights of 4 entries, not a model"):
        opscope.profile(path, trust=True)
    path.write_bytes(b"\x80\x02 nonsense")
    with pytest.raises(opscope.Error, match="cannot be loaded"):
        opscope.profile(path, trust=True)


def test_a_pickled_model_keeps_its_dtype(tmp_path: Path) -> None:
    torch.save(Net().half(), tmp_path / "half.pt")
    profile = opscope.profile(tmp_path / "half.pt", trust=True, input_shape=(1, 3, 8, 8))
    assert profile.inputs[0].dtype == "float16"


def test_models_built_in_threads_leave_nothing_behind() -> None:
    threads = [threading.Thread(target=opscope.profile, args=(name,)) for name in ("yolo11n-cls", "timm:test_vit", "resnet18", "gpt2")]
    before = (list(warnings.filters), torch.nn.Module.register_parameter, dict(os.environ))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (list(warnings.filters), torch.nn.Module.register_parameter, dict(os.environ)) == before
    assert torch.nn.Linear(1, 1).weight.device.type == "cpu"


def test_options_that_do_not_apply() -> None:
    with pytest.raises(opscope.Error, match="task does not apply"):
        opscope.profile("resnet18", task="segment")
    with pytest.raises(opscope.Error, match="dynamic dimensions are those of"):
        opscope.profile("resnet18", dims={"batch": 8})


def test_the_network_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("asked the network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    config = {"model_type": "detr", "use_timm_backbone": False, "backbone": "microsoft/resnet-50", "architectures": ["DetrModel"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(opscope.Error) as caught:
        opscope.profile(tmp_path)
    assert "--download" in caught.value.hint, str(caught.value)


def test_torchscript_archives(tmp_path: Path) -> None:
    net, path = Net().eval(), tmp_path / "scripted.bin"
    torch.jit.save(torch.jit.script(net), path)
    with pytest.raises(opscope.Error, match="TorchScript archive") as caught:
        opscope.profile(path, input_shape=(1, 3, 8, 8))
    assert "--trust" in caught.value.hint
    scripted = opscope.profile(path, trust=True, input_shape=(1, 3, 8, 8))
    assert scripted.totals.macs == opscope.profile(net, input_shape=(1, 3, 8, 8)).totals.macs
    assert "TorchScript" in str(scripted).splitlines()[0]
    path.write_bytes(path.read_bytes()[:300])
    with pytest.raises(opscope.Error):
        opscope.profile(path, trust=True)


class Writes(torch.nn.Module):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.ops.aten.save(x, self.path)  # torch.save, which ultralytics replaces
        return x


def test_the_code_of_an_archive_runs_only_when_trusted(tmp_path: Path) -> None:
    path, written = tmp_path / "scripted.pt", tmp_path / "written"
    torch.jit.save(torch.jit.script(Writes(str(written))), path)
    with pytest.raises(opscope.Error, match="TorchScript archive"):
        opscope.profile(path, input_shape=(1, 3))
    assert not written.exists()
    torch.jit.load(path)(torch.ones(1))  # as it would
    assert written.exists()


def test_load_and_trace() -> None:
    captured, how = opscope.load_and_trace_model("yolo11n-cls")
    assert how == "dynamo_export" and captured.profile().totals.params == 2_812_104
    assert isinstance(opscope.load_yolo_model("yolo11n-cls.pt"), torch.nn.Module)
    with pytest.raises(opscope.Error, match="no YOLO model called 'yolo11q'"):
        opscope.load_yolo_model("yolo11q")


def test_timm_is_found_without_a_prefix() -> None:
    assert timm_models.find("no_such_model", sources.Options(), lambda _: None) is None
    assert "timm 1." in header("test_resnet")


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="seqlen"):
        opscope.profile("resnet18", seqlen=3)


def test_the_signature_shows_every_option() -> None:
    import inspect

    assert {"seq_len", "limits", "trust", "phase", "convention"} <= set(inspect.signature(opscope.profile).parameters)
