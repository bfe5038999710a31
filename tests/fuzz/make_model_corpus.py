"""Writes tests/fuzz/pt2_corpus and onnx_corpus: small good files, and one of each kind that means harm.

    python tests/fuzz/make_model_corpus.py

What fuzzing finds is added beside them by hand and stays.
"""

import importlib
import json
import pathlib
import shutil
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case import node as node_cases

HERE = pathlib.Path(__file__).parent
FILES = HERE.parent / "readers" / "files"


def pt2_graphs():
    """Name -> (program, weights) of the small exported files, without what the reader does not look at."""
    for path in sorted(FILES.glob("*.pt2")):
        with zipfile.ZipFile(path) as archive:
            members = {name.split("/")[-1]: archive.read(name) for name in archive.namelist() if name.endswith(".json")}
        program = json.loads(members["model.json"])
        program["graph_module"]["module_call_graph"] = program["graph_module"]["module_call_graph"][1:]
        for node in program["graph_module"]["graph"]["nodes"]:
            node["metadata"] = {key: value for key, value in node["metadata"].items() if key == "nn_module_stack"}
        yield path.stem, program, json.loads(members["model_weights_config.json"])


def changed(program, change):
    copy = json.loads(json.dumps(program))
    change(copy["graph_module"]["graph"], copy)
    return copy


def write_pt2(folder):
    good = {name: (program, weights) for name, program, weights in pt2_graphs()}
    program = good["cnn"][0]
    cases = dict(good)
    huge = {"as_int": 2**62}
    cases["huge"] = (changed(program, lambda g, _: [m.update(sizes=[huge] * len(m["sizes"])) for m in g["tensor_values"].values()]), {})
    cases["negative"] = (changed(program, lambda g, _: g["tensor_values"]["x"]["sizes"].insert(0, {"as_int": -5})), {})
    cases["cycle"] = (changed(program, lambda g, _: g["nodes"].reverse()), {})
    cases["no_shape"] = (changed(program, lambda g, _: g["tensor_values"].pop("linear")), {})
    cases["expression"] = (
        changed(program, lambda g, _: g["tensor_values"]["x"].update(sizes=[{"as_expr": {"expr_str": "(" * 300}}])),
        {},
    )
    for name, (graph, weights) in cases.items():
        text = json.dumps(graph, separators=(",", ":")) + "\n#weights\n" + json.dumps(weights, separators=(",", ":"))
        (folder / f"{name}.json").write_text(text)
    (folder / "nested.json").write_text('{"graph_module":' * 2000)
    (folder / "empty").write_text("")
    for path in FILES.glob("*.pt2"):
        shutil.copy(path, folder)
    whole = (FILES / "cnn.pt2").read_bytes()
    (folder / "cut_off.pt2").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(folder / "bomb.pt2", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("m/models/model.json"), b" " * (1 << 25), zipfile.ZIP_DEFLATED)


def value(name, *shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def saved(folder, name, nodes, inputs, outputs, initialisers=(), functions=(), opset=23):
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=one) for one in outputs], list(initialisers))
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1), helper.make_opsetid("com.microsoft", 1)]
    (folder / f"{name}.onnx").write_bytes(
        helper.make_model(graph, opset_imports=opsets, functions=list(functions)).SerializeToString()
    )


def numbers(name, *items):
    return numpy_helper.from_array(np.array(items, dtype=np.int64), name)


