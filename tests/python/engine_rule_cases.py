"""The cases of test_engine_rules.py: for each op and overload, arguments whose results a rule must predict."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

CL = torch.channels_last
CL3 = torch.channels_last_3d


@dataclass(frozen=True)
class Case:
    args: tuple
    kwargs: dict = field(default_factory=dict)
    known: tuple = ()  # positions of arguments whose values the capture knows


def c(*args, known=(), **kwargs) -> Case:
    return Case(args, kwargs, known)


def f(*size, dtype=torch.float32) -> torch.Tensor:
    """Values between 0.25 and 0.75 (1 for integers), which every function here accepts."""
    return (torch.rand(size) / 2 + 0.25).to(dtype) if dtype.is_floating_point or dtype.is_complex else torch.ones(
        size, dtype=dtype)


def i(*size, high=2) -> torch.Tensor:
    return torch.randint(high, size)


def cl(*size, dtype=torch.float32) -> torch.Tensor:
    return f(*size, dtype=dtype).to(memory_format=CL if len(size) == 4 else CL3)


def layouts() -> list[torch.Tensor]:
    return [
        f(2, 3, 4), f(), f(5), f(0), f(2, 0, 3), f(4, 3, 2).permute(2, 1, 0), f(3, 2, 4).transpose(0, 1),
        f(4, 6)[:, ::2], f(3, 1).expand(3, 4), f(2, 3, 4).transpose(1, 2)[:, :2], cl(2, 3, 4, 5), cl(2, 3, 2, 4, 5),
        f(2, 4, 5, 3).permute(0, 3, 1, 2)[:, :2], f(2, 1, 3, 1).permute(1, 0, 3, 2), cl(1, 3, 1, 1), cl(2, 1, 4, 4),
        f(1, 1, 1), f(2, 3, 4, 5).permute(0, 2, 1, 3), f(0, 3).t(), f(2, 3, 0, 4).permute(0, 3, 1, 2), f(6)[2:5],
    ]


DTYPES = [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64]
NUMBERS = (2, 0.5)
UNARY = [(x,) for x in layouts()] + [(f(2, 3, dtype=d),) for d in DTYPES]
BINARY = (
    [(x, x.clone(memory_format=torch.preserve_format)) for x in layouts()]
    + [
        (f(2, 3, 4), f(4)), (f(4), f(2, 3, 4)), (f(2, 1, 4), f(3, 1)), (cl(2, 3, 4, 5), f(1, 3, 1, 1)),
        (f(3, 1, 1), cl(2, 3, 4, 5)), (cl(2, 3, 4, 5), f(2, 3, 4, 5)), (f(2, 3, 4, 5), cl(2, 3, 4, 5)),
        (f(4, 3).t(), f(3, 4)), (f(3, 4), f(4, 3).t()), (f(4, 3).t(), f(4, 3).t()), (f(4, 3).t(), f(4)),
        (f(2, 3), f()), (f(), f(2, 3)), (f(), f()), (f(0, 3), f(1, 3)), (f(2, 0), f(2, 1)),
        (f(4, 3).t(), f()), (cl(2, 3, 4, 5), f()), (f(1, 4, 1), f(3, 1, 5)), (f(2, 3, 4).transpose(0, 2), f(3, 2)),
        (f(1, 3, 1), f(3, 1)), (f(3, 1).expand(3, 4), f(3, 4)), (cl(1, 3, 4, 4), f(1, 3, 1, 1)),
        (f(2, 3), f(4)), (f(2, 3), f(2, 4)), (f(2, 3, 4), f(2, 4)),
    ]
    + [(f(2, 3, dtype=d), f(2, 3, dtype=d)) for d in DTYPES]
    + [(f(2, 3), f(2, 3, dtype=d)) for d in DTYPES] + [(f(2, 3, dtype=d), f(2, 3)) for d in DTYPES]
    + [(f(2, 3), f(dtype=d)) for d in DTYPES] + [(f(dtype=d), f(2, 3, dtype=torch.int32)) for d in DTYPES]
    + [(f(2, 3, dtype=torch.bool), f(3, dtype=torch.int32)), (f(2, 3, dtype=torch.uint8), f(3, dtype=torch.int64))]
)
TERNARY = [
    (x, x.clone(memory_format=torch.preserve_format), x.clone(memory_format=torch.preserve_format)) for x in layouts()
] + [
    (f(2, 3, 4), f(4), f(3, 1)), (cl(2, 3, 4, 5), f(3, 1, 1), cl(2, 3, 4, 5)), (f(3, 4), f(4, 3).t(), f()),
    (f(4, 3).t(), f(3, 4), f(3, 4)), (f(2, 3), f(4), f(3)), (f(0, 3), f(3), f(1, 3)), (f(3), f(2, 3), f(2, 1)),
] + [(f(2, 3, dtype=d), f(2, 3, dtype=d), f(2, 3, dtype=d)) for d in DTYPES] + [
    (f(2, 3), f(2, 3, dtype=torch.float64), f(2, 3)), (f(2, 3, dtype=torch.int64), f(2, 3), f(2, 3))]

_BOTH = """abs acos addcdiv addcmul asin atan atan2 bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max
clamp_min cos cosh eq erf erfc erfinv exp exp2 expm1 floor floor_divide fmod frac ge gt le lerp log log10 log1p log2
logical_and logical_not logical_or logical_xor logit lt mul nan_to_num ne neg pow reciprocal remainder round rsqrt
sigmoid sign sin sinh sqrt square sub tan tanh true_divide trunc xlogy add div celu elu gelu hardsigmoid hardswish
hardtanh leaky_relu mish relu relu6 selu silu threshold""".split()
POINTWISE = {*_BOTH, *(op + "_" for op in _BOTH), "__and__", "__or__", "__xor__", "fmax", "fmin", "isfinite", "isinf",
             "isnan", "logaddexp", "maximum", "minimum", "rsub", "hardshrink", "softplus", "softshrink", "log_sigmoid"}
# Ops whose meta kernels raise or answer for another device than the CPU.
META_DIFFERS = {"aten::native_dropout", "aten::native_batch_norm"}

_masks = [f(2, 3) > 0.5, f(3) > 0.5, f(2, 1) > 0.5]
_unary_layouts = [c(x) for x in layouts()]
_wide = layouts()[:1] + layouts()[5:8] + [cl(2, 4, 4, 6), cl(2, 4, 4, 6, 8), f(2, 4, 6, 8)]


def _each(*args, only=None, **kwargs) -> list[Case]:
    """A case for every layout, with the same further arguments."""
    return [c(x, *args, **kwargs) for x in (only or layouts())]


def _typed(*args, **kwargs) -> list[Case]:
    return [c(f(2, 3, dtype=d), *args, **kwargs) for d in DTYPES]


def _div_mode() -> list[Case]:
    return [c(*operands, rounding_mode=mode) for operands in BINARY[::2] for mode in (None, "floor", "trunc")]


def _div_scalar_mode() -> list[Case]:
    return [c(x, n, rounding_mode=mode) for x in layouts()[:6] for n in NUMBERS for mode in (None, "floor")] + [
        c(f(2, 3, dtype=d), 2, rounding_mode=mode) for d in DTYPES for mode in (None, "trunc")]


def _clamp() -> list[Case]:
    return [c(*operands, *bounds) for operands in UNARY for bounds in ((0, 1), (None, 0.5), (0.25, None), (0, None))]


def _clamp_tensor() -> list[Case]:
    return [c(*operands) for operands in TERNARY] + [c(a, None, b) for a, b in BINARY] + [c(a, b) for a, b in BINARY]


def _convs(rank: int) -> list[Case]:
    space = (7, 8, 6)[:rank]
    kernel = (3, 2, 3)[:rank]
    x, w = f(2, 4, *space), f(6, 4, *kernel)
    ones = (1,) * rank
    cases = [
        c(x, w), c(x, w, f(6)), c(x, w, None, [2], [1], [1], 1), c(x, w, None, [2] * rank, [1] * rank, [2] * rank, 1),
        c(x, f(6, 2, *kernel), None, ones, (0,) * rank, ones, 2), c(x, f(4, 1, *kernel), f(4), ones, ones, ones, 4),
        c(x, f(6, 4, *ones)), c(f(1, 1, *space), f(1, 1, *kernel)), c(x[:, :3], w), c(x, w, f(5)),
        c(x, f(6, 4, *(20,) * rank)), c(x, w, None, ones, (0,) * rank, ones, 3), c(f(4, *space), w), c(f(0, 4, *space), w),
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
        c(x, w), c(x, w, f(6)), c(x, w, None, [2], [1], [1]), c(x, w, None, [2], [1], [0], 2), c(x, w, None, [3], [0], [2], 1, [2]),
        c(x, w, None, [2], [1], [2]), c(x[:, :3], w), c(x.double(), w.double()), c(x.bfloat16(), w.bfloat16()),
    ]
    if rank > 1:
        form = CL if rank == 2 else CL3
        cases += [c(x.to(memory_format=form), w), c(x, w.to(memory_format=form)), c(x.double().to(memory_format=form), w.double())]
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
        c(*packed.permute(2, 0, 3, 1, 4).unbind(0)), c(qt, qt, qt, torch.ones(5, 5, dtype=torch.bool)), c(qt, qt, qt, f(2, 1, 5, 5)),
        c(qt, qt, qt, f(4, 5, 5)), c(qt, qt, qt, None, 0.5), c(q, k, f(2, 4, 6, 16)), c(f(3, 5, 8), f(3, 6, 8), f(3, 6, 8)),
        c(f(5, 8), f(6, 8), f(6, 8)), c(f(2, 2, 4, 5, 8), f(2, 2, 4, 6, 8), f(2, 2, 4, 6, 8)), c(q, f(1, 4, 6, 8), f(1, 4, 6, 8)),
        c(qt, f(2, 2, 6, 8), f(2, 2, 6, 8), enable_gqa=True), c(qt, f(2, 2, 6, 8), f(2, 2, 6, 8)), c(qt, k, f(2, 4, 7, 8)),
        c(f(2, 4, 8, 5).transpose(2, 3), k, k), c(qt, qt, qt, f(5, 5), 0.0, True), c(q, k[..., :7], k), c(qt, qt, qt, f(5, 7)),
        *(c(qt.to(d), qt.to(d), qt.to(d)) for d in (torch.float64, torch.bfloat16, torch.float16)),
        c(qt, qt, qt, f(5, 5, dtype=torch.float64)), c(qt[:, :, :1], k, k), c(f(1, 1, 4, 8).transpose(1, 2), f(1, 4, 6, 8), f(1, 4, 6, 8)),
    ]


def _pools(rank: int, average: bool) -> list[Case]:
    x = f(2, 3, *(9, 8, 7)[:rank])
    inputs = [x, x[0], x.double(), x.bfloat16(), x.transpose(0, 1)]
    inputs += [cl(2, 3, *(9, 8, 7)[:rank])] if rank > 1 else [f(2, 9, 3).transpose(1, 2)]
    middle = () if average else ([1],)
    cases = [c(a, [2]) for a in inputs]
    cases += [c(x, [3], [2], [1], *middle, True), c(x, [3], [2], [1], *middle, False), c(x, [2] * rank, [3] * rank), c(x, [3], [2], [2]),
              c(x, [20]), c(x, [3], [2], [0], *middle, True), c(x, [5], [4], [2], *middle, True), c(f(0, 3, *(9, 8, 7)[:rank]), [2])]
    if not average:
        cases += [c(x, [2], [1], [1], [2]), c(x, [2], [2], [0], [3], True)]
    return cases


def _adaptive(rank: int) -> list[Case]:
    x = f(2, 3, *(9, 8, 7)[:rank])
    inputs = [x, x[0], x.double(), x.transpose(0, 1)]
    inputs += [cl(2, 3, *(9, 8, 7)[:rank])] if rank > 1 else [f(2, 9, 3).transpose(1, 2)]
    return [c(a, [size] * rank) for a in inputs for size in (1, 3, 10)] + [c(x, [0] * rank), c(f(3), [1] * rank)]


def _upsample(rank: int, *options) -> list[Case]:
    x = f(2, 3, *(5, 6, 7)[:rank])
    extra = [cl(2, 3, *(5, 6, 7)[:rank])] if rank > 1 else [f(2, 5, 3).transpose(1, 2)]
    return [c(a, [9] * rank, *options) for a in [x, x.double(), x.transpose(0, 1), *extra]] + [
        c(x[0], [9] * rank, *options), c(x, [0] * rank, *options), c(x, [9] * (rank + 1), *options)]


def _upsample_vec(rank: int, *options) -> list[Case]:
    x = f(2, 3, *(5, 6, 7)[:rank])
    extra = [cl(2, 3, *(5, 6, 7)[:rank])] if rank > 1 else []
    return [c(a, None, *options, [scale] * rank) for a in [x, x.double(), *extra] for scale in (2.0, 0.5, 1.7)] + [
        c(x, [9] * rank, *options, None), c(x, None, *options, None)]


def _recurrent(gates: int) -> list[Case]:
    cases = []
    for layers, both, first, biases in ((1, False, False, True), (2, True, True, True), (2, False, True, False), (1, True, False, False)):
        directions = 2 if both else 1
        params = []
        for layer in range(layers):
            for _ in range(directions):
                width = 3 if layer == 0 else 4 * directions
                params += [f(gates * 4, width), f(gates * 4, 4)] + ([f(gates * 4), f(gates * 4)] if biases else [])
        hidden = f(layers * directions, 5 if first else 2, 4)
        state = [hidden, hidden.clone()] if gates == 4 else hidden
        cases.append(c(f(5, 2, 3), state, params, biases, layers, 0.0, False, both, first))
        cases.append(c(f(5, 2, 7), state, params, biases, layers, 0.0, False, both, first))
    return cases


def _cells(gates: int) -> list[Case]:
    state = [f(2, 4), f(2, 4)] if gates == 4 else f(2, 4)
    weights = (f(gates * 4, 3), f(gates * 4, 4))
    return [c(f(2, 3), state, *weights), c(f(2, 3), state, *weights, f(gates * 4), f(gates * 4)), c(f(2, 5), state, *weights)]


def _reductions(*, all_dims=False) -> list[Case]:
    cases = [c(x, [0]) for x in layouts()] + [c(x, [-1], True) for x in layouts()]
    return cases + [c(f(2, 3, 4), [0, 2]), c(f(2, 3, 4), [0, 0]), c(f(2, 3, 4), [3]), *([c(f(2, 3, 4), [])] if all_dims else [])] + _typed([1])


def _one_dim() -> list[Case]:
    return [c(x, 0) for x in layouts()] + [c(x, -1, True) for x in layouts()] + [c(f(2, 3), 2)] + _typed(1)


def _spread_dims() -> list[Case]:
    return [c(x, [0]) for x in layouts()] + [c(cl(2, 3, 4, 5), [1, 2], True, True), c(f(2, 3), None), c(f(2, 3), [5])] + _typed([1])


def _corrections() -> list[Case]:
    return [c(x, [0], correction=0) for x in layouts()] + [c(f(2, 3), [1], correction=1, keepdim=True), c(f(2, 3)), c(f(2, 3), [7])]


def _norms(*, dtype=None) -> list[Case]:
    extra = {} if dtype is None else {"dtype": dtype}
    return [c(x, 2, [0], False, **extra) for x in layouts()] + [c(f(2, 3, 4), 1, [0, 2], True, **extra), c(f(2, 3), 2, [4], False, **extra)]


def _like(*args) -> list[Case]:
    return [c(x, *args) for x in layouts()] + [
        c(cl(2, 3, 4, 5), *args, memory_format=torch.contiguous_format), c(f(2, 3, 4, 5), *args, memory_format=CL),
        c(f(2, 3), *args, memory_format=CL), c(f(4, 3).t(), *args, dtype=torch.float64), c(f(2, 3), *args, device=torch.device("cpu"))]


def _to(*args, copy=()) -> list[Case]:
    return [c(x, *args) for x in layouts()] + [c(f(2, 3, dtype=d), *args) for d in DTYPES if not d.is_complex] + [
        c(cl(2, 3, 4, 5), *args, False, True), c(f(2, 3, 4, 5), *args, memory_format=CL), c(cl(2, 3, 4, 5), *args, memory_format=CL),
        c(cl(2, 3, 4, 5), *args, memory_format=torch.contiguous_format), c(f(2, 3), *args, memory_format=CL)]


def _index() -> list[Case]:
    x = f(4, 5, 6, 3)
    mask = torch.tensor([True, False, True, True])
    known = {"known": (1,)}
    return [
        c(x, [i(2)]), c(x, [i(2, 3)]), c(x, [None, i(2)]), c(x, [i(2), i(2)]), c(x, [i(2, 1), i(3)]), c(x, [i(2), None, i(2)]),
        c(x, [None, i(2), i(2)]), c(x, [None, i(2), None, i(3, 2)]), c(x, [i()]), c(x, [i(), None, i()]), c(x, [i(0)]),
        c(cl(4, 5, 6, 3), [i(2)]), c(cl(4, 5, 6, 3), [None, None, i(2), i(2)]), c(x.permute(3, 1, 0, 2), [None, i(2, 3)]),
        c(x.permute(3, 1, 0, 2), [i(2), None, i(2)]), c(x, [i(3, 2).t()]), c(x.permute(3, 1, 0, 2), [None, i(3, 2).t()]),
        c(x, [i(2).int()]), c(f(5), [i(3)]), c(f(5), [i(1)]), c(f(5, 1), [None, i(2, 3, high=1)]), c(x, [i(1), None, None, i(4)]),
        c(x, [i(2), i(3)]), c(f(5), [i(2), i(2)]), c(f(0, 3), [i(2)]), c(x, [f(2)]), c(f(2, 3, dtype=torch.int64), [i(2)]),
        c(x, [mask], **known), c(x, [None, torch.ones(5, 6, dtype=torch.bool)], **known), c(x, [mask, i(3)], **known),
        c(x, [mask[:3]], **known), c(x, [torch.zeros(4, 5, dtype=torch.bool)], **known),
    ]


def _index_put() -> list[Case]:
    x = f(4, 5, 6)
    return [c(x, [i(2)], f(2, 5, 6)), c(x, [None, i(2)], f()), c(x, [i(2), i(2)], f(6)), c(x, [i(2)], f(3, 5, 6)),
            c(x, [torch.tensor([True, False, True, False])], f(2, 5, 6), known=(1,)), c(x, [i(2)], f(2, 5, 6), True)]


def _scatter(source) -> list[Case]:
    return [c(x, 1, i(2, 2), source) for x in (f(2, 3), f(3, 2).t(), f(2, 6)[:, ::2])] + [c(f(2, 3), 2, i(2, 2), source), c(f(2, 3), 0, i(2, 4), source)]


def _fills(value) -> list[Case]:
    return [c(x, x > 0.5, value) for x in layouts()] + [c(f(2, 3), mask, value) for mask in _masks] + [
        c(f(3), f(2, 3) > 0.5, value), c(f(2, 3), f(4) > 0.5, value), c(f(2, 3), f(2, 3), value)] + [
        c(f(2, 3, dtype=d), _masks[0], value) for d in DTYPES]


def _where(kind: str) -> list[Case]:
    condition = f(2, 3) > 0.5
    if kind == "self":
        return [c(a > 0.5, a, b) for a, b in BINARY if not a.dtype.is_complex and a.shape == b.shape] + [
            c(condition, f(3), f(2, 1)), c(condition, f(3, 2).t(), f()), c(f(3) > 0.5, f(2, 3), f(4)),
            c(cl(2, 3, 4, 5) > 0.5, f(3, 1, 1), f(2, 3, 4, 5)), c(condition, f(2, 3), f(dtype=torch.float64)),
            c(condition.t(), f(3, 2), f(3, 2)), c(f(2, 3), f(2, 3), f(2, 3))]
    if kind == "Scalar":
        return [c(condition, 1, 0), c(condition, 1.0, 0), c(f(3, 2).t() > 0.5, True, 2)]
    values = [f(2, 3), f(3, 2).t(), f(2, 3, dtype=torch.int64), f(4), f()]
    return [c(condition, *((v, n) if kind == "ScalarOther" else (n, v))) for v in values for n in NUMBERS]


def _batch_norms(*tail) -> list[Case]:
    cases = []
    for x in (f(2, 3), f(2, 3, 4), f(2, 3, 4, 5), cl(2, 3, 4, 5), cl(2, 3, 2, 4, 5), f(2, 4, 3).transpose(1, 2), f(3, 2, 4, 5).transpose(0, 1),
              f(2, 3, 4, 8)[..., ::2], f(2, 3, 4, 5, dtype=torch.float64)):
        v = f(3, dtype=x.dtype)
        cases += [c(x, v, v, v, v, False, 0.1, 1e-5, *tail), c(x, None, None, v, v, True, 0.1, 1e-5, *tail)]
    return cases + [c(f(2, 3, 4), f(4), f(3), f(3), f(3), False, 0.1, 1e-5, *tail), c(f(2, 3, 4), None, None, None, None, True, 0.1, 1e-5, *tail)]


def _layer_norms(bias=True) -> list[Case]:
    pair = (f(4), f(4)) if bias else (f(4),)
    none = (None, None) if bias else (None,)
    cases = [c(x, [4], *pair) for x in (f(2, 3, 4), f(3, 2, 4).transpose(0, 1), f(2, 4, 3).transpose(1, 2), cl(2, 3, 5, 4), f(4), f(2, 3, 8)[..., ::2])]
    return cases + [c(f(2, 3, 4), [3, 4], *none), c(f(2, 3, 4), [4], *none), c(f(2, 3, 4), [3], *none), c(f(2, 3, 4), [4], f(3), *none[1:]), c(f(0, 4), [4], *none)] + [
        c(f(2, 4, dtype=d), [4], *(p.to(d) for p in pair)) for d in (torch.float64, torch.bfloat16, torch.float16)]


CASES: dict[str, list[Case]] = {
    # pointwise ops with more than tensors and numbers
    "clamp": _clamp(),
    "clamp_": _clamp(),
    "clamp.Tensor": _clamp_tensor(),
    "clamp_.Tensor": _clamp_tensor(),
    "div.Tensor_mode": _div_mode(),
    "div_.Tensor_mode": _div_mode(),
    "div.Scalar_mode": _div_scalar_mode(),
    "div_.Scalar_mode": _div_scalar_mode(),
    "max.other": [c(*operands) for operands in BINARY],
    "min.other": [c(*operands) for operands in BINARY],
    "masked_fill.Scalar": _fills(2) + _fills(0.5),
    "masked_fill.Tensor": _fills(f()),
    "masked_fill_.Scalar": _fills(2),
    "masked_fill_.Tensor": _fills(f()),
    "where.self": _where("self"),
    "where.Scalar": _where("Scalar"),
    "where.ScalarOther": _where("ScalarOther"),
    "where.ScalarSelf": _where("ScalarSelf"),
    "nan_to_num": [c(*operands) for operands in UNARY],
    # activations
    "alpha_dropout": _each(0.5, True) + _each(0.5, False) + [c(f(2, 3), 2.0, True)],
    "dropout": _each(0.5, True) + _each(0.5, False) + _each(0.0, True) + [c(f(2, 3), 2.0, True)],
    "dropout_": _each(0.5, True, only=[f(2, 3), f(3, 2).t()]),
    "feature_dropout": _each(0.5, True, only=[f(2, 3, 4), cl(2, 3, 4, 5), f(3, 2).t()]) + _each(0.5, False),
    "feature_dropout_": _each(0.5, True, only=[f(2, 3), cl(2, 3, 4, 5)]),
    "native_dropout": _each(0.5, True) + [c(f(2, 3), 2.0, True)],
    "glu": _each(-1, only=_wide) + _each(1, only=_wide) + [c(f(2, 3), 1), c(f(2, 4), 2), c(f(2, 4, dtype=torch.float64), 1), c(f(), 0)],
    "prelu": [c(x, f(1)) for x in layouts()] + [c(x, f(3)) for x in (f(2, 3, 4), cl(2, 3, 4, 5), f(3, 2, 4).transpose(0, 1), f(2, 4))] + [c(f(2, 3), f(3, 1))],
    # matrix products
    "linear": [
        c(f(2, 3), f(4, 3)), c(f(2, 3), f(4, 3), f(4)), c(f(3), f(4, 3), f(4)), c(f(2, 5, 3), f(4, 3), f(4)), c(f(2, 3, 5, 3), f(4, 3)),
        c(f(2, 3, 5).transpose(1, 2), f(4, 3), f(4)), c(f(5, 2, 3).transpose(0, 1), f(4, 3), f(4)), c(cl(2, 4, 5, 3), f(4, 3), f(4)), c(f(0, 3), f(4, 3), f(4)),
        c(f(2, 3), f(4, 5)), c(f(2, 3), f(4, 3), f(3)), c(f(2, 3), f(4, 3, dtype=torch.float64)), c(f(2, 3), f(3)), c(f(2, 3), f(3, 4).t()),
        *(c(f(2, 5, 3, dtype=d), f(4, 3, dtype=d), f(4, dtype=d)) for d in DTYPES), c(f(2, 6)[:, ::2], f(4, 3), f(4))],
    "matmul": [
        c(f(3), f(3)), c(f(2, 3), f(3)), c(f(3), f(3, 2)), c(f(2, 3), f(3, 4)), c(f(5, 2, 3), f(3, 4)), c(f(5, 2, 3), f(3)), c(f(2, 3), f(5, 3, 4)), c(f(3), f(5, 3, 4)),
        c(f(5, 2, 3), f(5, 3, 4)), c(f(6, 5, 2, 3), f(5, 3, 4)), c(f(6, 1, 2, 3), f(5, 3, 4)), c(f(5, 3, 2).transpose(1, 2), f(5, 4, 3).transpose(1, 2)),
        c(f(2, 6, 4, 3).transpose(1, 2), f(2, 4, 3, 5)), c(f(0, 3), f(3, 4)), c(f(2, 0), f(0, 4)), c(f(2, 3), f(4, 3)), c(f(3), f(4)), c(f(), f(3)), c(f(2, 2, 3), f(3, 3, 4)),
        c(f(3, 4).t(), f(3, 5)), c(f(4, 5, 6, 3).permute(1, 0, 2, 3), f(3, 2)), *(c(f(2, 3, dtype=d), f(3, 4, dtype=d)) for d in DTYPES), c(f(2, 3), f(3, 4, dtype=torch.float64))],
    "mm": [c(f(2, 3), f(3, 4)), c(f(3, 2).t(), f(4, 3).t()), c(f(0, 3), f(3, 4)), c(f(2, 3), f(2, 3)), c(f(2, 3), f(3))],
    "bmm": [c(f(5, 2, 3), f(5, 3, 4)), c(f(2, 5, 3).transpose(0, 1), f(5, 4, 3).transpose(1, 2)), c(f(5, 2, 3), f(4, 3, 4)), c(f(0, 2, 3), f(0, 3, 4))],
    "mv": [c(f(2, 3), f(3)), c(f(3, 2).t(), f(3)), c(f(2, 3), f(2))],
    "dot": [c(f(3), f(3)), c(f(3), f(4)), c(f(6)[::2], f(3))],
    "addmm": [c(f(4), f(2, 3), f(3, 4)), c(f(2, 1), f(2, 3), f(3, 4)), c(f(2, 4), f(3, 2).t(), f(4, 3).t()), c(f(4, 2).t(), f(2, 3), f(3, 4)), c(f(3), f(2, 3), f(3, 4))],
    "addmm_": [c(f(2, 4), f(2, 3), f(3, 4)), c(f(4), f(2, 3), f(3, 4))],
    "baddbmm": [c(f(5, 2, 4), f(5, 2, 3), f(5, 3, 4)), c(f(2, 4), f(5, 2, 3), f(5, 3, 4)), c(f(1), f(5, 2, 3), f(5, 3, 4)), c(f(5, 2, 4), f(5, 2, 3), f(4, 3, 4))],
    "baddbmm_": [c(f(5, 2, 4), f(5, 2, 3), f(5, 3, 4)), c(f(2, 4), f(5, 2, 3), f(5, 3, 4))],
    "bilinear": [c(f(2, 3), f(2, 4), f(5, 3, 4)), c(f(2, 6, 3), f(2, 6, 4), f(5, 3, 4), f(5)), c(f(2, 3), f(2, 3), f(5, 3, 4))],
    "outer": [c(f(3), f(4)), c(f(6)[::2], f(4, dtype=torch.float64)), c(f(0), f(4)), c(f(2, 3), f(4)), c(f(1), f(4))],
    "scaled_dot_product_attention": _attention(),
    # convolutions
    "conv1d": _convs(1), "conv2d": _convs(2), "conv3d": _convs(3),
    "conv1d.padding": _conv_padding(1), "conv2d.padding": _conv_padding(2), "conv3d.padding": _conv_padding(3),
    "conv_transpose1d": _conv_transposes(1), "conv_transpose2d.input": _conv_transposes(2), "conv_transpose3d.input": _conv_transposes(3),
    "convolution": _convolutions(),
    "_convolution": _convolutions(False, False, True, True),
    "_convolution.deprecated": _convolutions(False, False, True),
    # normalisation
    "batch_norm": _batch_norms(True),
    "native_batch_norm": _batch_norms(),
    "layer_norm": _layer_norms(),
    "native_layer_norm": [Case((*case.args, 1e-5)) for case in _layer_norms()],
    "rms_norm": _layer_norms(bias=False),
    "group_norm": [c(x, 2, f(4), f(4)) for x in (f(2, 4), f(2, 4, 3), cl(2, 4, 3, 5), cl(2, 4, 2, 3, 3), f(2, 3, 4).transpose(1, 2), f(2, 4, 3, 6)[..., ::2])] + [
        c(f(2, 4, 3), 3), c(f(2, 4, 3), 2, f(3)), c(f(2, 4, 3, dtype=torch.float64), 4)],
    "instance_norm": [c(x, None, None, None, None, True, 0.1, 1e-5, True) for x in (f(2, 4, 3), cl(2, 4, 3, 5), f(2, 3, 4).transpose(1, 2), f(2, 4, 3, 5))] + [
        c(f(2, 4, 3), f(4), f(4), f(4), f(4), False, 0.1, 1e-5, True), c(f(2, 4, 3), f(3), f(3), None, None, True, 0.1, 1e-5, True)],
    "softmax.int": _each(0) + _each(-1) + _typed(1) + [c(f(2, 3, dtype=torch.float16), 1, torch.float32), c(f(2, 3, dtype=torch.int64), 1, torch.float32), c(f(2, 3), 2)],
    "log_softmax.int": _each(0) + _typed(1) + [c(f(2, 3, dtype=torch.float16), 1, torch.float64), c(f(2, 3), -3)],
    "_softmax": _each(0, False) + _typed(1, False), "_log_softmax": _each(0, False) + _typed(1, False),
    # pooling
    "max_pool1d": _pools(1, False), "max_pool2d": _pools(2, False), "max_pool3d": _pools(3, False),
    "max_pool2d_with_indices": _pools(2, False), "max_pool3d_with_indices": _pools(3, False),
    "avg_pool1d": _pools(1, True), "avg_pool2d": _pools(2, True), "avg_pool3d": _pools(3, True),
    "adaptive_avg_pool1d": _adaptive(1), "adaptive_avg_pool2d": _adaptive(2), "adaptive_avg_pool3d": _adaptive(3),
    "adaptive_max_pool1d": _adaptive(1), "adaptive_max_pool2d": _adaptive(2), "adaptive_max_pool3d": _adaptive(3),
    # resizing and padding
    "upsample_nearest1d": _upsample(1), "upsample_nearest2d": _upsample(2), "upsample_nearest3d": _upsample(3),
    "upsample_linear1d": _upsample(1, False), "upsample_bilinear2d": _upsample(2, False), "upsample_trilinear3d": _upsample(3, False),
    "upsample_bicubic2d": _upsample(2, False), "_upsample_bilinear2d_aa": _upsample(2, False), "_upsample_bicubic2d_aa": _upsample(2, False),
    "_upsample_nearest_exact1d": _upsample(1), "_upsample_nearest_exact2d": _upsample(2),
    "upsample_nearest1d.vec": _upsample_vec(1), "upsample_nearest2d.vec": _upsample_vec(2), "upsample_nearest3d.vec": _upsample_vec(3),
    "upsample_linear1d.vec": _upsample_vec(1, False), "upsample_bilinear2d.vec": _upsample_vec(2, True), "upsample_trilinear3d.vec": _upsample_vec(3, False),
    "upsample_bicubic2d.vec": _upsample_vec(2, False), "_upsample_bilinear2d_aa.vec": _upsample_vec(2, False), "_upsample_bicubic2d_aa.vec": _upsample_vec(2, False),
    "_upsample_nearest_exact1d.vec": _upsample_vec(1), "_upsample_nearest_exact2d.vec": _upsample_vec(2),
    "grid_sampler": [c(x, f(2, 5, 6, 2), 0, 0, False) for x in (f(2, 3, 4, 4), cl(2, 3, 4, 4))] + [
        c(f(2, 3, 4, 4, 4), f(2, 5, 6, 7, 3), 0, 0, True), c(f(2, 3, 4, 4), f(3, 5, 6, 2), 0, 0, False), c(f(2, 3, 4, 4), f(2, 5, 6, 3), 0, 0, False)],
    "constant_pad_nd": [c(x, [1, 2]) for x in layouts()] + [c(cl(2, 3, 4, 5), [1, 1, -1, 2]), c(cl(2, 3, 4, 5), [-1, -1]), c(f(4, 3).t(), [-1, 0]), c(f(2, 3), [-4, 0]), c(f(3), [1, 1, 1, 1]),
                        c(f(2, 3), [1]), c(f(2, 3, dtype=torch.bool), [1, 1], True), c(f(2, 3), [-4, 3])],
    "pad": [c(f(2, 3, 4), [1, 2]), c(cl(2, 3, 4, 5), [1, 1, 2, 2], "constant", 0.5), c(cl(2, 3, 4, 5), [1, 1, 2, 2], "reflect"), c(cl(2, 3, 4, 5), [1, 1, 2, 2], "replicate"),
            c(f(2, 3, 4), [1, 2], "reflect"), c(f(2, 3, 4), [5, 2], "reflect"), c(f(2, 3, 4, 5), [1, 1, 1, 1], "circular"), c(f(2, 3, 4), [1, 2], "odd"), c(f(2, 3, 4), [1, 2], "reflect", 1.0),
            c(cl(2, 3, 4, 5, 6), [1, 1, 1, 1, 1, 1], "reflect"), c(cl(2, 3, 4, 5, 6), [1, 1, 1, 1, 1, 1], "replicate"), c(f(2, 4, 3).transpose(1, 2), [1, 1], "replicate")],
    "reflection_pad1d": [c(x, [1, 2]) for x in (f(2, 3, 4), f(3, 4), f(2, 4, 3).transpose(1, 2))] + [c(f(2, 3, 4), [4, 0]), c(f(4), [1, 1])],
    "reflection_pad2d": [c(x, [1, 2, 1, 0]) for x in (f(2, 3, 4, 5), f(3, 4, 5), cl(2, 3, 4, 5), f(3, 2, 4, 5).transpose(0, 1))] + [c(f(2, 3, 4, 5), [5, 0, 0, 0])],
    "replication_pad1d": [c(x, [1, 2]) for x in (f(2, 3, 4), f(3, 4), f(2, 4, 3).transpose(1, 2))] + [c(f(4), [1, 1])],
    "replication_pad2d": [c(x, [1, 2, 9, 0]) for x in (f(2, 3, 4, 5), f(3, 4, 5), cl(2, 3, 4, 5), f(3, 2, 4, 5).transpose(0, 1))],
    "pixel_shuffle": [c(x, 2) for x in (f(2, 8, 3, 4), cl(2, 8, 3, 4), f(8, 3, 4), f(3, 2, 8, 3, 4), f(2, 3, 4, 8).permute(0, 3, 2, 1))] + [c(f(2, 6, 3, 4), 2), c(f(3, 4), 2)],
    "pixel_unshuffle": [c(x, 2) for x in (f(2, 3, 4, 6), cl(2, 3, 4, 6), f(3, 4, 6), f(3, 2, 4, 6).transpose(0, 1))] + [c(f(2, 3, 5, 4), 2)],
    "channel_shuffle": [c(x, 2) for x in (f(2, 4, 3, 5), cl(2, 4, 3, 5), f(2, 4, 3), f(4, 2, 3, 5).transpose(0, 1))] + [c(f(2, 4, 3, 5), 3)],
    "im2col": [c(x, [3, 2], [1, 1], [1, 0], [2, 1]) for x in (f(2, 3, 8, 7), cl(2, 3, 8, 7), f(3, 8, 7))] + [c(f(2, 3, 8, 7), [9, 9], [1, 1], [0, 0], [1, 1])],
    # reductions, scans, sorting
    "all": _unary_layouts + _typed(), "any": _unary_layouts + _typed(), "all.dim": _one_dim(), "any.dim": _one_dim(), "all.dims": _reductions(), "any.dims": _reductions(),
    "amax": _reductions(all_dims=True), "amin": _reductions(all_dims=True),
    "max": _unary_layouts + _typed(), "min": _unary_layouts + _typed(), "max.dim": _one_dim(), "min.dim": _one_dim(),
    "mean": _unary_layouts + _typed() + [c(f(2, 3, dtype=torch.int64), dtype=torch.float32)],
    "mean.dim": _reductions(all_dims=True) + [c(f(2, 3, dtype=torch.float16), [1], dtype=torch.float32), c(f(2, 3), None)],
    "sum": _unary_layouts + _typed() + [c(f(2, 3, dtype=torch.float16), dtype=torch.float64)],
    "sum.dim_IntList": _reductions(all_dims=True) + [c(f(2, 3, dtype=torch.int32), [1], dtype=torch.int32), c(f(2, 3), None, True)],
    "prod": _unary_layouts + _typed(), "prod.dim_int": _one_dim(),
    "std": _unary_layouts + _typed(), "var": _unary_layouts + _typed(), "std.dim": _spread_dims(), "var.dim": _spread_dims(),
    "std.correction": _corrections(), "var.correction": _corrections(),
    "std_mean": _unary_layouts, "var_mean": _unary_layouts, "std_mean.dim": _spread_dims(), "var_mean.dim": _spread_dims(),
    "std_mean.correction": _corrections(), "var_mean.correction": _corrections(),
    "norm.Scalar": _unary_layouts + _typed(), "norm.ScalarOpt_dim": _norms(), "norm.ScalarOpt_dim_dtype": _norms(dtype=torch.float64),
    "linalg_vector_norm": [c(x, 2, [0]) for x in layouts()] + [c(f(2, 3), 2, None, True), c(f(2, 3, dtype=torch.float16), 2, [1], False, dtype=torch.float32), c(f(2, 3), 2, [3])] + _typed(),
    "logsumexp": _reductions(), "cumsum": _one_dim()[: len(layouts())] + _typed(1) + [c(f(2, 3, dtype=torch.float16), 1, dtype=torch.float64), c(f(2, 3), 2)],
    "cumprod": [c(x, 0) for x in layouts()] + _typed(1),
    "topk": [c(x, 1, 0) for x in layouts()] + [c(f(2, 5), 3), c(f(2, 5), 6), c(cl(2, 5, 3, 3), 2, 1)],
    "sort": [c(x, 0) for x in layouts()] + [c(f(2, 3)), c(f(2, 3), 3)], "sort.stable": [c(x, stable=True, dim=0) for x in layouts()],
    "argsort": [c(x, 0) for x in layouts()], "argsort.stable": [c(x, stable=True, dim=0) for x in layouts()],
    "cosine_similarity": [c(f(2, 3), f(2, 3)), c(f(2, 3, 4), f(3, 1), -1), c(f(2, 3), f(2, 4)), c(f(4, 3, 2).permute(2, 1, 0), f(2, 3, 4), 0)],
    # views
    "view": [c(f(2, 3, 4), [6, 4]), c(f(2, 3, 4), [-1]), c(f(2, 3, 4), [2, -1, 2]), c(f(4, 3, 2).permute(2, 1, 0), [6, 4]), c(f(4, 3).t(), [3, 4]), c(f(), [1]), c(f(1), []), c(f(0, 3), [3, 0]),
             c(f(0, 3), [-1, 0]), c(f(2, 3), [4, -1]), c(f(2, 3), [7]), c(f(4, 6)[:, ::2], [2, 2, 3]), c(cl(2, 3, 4, 5), [2, 3, 20]), c(f(3, 1).expand(3, 4), [3, 2, 2])],
    "_unsafe_view": [c(f(2, 3, 4), [6, 4]), c(f(2, 3, 4), [7])],
    "view_as": [c(f(2, 6), f(3, 4)), c(f(2, 6), f(5))],
    "reshape": [c(x, [-1]) for x in layouts()] + [c(f(4, 3).t(), [3, 4]), c(f(4, 3).t(), [2, 6]), c(f(2, 3), [5]), c(f(0, 3), [-1, 3]), c(f(0, 3), [-1, 0]), c(cl(2, 4, 3, 5), [2, 2, 2, 3, 5])],
    "reshape_as": [c(f(4, 3).t(), f(2, 6)), c(f(2, 6), f(3, 4)), c(f(2, 6), f(5))],
    "flatten.using_ints": _each() + _each(1, only=[f(2, 3, 4), f(4, 3, 2).permute(2, 1, 0), cl(2, 3, 4, 5), f(5, 3)]) + [c(f(2, 3, 4, 5), 1, 2), c(f(2, 3), 1, 0), c(f(2, 3), 3)],
    "unflatten.int": [c(f(2, 6), 1, [2, 3]), c(f(6, 2).t(), -1, [-1, 3]), c(f(2, 6), 1, [4, 2]), c(f(4, 6)[:, ::2], 0, [2, 2])],
    "permute": [c(f(2, 3, 4), [2, 0, 1]), c(cl(2, 3, 4, 5), [0, 2, 3, -3]), c(f(2, 3), [0, 0]), c(f(2, 3), [0]), c(f(), [])],
    "transpose.int": [c(x, 0, -1) for x in layouts()] + [c(f(2, 3), 0, 2)], "swapaxes": [c(f(2, 3, 4), 0, 2)], "swapdims": [c(f(2, 3, 4), -1, 1)],
    "t": [c(f(2, 3)), c(f(3)), c(f()), c(f(2, 3, 4))], "mT": [c(f(2, 3, 4)), c(f(3))], "numpy_T": [c(f(2, 3)), c(f(3))],
    "movedim.int": [c(f(2, 3, 4), 0, 2), c(f(2, 3, 4), -1, 0), c(f(2, 3), 2, 0)], "movedim.intlist": [c(f(2, 3, 4), [0], [2]), c(f(2, 3, 4), [0, 1], [1, 2])],
    "slice.Tensor": [c(x, 0, 1) for x in layouts()] + [c(f(5, 6), 1, 1, 5, 2), c(f(5, 6), -1, -3, None), c(f(5, 6), 0, 4, 2), c(f(5, 6), 0, None, 99), c(f(5, 6), 2), c(f(5), 0, 0, 5, 0), c(cl(2, 3, 4, 5), 1, 1, 2)],
    "narrow": [c(f(5, 6), 1, 2, 3), c(f(5, 6), 0, -2, 2), c(f(5, 6), 0, 3, 3), c(f(5, 6), 0, 5, 0), c(f(), 0, 0, 1)],
    "select.int": [c(x, 0, 0) for x in layouts()] + [c(f(5, 6), 1, -1), c(f(5, 6), 1, 6), c(f(5, 6), 2, 0)],
    "unsqueeze": [c(x, 0) for x in layouts()] + [c(x, -1) for x in layouts()] + [c(f(2, 3), 1), c(f(2, 3), 3), c(f(2, 3), -4)],
    "squeeze": _unary_layouts, "squeeze.dim": [c(x, 0) for x in layouts()] + [c(f(1, 2), 2)], "squeeze.dims": [c(f(1, 2, 1), [0, 2]), c(f(1, 2, 1), [0, 1]), c(f(1, 2), [0, 0])],
    "expand": [c(f(3, 1), [3, 4]), c(f(3, 1), [2, -1, 4]), c(f(), [2, 3]), c(f(3, 1), [3, 0]), c(f(3), [4]), c(f(3, 1), [3]), c(f(3, 1), [-1, 3, 1]), c(f(2, 3), [1, 2, 3]), c(f(4, 1, 3).transpose(0, 2), [3, 5, 4])],
    "expand_as": [c(f(3, 1), f(2, 3, 4)), c(f(3), f(4))],
    "alias": _unary_layouts, "detach": _unary_layouts,
    "unfold": [c(f(8, 3), 0, 3, 2), c(f(8, 3).t(), -1, 4, 4), c(f(8), 0, 9, 1), c(f(8), 0, 2, 0)],
    "chunk": [c(x, 2, -1) for x in layouts()] + [c(f(7, 2), 3), c(f(2, 3), 5, 1), c(f(2, 3), 0)],
    "split.Tensor": [c(f(7, 2), 3), c(f(4, 6).t(), 2, 1), c(f(2, 3), 5), c(f(2, 3), 0), c(f(0, 3), 2), c(f(2, 3), 1, 2)],
    "split.sizes": [c(f(7, 2), [3, 4]), c(f(7, 2), [3, 3]), c(f(2, 6), [1, 0, 5], -1)], "split_with_sizes": [c(f(7, 2), [3, 4]), c(f(7, 2), [8, -1])],
    "unbind.int": [c(x) for x in layouts()] + [c(f(2, 3, 4), -1), c(f(2, 3), 2)],
    # copies and factories
    "contiguous": _unary_layouts + [c(f(2, 3, 4, 5), memory_format=CL), c(cl(2, 3, 4, 5), memory_format=CL), c(f(2, 3), memory_format=CL), c(cl(2, 3, 4, 5))],
    "clone": _unary_layouts + [c(f(2, 3, 4, 5), memory_format=CL), c(cl(2, 3, 4, 5), memory_format=torch.contiguous_format), c(f(2, 3), memory_format=CL)],
    "to.dtype": _to(torch.float32) + _to(torch.float16) + _to(torch.int64), "to.device": _to(torch.device("cpu"), torch.float64) + _to(torch.device("cpu"), torch.float32),
    "to.other": _to(f(1)) + _to(f(1, dtype=torch.bfloat16)),
    "to.dtype_layout": [c(x, dtype=torch.float64) for x in layouts()] + [c(f(2, 3)), c(f(2, 3), device=torch.device("cpu")), c(cl(2, 3, 4, 5), copy=True), c(f(2, 3, 4, 5), memory_format=CL)],
    "_to_copy": [c(x, dtype=torch.float64) for x in layouts()] + [c(cl(2, 3, 4, 5)), c(f(2, 3, 4, 5), memory_format=CL), c(f(2, 3), device=torch.device("cpu"))],
    "type_as": [c(x, f(1, dtype=torch.float16)) for x in layouts()] + [c(f(2, 3), f(1))],
    "copy_": [c(f(2, 3), f(3)), c(f(3, 2).t(), f(2, 3, dtype=torch.int64)), c(f(2, 3), f(4)), c(f(3), f(2, 3)), c(f(3, dtype=torch.int64), f(3))],
    "zero_": [c(f(2, 3)), c(f(3, 2).t())], "fill_.Scalar": [c(f(2, 3), 1), c(f(3, 2).t(), 0.5)], "fill_.Tensor": [c(f(2, 3), f()), c(f(2, 3), f(3))],
    "normal_": [c(f(2, 3)), c(f(3, 2).t())], "uniform_": [c(f(2, 3))], "bernoulli": _unary_layouts, "bernoulli_.float": [c(f(2, 3), 0.5)],
    "empty_like": _like(), "zeros_like": _like(), "ones_like": _like(), "rand_like": _like(), "randn_like": _like(), "full_like": _like(1.5),
    "new_empty": [c(f(2, 3), [4, 5]), c(f(2, 3), [], dtype=torch.int64), c(f(2, 3), [-1])], "new_zeros": [c(f(2, 3), [4, 5]), c(cl(2, 3, 4, 5), [0, 2])],
    "new_ones": [c(f(2, 3, dtype=torch.int32), [4])], "new_full": [c(f(2, 3), [4, 5], 1.0), c(f(2, 3), [4], 1, dtype=torch.bool)],
    "lift_fresh": [c(f(2, 3))], "resolve_conj": [c(f(2, 3))], "resolve_neg": [c(f(2, 3))],
    # joining and reordering
    "cat": [c([x, x], 0) for x in layouts()] + [c([cl(2, 3, 4, 5), cl(2, 1, 4, 5)], 1), c([cl(2, 3, 4, 5), f(2, 3, 4, 5)], 1), c([f(2, 3), f(0)], 0), c([f(0), f(2, 3)], -1), c([f(2, 3), f(2, 4)], 1),
            c([f(2, 3), f(2, 4)], 0), c([f(2, 3), f(2, 3, dtype=torch.float64)], 0), c([f(2, 3), f(2, 3, dtype=torch.int64)], 0), c([f(2, 3)], 2), c([f(2, 3), f(3)], 0), c([f(0), f(0)], 0),
            c([cl(2, 3, 4, 5), f(0)], 0), c([cl(2, 3, 1, 1), f(2, 3, 1, 1)], 1), c([], 0)],
    "concat": [c([f(2, 3), f(2, 3)], 1)], "concatenate": [c([f(2, 3), f(2, 3)], 1)],
    "stack": [c([x, x], 0) for x in layouts()] + [c([x, x], -1) for x in layouts()] + [c([f(2, 3), f(2, 3)], 1), c([f(2, 3), f(3, 2)], 0), c([f(2, 3), f(2, 3, dtype=torch.float64)], 0), c([f(2, 3)], 3),
              c([cl(2, 3, 4, 5)] * 2, 1), c([f(2, 3, 4)] * 3, 2)],
    "repeat": [c(x, [2] * max(x.dim(), 1)) for x in layouts()] + [c(f(2, 3), [2, 1, 3]), c(f(2, 3), [2]), c(f(2, 3), [0, 1]), c(f(2, 3), [-1, 1])],
    "tile": [c(f(2, 3), [2]), c(f(2, 3), [2, 1, 3]), c(f(3, 2).t(), [2, 2])],
    "repeat_interleave.self_int": [c(x, 2) for x in layouts()] + [c(x, 3, -1) for x in layouts()] + [c(f(2, 3), 2, 1), c(f(2, 3), -1), c(f(2, 3), 2, 2)],
    "roll": [c(x, [1], [0]) for x in layouts()] + [c(x, [1]) for x in layouts()] + [c(cl(2, 3, 4, 5), [1, -1], [2, 3]), c(f(2, 4, 5, 3), [1, -1], [1, 2]), c(f(2, 3), [1, 1]), c(f(2, 3), [1], [2]),
             c(f(2, 4, 5, 3).permute(0, 3, 1, 2)[:, :2], [1], [2]), c(cl(2, 3, 4, 5), [0], [1])],
    "flip": [c(x, [0]) for x in layouts() if x.dim()] + [c(f(2, 3), [0, 1]), c(f(2, 3), [0, 0]), c(f(2, 3), [2]), c(f(2, 3), [])],
    "tril": _unary_layouts + [c(f(3, 4, dtype=torch.bool), 1)], "triu": _unary_layouts,
    # indexing
    "embedding": [c(f(7, 4), i(2, 3)), c(f(7, 4), i()), c(f(7, 4), i(3, 2).t()), c(f(7, 4), i(2).int()), c(f(7, 4), i(0)), c(f(7, 4), f(2)), c(f(4, 7).t(), i(2)), c(f(7), i(2))],
    "index.Tensor": _index(), "index_put_": _index_put(),
    "index_select": [c(x, 0, i(1, high=1)) for x in layouts()] + [c(f(4, 5), 1, i(3)), c(f(4, 5), -1, i(3).int()), c(f(4, 5), 1, i(2, 2)), c(f(4, 5), 2, i(2)), c(f(4, 5), 1, i())],
    "gather": [c(f(2, 3), 1, i(2, 2)), c(f(3, 2).t(), 0, i(1, 3)), c(f(2, 3), 1, i(3, 2)), c(f(2, 3), 1, i(2)), c(f(2, 3), 1, i(2, 2).t())],
    "scatter.value": _scatter(1.0), "scatter.src": _scatter(f(2, 3)), "scatter_.value": _scatter(1.0), "scatter_.src": _scatter(f(2, 3)), "scatter_add": _scatter(f(2, 3)), "scatter_add_": _scatter(f(2, 3)),
    # recurrent layers
    "lstm.input": _recurrent(4), "gru.input": _recurrent(3), "rnn_tanh.input": _recurrent(1), "rnn_relu.input": _recurrent(1),
    "lstm_cell": _cells(4), "gru_cell": _cells(3), "rnn_tanh_cell": _cells(1), "rnn_relu_cell": _cells(1),
}
