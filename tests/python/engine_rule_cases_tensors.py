"""Cases of the rules for reductions, views, copies, joining and indexing."""

from __future__ import annotations

import torch

from engine_rule_cases import CL, DTYPES, UNARY_LAYOUTS, Case, c, cl, each, f, i, layouts, typed
from opscope.engine.torch_version import RELEASE


def _reductions(*, all_dims=False) -> list[Case]:
    cases = [c(x, [0]) for x in layouts()] + [c(x, [-1], True) for x in layouts()]
    return cases + [c(f(2, 3, 4), [0, 2]), c(f(2, 3, 4), [0, 0]), c(f(2, 3, 4), [3]),
        *([c(f(2, 3, 4), [])] if all_dims else [])] + typed([1])


def _one_dim() -> list[Case]:
    return [c(x, 0) for x in layouts()] + [c(x, -1, True) for x in layouts()] + [c(f(2, 3), 2)] + typed(1)


def _spread_dims() -> list[Case]:
    return [c(x, [0]) for x in layouts()] + [c(cl(2, 3, 4, 5), [1, 2], True, True), c(f(2, 3), None),
        c(f(2, 3), [5])] + typed([1])


def _corrections() -> list[Case]:
    return [c(x, [0], correction=0) for x in layouts()] + [c(f(2, 3), [1], correction=1, keepdim=True),
        c(f(2, 3)), c(f(2, 3), [7])]


def _norms(*, dtype=None) -> list[Case]:
    extra = {} if dtype is None else {"dtype": dtype}
    return [c(x, 2, [0], False, **extra) for x in layouts()] + [c(f(2, 3, 4), 1, [0, 2], True, **extra),
        c(f(2, 3), 2, [4], False, **extra)]


def _like(*args) -> list[Case]:
    return [c(x, *args) for x in layouts()] + [
        c(cl(2, 3, 4, 5), *args, memory_format=torch.contiguous_format),
            c(f(2, 3, 4, 5), *args, memory_format=CL),
        c(f(2, 3), *args, memory_format=CL), c(f(4, 3).t(), *args, dtype=torch.float64),
            c(f(2, 3), *args, device=torch.device("cpu"))]


def _to(*args, copy=()) -> list[Case]:
    return [c(x, *args) for x in layouts()] + [c(f(2, 3, dtype=d),
        *args) for d in DTYPES if not d.is_complex] + [
        c(cl(2, 3, 4, 5), *args, False, True), c(f(2, 3, 4, 5), *args, memory_format=CL),
            c(cl(2, 3, 4, 5), *args, memory_format=CL),
        c(cl(2, 3, 4, 5), *args, memory_format=torch.contiguous_format), c(f(2, 3), *args, memory_format=CL)]


def _index() -> list[Case]:
    x = f(4, 5, 6, 3)
    mask = torch.tensor([True, False, True, True])
    known = {"known": (1,)}
    return [
        c(x, [i(2)]), c(x, [i(2, 3)]), c(x, [None, i(2)]), c(x, [i(2), i(2)]), c(x, [i(2, 1), i(3)]),
            c(x, [i(2), None, i(2)]),
        c(x, [None, i(2), i(2)]), c(x, [None, i(2), None, i(3, 2)]), c(x, [i()]), c(x, [i(), None, i()]),
            c(x, [i(0)]),
        c(cl(4, 5, 6, 3), [i(2)]), c(cl(4, 5, 6, 3), [None, None, i(2), i(2)]),
            c(x.permute(3, 1, 0, 2), [None, i(2, 3)]),
        c(x.permute(3, 1, 0, 2), [i(2), None, i(2)]), c(x, [i(3, 2).t()]),
            c(x.permute(3, 1, 0, 2), [None, i(3, 2).t()]),
        c(x, [i(2).int()]), c(f(5), [i(3)]), c(f(5), [i(1)]), c(f(5, 1), [None, i(2, 3, high=1)]),
            c(x, [i(1), None, None, i(4)]),
        c(x, [i(2), i(3)]), c(f(5), [i(2), i(2)]), c(f(0, 3), [i(2)]), c(x, [f(2)]),
            c(f(2, 3, dtype=torch.int64), [i(2)]),
        c(x, [mask], **known), c(x, [None, torch.ones(5, 6, dtype=torch.bool)], **known),
            c(x, [mask, i(3)], **known),
        c(x, [mask[:3]], **known), c(x, [torch.zeros(4, 5, dtype=torch.bool)], **known),
    ]


