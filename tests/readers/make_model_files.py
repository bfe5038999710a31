"""Writes the small model files of tests/readers/files: exported by the installed torch, their weights taken out.

    python tests/readers/make_model_files.py

Run again after a change of torch's formats; the tests know what is in the files.
"""

import pathlib
import re
import tempfile
import warnings
import zipfile

import onnx
import torch
from torch import nn

FOLDER = pathlib.Path(__file__).parent / "files"


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.act = nn.ReLU(inplace=True)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(torch.flatten(self.pool(self.act(self.norm(self.conv(x)))), 1))


class Dynamic(nn.Module):
    """Tied weights, a module called twice, a graph in a graph, a branch, a size that depends on data."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.second = nn.Linear(8, 8, bias=False)
        self.second.weight = self.first.weight
        self.act = nn.ReLU()

    def forward(self, x, y):
        with torch.no_grad():
            x = self.act(self.first(x))
        x = self.second(self.act(x)).view(-1, 4, 2)
        z = torch.cond(y.sum() > 0, lambda t: t.sin(), lambda t: t.cos().sin(), (x,))
        return z.transpose(1, 2).reshape(x.shape[0], 8), x[x > 0]


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(6, 5, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.rnn(x)[0]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(x.shape[0], -1, 3, 4, 4).permute(2, 0, 3, 1, 4).unbind(0)
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def without_paths(text):
    """Where the code lay on the disk that exported it is nobody's business."""
    return re.sub(r'"stack_trace": "(?:[^"\\]|\\.)*"', '"stack_trace": ""', text)


def save_pt2(name, model, inputs, shapes=None):
    program = torch.export.export(model.eval(), inputs, dynamic_shapes=shapes)
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder, "whole.pt2")
        torch.export.save(program, whole)
        with zipfile.ZipFile(whole) as source, zipfile.ZipFile(FOLDER / f"{name}.pt2", "w", zipfile.ZIP_DEFLATED) as out:
            for member in source.namelist():
                if member.endswith((".json", "archive_format", "archive_version")):
                    entry = zipfile.ZipInfo(member.replace("whole/", f"{name}/"))  # with no time in it
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    out.writestr(entry, without_paths(source.read(member).decode()))


def strip(model):
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > 64:
            tensor.ClearField("raw_data")
            tensor.data_location = onnx.TensorProto.EXTERNAL
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props if "stack_trace" not in entry.key and "fx_node" not in entry.key]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    return model


def save_onnx(name, model, inputs, dynamo=True, **options):
    with tempfile.TemporaryDirectory() as folder:
        whole = pathlib.Path(folder, "whole.onnx")
        torch.onnx.export(model.eval(), inputs, whole, dynamo=dynamo, verbose=False, **options)
        onnx.save(strip(onnx.load(whole, load_external_data=False)), FOLDER / f"{name}.onnx")


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    FOLDER.mkdir(exist_ok=True)
    image = (torch.zeros(1, 3, 32, 32),)
    save_pt2("cnn", Cnn(), image)
    rows = torch.export.Dim("rows", min=2, max=64)
    save_pt2("dynamic", Dynamic(), (torch.zeros(4, 8), torch.zeros(3)), ({0: rows}, None))
    save_onnx("cnn", Cnn(), image)
    save_onnx("cnn_torchscript", Cnn(), image, dynamo=False)
    save_onnx("cnn_dynamic", Cnn(), (torch.zeros(2, 3, 32, 32),), dynamic_shapes=({0: "batch"},))
    save_onnx("recurrent", Recurrent(), (torch.zeros(2, 7, 6),), dynamo=False)
    save_onnx("attention", Attention(), (torch.zeros(2, 10, 16),), opset_version=23)


if __name__ == "__main__":
    main()
