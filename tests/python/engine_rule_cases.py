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
        f(4, 6)[:, ::2], f(3, 1).expand(3, 4), f(2, 3, 4).transpose(1, 2)[:, :2], cl(2, 3, 4, 5), cl(2, 3, 2,
            4, 5),
        f(2, 4, 5, 3).permute(0, 3, 1, 2)[:, :2], f(2, 1, 3, 1).permute(1, 0, 3, 2), cl(1, 3, 1, 1), cl(2, 1,
            4, 4),
        f(1, 1, 1), f(2, 3, 4, 5).permute(0, 2, 1, 3), f(0, 3).t(), f(2, 3, 0, 4).permute(0, 3, 1, 2),
            f(6)[2:5],
    ]


DTYPES = [torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.int32, torch.uint8, torch.bool,
    torch.complex64]
NUMBERS = (2, 0.5)
UNARY = [(x,) for x in layouts()] + [(f(2, 3, dtype=d),) for d in DTYPES]
BINARY = (
    [(x, x.clone(memory_format=torch.preserve_format)) for x in layouts()]
    + [
        (f(2, 3, 4), f(4)), (f(4), f(2, 3, 4)), (f(2, 1, 4), f(3, 1)), (cl(2, 3, 4, 5), f(1, 3, 1, 1)),
        (f(3, 1, 1), cl(2, 3, 4, 5)), (cl(2, 3, 4, 5), f(2, 3, 4, 5)), (f(2, 3, 4, 5), cl(2, 3, 4, 5)),
        (f(4, 3).t(), f(3, 4)), (f(3, 4), f(4, 3).t()), (f(4, 3).t(), f(4, 3).t()), (f(4, 3).t(), f(4)),
        (f(2, 3), f()), (f(), f(2, 3)), (f(), f()), (f(0, 3), f(1, 3)), (f(2, 0), f(2, 1)),
        (f(4, 3).t(), f()), (cl(2, 3, 4, 5), f()), (f(1, 4, 1), f(3, 1, 5)), (f(2, 3, 4).transpose(0, 2), f(3,
            2)),
        (f(1, 3, 1), f(3, 1)), (f(3, 1).expand(3, 4), f(3, 4)), (cl(1, 3, 4, 4), f(1, 3, 1, 1)),
        (f(2, 3), f(4)), (f(2, 3), f(2, 4)), (f(2, 3, 4), f(2, 4)),
    ]
    + [(f(2, 3, dtype=d), f(2, 3, dtype=d)) for d in DTYPES]
    + [(f(2, 3), f(2, 3, dtype=d)) for d in DTYPES] + [(f(2, 3, dtype=d), f(2, 3)) for d in DTYPES]
    + [(f(2, 3), f(dtype=d)) for d in DTYPES] + [(f(dtype=d), f(2, 3, dtype=torch.int32)) for d in DTYPES]
    + [(f(2, 3, dtype=torch.bool), f(3, dtype=torch.int32)), (f(2, 3, dtype=torch.uint8), f(3,
        dtype=torch.int64))]
)
TERNARY = [
    (x, x.clone(memory_format=torch.preserve_format),
        x.clone(memory_format=torch.preserve_format)) for x in layouts()
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
POINTWISE = {*_BOTH,
    *(op + "_" for op in _BOTH), "__and__", "__or__", "__xor__", "fmax", "fmin", "isfinite", "isinf",
             "isnan", "logaddexp", "maximum", "minimum", "rsub", "hardshrink", "softplus", "softshrink",
                 "log_sigmoid", "log_sigmoid_forward"}
# Ops whose meta kernels raise or answer for another device than the CPU.
META_DIFFERS = {"aten::native_dropout", "aten::native_batch_norm", "aten::quantize_per_tensor"}

# The engine answers a view that only strides forbid with a reshape, and says so in the profile.
RELAXED = {"aten::view"}

_masks = [f(2, 3) > 0.5, f(3) > 0.5, f(2, 1) > 0.5]
UNARY_LAYOUTS = [c(x) for x in layouts()]
_wide = layouts()[:1] + layouts()[5:8] + [cl(2, 4, 4, 6), cl(2, 4, 4, 6, 8), f(2, 4, 6, 8)]


def each(*args, only=None, **kwargs) -> list[Case]:
    """A case for every layout, with the same further arguments."""
    return [c(x, *args, **kwargs) for x in (only or layouts())]


def typed(*args, **kwargs) -> list[Case]:
    return [c(f(2, 3, dtype=d), *args, **kwargs) for d in DTYPES]


def _div_mode() -> list[Case]:
    return [c(*operands, rounding_mode=mode) for operands in BINARY[::2] for mode in (None, "floor", "trunc")]


def _div_scalar_mode() -> list[Case]:
    return [c(x, n, rounding_mode=mode) for x in layouts()[:6] for n in NUMBERS for mode in (None, "floor")] + [
        c(f(2, 3, dtype=d), 2, rounding_mode=mode) for d in DTYPES for mode in (None, "trunc")]


def _clamp() -> list[Case]:
    return [c(*operands, *bounds) for operands in UNARY for bounds in ((0, 1), (None, 0.5), (0.25, None), (0,
        None))]


def _clamp_tensor() -> list[Case]:
    return [c(*operands) for operands in TERNARY] + [c(a, None, b) for a, b in BINARY] + [c(a, b) for a,
        b in BINARY]


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


POINTWISE_CASES: dict[str, list[Case]] = {
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
    "alpha_dropout": each(0.5, True) + each(0.5, False) + [c(f(2, 3), 2.0, True)],
    "dropout": each(0.5, True) + each(0.5, False) + each(0.0, True) + [c(f(2, 3), 2.0, True)],
    "dropout_": each(0.5, True, only=[f(2, 3), f(3, 2).t()]),
    "feature_dropout": each(0.5, True, only=[f(2, 3, 4), cl(2, 3, 4, 5), f(3, 2).t()]) + each(0.5, False),
    "feature_dropout_": each(0.5, True, only=[f(2, 3), cl(2, 3, 4, 5)]),
    "native_dropout": each(0.5, True) + [c(f(2, 3), 2.0, True)],
    "rrelu": each() + typed() + [c(f(2, 3), 0.1, 0.3, True), c(cl(2, 3, 4, 5), 0, 1), c(f(2, 3), 0.3, 0.1)],
    "rrelu_with_noise": [c(x, torch.empty_like(x), 0.1, 0.3, training) for x in layouts() for training in (False, True)] + [
        c(f(2, 3), f(2, 3), 0.3, 0.1)],
    "glu": each(-1, only=_wide) + each(1, only=_wide) + [c(f(2, 3), 1), c(f(2, 4), 2),
        c(f(2, 4, dtype=torch.float64), 1), c(f(), 0)],
    "prelu": [c(x, f(1)) for x in layouts()] + [c(x, f(3)) for x in (f(2, 3, 4), cl(2, 3, 4, 5), f(3, 2,
        4).transpose(0, 1), f(2, 4))] + [c(f(2, 3), f(3, 1))],
}
