"""Every op that PyTorch tests itself with is captured without data, has a cost, and gives what a real run gives.

The exceptions are in tables, each with its reason. A torch that lacks one of their ops, or has ops that no table
names, is no error of the tables.
"""

from __future__ import annotations

import pytest

pytest.importorskip("expecttest", reason="PyTorch's operator database needs it")

from opinfo import Outcome, entries, outcomes  # noqa: E402

# What a static capture has to refuse: Python asks for a number that only the data has.
REFUSED = {
    "allclose": "returns a Python bool of the data",
    "equal": "returns a Python bool of the data",
    "item": "returns a Python number of the data",
}
MOST_REFUSED = 24

# Sizes that depend on data are taken at their largest.
SIZED_BY_DATA = {
    "argwhere": "one row for each element that is not zero",
    "nonzero": "one row for each element that is not zero",
    "nonzero_static": "one row for each element that is not zero",
    "masked_select": "one element for each that the mask picks",
    "unique": "one element for each that differs",
    "unique_consecutive": "one element for each that differs",
}

# PyTorch's meta kernel, or its code for abstract tensors, gives another form than its CPU kernel.
OTHER_SHAPE = {
    "_native_batch_norm_legit": "the CPU leaves the saved statistics empty in evaluation, other devices do not",
}
OTHER_STRIDES = {
    "linalg.eig": "LAPACK's columns, unless the eigenvalues are real",
    "pca_lowrank": "its products of transposed factors",
    "svd_lowrank": "its products of transposed factors",
}


def judge(outcome: Outcome) -> list[str]:
    """What is wrong with a call; nothing where it is as it should be."""
    if outcome.abstract is None:
        return [] if outcome.name in REFUSED else [f"refused: {outcome.error}"]
    wrong = [f"no cost for {op}" for op in outcome.unknown]
    real, abstract = outcome.real or [], outcome.abstract
    if [(form.shape, form.dtype) for form in real] != [(form.shape, form.dtype) for form in abstract]:
        if outcome.name not in SIZED_BY_DATA and outcome.name not in OTHER_SHAPE:
            wrong.append(f"really {real}, captured {abstract}")
    elif outcome.name not in OTHER_STRIDES:
        wrong += [f"really {a}, captured {b}" for a, b in zip(real, abstract, strict=True) if a.strides and a.strides != b.strides]
    return wrong


def check(chosen: list) -> int:
    """How many calls there were."""
    found = list(outcomes(chosen))
    wrong = [f"{outcome}: {problem}" for outcome in found for problem in judge(outcome)]
    assert not wrong, "\n".join(wrong)
    refused = [str(outcome) for outcome in found if outcome.abstract is None]
    assert len(refused) <= MOST_REFUSED, refused
    return len(found)


def test_every_tenth_op() -> None:
    assert check(entries()[::10]) > 400


@pytest.mark.slow
def test_every_op() -> None:
    assert check(entries()) > 4500
