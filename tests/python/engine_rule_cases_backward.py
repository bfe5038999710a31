"""Cases of the rules for gradients: what autograd asks for below it."""

from __future__ import annotations

import torch

from engine_rule_cases import Case, c, cl, f, i

ALL = [True, True, True]


def _pairs(*extra: object, **options: object) -> list[Case]:
    return [
        c(f(2, 3, 4), f(2, 3, 4), *extra, **options),
        c(f(4, 3).t(), f(4, 3).t(), *extra, **options),
        c(cl(2, 3, 4, 5), cl(2, 3, 4, 5), *extra, **options),
        c(f(2, 3, dtype=torch.bfloat16), f(2, 3, dtype=torch.bfloat16), *extra, **options),
        c(f(2, 3), f(2, 4), *extra, **options),
    ]


def _convolutions() -> list[Case]:
    def case(x: torch.Tensor, w: torch.Tensor, grad: tuple[int, ...], groups: int = 1, mask: list[bool] = ALL) -> Case:
        return c(f(*grad), x, w, [w.size(0)], [1, 1], [1, 1], [1, 1], False, [0, 0], groups, mask)

    x, w = f(2, 4, 7, 8), f(6, 4, 3, 3)
    return [
        case(x, w, (2, 6, 7, 8)),
        case(x, w, (2, 6, 7, 8), mask=[False, True, False]),
        case(x, w, (2, 6, 7, 8), mask=[True, False, True]),
        case(x, f(8, 2, 3, 3), (2, 8, 7, 8), groups=2),
        case(cl(2, 4, 7, 8), w, (2, 6, 7, 8)),
        case(x.double(), w.double(), (2, 6, 7, 8)),
        c(f(2, 6, 4, 4), x, w, [6], [2, 2], [1, 1], [1, 1], False, [0, 0], 1, ALL),
        case(x, w, (2, 6, 5, 8)),
    ]


def _batch_norms() -> list[Case]:
    x, s = f(2, 3, 4, 5), f(3)
    return [
        c(x, f(2, 3, 4, 5), s, s, s, s, s, True, 1e-5, ALL),
        c(x, f(2, 3, 4, 5), None, s, s, s, s, True, 1e-5, [True, False, False]),
        c(x, f(2, 3, 4, 5), s, s, s, s, s, False, 1e-5, ALL),
        c(cl(2, 3, 4, 5), cl(2, 3, 4, 5), s, s, s, s, s, True, 1e-5, ALL),
        c(f(4, 3), f(4, 3), s, s, s, s, s, True, 1e-5, ALL),
    ]


def _layer_norms() -> list[Case]:
    mean = f(2, 3, 1)
    return [
        c(f(2, 3, 4), f(2, 3, 4), [4], mean, mean, f(4), f(4), ALL),
        c(f(2, 4, 3).transpose(1, 2), f(2, 3, 4), [4], mean, mean, f(4), f(4), ALL),
        c(f(2, 3, 4), f(2, 3, 4), [4], mean, mean, f(4), f(4), [True, True, False]),
        c(f(2, 3, 4), f(2, 3, 4), [4], mean, mean, None, None, [True, False, False]),
    ]


def _pools() -> list[Case]:
    x = f(2, 3, 6, 6)
    grad, where = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    return [
        c(grad, x, [2, 2], [2, 2], [0, 0], [1, 1], False, where),
        c(grad.to(memory_format=torch.channels_last), cl(2, 3, 6, 6), [2, 2], [2, 2], [0, 0], [1, 1], False, where),
    ]


BACKWARD_CASES: dict[str, list[Case]] = {
    "_softmax_backward_data": [
        c(f(2, 3, 4), f(2, 3, 4), -1, torch.float32),
        c(f(2, 3, 4), f(2, 3, 4), 1, torch.float32),
        c(f(2, 3, 4).transpose(0, 1), f(3, 2, 4), -1, torch.float32),
        c(f(2, 3, 4), f(2, 3, 4), 5, torch.float32),
    ],
    "convolution_backward": _convolutions(),
    "embedding_dense_backward": [
        c(f(2, 3, 4), i(2, 3), 5, -1, False, known=(1,)),
        c(f(6, 4), i(6), 5, 0, False, known=(1,)),
        c(f(2, 3, 4), i(2, 3), 5, -1, False),
    ],
    "gelu_backward": [*_pairs(), *_pairs(approximate="tanh")],
    "hardsigmoid_backward": _pairs(),
    "hardtanh_backward": _pairs(0, 6),
    "leaky_relu_backward": _pairs(0.1, False),
    "max_pool2d_with_indices_backward": _pools(),
    "native_batch_norm_backward": _batch_norms(),
    "native_layer_norm_backward": _layer_norms(),
    "sigmoid_backward": _pairs(),
    "silu_backward": _pairs(),
    "tanh_backward": _pairs(),
    "threshold_backward": _pairs(0),
}