def _index_put() -> list[Case]:
    x = f(4, 5, 6)
    return [c(x, [i(2)], f(2, 5, 6)), c(x, [None, i(2)], f()), c(x, [i(2), i(2)], f(6)),
        c(x, [i(2)], f(3, 5, 6)),
            c(x, [torch.tensor([True, False, True, False])], f(2, 5, 6), known=(1,)),
                c(x, [i(2)], f(2, 5, 6), True)]


def _scatter(source) -> list[Case]:
    return [c(x, 1, i(2, 2), source) for x in (f(2, 3), f(3, 2).t(), f(2, 6)[:, ::2])] + [c(f(2, 3), 2, i(2,
        2), source), c(f(2, 3), 0, i(2, 4), source)]


def _index_folds() -> list[Case]:
    """index_add and index_copy: a slice of the source for each element of the index."""
    x = f(4, 5, 6)
    return [c(x, 0, i(2), f(2, 5, 6)), c(x, -1, i(3), f(4, 5, 3)), c(f(6, 5, 4).permute(2, 1, 0), 1, i(2), f(4, 2, 6)),
        c(f(4, 6)[:, ::2], 0, i(2), f(2, 3)), c(x, 0, i(2), f(3, 5, 6)), c(x, 0, i(2), f(2, 5, 5)), c(f(5), 0, i(3), f(3)),
        c(x, 3, i(2), f(2, 5, 6)), c(x, 0, i(2), f(2, 5, 6, dtype=torch.float64)), c(x.bfloat16(), 0, i(2), f(2, 5, 6).bfloat16()),
        c(x, 0, i(0), f(0, 5, 6)), c(x, 0, i(2, 2), f(4, 5, 6))]


def _masked_scatters() -> list[Case]:
    x = f(3, 4)
    return [c(x, x > 0.5, f(12)), c(f(4, 3).t(), x > 0.5, f(3, 4)), c(x, f(4) > 0.5, f(12)), c(x, f(3, 1) > 0.5, f(20)),
        c(cl(2, 3, 4, 5), cl(2, 3, 4, 5) > 0.5, f(120)), c(x, x > 0.5, f(12, dtype=torch.float64)), c(x, x, f(12)),
        c(x, f(5) > 0.5, f(12)), c(x.double(), x > 0.5, f(12).double())]


def _columns() -> list[Case]:
    """col2im: windows of 2x2 at stride 2 of a 4x6 image, of 3x3 with padding of a 5x5 one."""
    two, three = ([4, 6], [2, 2], [1, 1], [0, 0], [2, 2]), ([5, 5], [3, 3], [1, 1], [1, 1], [1, 1])
    return [c(f(2, 12, 6), *two), c(f(12, 6), *two), c(f(2, 6, 12).transpose(1, 2), *two), c(f(2, 18, 25), *three),
        c(f(2, 12, 7), *two), c(f(2, 11, 6), *two), c(f(2, 12, 6, dtype=torch.float64), *two),
        c(f(2, 12, 6, dtype=torch.bfloat16), *two), c(f(1, 2, 12, 6), *two)]


