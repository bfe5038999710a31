"""ONNX's own node tests, from the installed package: every standard op has a shape rule and a cost."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case import node as node_cases

import opscope
from opscope.errors import Error

# --- The cases. Importing one of the suite's modules makes its models; a quick run imports some of them.

ALWAYS = ("attention", "if_", "loop", "reducesum", "scan", "sequence_map", "unique")


def collected(every: int) -> list[Any]:
    """All cases of every n-th module, and of those that have control flow or sizes that depend on data."""
    prefix = node_cases.__name__ + "."
    names = sorted(module.name for module in pkgutil.walk_packages(node_cases.__path__, prefix))
    for i, name in enumerate(names):
        if i % every == 0 or name.removeprefix(prefix) in ALWAYS:
            importlib.import_module(name)
    return list(node_cases._NodeTestCases)


SCOPES = [pytest.param(10, id="sample"), pytest.param(1, id="whole", marks=pytest.mark.slow)]

# --- What stays unknown, and why

VALUES = "its sizes come from the values of an input, which are not in the file, and its inner shapes are not declared"
UNKNOWN = {
    "test_affine_grid_2d_align_corners_expanded": VALUES,
    "test_affine_grid_2d_expanded": VALUES,
    "test_affine_grid_3d_align_corners_expanded": VALUES,
    "test_affine_grid_3d_expanded": VALUES,
    "test_blackmanwindow_expanded": VALUES,
    "test_blackmanwindow_symmetric_expanded": VALUES,
    "test_center_crop_pad_crop_and_pad_expanded": VALUES,
    "test_center_crop_pad_crop_axes_chw_expanded": VALUES,
    "test_center_crop_pad_crop_axes_hwc_expanded": VALUES,
    "test_center_crop_pad_crop_expanded": VALUES,
    "test_center_crop_pad_crop_negative_axes_hwc_expanded": VALUES,
    "test_center_crop_pad_pad_expanded": VALUES,
    "test_hammingwindow_expanded": VALUES,
    "test_hammingwindow_symmetric_expanded": VALUES,
    "test_hannwindow_expanded": VALUES,
    "test_hannwindow_symmetric_expanded": VALUES,
    "test_sequence_map_add_2_sequences": "the items' size has a name, and each may have another: --dim N gives it",
    "test_sequence_map_add_2_sequences_expanded": "as test_sequence_map_add_2_sequences",
}
DECODING = "what decoding an image costs depends on the file"


def is_unknown(name: str) -> bool:
    return name in UNKNOWN or name.startswith("test_image_decoder_")  # DECODING


# Dimensions of inputs that have names are asked for, as of any model.
NAMED = {
    "test_sequence_map_add_1_sequence_1_tensor": {"N": 4},
    "test_sequence_map_add_1_sequence_1_tensor_expanded": {"N": 4},
    "test_sequence_map_identity_1_sequence_1_tensor": {"M": 4, "N": 4},
    "test_sequence_map_identity_1_sequence_1_tensor_expanded": {"M": 4, "N": 4},
}


def profile_of(model: onnx.ModelProto, path: Any, dims: dict[str, int]) -> dict[str, Any]:
    path.write_bytes(model.SerializeToString())
    return json.loads(opscope.capture(path, dims=dims).profile().to_json())


@pytest.mark.parametrize("every", SCOPES)
def test_nothing_is_refused_and_little_is_unknown(every, tmp_path):
    cases = collected(every)
    assert len(cases) > (150 if every > 1 else 1800)
    refused, unknown = [], []
    for case in cases:
        path = tmp_path / "model.onnx"
        if case.name in NAMED:
            with pytest.raises(Error, match="is not known"):
                profile_of(case.model, path, {})
        try:
            totals = profile_of(case.model, path, NAMED.get(case.name, {}))["totals"]
        except Error as problem:
            refused.append(f"{case.name}: {problem}")
            continue
        if totals["confidence"] == "unknown":
            unknown.append(case.name)
    assert refused == []
    assert sorted(unknown) == sorted(case.name for case in cases if is_unknown(case.name))
    assert len(unknown) <= 27


# --- Shapes by rule alone: values that decide sizes are put into the file, and no output's shape is declared

BOUNDED = "depends on the data: the largest possible is counted"
OTHER_SHAPES = {
    "NonMaxSuppression": BOUNDED,
    "NonZero": BOUNDED,
    "StringNormalizer": BOUNDED,
    "StringSplit": "how many parts a text has is not known",
    "Unique": BOUNDED,
}
DTYPES = {
    TensorProto.FLOAT: "float32",
    TensorProto.UINT8: "uint8",
    TensorProto.INT8: "int8",
    TensorProto.UINT16: "uint16",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.STRING: "string",
    TensorProto.BOOL: "bool",
    TensorProto.FLOAT16: "float16",
    TensorProto.DOUBLE: "float64",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
    TensorProto.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    TensorProto.FLOAT8E5M2: "float8_e5m2",
    TensorProto.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    TensorProto.UINT4: "uint4",
    TensorProto.INT4: "int4",
    TensorProto.FLOAT4E2M1: "float4_e2m1",
    TensorProto.FLOAT8E8M0: "float8_e8m0fnu",
    TensorProto.UINT2: "uint2",
    TensorProto.INT2: "int2",
}


VALUED = ("bool", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64")


def decides_sizes(value: np.ndarray) -> bool:
    return value.size <= (64 if value.dtype.kind in "iub" else 8)


def with_values(case: Any) -> tuple[onnx.ModelProto, dict[str, int]]:
    """The case's model with its small inputs as initialisers, and the sizes of the dimensions that have names."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    kept, dims = [], {}
    for info, value in zip(case.model.graph.input, case.data_sets[0][0], strict=True):
        is_tensor = info.type.HasField("tensor_type") and (isinstance(value, np.ndarray) or np.isscalar(value))
        array = np.asarray(value) if is_tensor else None
        if array is not None and array.dtype.name in VALUED and decides_sizes(array):
            model.graph.initializer.append(numpy_helper.from_array(array, info.name))
            continue
        kept.append(info)
        if array is not None:
            names = (dim.dim_param for dim in info.type.tensor_type.shape.dim)
            dims.update({name: size for name, size in zip(names, array.shape, strict=True) if name})
    del model.graph.input[:]
    model.graph.input.extend(kept)
    for output in model.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    return model, dims


def expected(case: Any) -> list[tuple[list[int], str]] | None:
    """None where an output is no tensor."""
    types = [output.type.tensor_type.elem_type for output in case.model.graph.output]
    values = case.data_sets[0][1]
    if not all(isinstance(value, np.ndarray) or np.isscalar(value) for value in values):
        return None
    return [(list(np.shape(value)), DTYPES[type_]) for value, type_ in zip(values, types, strict=True)]


def other_shapes(cases: list[Any], folder: Any) -> Iterator[str]:
    for case in cases:
        wanted = expected(case)
        ops = {node.op_type for node in case.model.graph.node}
        if wanted is None or is_unknown(case.name) and "ImageDecoder" in ops or ops & OTHER_SHAPES.keys():
            continue
        model, dims = with_values(case)
        found = profile_of(model, folder / "model.onnx", dims)
        outputs = [(output["shape"], output["dtype"]) for output in found["outputs"]]
        if outputs != wanted or found["totals"]["confidence"] == "unknown":
            yield f"{case.name}: {outputs}, not {wanted}"


@pytest.mark.parametrize("every", SCOPES)
def test_the_rules_find_the_shapes_and_types_of_the_reference(every, tmp_path):
    assert list(other_shapes(collected(every), tmp_path)) == []
