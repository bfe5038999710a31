"""Cases of the rules for layers: products, convolutions, normalisation, pooling, resizing, recurrence."""

from __future__ import annotations

import torch

from engine_rule_cases import CL, CL3, DTYPES, Case, c, cl, each, f, layouts, typed


def _convs(rank: int) -> list[Case]:
    space = (7, 8, 6)[:rank]
    kernel = (3, 2, 3)[:rank]
    x, w = f(2, 4, *space), f(6, 4, *kernel)
    ones = (1,) * rank
    cases = [
        c(x, w), c(x, w, f(6)), c(x, w, None, [2], [1], [1], 1),
            c(x, w, None, [2] * rank, [1] * rank, [2] * rank, 1),
        c(x, f(6, 2, *kernel), None, ones, (0,) * rank, ones, 2),
            c(x, f(4, 1, *kernel), f(4), ones, ones, ones, 4),
        c(x, f(6, 4, *ones)), c(f(1, 1, *space), f(1, 1, *kernel)), c(x[:, :3], w), c(x, w, f(5)),
        c(x, f(6, 4, *(20,) * rank)), c(x, w, None, ones, (0,) * rank, ones, 3), c(f(4, *space), w),
            c(f(0, 4, *space), w),
        c(x, w.double()), c(f(2, 4, *space[::-1]).transpose(-1, -2) if rank > 1 else x, w), c(x, w, None, [0]),
        c(x.expand(2, 4, *space), w),
    ] + [c(x.to(d), w.to(d), f(6, dtype=d)) for d in (torch.float64, torch.bfloat16, torch.float16)]
    if rank > 1:
        form = CL if rank == 2 else CL3
        for d in (torch.float32, torch.float64, torch.bfloat16):
            cases += [c(x.to(d, memory_format=form), w.to(d)), c(x.to(d), w.to(d, memory_format=form)),
                      c(x.to(d, memory_format=form), f(4, 1, *ones, dtype=d), None, ones, (0,) * rank, ones, 4)]
    else:
        cases += [c(f(2, 7, 4).transpose(1, 2), w), c(x, f(6, 3, 4).transpose(1, 2))]
    return cases


def _conv_padding(rank: int) -> list[Case]:
    x, w = f(2, 4, *(7, 8, 6)[:rank]), f(6, 4, *(3, 2, 3)[:rank])
    return [c(x, w, None, [1], "same"), c(x, w, None, [2], "valid"), c(x, w, None, [2], "same"),
            c(x, w, None, [1], "same", [2]), c(x, w, None, [1], "other")]


def _conv_transposes(rank: int) -> list[Case]:
    x, w = f(2, 4, *(7, 8, 6)[:rank]), f(4, 6, *(3, 2, 3)[:rank])
    cases = [
        c(x, w), c(x, w, f(6)), c(x, w, None, [2], [1], [1]), c(x, w, None, [2], [1], [0], 2),
            c(x, w, None, [3], [0], [2], 1, [2]),
        c(x, w, None, [2], [1], [2]), c(x[:, :3], w), c(x.double(), w.double()), c(x.bfloat16(), w.bfloat16()),
    ]
    if rank > 1:
        form = CL if rank == 2 else CL3
        cases += [c(x.to(memory_format=form), w), c(x, w.to(memory_format=form)),
            c(x.double().to(memory_format=form), w.double())]
    return cases