def _losses() -> list[Case]:
    pairs = [c(x, x.clone(memory_format=torch.preserve_format), reduction) for x in layouts() for reduction in (0, 1, 2)]
    return pairs + [c(f(4, 3).t(), f(3, 4), 0), c(cl(2, 3, 4, 5), f(2, 3, 4, 5), 0), c(f(2, 3), f(3), 1), c(f(2, 3), f(4), 1),
        c(f(2, 3), f(2, 3, dtype=torch.float64), 1), *(c(f(2, 3, dtype=d), f(2, 3, dtype=d), 1) for d in DTYPES)]


def _complex(*size) -> torch.Tensor:
    return torch.complex(f(*size), f(*size))


def _transforms() -> list[Case]:
    x = _complex(2, 3, 4, 5)
    inputs = [x, x.permute(0, 2, 1, 3), x.permute(3, 1, 0, 2), x[..., ::2], x.to(memory_format=CL), x[:, :1]]
    cases = [c(a, dims, 0, True) for a in inputs for dims in ([3], [2], [0], [2, 3], [1, 2], [3, 1], [0, 1, 2, 3])]
    return cases + [c(x, [-1], 1, False), c(x, [2, 2], 0, True), c(x, [], 0, True), c(x, [4], 0, True),
        c(x.to(torch.complex128), [3], 0, True), c(_complex(4), [0], 2, True), c(_complex(0, 4), [1], 0, True),
        c(f(2, 3), [1], 0, True), *([c(_complex(3, 1).expand(3, 4), [0], 0, True)] if RELEASE >= (2, 9) else [])]  # MKL refused it


def _real_transforms() -> list[Case]:
    x = f(2, 3, 4, 5)
    inputs = [x, x.permute(0, 2, 1, 3), x.permute(3, 1, 0, 2), cl(2, 3, 4, 5), x.double()]
    cases = [c(a, dims, 0, True) for a in inputs for dims in ([3], [2], [0], [2, 3], [3, 2], [1, 2], [0, 1, 3])]
    return cases + [c(x, [3], 0, False), c(x, [], 0, True), c(f(7), [0], 0, True), c(_complex(3, 4), [1], 0, True)]


def _inverse_real_transforms() -> list[Case]:
    x = _complex(2, 3, 4, 5)
    inputs = [x, x.permute(0, 2, 1, 3), x.permute(3, 1, 0, 2), x.to(torch.complex128)]
    cases = [c(a, [d], 0, 2 * a.shape[d] - tail) for a in inputs for d in range(4) for tail in (1, 2)]
    return cases + [c(x, [2, 3], 0, 8), c(x, [3], 0, 0), c(f(2, 3), [1], 0, 4)]


def _triangular() -> list[Case]:
    a, b = f(2, 3, 4, 4), f(2, 3, 4, 5)
    sides = [c(m, n, upper=True) for m in (a, a[0], a.mT, a[:, :1]) for n in (b, b[0], b[:, :, :, :1], b.transpose(0, 1)[:, :1])]
    return sides + [c(a, b.mT, upper=False, left=False), c(a, b, upper=True, unitriangular=True), c(a, b.mT, upper=True),
        c(f(4, 4), f(4, 5), upper=True), c(f(4, 3), f(4, 5), upper=True), c(a.double(), b, upper=True),
        c(f(4, 4), f(4), upper=True), c(a.bfloat16(), b.bfloat16(), upper=True), c(a, f(2, 3, 4, 0), upper=True)]


