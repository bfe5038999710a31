"""Descriptors: a caller's own words for tensors and subgraphs, with the core's numbers."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import opscope
import tracer_models
from opscope import SubgraphDescriptor, TensorDescriptor, UnifiedAnalyzer
from opscope.dynamo import DynamoGraphExtractor, trace_model_with_dynamo

X = torch.ones(2, 4)


def tensor(*shape: int, name: str = "", dtype: str = "float32") -> TensorDescriptor:
    return TensorDescriptor(shape, dtype, name)


def test_a_tensor_knows_its_size() -> None:
    found = TensorDescriptor((2, 3), torch.float16, "x")
    assert (found.size, found.bytes, found.name) == (6, 12, "x")
    assert TensorDescriptor([2, 3], "bfloat16") == TensorDescriptor((2, 3), torch.bfloat16)
    with pytest.raises(opscope.Error, match="no dtype"):
        TensorDescriptor((1,), "float31")


@pytest.mark.parametrize("shape", ["abc", (1, -3), 5, None, (1.5,), [[1]]])
def test_what_is_no_shape_is_refused(shape: object) -> None:
    with pytest.raises(opscope.Error, match="is not a shape") as refused:
        TensorDescriptor(shape)  # type: ignore[arg-type]
    assert "(1, 3, 224, 224)" in refused.value.hint


@pytest.mark.parametrize("name", ["conv2d", "torch.conv2d", "torch.nn.functional.conv2d", "aten.conv2d.default", "aten::conv2d"])
def test_one_operation_is_priced_by_its_shapes(name: str) -> None:
    found = SubgraphDescriptor(
        [name], [tensor(1, 3, 32, 32)], [tensor(1, 8, 16, 16)], [tensor(8, 3, 3, 3), tensor(8)], attributes={"stride": [2, 2]}
    )
    assert found.macs == 8 * 16 * 16 * 3 * 3 * 3
    assert found.bytes == 4 * (3 * 32 * 32 + 8 * 16 * 16 + 8 * 3 * 3 * 3 + 8)
    assert found.flops == 2 * found.macs + 8 * 16 * 16 and found.confidence == "exact"
    assert found.arithmetic_intensity == pytest.approx(found.flops / found.bytes)


def test_several_operations_are_what_is_declared_or_unknown() -> None:
    given = (["add", "mul"], [tensor(4)], [tensor(4)])
    assert SubgraphDescriptor(*given).confidence == "unknown"
    declared = SubgraphDescriptor(*given, declared_macs=5, declared_flops=12, declared_bytes=32)
    assert (declared.macs, declared.flops, declared.bytes) == (5, 12, 32)


@pytest.mark.parametrize("operations", [["nonsense"], [], ["add", "mul"], ["conv2d"]])
def test_what_nobody_knows_is_none_and_not_nothing(operations: list[str]) -> None:
    found = SubgraphDescriptor(operations, [tensor(4)], [tensor(4)])
    assert (found.macs, found.flops, found.arithmetic_intensity, found.confidence) == (None, None, None, "unknown")
    assert found.bytes == 2 * 4 * 4
    assert UnifiedAnalyzer().analyze(found).coverage.unknown == 1


def test_operations_and_tensors_that_are_none_are_refused() -> None:
    assert SubgraphDescriptor("relu", [tensor(4)], [tensor(4)]).flops == 4
    with pytest.raises(opscope.Error, match="not names of operations"):
        SubgraphDescriptor([torch.relu])  # type: ignore[list-item]
    with pytest.raises(opscope.Error, match="'x' is not a TensorDescriptor"):
        SubgraphDescriptor(["relu"], ["x"])  # type: ignore[list-item]


def test_a_list_is_a_profile_with_a_layer_each() -> None:
    conv = SubgraphDescriptor(["conv2d"], [tensor(1, 3, 8, 8, name="x")], [tensor(1, 4, 8, 8, name="y")], [tensor(4, 3, 1, 1)], "stem.conv")
    relu = SubgraphDescriptor(["relu"], [tensor(1, 4, 8, 8, name="y")], [tensor(1, 4, 8, 8)], name="stem.relu")
    profile = UnifiedAnalyzer().analyze([conv, relu])
    assert [row.name for row in profile.layers] == ["stem.conv", "stem.relu"]
    assert profile.totals.params == 4 * 3 and profile.totals.macs == conv.macs and len(profile.inputs) == 1
    assert UnifiedAnalyzer("macs").analyze(conv).totals.flops == conv.macs


def test_everything_gives_the_same_numbers() -> None:
    model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 4)).eval()
    backend = DynamoGraphExtractor()
    torch.compile(model, backend=backend)(X)
    analyzer, module = UnifiedAnalyzer(), torch.fx.symbolic_trace(model)
    expected = opscope.profile(model, X).totals
    ways = [
        (model, X), (module, X), (backend, None), (trace_model_with_dynamo(model, X, verbose=False), None),
        (opscope.trace(model, X, tracer="export"), None), (analyzer.subgraphs(model, X), None),
        (analyzer.subgraphs(module, X), None), (analyzer.subgraphs(backend), None), (backend.graph_modules[0], None),
    ]  # fmt: skip
    for what, inputs in ways:
        found = analyzer.analyze(what, inputs).totals
        assert (found.macs, found.flops, found.memory_bytes) == (expected.macs, expected.flops, expected.memory_bytes)


def test_partitions_that_share_names_stay_apart() -> None:
    model, inputs = tracer_models.make("breaks")
    torch._dynamo.reset()
    backend = DynamoGraphExtractor()
    torch.compile(model, backend=backend)(inputs)
    subgraphs = UnifiedAnalyzer().subgraphs(backend)
    assert [each.name.partition(".")[0] for each in subgraphs if each.macs] == ["1", "2", "3"]
    found = UnifiedAnalyzer().analyze(backend).totals
    assert found.macs == 2 * (4 * 4 + 4 * 6 + 6 * 2) and found.params == sum(p.numel() for p in model.parameters())


def test_subgraphs_say_what_they_run_and_on_what() -> None:
    first, second = UnifiedAnalyzer().subgraphs(torch.fx.symbolic_trace(nn.Sequential(nn.Linear(4, 5), nn.ReLU())), X)
    assert first.operations == ["Linear"] and second.operations == ["ReLU"]
    assert first.input_tensors == [tensor(2, 4, name="input_1")]
    assert first.output_tensors == list(second.input_tensors) == [tensor(2, 5, name="_0")]


def test_the_seeds_loop_over_nodes_works() -> None:
    """Seed 004: descriptors made by hand from an extractor's nodes and their metadata."""
    extractor = trace_model_with_dynamo(nn.Sequential(nn.Linear(4, 5), nn.ReLU()).eval(), X, verbose=False)
    subgraphs = []
    for node in extractor.graph_modules[0].graph.nodes:
        if node.op == "call_function":
            described = [
                TensorDescriptor(tuple(each.meta["tensor_meta"].shape), each.meta["tensor_meta"].dtype, each.name)
                for each in (*node.all_input_nodes, node)
            ]
            subgraphs.append(SubgraphDescriptor([node.target.__name__], described[:-1], described[-1:], name=node.name))
    totals = UnifiedAnalyzer().analyze(subgraphs).totals
    assert totals.macs == 2 * 4 * 5 and totals.flops == 2 * 2 * 4 * 5 + 2 * 5 + 2 * 5
