"""Models of the zoo as files: torch.export's and ONNX's, written once and then read by opscope without torch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

#: Each is written in both forms.
SOURCES = (
    "torchvision:resnet18 torchvision:resnet50 torchvision:mobilenet_v2 torchvision:efficientnet_b0 torchvision:vit_b_16 "
    "torchvision:swin_t torchvision:convnext_tiny torchvision:densenet121 torchvision:deeplabv3_mobilenet_v3_large "
    "torchvision:mc3_18 timm:ghostnet_050 timm:levit_128s small:bert small:vit small:segformer"
).split()
ENDINGS = (".pt2", ".onnx")


def names() -> list[str]:
    """'file:torchvision/resnet18.onnx' and so on."""
    return [f"file:{source.replace(':', '/')}{ending}" for source in SOURCES for ending in ENDINGS]


def source_of(name: str) -> str:
    """'torchvision/resnet18.onnx' -> 'torchvision:resnet18'"""
    return str(Path(name).with_suffix("")).replace("/", ":")


def write(name: str, folder: Path, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"part-{path.name}")  # a name that torch accepts; the real one when it is whole
    if path.suffix == ".pt2":
        torch.export.save(torch.export.export(model, args, kwargs, strict=False), part)
    else:
        torch.onnx.export(model, args, part, kwargs=kwargs, dynamo=True, verbose=False, external_data=False)
    part.rename(path)
    return path


def onnx_parameter_count(path: Path) -> int:
    """The elements of the file's floating-point initialisers: numbers and the statistics of batch norms are none."""
    import onnx

    floating = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    graph = onnx.load(path).graph
    statistics = {name for node in graph.node if node.op_type == "BatchNormalization" for name in node.input[3:5]}
    weights = [each for each in graph.initializer if each.data_type in floating and each.dims]
    return sum(math.prod(each.dims) for each in weights if each.name not in statistics)
