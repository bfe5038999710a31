"""Cases of the rules for factorisations, least squares and histograms. Random matrices have full rank."""

from __future__ import annotations

import torch

from engine_rule_cases import Case, c, f

SHAPES = [(4, 4), (5, 3), (3, 5), (2, 5, 3), (2, 2, 3, 4), (1, 1)]
DRIVERS = [None, "gels", "gelsy", "gelsd", "gelss"]


def _matrices(*args) -> list[Case]:
    shaped = [c(torch.randn(*shape), *args) for shape in SHAPES]
    typed = [c(torch.randn(5, 3, dtype=d), *args) for d in (torch.float64, torch.complex64)]
    return shaped + typed + [c(torch.randn(3, 5).t(), *args), c(torch.randn(0, 3), *args), c(torch.randn(4), *args)]


def _least_squares() -> list[Case]:
    cases = []
    for driver in DRIVERS:
        for shape in SHAPES:
            a = torch.randn(*shape)
            cases += [c(a, torch.randn(*shape[:-1], 2), driver=driver), c(a, torch.randn(*shape[:-1]), driver=driver)]
    a, b = torch.randn(5, 3, dtype=torch.complex64), torch.randn(5, 2, dtype=torch.complex64)
    wrong = [c(f(5, 3), f(4, 2)), c(f(5, 3), f(2, 5, 2)), c(f(5, 3), f(5, 2).double())]
    return [*cases, c(a, b), c(a, b, driver="gelsd"), *wrong]


def _columns(*args) -> list[Case]:
    return [c(torch.randn(6, 3), *args), c(torch.randn(2, 6, 3), *args), c(torch.randn(6, 2), *args)]


LINALG_CASES = {
    "geqrf": _matrices(),
    "linalg_lstsq": _least_squares(),
    "histogram.bin_ct": [c(f(4, 5), 7), c(f(4, 5).double(), 3, range=[0.0, 1.0]), c(f(4, 5), 0),
        c(f(6), 3, weight=f(6)), c(f(2, 3), 2, density=True)],
    "histogram.bins_tensor": [c(f(4, 5), torch.linspace(0, 1, 5)), c(f(4), torch.linspace(0, 1, 5).double()),
        c(f(4), f(2, 2))],
    "_histogramdd_bin_edges": _columns([2, 3, 4]),
    "_histogramdd_from_bin_cts": _columns([2, 3, 4]),
    "_histogramdd_from_bin_tensors": _columns([torch.linspace(0, 1, n) for n in (3, 4, 5)]),
}
