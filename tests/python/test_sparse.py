"""Sparse operands are priced by what they store: MACs, bytes read and written, and the bytes of parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import opscope
from engine_helpers import called, graph_of

SIZE, COLUMNS = 1000, 16
X = torch.randn(SIZE, COLUMNS)
EYE = torch.eye(SIZE)
DENSE = SIZE * COLUMNS * 4  # bytes of X, and of a product with it


class Graph(nn.Module):
    """A layer over a fixed sparse matrix."""

    def __init__(self, matrix: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("matrix", matrix)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.matrix @ x


LAYOUTS = {
    # values, then indices: two a value; or one a value and one a row; or of blocks
    "coo": (EYE.to_sparse(), SIZE, SIZE * 2 * 8),
    "csr": (EYE.to_sparse_csr(), SIZE, (SIZE + SIZE + 1) * 8),
    "csc": (EYE.to_sparse_csc(), SIZE, (SIZE + SIZE + 1) * 8),
    "bsr": (EYE.to_sparse_bsr((10, 10)), 100 * 100, (100 + 101) * 8),
    "bsc": (EYE.to_sparse_bsc((10, 10)), 100 * 100, (100 + 101) * 8),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tracer", ["static", "eager"])
def test_a_product_costs_what_is_stored(layout: str, tracer: str) -> None:
    matrix, stored, index_bytes = LAYOUTS[layout]
    if tracer == "eager" and layout in ("csc", "bsc"):
        pytest.skip("PyTorch has no kernel for it on every CPU")
    result = opscope.profile(Graph(matrix), X, tracer=tracer)
    assert result.totals.macs == stored * COLUMNS
    assert result.totals.memory_bytes == stored * 4 + index_bytes + 2 * DENSE
    assert result.coverage.unknown == 0
    assert {op["confidence"] for op in result.to_dict()["ops"]} == {"exact"}


def macs(function, *inputs: torch.Tensor) -> tuple[int, str]:
    result = opscope.profile(called(function), inputs, tracer="static")
    assert result.coverage.unknown == 0, result.coverage.unknown_ops
    words = ["exact", "estimated", "upper_bound"]
    return result.totals.macs, max((op["confidence"] for op in result.to_dict()["ops"]), key=words.index)


COO, CSR = LAYOUTS["coo"][0], LAYOUTS["csr"][0]
PRODUCTS = {
    "input": lambda a, c, x: a @ x,
    "sparse.mm": lambda a, c, x: torch.sparse.mm(a, x),
    "sparse.mm of csr": lambda a, c, x: torch.sparse.mm(c, x),
    "sparse.addmm": lambda a, c, x: torch.sparse.addmm(x, a, x),
    "reduce": lambda a, c, x: torch.sparse.mm(c, x, "sum"),
    "linear": lambda a, c, x: nn.functional.linear(x.t(), c),
    "transposed": lambda a, c, x: a.t() @ x,
    "scaled": lambda a, c, x: (a * 2) @ x,
    "coalesced": lambda a, c, x: a.coalesce() @ x,
    "softmax": lambda a, c, x: torch.sparse.softmax(a, 1) @ x,
    "sampled": lambda a, c, x: torch.sparse.sampled_addmm(c, x, x.t()),
    "asked": lambda a, c, x: torch.sparse.mm(a, x) if a.is_sparse and a._nnz() == SIZE else x,
    "built": lambda a, c, x: torch.sparse_coo_tensor(torch.arange(SIZE).repeat(2, 1), x[:, 0], (SIZE, SIZE)) @ x,
    "diagonal": lambda a, c, x: torch.sparse.spdiags(torch.ones(1, SIZE), torch.tensor([0]), (SIZE, SIZE)) @ x,
    "made of known data": lambda a, c, x: torch.eye(SIZE).to_sparse() @ x,
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_the_pattern_is_followed(name: str) -> None:
    assert macs(PRODUCTS[name], COO, CSR, X) == (SIZE * COLUMNS, "exact")


def test_two_sparse_matrices_are_an_estimate() -> None:
    assert macs(lambda a: a @ a, COO) == (SIZE * SIZE // SIZE, "estimated")


def test_an_unknown_pattern_is_an_upper_bound() -> None:
    dense = torch.randn(100, 200)
    work = macs(lambda a, x: a.to_sparse() @ x, dense, torch.randn(200, 3))
    assert work == (100 * 200 * 3, "upper_bound")
    limited = opscope.profile(called(lambda a, x: a.to_sparse() @ x), (dense, torch.randn(200, 3)), limits={"nonzero": 50})
    assert limited.totals.macs == 50 * 3


def test_what_becomes_dense_is_dense() -> None:
    assert macs(lambda a, x: a.to_dense() @ x, COO, X)[0] == SIZE * SIZE * COLUMNS
    saved = graph_of(called(lambda a: torch.sparse.sum(a, 1).to_dense()), COO)
    assert saved["values"][saved["outputs"][0]]["shape"] == [SIZE]


def test_a_sparse_parameter_has_the_bytes_of_its_values_and_indices() -> None:
    class Sparse(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(COO)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sparse.mm(self.weight, x)

    model = Sparse()
    result = opscope.profile(model, X)
    assert result.totals.param_bytes == SIZE * 4 + SIZE * 2 * 8
    assert result.totals.macs == SIZE * COLUMNS
    assert torch.equal(model.weight.to_dense(), EYE)


def test_the_capture_keeps_the_form() -> None:
    saved = graph_of(Graph(CSR), X)
    forms = [value["sparse"] for value in saved["values"] if "sparse" in value]
    assert forms == [{"layout": "sparse_csr", "stored": SIZE, "index_bytes": (2 * SIZE + 1) * 8}]


def test_a_sparse_gradient_is_the_rows_that_were_read() -> None:
    def backward(sparse: bool) -> dict:
        model = nn.Sequential(nn.Embedding(10_000, 64, sparse=sparse))
        result = opscope.profile(model, torch.arange(20), training=True)
        assert result.coverage.unknown == 0, result.coverage.unknown_ops
        return next(op for op in result.to_dict()["ops"] if op["op"] == "aten::embedding_backward")

    rows, ids = 20 * 64 * 4, 20 * 8
    assert backward(False)["memory_bytes"] >= 10_000 * 64 * 4
    assert backward(True)["flops"] == 0
    assert backward(True)["memory_bytes"] == rows + ids + rows + ids  # read, and written


def test_the_users_matrix_is_left_alone() -> None:
    matrix = (EYE * 3).to_sparse()

    def forward(a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        a.mul_(2)
        return a @ x

    macs(forward, matrix, X)
    assert torch.equal(matrix.to_dense(), EYE * 3)