TENSOR_CASES: dict[str, list[Case]] = {
    "_fused_sgd_": [c([f(3, 4), f(5)], [f(3, 4), f(5)], [f(3, 4), f(5)], lr=1e-3, weight_decay=0.0, momentum=0.9, dampening=0.0, nesterov=False, maximize=False, is_first_step=False)],
    "_fused_sgd_.tensor_lr": [c([f(3)], [f(3)], [f(3)], lr=f(), weight_decay=0.0, momentum=0.9, dampening=0.0, nesterov=False, maximize=False, is_first_step=False)],
    "_fused_adagrad_": [c([f(3, 4)], [f(3, 4)], [f(3, 4)], [f()], lr=1e-3, lr_decay=0.0, weight_decay=0.0, eps=1e-10, maximize=False)],
    "_fused_adagrad_.tensor_lr": [c([f(3)], [f(3)], [f(3)], [f()], lr=f(), lr_decay=0.0, weight_decay=0.0, eps=1e-10, maximize=False)],
    # reductions, scans, sorting
    "all": UNARY_LAYOUTS + typed(), "any": UNARY_LAYOUTS + typed(), "all.dim": _one_dim(),
    "any.dim": _one_dim(), "all.dims": _reductions(), "any.dims": _reductions(),
    "amax": _reductions(all_dims=True), "amin": _reductions(all_dims=True),
    "max": UNARY_LAYOUTS + typed(), "min": UNARY_LAYOUTS + typed(), "max.dim": _one_dim(),
    "min.dim": _one_dim(),
    "mean": UNARY_LAYOUTS + typed() + [c(f(2, 3, dtype=torch.int64), dtype=torch.float32)],
    "mean.dim": _reductions(all_dims=True) + [c(f(2, 3, dtype=torch.float16), [1], dtype=torch.float32),
        c(f(2, 3), None)],
    "sum": UNARY_LAYOUTS + typed() + [c(f(2, 3, dtype=torch.float16), dtype=torch.float64)],
    "sum.dim_IntList": _reductions(all_dims=True) + [c(f(2, 3, dtype=torch.int32), [1], dtype=torch.int32),
        c(f(2, 3), None, True)],
    "prod": UNARY_LAYOUTS + typed(), "prod.dim_int": _one_dim(),
    "std": UNARY_LAYOUTS + typed(), "var": UNARY_LAYOUTS + typed(), "std.dim": _spread_dims(),
    "var.dim": _spread_dims(),
    "std.correction": _corrections(), "var.correction": _corrections(),
    "std_mean": UNARY_LAYOUTS, "var_mean": UNARY_LAYOUTS, "std_mean.dim": _spread_dims(),
    "var_mean.dim": _spread_dims(),
    "std_mean.correction": _corrections(), "var_mean.correction": _corrections(),
    "norm.Scalar": UNARY_LAYOUTS + typed(), "norm.ScalarOpt_dim": _norms(),
    "norm.ScalarOpt_dim_dtype": _norms(dtype=torch.float64),
    "linalg_vector_norm": [c(x, 2, [0]) for x in layouts()] + [c(f(2, 3), 2, None, True),
        c(f(2, 3, dtype=torch.float16), 2, [1], False, dtype=torch.float32), c(f(2, 3), 2, [3])] + typed(),
    "logsumexp": _reductions(),
    "cumsum": _one_dim()[: len(layouts())] + typed(1) + [c(f(2, 3, dtype=torch.float16), 1,
        dtype=torch.float64), c(f(2, 3), 2)],
    "cumprod": [c(x, 0) for x in layouts()] + typed(1),
    "topk": [c(x, 1, 0) for x in layouts()] + [c(f(2, 5), 3), c(f(2, 5), 6), c(cl(2, 5, 3, 3), 2, 1)],
    "sort": [c(x, 0) for x in layouts()] + [c(f(2, 3)), c(f(2, 3), 3)],
    "sort.stable": [c(x, stable=True, dim=0) for x in layouts()],
    "index_add": _index_folds(), "index_add_": _index_folds(),
    "index_copy": _index_folds(), "index_copy_": _index_folds(),
    "masked_scatter": _masked_scatters(), "masked_scatter_": _masked_scatters(),
    "histc": [c(f(20), 5, 0, 4), c(f(4, 5).t(), 100, 0, 0), c(f(20).double(), 3, 0.25, 0.5), c(f(20), 0, 0, 1), c(f(20), 3, 2, 1),
        c(f(20, dtype=torch.int64), 3, 0, 2), c(f(0), 3, 0, 2)],
    "col2im": _columns(),
    "_fft_c2c": _transforms(), "_fft_r2c": _real_transforms(), "_fft_c2r": _inverse_real_transforms(),
    "linalg_solve_triangular": _triangular(),
    "argmax": _one_dim() + UNARY_LAYOUTS + [c(f(2, 3), None, True), c(f(3, 2).t(), None, False)],
    "argmin": _one_dim() + UNARY_LAYOUTS + [c(f(2, 3), None, True), c(f(3, 2).t(), None, False)],
    "_is_all_true": [c(x > 0.5) for x in layouts()] + [c(f(2, 3))],
    "_is_any_true": [c(x > 0.5) for x in layouts()] + [c(f(2, 3))],
    "argsort": [c(x, 0) for x in layouts()], "argsort.stable": [c(x, stable=True, dim=0) for x in layouts()],
    "cosine_similarity": [c(f(2, 3), f(2, 3)), c(f(2, 3, 4), f(3, 1), -1), c(f(2, 3), f(2, 4)),
        c(f(4, 3, 2).permute(2, 1, 0), f(2, 3, 4), 0)],
    # views
    "view": [c(f(2, 3, 4), [6, 4]), c(f(2, 3, 4), [-1]), c(f(2, 3, 4), [2, -1, 2]),
        c(f(4, 3, 2).permute(2, 1, 0), [6, 4]), c(f(4, 3).t(), [3, 4]), c(f(), [1]), c(f(1), []),
        c(f(0, 3), [3, 0]),
             c(f(0, 3), [-1, 0]), c(f(2, 3), [4, -1]), c(f(2, 3), [7]), c(f(4, 6)[:, ::2], [2, 2, 3]),
                 c(cl(2, 3, 4, 5), [2, 3, 20]), c(f(3, 1).expand(3, 4), [3, 2, 2])],
    "_unsafe_view": [c(f(2, 3, 4), [6, 4]), c(f(2, 3, 4), [7])],
    "view_as": [c(f(2, 6), f(3, 4)), c(f(2, 6), f(5))],
    "reshape": [c(x, [-1]) for x in layouts()] + [c(f(4, 3).t(), [3, 4]), c(f(4, 3).t(), [2, 6]),
        c(f(2, 3), [5]), c(f(0, 3), [-1, 3]), c(f(0, 3), [-1, 0]), c(cl(2, 4, 3, 5), [2, 2, 2, 3, 5])],
    "reshape_as": [c(f(4, 3).t(), f(2, 6)), c(f(2, 6), f(3, 4)), c(f(2, 6), f(5))],
    "flatten.using_ints": each() + each(1, only=[f(2, 3, 4), f(4, 3, 2).permute(2, 1, 0), cl(2, 3, 4, 5),
        f(5, 3)]) + [c(f(2, 3, 4, 5), 1, 2), c(f(2, 3), 1, 0), c(f(2, 3), 3)],
    "unflatten.int": [c(f(2, 6), 1, [2, 3]), c(f(6, 2).t(), -1, [-1, 3]), c(f(2, 6), 1, [4, 2]),
        c(f(4, 6)[:, ::2], 0, [2, 2])],
    "permute": [c(f(2, 3, 4), [2, 0, 1]), c(cl(2, 3, 4, 5), [0, 2, 3, -3]), c(f(2, 3), [0, 0]),
        c(f(2, 3), [0]), c(f(), [])],
    "transpose.int": [c(x, 0, -1) for x in layouts()] + [c(f(2, 3), 0, 2)],
    "swapaxes": [c(f(2, 3, 4), 0, 2)], "swapdims": [c(f(2, 3, 4), -1, 1)],
    "t": [c(f(2, 3)), c(f(3)), c(f()), c(f(2, 3, 4))], "mT": [c(f(2, 3, 4)), c(f(3))], "numpy_T": [c(f(2, 3)),
        c(f(3))],
    "movedim.int": [c(f(2, 3, 4), 0, 2), c(f(2, 3, 4), -1, 0), c(f(2, 3), 2, 0)],
    "movedim.intlist": [c(f(2, 3, 4), [0], [2]), c(f(2, 3, 4), [0, 1], [1, 2])],
    "slice.Tensor": [c(x, 0, 1) for x in layouts()] + [c(f(5, 6), 1, 1, 5, 2), c(f(5, 6), -1, -3, None),
        c(f(5, 6), 0, 4, 2), c(f(5, 6), 0, None, 99), c(f(5, 6), 2), c(f(5), 0, 0, 5, 0),
        c(cl(2, 3, 4, 5), 1, 1, 2)],
    "narrow": [c(f(5, 6), 1, 2, 3), c(f(5, 6), 0, -2, 2), c(f(5, 6), 0, 3, 3), c(f(5, 6), 0, 5, 0),
        c(f(), 0, 0, 1)],
    "select.int": [c(x, 0, 0) for x in layouts()] + [c(f(5, 6), 1, -1), c(f(5, 6), 1, 6), c(f(5, 6), 2, 0)],
    "unsqueeze": [c(x, 0) for x in layouts()] + [c(x, -1) for x in layouts()] + [c(f(2, 3), 1), c(f(2, 3), 3),
        c(f(2, 3), -4)],
    "squeeze": UNARY_LAYOUTS, "squeeze.dim": [c(x, 0) for x in layouts()] + [c(f(1, 2), 2)],
    "squeeze.dims": [c(f(1, 2, 1), [0, 2]), c(f(1, 2, 1), [0, 1]), c(f(1, 2), [0, 0])],
    "expand": [c(f(3, 1), [3, 4]), c(f(3, 1), [2, -1, 4]), c(f(), [2, 3]), c(f(3, 1), [3, 0]), c(f(3), [4]),
        c(f(3, 1), [3]), c(f(3, 1), [-1, 3, 1]), c(f(2, 3), [1, 2, 3]),
        c(f(4, 1, 3).transpose(0, 2), [3, 5, 4])],
    "expand_as": [c(f(3, 1), f(2, 3, 4)), c(f(3), f(4))],
    "alias": UNARY_LAYOUTS, "detach": UNARY_LAYOUTS,
    "unfold": [c(f(8, 3), 0, 3, 2), c(f(8, 3).t(), -1, 4, 4), c(f(8), 0, 9, 1), c(f(8), 0, 2, 0)],
    "chunk": [c(x, 2, -1) for x in layouts()] + [c(f(7, 2), 3), c(f(2, 3), 5, 1), c(f(2, 3), 0)],
    "split.Tensor": [c(f(7, 2), 3), c(f(4, 6).t(), 2, 1), c(f(2, 3), 5), c(f(2, 3), 0), c(f(0, 3), 2),
        c(f(2, 3), 1, 2)],
    "split.sizes": [c(f(7, 2), [3, 4]), c(f(7, 2), [3, 3]), c(f(2, 6), [1, 0, 5], -1)],
    "split_with_sizes": [c(f(7, 2), [3, 4]), c(f(7, 2), [8, -1])],
    "unbind.int": [c(x) for x in layouts()] + [c(f(2, 3, 4), -1), c(f(2, 3), 2)],
    # copies and factories
    "contiguous": UNARY_LAYOUTS + [c(f(2, 3, 4, 5), memory_format=CL), c(cl(2, 3, 4, 5), memory_format=CL),
        c(f(2, 3), memory_format=CL), c(cl(2, 3, 4, 5))],
    "clone": UNARY_LAYOUTS + [c(f(2, 3, 4, 5), memory_format=CL),
        c(cl(2, 3, 4, 5), memory_format=torch.contiguous_format), c(f(2, 3), memory_format=CL)],
    "to.dtype": _to(torch.float32) + _to(torch.float16) + _to(torch.int64),
    "to.device": _to(torch.device("cpu"), torch.float64) + _to(torch.device("cpu"), torch.float32),
    "to.other": _to(f(1)) + _to(f(1, dtype=torch.bfloat16)),
    "to.dtype_layout": [c(x, dtype=torch.float64) for x in layouts()] + [c(f(2, 3)),
        c(f(2, 3), device=torch.device("cpu")), c(cl(2, 3, 4, 5), copy=True),
        c(f(2, 3, 4, 5), memory_format=CL)],
    "_to_copy": [c(x, dtype=torch.float64) for x in layouts()] + [c(cl(2, 3, 4, 5)),
        c(f(2, 3, 4, 5), memory_format=CL), c(f(2, 3), device=torch.device("cpu"))],
    "type_as": [c(x, f(1, dtype=torch.float16)) for x in layouts()] + [c(f(2, 3), f(1))],
    "copy_": [c(f(2, 3), f(3)), c(f(3, 2).t(), f(2, 3, dtype=torch.int64)), c(f(2, 3), f(4)),
        c(f(3), f(2, 3)), c(f(3, dtype=torch.int64), f(3))],
    "zero_": [c(f(2, 3)), c(f(3, 2).t())], "fill_.Scalar": [c(f(2, 3), 1), c(f(3, 2).t(), 0.5)],
    "fill_.Tensor": [c(f(2, 3), f()), c(f(2, 3), f(3))],
    "normal_": [c(f(2, 3)), c(f(3, 2).t())], "uniform_": [c(f(2, 3))],
    "bernoulli": UNARY_LAYOUTS, "bernoulli.p": each(0.5) + typed(0.5) + [c(f(2, 3), 2.0)],
    "mse_loss": _losses(), "smooth_l1_loss": _losses() + [c(f(2, 3), f(2, 3), 1, -1.0)],
    "bernoulli_.float": [c(f(2, 3), 0.5)], "poisson": UNARY_LAYOUTS, "uniform": each(0.0, 0.5),
    "normal.Tensor_float": each(0.5), "normal.float_Tensor": [c(0.5, x) for x in layouts()],
    "binomial": [c(x, x) for x in layouts()] + [c(f(2, 3), f(2, 3, dtype=torch.float64))],
    "normal.Tensor_Tensor": [c(x, x) for x in layouts()] + [c(f(2, 3), f(3))],
    "empty_like": _like(), "zeros_like": _like(), "ones_like": _like(), "rand_like": _like(),
    "randn_like": _like(), "full_like": _like(1.5),
    "new_empty": [c(f(2, 3), [2048, 1024]), c(f(2, 3), [4, 5]), c(f(2, 3), [], dtype=torch.int64),
        c(f(2, 3), [-1])],
    "new_zeros": [c(f(2, 3), [2048, 1024]), c(f(2, 3), [4, 5]), c(cl(2, 3, 4, 5), [0, 2])],
    "new_ones": [c(f(2, 3), [2048, 1024]), c(f(2, 3, dtype=torch.int32), [4])],
    "new_full": [c(f(2, 3), [2048, 1024], 0.5), c(f(2, 3), [4, 5], 1.0),
        c(f(2, 3), [4], 1, dtype=torch.bool)],
    "lift_fresh": [c(f(2, 3))], "resolve_conj": [c(f(2, 3))], "resolve_neg": [c(f(2, 3))],
    # joining and reordering
    "cat": [c([x, x], 0) for x in layouts()] + [c([cl(2, 3, 4, 5), cl(2, 1, 4, 5)], 1),
        c([cl(2, 3, 4, 5), f(2, 3, 4, 5)], 1), c([f(2, 3), f(0)], 0), c([f(0), f(2, 3)], -1),
        c([f(2, 3), f(2, 4)], 1),
            c([f(2, 3), f(2, 4)], 0), c([f(2, 3), f(2, 3, dtype=torch.float64)], 0),
                c([f(2, 3), f(2, 3, dtype=torch.int64)], 0), c([f(2, 3)], 2), c([f(2, 3), f(3)], 0),
                c([f(0), f(0)], 0),
            c([cl(2, 3, 4, 5), f(0)], 0), c([cl(2, 3, 1, 1), f(2, 3, 1, 1)], 1), c([], 0)],
    "concat": [c([f(2, 3), f(2, 3)], 1)], "concatenate": [c([f(2, 3), f(2, 3)], 1)],
    "stack": [c([x, x], 0) for x in layouts()] + [c([x, x], -1) for x in layouts()] + [c([f(2, 3), f(2, 3)],
        1), c([f(2, 3), f(3, 2)], 0), c([f(2, 3), f(2, 3, dtype=torch.float64)], 0), c([f(2, 3)], 3),
              c([cl(2, 3, 4, 5)] * 2, 1), c([f(2, 3, 4)] * 3, 2)],
    "repeat": [c(x, [2] * max(x.dim(), 1)) for x in layouts()] + [c(f(2, 3), [2, 1, 3]), c(f(2, 3), [2]),
        c(f(2, 3), [0, 1]), c(f(2, 3), [-1, 1])],
    "tile": [c(f(2, 3), [2]), c(f(2, 3), [2, 1, 3]), c(f(3, 2).t(), [2, 2])],
    "repeat_interleave.self_int": [c(x, 2) for x in layouts()] + [c(x, 3, -1) for x in layouts()] + [c(f(2, 3),
        2, 1), c(f(2, 3), -1), c(f(2, 3), 2, 2)],
    "roll": [c(x, [1], [0]) for x in layouts()] + [c(x, [1]) for x in layouts()] + [c(cl(2, 3, 4, 5), [1, -1],
        [2, 3]), c(f(2, 4, 5, 3), [1, -1], [1, 2]), c(f(2, 3), [1, 1]), c(f(2, 3), [1], [2]),
             c(f(2, 4, 5, 3).permute(0, 3, 1, 2)[:, :2], [1], [2]), c(cl(2, 3, 4, 5), [0], [1])],
    "flip": [c(x, [0]) for x in layouts() if x.dim()] + [c(f(2, 3), [0, 1]), c(f(2, 3), [0, 0]),
        c(f(2, 3), [2]), c(f(2, 3), [])],
    "tril": UNARY_LAYOUTS + [c(f(3, 4, dtype=torch.bool), 1)], "triu": UNARY_LAYOUTS,
    # indexing
    "embedding": [c(f(7, 4), i(2, 3)), c(f(7, 4), i()), c(f(7, 4), i(3, 2).t()), c(f(7, 4), i(2).int()),
        c(f(7, 4), i(0)), c(f(7, 4), f(2)), c(f(4, 7).t(), i(2)), c(f(7), i(2))],
    "index.Tensor": _index(), "index_put_": _index_put(),
    "index_select": [c(x, 0, i(1, high=1)) for x in layouts()] + [c(f(4, 5), 1, i(3)),
        c(f(4, 5), -1, i(3).int()), c(f(4, 5), 1, i(2, 2)), c(f(4, 5), 2, i(2)), c(f(4, 5), 1, i())],
    "gather": [c(f(2, 3), 1, i(2, 2)), c(f(3, 2).t(), 0, i(1, 3)), c(f(2, 3), 1, i(3, 2)),
        c(f(2, 3), 1, i(2)), c(f(2, 3), 1, i(2, 2).t())],
    "scatter.value": _scatter(1.0), "scatter.src": _scatter(f(2, 3)),
    "scatter_.value": _scatter(1.0), "scatter_.src": _scatter(f(2, 3)),
    "scatter_add": _scatter(f(2, 3)), "scatter_add_": _scatter(f(2, 3)),
}