def write_onnx(folder):
    node = helper.make_node
    for path in FILES.glob("*.onnx"):
        shutil.copy(path, folder)
    saved(folder, "cycle", [node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"])], [], ["a"])
    saved(folder, "huge", [node("MatMul", ["x", "x"], ["y"])], [value("x", 2**62, 2**62)], ["y"])
    shapes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["b"]), node("Concat", ["b", "rest"], ["t"], axis=0),
              node("Reshape", ["x", "t"], ["r"]), node("Slice", ["r", "zero", "one", "one", "one"], ["c"]),
              node("Transpose", ["c"], ["d"]), node("Squeeze", ["d"], ["e"]), node("Expand", ["e", "rest"], ["y"])]  # fmt: skip
    constants = [numbers("zero", 0), numbers("one", 1), numbers("rest", 2, 3)]
    saved(folder, "shapes", shapes, [value("x", "batch", 6)], ["y"], constants)
    layers = [node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), node("BatchNormalization", ["a", "g", "g", "g", "g"], ["b"]),
              node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
              node("Resize", ["c", "", "", "sizes"], ["d"], mode="linear"), node("GlobalAveragePool", ["d"], ["e"]),
              node("Flatten", ["e"], ["f"]), node("Gemm", ["f", "v"], ["y"], transB=1)]  # fmt: skip
    weights = [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in (("w", (4, 3, 3, 3)), ("g", (4,)), ("v", (2, 4)))]
    saved(folder, "layers", layers, [value("x", 1, 3, 7, 7)], ["y"], [*weights, numbers("sizes", 1, 4, 9, 9)])
    fused = [node("LayerNormalization", ["x", "g"], ["a"]), node("Attention", ["a", "a", "a"], ["b"], q_num_heads=2, kv_num_heads=2),
             node("SkipLayerNormalization", ["b", "x", "g", "g"], ["c"], domain="com.microsoft"), node("Einsum", ["c", "c"], ["d"], equation="bij,bkj->bik"),
             node("Softmax", ["d"], ["e"]), node("TopK", ["e", "two"], ["f", "i"]), node("NonZero", ["f"], ["y"])]  # fmt: skip
    saved(folder, "fused", fused, [value("x", 2, 5, 4)], ["y"], [weights[1], numbers("two", 2)])
    lstm = [node("LSTM", ["x", "w", "r"], ["a", "h", "c"], hidden_size=5), node("Split", ["a", "parts"], ["p", "q"]), node("Mul", ["p", "q"], ["y"])]
    recurrent = [numpy_helper.from_array(np.zeros(shape, np.float32), name) for name, shape in (("w", (1, 20, 6)), ("r", (1, 20, 5)))]
    saved(folder, "lstm", lstm, [value("x", 4, 2, 6)], ["y", "h"], [*recurrent, numbers("parts", 2, 2)])
    branch = helper.make_graph([node("Relu", ["x"], ["a"])], "b", [], [value("a", 2)])
    saved(folder, "branch", [node("If", ["flag"], ["y"], then_branch=branch, else_branch=branch), node("Loop", ["", "flag", "y"], ["z"], body=branch)],
          [value("x", 2), value("flag", kind=TensorProto.BOOL)], ["z"])  # fmt: skip
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("local", 1)]
    again = helper.make_function("local", "F", ["a"], ["b"], [node("F", ["a"], ["b"], domain="local")], opsets)
    saved(folder, "endless", [node("F", ["x"], ["y"], domain="local")], [value("x", 2)], ["y"], functions=[again])
    twice = helper.make_function("local", "F", ["a"], ["b"], [node("Relu", ["a"], ["c"]), node("Relu", ["c"], ["b"])], opsets)
    saved(folder, "function", [node("F", ["x"], ["y"], domain="local")], [value("x", 2)], ["y"], functions=[twice])
    saved(folder, "unknown", [node("Mystery", ["x"], ["a"], domain="of.mine"), node("Relu", ["a"], ["y"])], [value("x", 2)], ["y"])
    quantised = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("QLinearConv", ["q", "s", "z", "w", "s", "z", "s", "z"], ["c"]),
                 node("DequantizeLinear", ["c", "s", "z"], ["y"])]  # fmt: skip
    small = [numpy_helper.from_array(np.array(1, np.float32), "s"), numpy_helper.from_array(np.array(0, np.uint8), "z"),
             numpy_helper.from_array(np.zeros((4, 3, 3, 3), np.uint8), "w")]  # fmt: skip
    saved(folder, "quantised", quantised, [value("x", 1, 3, 7, 7)], ["y"], small)
    whole = (folder / "layers.onnx").read_bytes()
    (folder / "cut_off.onnx").write_bytes(whole[: len(whole) // 2])


# Of ONNX's own node tests: control flow, sequences, texts and small types.
SUITE = {
    "adam": "test_adam_multiple",
    "ai_onnx_ml.tree_ensemble": "test_ai_onnx_ml_tree_ensemble_set_membership",
    "cast": "test_cast_FLOAT16_to_INT2",
    "dft": "test_dft",
    "flexattention": "test_flexattention_causal_mask",
    "if_": "test_if_opt",
    "loop": "test_loop13_seq",
    "scan": "test_scan9_sum",
    "sequence_map": "test_sequence_map_add_2_sequences_expanded",
    "string_split": "test_string_split_basic",
}


def write_suite(folder):
    for module in SUITE:
        importlib.import_module(f"{node_cases.__name__}.{module}")
    models = {case.name: case.model for case in node_cases._NodeTestCases}
    for name in SUITE.values():
        (folder / f"{name}.onnx").write_bytes(models[name].SerializeToString())


def main():
    for name, write in (("pt2_corpus", write_pt2), ("onnx_corpus", write_onnx), ("onnx_corpus", write_suite)):
        folder = HERE / name
        folder.mkdir(exist_ok=True)
        write(folder)


if __name__ == "__main__":
    main()