def _convolutions(*extra) -> list[Case]:
    x, w = f(2, 4, 7, 8), f(6, 4, 3, 3)
    return [
        c(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, *extra),
        c(cl(2, 4, 7, 8), w, f(6), [2, 2], [1, 1], [1, 1], False, [0, 0], 1, *extra),
        c(x, f(4, 6, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 1], 1, *extra),
        c(f(2, 4, 7), f(6, 4, 3), None, [1], [1], [1], False, [0], 1, *extra),
        c(x, f(6, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, *extra),
    ]


def _attention() -> list[Case]:
    q, k = f(2, 4, 5, 8), f(2, 4, 6, 8)
    packed = f(2, 5, 3, 4, 8)
    qt = f(2, 5, 4, 8).transpose(1, 2)
    return [
        c(q, k, k), c(q, q, q, None, 0.0, True), c(qt, qt, qt), c(*packed.transpose(1, 3).unbind(2)),
        c(*packed.permute(2, 0, 3, 1, 4).unbind(0)), c(qt, qt, qt, torch.ones(5, 5, dtype=torch.bool)),
            c(qt, qt, qt, f(2, 1, 5, 5)),
        c(qt, qt, qt, f(4, 5, 5)), c(qt, qt, qt, None, 0.5), c(q, k, f(2, 4, 6, 16)),
            c(f(3, 5, 8), f(3, 6, 8), f(3, 6, 8)),
        c(f(5, 8), f(6, 8), f(6, 8)), c(f(2, 2, 4, 5, 8), f(2, 2, 4, 6, 8), f(2, 2, 4, 6, 8)),
            c(q, f(1, 4, 6, 8), f(1, 4, 6, 8)),
        c(qt, f(2, 2, 6, 8), f(2, 2, 6, 8), enable_gqa=True), c(qt, f(2, 1, 6, 8), f(2, 1, 6, 8)),
        c(qt, f(2, 1, 6, 8), f(2, 4, 6, 8)), c(qt, f(2, 2, 6, 8), f(2, 2, 6, 8)),
            c(qt, k, f(2, 4, 7, 8)),
        c(f(2, 4, 8, 5).transpose(2, 3), k, k), c(qt, qt, qt, f(5, 5), 0.0, True), c(q, k[..., :7], k),
            c(qt, qt, qt, f(5, 7)),
        *(c(qt.to(d), qt.to(d), qt.to(d)) for d in (torch.float64, torch.bfloat16, torch.float16)),
        c(qt, qt, qt, f(5, 5, dtype=torch.float64)), c(qt[:, :, :1], k, k),
            c(f(1, 1, 4, 8).transpose(1, 2), f(1, 4, 6, 8), f(1, 4, 6, 8)),
    ]


def _pools(rank: int, average: bool) -> list[Case]:
    x = f(2, 3, *(9, 8, 7)[:rank])
    inputs = [x, x[0], x.double(), x.bfloat16(), x.transpose(0, 1)]
    inputs += [cl(2, 3, *(9, 8, 7)[:rank])] if rank > 1 else [f(2, 9, 3).transpose(1, 2)]
    inputs += [cl(1, 3, 9, 8, 7)[0]] if rank == 3 else []
    middle = () if average else ([1],)
    cases = [c(a, [2]) for a in inputs]
    cases += [c(x, [3], [2], [1], *middle, True), c(x, [3], [2], [1], *middle, False),
        c(x, [2] * rank, [3] * rank), c(x, [3], [2], [2]),
              c(x, [20]), c(x, [3], [2], [0], *middle, True), c(x, [5], [4], [2], *middle, True), c(f(0, 3,
                  *(9, 8, 7)[:rank]), [2])]
    if not average:
        cases += [c(x, [2], [1], [1], [2]), c(x, [2], [2], [0], [3], True)]
    return cases


def _adaptive(rank: int) -> list[Case]:
    x = f(2, 3, *(9, 8, 7)[:rank])
    inputs = [x, x[0], x.double(), x.transpose(0, 1)]
    inputs += [cl(2, 3, *(9, 8, 7)[:rank])] if rank > 1 else [f(2, 9, 3).transpose(1, 2)]
    return [c(a, [size] * rank) for a in inputs for size in (1, 3, 10)] + [c(x, [0] * rank),
        c(f(3), [1] * rank)]


def _upsample(rank: int, *options) -> list[Case]:
    x = f(2, 3, *(5, 6, 7)[:rank])
    extra = [cl(2, 3, *(5, 6, 7)[:rank])] if rank > 1 else [f(2, 5, 3).transpose(1, 2)]
    return [c(a, [9] * rank, *options) for a in [x, x.double(), x.transpose(0, 1), *extra]] + [
        c(x[0], [9] * rank, *options), c(x, [0] * rank, *options), c(x, [9] * (rank + 1), *options)]


def _upsample_vec(rank: int, *options) -> list[Case]:
    x = f(2, 3, *(5, 6, 7)[:rank])
    extra = [cl(2, 3, *(5, 6, 7)[:rank])] if rank > 1 else []
    return [c(a, None, *options, [scale] * rank) for a in [x, x.double(), *extra] for scale in (2.0, 0.5,
        1.7)] + [
        c(x, [9] * rank, *options, None), c(x, None, *options, None)]


def _grids() -> list[Case]:
    x = f(2, 3, 4, 4)
    return [c(x, f(2, 5, 6, 2), 0, 0, False), c(cl(2, 3, 4, 4), f(2, 5, 6, 2), 2, 1, True),
            c(x, f(3, 5, 6, 2), 0, 0, False), c(x, f(2, 5, 6, 3), 0, 0, False)]


def _recurrent(gates: int) -> list[Case]:
    cases = []
    for layers, both, first, biases in ((1, False, False, True), (2, True, True, True), (2, False, True,
        False), (1, True, False, False)):
        directions = 2 if both else 1
        params = []
        for layer in range(layers):
            for _ in range(directions):
                width = 3 if layer == 0 else 4 * directions
                params += [f(gates * 4, width), f(gates * 4, 4)] + ([f(gates * 4),
                    f(gates * 4)] if biases else [])
        hidden = f(layers * directions, 5 if first else 2, 4)
        state = [hidden, hidden.clone()] if gates == 4 else hidden
        cases.append(c(f(5, 2, 3), state, params, biases, layers, 0.0, False, both, first))
        cases.append(c(f(5, 2, 7), state, params, biases, layers, 0.0, False, both, first))
    return cases


def _cells(gates: int) -> list[Case]:
    state = [f(2, 4), f(2, 4)] if gates == 4 else f(2, 4)
    weights = (f(gates * 4, 3), f(gates * 4, 4))
    return [c(f(2, 3), state, *weights), c(f(2, 3), state, *weights, f(gates * 4), f(gates * 4)),
        c(f(2, 5), state, *weights)]


def _batch_norms(*tail) -> list[Case]:
    cases = []
    for x in (f(2, 3), f(2, 3, 4), f(2, 3, 4, 5), cl(2, 3, 4, 5), cl(2, 3, 2, 4, 5), f(2, 4, 3).transpose(1,
        2), f(3, 2, 4, 5).transpose(0, 1),
              f(2, 3, 4, 8)[..., ::2], f(2, 3, 4, 5, dtype=torch.float64)):
        v = f(3, dtype=x.dtype)
        cases += [c(x, v, v, v, v, False, 0.1, 1e-5, *tail), c(x, None, None, v, v, True, 0.1, 1e-5, *tail)]
    return cases + [c(f(2, 3, 4), f(4), f(3), f(3), f(3), False, 0.1, 1e-5, *tail),
        c(f(2, 3, 4), None, None, None, None, True, 0.1, 1e-5, *tail)]


def _layer_norms(bias=True) -> list[Case]:
    pair = (f(4), f(4)) if bias else (f(4),)
    none = (None, None) if bias else (None,)
    cases = [c(x, [4], *pair) for x in (f(2, 3, 4), f(3, 2, 4).transpose(0, 1), f(2, 4, 3).transpose(1, 2),
        cl(2, 3, 5, 4), f(4), f(2, 3, 8)[..., ::2])]
    return cases + [c(f(2, 3, 4), [3, 4], *none), c(f(2, 3, 4), [4], *none), c(f(2, 3, 4), [3], *none),
        c(f(2, 3, 4), [4], f(3), *none[1:]), c(f(0, 4), [4], *none)] + [
        c(f(2, 4, dtype=d), [4],
            *(p.to(d) for p in pair)) for d in (torch.float64, torch.bfloat16, torch.float16)]


def _grouped_products() -> list[Case]:
    ends, wrong = torch.tensor([3, 5, 10], dtype=torch.int32), c(f(3, 10, 8), f(3, 9, 16))
    if not torch._C._dispatch_has_computed_kernel_for_dispatch_key("aten::_grouped_mm", "CPU"):  # torch 2.8: there is no real run
        return [wrong]
    return [
        c(f(10, 8), f(3, 8, 16), ends, known=(2,)), c(f(3, 10, 8), f(3, 8, 16)), c(f(10, 8).t(), f(10, 16), ends, known=(2,)),
        c(f(3, 10, 8), f(8, 12), torch.tensor([4, 8, 12], dtype=torch.int32), known=(2,)), wrong,
        c(f(10, 8, dtype=torch.bfloat16), f(3, 8, 16, dtype=torch.bfloat16), ends, known=(2,)),
    ]


LAYER_CASES: dict[str, list[Case]] = {
    # matrix products
    "linear": [
        c(f(2, 3), f(4, 3)), c(f(2, 3), f(4, 3), f(4)), c(f(3), f(4, 3), f(4)), c(f(2, 5, 3), f(4, 3), f(4)),
            c(f(2, 3, 5, 3), f(4, 3)),
        c(f(2, 3, 5).transpose(1, 2), f(4, 3), f(4)), c(f(5, 2, 3).transpose(0, 1), f(4, 3), f(4)),
            c(cl(2, 4, 5, 3), f(4, 3), f(4)), c(f(0, 3), f(4, 3), f(4)),
        c(f(2, 3), f(4, 5)), c(f(2, 3), f(4, 3), f(3)), c(f(2, 3), f(4, 3, dtype=torch.float64)),
            c(f(2, 3), f(3)), c(f(2, 3), f(3, 4).t()),
        *(c(f(2, 5, 3, dtype=d), f(4, 3, dtype=d), f(4, dtype=d)) for d in DTYPES),
            c(f(2, 6)[:, ::2], f(4, 3), f(4))],
    "matmul": [
        c(f(3), f(3)), c(f(2, 3), f(3)), c(f(3), f(3, 2)), c(f(2, 3), f(3, 4)), c(f(5, 2, 3), f(3, 4)),
            c(f(5, 2, 3), f(3)), c(f(2, 3), f(5, 3, 4)), c(f(3), f(5, 3, 4)),
        c(f(5, 2, 3), f(5, 3, 4)), c(f(6, 5, 2, 3), f(5, 3, 4)), c(f(6, 1, 2, 3), f(5, 3, 4)),
            c(f(5, 3, 2).transpose(1, 2), f(5, 4, 3).transpose(1, 2)),
        c(f(2, 6, 4, 3).transpose(1, 2), f(2, 4, 3, 5)), c(f(0, 3), f(3, 4)), c(f(2, 0), f(0, 4)),
            c(f(2, 3), f(4, 3)), c(f(3), f(4)), c(f(), f(3)), c(f(2, 2, 3), f(3, 3, 4)),
        c(f(3, 4).t(), f(3, 5)), c(f(4, 5, 6, 3).permute(1, 0, 2, 3), f(3, 2)),
            *(c(f(2, 3, dtype=d), f(3, 4, dtype=d)) for d in DTYPES), c(f(2, 3), f(3, 4, dtype=torch.float64))],
    "mm": [c(f(2, 3), f(3, 4)), c(f(3, 2).t(), f(4, 3).t()), c(f(0, 3), f(3, 4)), c(f(2, 3), f(2, 3)),
        c(f(2, 3), f(3))],
    "_grouped_mm": _grouped_products(),
    "bmm": [c(f(5, 2, 3), f(5, 3, 4)), c(f(2, 5, 3).transpose(0, 1), f(5, 4, 3).transpose(1, 2)),
        c(f(5, 2, 3), f(4, 3, 4)), c(f(0, 2, 3), f(0, 3, 4))],
    "mv": [c(f(2, 3), f(3)), c(f(3, 2).t(), f(3)), c(f(2, 3), f(2))],
    "dot": [c(f(3), f(3)), c(f(3), f(4)), c(f(6)[::2], f(3))],
    "addmm": [c(f(4), f(2, 3), f(3, 4)), c(f(2, 1), f(2, 3), f(3, 4)), c(f(2, 4), f(3, 2).t(), f(4, 3).t()),
        c(f(4, 2).t(), f(2, 3), f(3, 4)), c(f(3), f(2, 3), f(3, 4))],
    "addmm_": [c(f(2, 4), f(2, 3), f(3, 4)), c(f(4), f(2, 3), f(3, 4))],
    "baddbmm": [c(f(5, 2, 4), f(5, 2, 3), f(5, 3, 4)), c(f(2, 4), f(5, 2, 3), f(5, 3, 4)),
        c(f(1), f(5, 2, 3), f(5, 3, 4)), c(f(5, 2, 4), f(5, 2, 3), f(4, 3, 4))],
    "baddbmm_": [c(f(5, 2, 4), f(5, 2, 3), f(5, 3, 4)), c(f(2, 4), f(5, 2, 3), f(5, 3, 4))],
    "bilinear": [c(f(2, 3), f(2, 4), f(5, 3, 4)), c(f(2, 6, 3), f(2, 6, 4), f(5, 3, 4), f(5)),
        c(f(2, 3), f(2, 3), f(5, 3, 4))],
    "outer": [c(f(3), f(4)), c(f(6)[::2], f(4, dtype=torch.float64)), c(f(0), f(4)), c(f(2, 3), f(4)),
        c(f(1), f(4))],
    "scaled_dot_product_attention": _attention(),
    # convolutions
    "conv1d": _convs(1), "conv2d": _convs(2), "conv3d": _convs(3),
    "conv1d.padding": _conv_padding(1), "conv2d.padding": _conv_padding(2), "conv3d.padding": _conv_padding(3),
    "conv_transpose1d": _conv_transposes(1),
    "conv_transpose2d.input": _conv_transposes(2), "conv_transpose3d.input": _conv_transposes(3),
    "convolution": _convolutions(),
    "_convolution": _convolutions(False, False, True, True),
    "_convolution.deprecated": _convolutions(False, False, True),
    # normalisation
    "batch_norm": _batch_norms(True),
    "native_batch_norm": [case for case in _batch_norms() if case.args[1] is None or case.args[1].numel() == 3],
    "layer_norm": _layer_norms(),
    "native_layer_norm": [Case((*case.args, 1e-5)) for case in _layer_norms()],
    "rms_norm": _layer_norms(bias=False),
    "group_norm": [c(x, 2, f(4), f(4)) for x in (f(2, 4), f(2, 4, 3), cl(2, 4, 3, 5), cl(2, 4, 2, 3, 3), f(2,
        3, 4).transpose(1, 2), f(2, 4, 3, 6)[..., ::2])] + [
        c(f(2, 4, 3), 3), c(f(2, 4, 3), 2, f(3)), c(f(2, 4, 3, dtype=torch.float64), 4)],
    "instance_norm": [c(x, None, None, None, None, True, 0.1, 1e-5, True) for x in (f(2, 4, 3), cl(2, 4, 3, 5),
        f(2, 3, 4).transpose(1, 2), f(2, 4, 3, 5))] + [
        c(f(2, 4, 3), f(4), f(4), f(4), f(4), False, 0.1, 1e-5, True),
            c(f(2, 4, 3), f(3), f(3), None, None, True, 0.1, 1e-5, True)],
    "softmax.int": each(0) + each(-1) + typed(1) + [c(f(2, 3, dtype=torch.float16), 1, torch.float32),
        c(f(2, 3, dtype=torch.int64), 1, torch.float32), c(f(2, 3), 2)],
    "log_softmax.int": each(0) + typed(1) + [c(f(2, 3, dtype=torch.float16), 1, torch.float64),
        c(f(2, 3), -3)],
    "_softmax": each(0, False) + typed(1, False), "_log_softmax": each(0, False) + typed(1, False),
    "_weight_norm": [c(f(6, 4, 3), f(6, 1, 1), 0), c(f(6, 4, 3), f(1, 1, 3), 2),
        c(f(3, 4, 6).transpose(0, 2), f(6, 1, 1), 0),
        c(f(6, 4, 3), f(1, 4, 1), 1), c(f(6, 4, dtype=torch.float64), f(6, 1, dtype=torch.float64), 0)],
    "_weight_norm_interface": [c(f(6, 4, 3), f(6, 1, 1), 0), c(f(6, 4, 3), f(1, 1, 3), 2),
        c(f(6, 4, dtype=torch.bfloat16), f(6, 1, dtype=torch.bfloat16), 0)],
    # pooling
    "max_pool1d": _pools(1, False), "max_pool2d": _pools(2, False), "max_pool3d": _pools(3, False),
    "max_pool2d_with_indices": _pools(2, False), "max_pool3d_with_indices": _pools(3, False),
    "avg_pool1d": _pools(1, True), "avg_pool2d": _pools(2, True), "avg_pool3d": _pools(3, True),
    "adaptive_avg_pool1d": _adaptive(1), "adaptive_avg_pool2d": _adaptive(2),
    "adaptive_avg_pool3d": _adaptive(3),
    "adaptive_max_pool1d": _adaptive(1), "adaptive_max_pool2d": _adaptive(2),
    "adaptive_max_pool3d": _adaptive(3),
    "_adaptive_avg_pool2d": _adaptive(2),
    # resizing and padding
    "upsample_nearest1d": _upsample(1), "upsample_nearest2d": _upsample(2), "upsample_nearest3d": _upsample(3),
    "upsample_linear1d": _upsample(1, False),
    "upsample_bilinear2d": _upsample(2, False), "upsample_trilinear3d": _upsample(3, False),
    "upsample_bicubic2d": _upsample(2, False),
    "_upsample_bilinear2d_aa": _upsample(2, False), "_upsample_bicubic2d_aa": _upsample(2, False),
    "_upsample_nearest_exact1d": _upsample(1), "_upsample_nearest_exact2d": _upsample(2),
    "upsample_nearest1d.vec": _upsample_vec(1),
    "upsample_nearest2d.vec": _upsample_vec(2), "upsample_nearest3d.vec": _upsample_vec(3),
    "upsample_linear1d.vec": _upsample_vec(1, False),
    "upsample_bilinear2d.vec": _upsample_vec(2, True), "upsample_trilinear3d.vec": _upsample_vec(3, False),
    "upsample_bicubic2d.vec": _upsample_vec(2, False),
    "_upsample_bilinear2d_aa.vec": _upsample_vec(2, False),
    "_upsample_bicubic2d_aa.vec": _upsample_vec(2, False),
    "_upsample_nearest_exact1d.vec": _upsample_vec(1), "_upsample_nearest_exact2d.vec": _upsample_vec(2),
    "grid_sampler": _grids() + [c(f(2, 3, 4, 4, 4), f(2, 5, 6, 7, 3), 0, 0, True)],
    "grid_sampler_2d": _grids(),
    "constant_pad_nd": [c(x, [1, 2]) for x in layouts()] + [c(cl(2, 3, 4, 5), [1, 1, -1, 2]),
        c(cl(2, 3, 4, 5), [-1, -1]), c(f(4, 3).t(), [-1, 0]), c(f(2, 3), [-4, 0]), c(f(3), [1, 1, 1, 1]),
                        c(f(2, 3), [1]), c(f(2, 3, dtype=torch.bool), [1, 1], True), c(f(2, 3), [-4, 3])],
    "pad": [c(f(2, 3, 4), [1, 2]), c(cl(2, 3, 4, 5), [1, 1, 2, 2], "constant", 0.5),
        c(cl(2, 3, 4, 5), [1, 1, 2, 2], "reflect"), c(cl(2, 3, 4, 5), [1, 1, 2, 2], "replicate"),
            c(f(2, 3, 4), [1, 2], "reflect"), c(f(2, 3, 4), [5, 2], "reflect"),
                c(f(2, 3, 4, 5), [1, 1, 1, 1], "circular"), c(f(2, 3, 4), [1, 2], "odd"),
                c(f(2, 3, 4), [1, 2], "reflect", 1.0),
            c(cl(2, 3, 4, 5, 6), [1, 1, 1, 1, 1, 1], "reflect"),
                c(cl(2, 3, 4, 5, 6), [1, 1, 1, 1, 1, 1], "replicate"),
                c(f(2, 4, 3).transpose(1, 2), [1, 1], "replicate")],
    "reflection_pad1d": [c(x, [1, 2]) for x in (f(2, 3, 4), f(3, 4), f(2, 4, 3).transpose(1, 2))] + [c(f(2, 3,
        4), [4, 0]), c(f(4), [1, 1])],
    "reflection_pad2d": [c(x, [1, 2, 1, 0]) for x in (f(2, 3, 4, 5), f(3, 4, 5), cl(2, 3, 4, 5), f(3, 2, 4,
        5).transpose(0, 1))] + [c(f(2, 3, 4, 5), [5, 0, 0, 0])],
    "replication_pad1d": [c(x, [1, 2]) for x in (f(2, 3, 4), f(3, 4), f(2, 4, 3).transpose(1, 2))] + [c(f(4),
        [1, 1])],
    "replication_pad2d": [c(x, [1, 2, 9, 0]) for x in (f(2, 3, 4, 5), f(3, 4, 5), cl(2, 3, 4, 5), f(3, 2, 4,
        5).transpose(0, 1))],
    "pixel_shuffle": [c(x, 2) for x in (f(2, 8, 3, 4), cl(2, 8, 3, 4), f(8, 3, 4), f(3, 2, 8, 3, 4), f(2, 3, 4,
        8).permute(0, 3, 2, 1))] + [c(f(2, 6, 3, 4), 2), c(f(3, 4), 2)],
    "pixel_unshuffle": [c(x, 2) for x in (f(2, 3, 4, 6), cl(2, 3, 4, 6), f(3, 4, 6), f(3, 2, 4, 6).transpose(0,
        1))] + [c(f(2, 3, 5, 4), 2)],
    "channel_shuffle": [c(x, 2) for x in (f(2, 4, 3, 5), cl(2, 4, 3, 5), f(2, 4, 3), f(4, 2, 3, 5).transpose(0,
        1))] + [c(f(2, 4, 3, 5), 3)],
    "im2col": [c(x, [3, 2], [1, 1], [1, 0], [2, 1]) for x in (f(2, 3, 8, 7), cl(2, 3, 8, 7), f(3, 8,
        7))] + [c(f(2, 3, 8, 7), [9, 9], [1, 1], [0, 0], [1, 1])],
    # recurrent layers
    "lstm.input": _recurrent(4), "gru.input": _recurrent(3), "rnn_tanh.input": _recurrent(1),
    "rnn_relu.input": _recurrent(1),
    "lstm_cell": _cells(4), "gru_cell": _cells(3), "rnn_tanh_cell": _cells(1), "rnn_relu_cell": _cells(1),
}
