"""Calls whose tensors must fit together, for random programs: layers, products, norms, losses, indexing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from engine_programs import Maker, Ref, Step, Tensor

aten = torch.ops.aten
Recipe = Callable[[Maker], Step]
RECIPES: list[Recipe] = []


def recipe(function: Recipe) -> Recipe:
    RECIPES.append(function)
    return function


def call(op: Any, *args: Any, **kwargs: Any) -> Step:
    return Step(op, args, kwargs)


def real(m: Maker, *ranks: int) -> tuple[Ref, Tensor]:
    """A tensor of real numbers of one of these ranks (any where none is given): one there is, or a new one."""
    def fits(t: Tensor) -> bool:
        return t.is_floating_point() and t.numel() > 0 and (not ranks or t.dim() in ranks)

    if not any(map(fits, m.values)) or m.random.random() < 0.2:
        size = [m.random.choice([1, 2, 3, 4, 6]) for _ in range(m.random.choice(ranks or (2, 3)))]
        x = m.data(*size)
        if x.dim() == 4 and m.random.random() < 0.4:
            x = x.to(memory_format=torch.channels_last)
        return (ref := m.hold(x)), m.values[ref.index]
    ref = m.ref(fits)
    return ref, m.values[ref.index]


def like(m: Maker, x: Tensor, *size: int) -> Ref:
    """A new parameter of the other's dtype, now and then of another layout."""
    made = m.data(*size, dtype=x.dtype)
    if made.dim() == 4 and m.random.random() < 0.3:
        made = made.to(memory_format=torch.channels_last)
    if made.dim() == 2 and m.random.random() < 0.3:
        made = m.data(*reversed(size), dtype=x.dtype).t()
    return m.hold(made)


def maybe(m: Maker, make: Callable[[], Any]) -> Any:
    return make() if m.random.random() < 0.5 else None


def indices(m: Maker, below: int, *size: int) -> Ref:
    return m.hold(torch.randint(below, size, generator=m.generator))


def dim_of(m: Maker, x: Tensor) -> int:
    return m.random.randrange(-x.dim(), x.dim())


@recipe
def convolution(m: Maker) -> Step:
    space = m.random.choice([1, 2, 2, 2, 3])
    ref, x = real(m, space + 2, space + 1)
    channels = x.shape[-space - 1]
    groups = m.random.choice([1, channels])
    out = groups * m.random.choice([1, 2])
    kernel = [m.random.choice([1, 2, 3]) for _ in range(space)]
    stride, padding, dilation = ([m.random.choice(some) for _ in range(space)] for some in ((1, 2), (0, 1, 2), (1, 1, 2)))
    if m.random.random() < 0.3:
        op = [aten.conv_transpose1d.default, aten.conv_transpose2d.input, aten.conv_transpose3d.input][space - 1]
        return call(op, ref, like(m, x, channels, out // groups, *kernel), maybe(m, lambda: like(m, x, out)), stride, padding, [0] * space, groups, dilation)
    op = [aten.conv1d.default, aten.conv2d.default, aten.conv3d.default][space - 1]
    return call(op, ref, like(m, x, out, channels // groups, *kernel), maybe(m, lambda: like(m, x, out)), stride, padding, dilation, groups)


@recipe
def linear(m: Maker) -> Step:
    ref, x = real(m, 1, 2, 3, 4)
    out = m.random.choice([1, 3, 8])
    return call(aten.linear.default, ref, like(m, x, out, x.shape[-1]), maybe(m, lambda: like(m, x, out)))


@recipe
def product(m: Maker) -> Step:
    ref, x = real(m, 1, 2, 3, 4)
    n = m.random.choice([1, 2, 5])
    if x.dim() == 2 and m.random.random() < 0.5:
        other = like(m, x, x.shape[1], n)
        return call(aten.mm.default, ref, other) if m.random.random() < 0.5 else call(aten.addmm.default, like(m, x, n), ref, other)
    if x.dim() == 3 and m.random.random() < 0.5:
        other = like(m, x, x.shape[0], x.shape[2], n)
        return call(aten.bmm.default, ref, other) if m.random.random() < 0.5 else call(aten.baddbmm.default, like(m, x, n), ref, other)
    return call(aten.matmul.default, ref, like(m, x, *m.random.choice([[x.shape[-1]], [x.shape[-1], n], [2, x.shape[-1], n]])))


@recipe
def einsum(m: Maker) -> Step:
    ref, x = real(m, 3)
    other = like(m, x, x.shape[0], 4, x.shape[2])
    return call(aten.einsum.default, m.random.choice(["bij,bkj->bik", "bij,bkj->ik", "bij,bkj->bkij"]), [ref, other])


@recipe
def embedding(m: Maker) -> Step:
    ids = indices(m, 5, *m.random.choice([[3], [2, 3], []]))
    return call(aten.embedding.default, m.hold(m.data(5, 4)), ids)


@recipe
def norm(m: Maker) -> Step:
    ref, x = real(m, 2, 3, 4)
    channels = x.shape[1]
    kind = m.random.choice(["layer", "rms", "group", "batch", "instance"])
    weight = maybe(m, lambda: like(m, x, channels))
    if kind in ("layer", "rms"):
        shape = list(x.shape[m.random.choice([1, -1]):])
        weight = maybe(m, lambda: like(m, x, *shape))
        if kind == "rms":
            return call(aten.rms_norm.default, ref, shape, weight, 1e-5)
        return call(aten.layer_norm.default, ref, shape, weight, maybe(m, lambda: like(m, x, *shape)), 1e-5)
    if kind == "group":
        return call(aten.group_norm.default, ref, m.random.choice([1, channels]), weight, weight)
    mean, var = (m.hold(m.data(channels)) for _ in "mv")
    op = aten.batch_norm.default if kind == "batch" else aten.instance_norm.default
    return call(op, ref, weight, weight, mean, var, m.random.random() < 0.5, 0.1, 1e-5, False)


@recipe
def pool(m: Maker) -> Step:
    space = m.random.choice([1, 2, 2, 3])
    ref, _ = real(m, space + 2, space + 1)
    kernel, stride, padding = ([m.random.choice(some)] * space for some in ((1, 2, 3), (1, 2), (0, 0, 1)))
    ceil = m.random.random() < 0.3
    kind = m.random.choice(["avg", "max", "indices", "adaptive", "adaptive max"])
    if kind == "avg":
        return call(getattr(aten, f"avg_pool{space}d").default, ref, kernel, stride, padding, ceil)
    if kind == "max":
        return call(getattr(aten, f"max_pool{space}d").default, ref, kernel, stride, padding, [1] * space, ceil)
    if kind == "indices":
        return call(getattr(aten, f"max_pool{space}d_with_indices").default, ref, kernel, stride, padding, [1] * space, ceil)
    op = getattr(aten, f"adaptive_{'avg' if kind == 'adaptive' else 'max'}_pool{space}d")
    return call(op.default, ref, [m.random.choice([1, 2])] * space)


@recipe
def resize(m: Maker) -> Step:
    mode = m.random.choice(["nearest", "bilinear", "bicubic", "linear", "trilinear"])
    space = {"linear": 1, "trilinear": 3}.get(mode, 2)
    ref, x = real(m, space + 2)
    size = [s * 2 for s in x.shape[2:]]
    op = getattr(aten, f"upsample_{mode}{f'{space}d' if mode in ('nearest', 'bilinear', 'bicubic') else '1d' if space == 1 else '3d'}")
    return call(op.default, ref, size) if mode == "nearest" else call(op.default, ref, size, m.random.random() < 0.5)


@recipe
def attention(m: Maker) -> Step:
    ref, x = real(m, 3, 4)
    keys = like(m, x, *x.shape[:-2], m.random.choice([x.shape[-2], 5]), x.shape[-1])
    causal = m.random.random() < 0.3
    return call(aten.scaled_dot_product_attention.default, ref, keys, keys, None, 0.0, causal)


@recipe
def recurrent(m: Maker) -> Step:
    ref, x = real(m, 3)
    hidden, gates = 4, m.random.choice([4, 3])
    weights = [like(m, x, gates * hidden, x.shape[2]), like(m, x, gates * hidden, hidden), like(m, x, gates * hidden), like(m, x, gates * hidden)]
    state = like(m, x, 1, x.shape[1], hidden)
    rest = (weights, True, 1, 0.0, False, False, False)
    return call(aten.lstm.input, ref, [state, state], *rest) if gates == 4 else call(aten.gru.input, ref, state, *rest)


@recipe
def picking(m: Maker) -> Step:
    ref, x = real(m, 1, 2, 3, 4)
    dim = dim_of(m, x)
    size, below = list(x.shape), x.shape[dim]
    size[dim] = m.random.choice([1, below])
    kind = m.random.choice(["index_select", "gather", "scatter", "scatter_add", "index", "index_put", "index_add", "take_along_dim"])
    if kind in ("index_select", "index_add"):
        rows = indices(m, below, size[dim])
        return call(aten.index_select.default, ref, dim, rows) if kind == "index_select" else call(aten.index_add.default, ref, dim, rows, like(m, x, *size))
    if kind in ("gather", "take_along_dim"):
        where = indices(m, below, *size)
        return call(aten.gather.default, ref, dim, where) if kind == "gather" else call(aten.take_along_dim.default, ref, where, dim)
    if kind in ("scatter", "scatter_add"):
        op = aten.scatter.src if kind == "scatter" else aten.scatter_add.default
        return call(op, ref, dim, indices(m, below, *size), like(m, x, *size))
    places: list[Ref | None] = [None] * x.dim()
    for at in m.random.sample(range(x.dim()), m.random.randint(1, x.dim())):
        places[at] = indices(m, x.shape[at], *m.random.choice([[2], [2, 1], []]))
    if kind == "index":
        return call(aten.index.Tensor, ref, places)
    return call(m.random.choice([aten.index_put.default, aten.index_put_.default]), ref, places, m.hold(m.data(dtype=x.dtype)), False)


@recipe
def joining(m: Maker) -> Step:
    ref, x = real(m, 1, 2, 3, 4)
    dim = dim_of(m, x)
    others = [like(m, x, *x.shape) for _ in range(m.random.choice([0, 1, 2]))]
    return call(m.random.choice([aten.cat.default, aten.stack.default]), [ref, *others], dim)


@recipe
def cutting(m: Maker) -> Step:
    ref, x = real(m, 1, 2, 3, 4)
    dim = dim_of(m, x)
    kind = m.random.choice([aten.chunk.default, aten.split.Tensor, aten.unbind.int, aten.select.int, aten.slice.Tensor, aten.unfold.default, aten.tensor_split.sections])
    more = {aten.unbind.int: (), aten.select.int: (0,), aten.slice.Tensor: (0, x.shape[dim], m.random.choice([1, 2])), aten.unfold.default: (1, 1)}.get(kind, (2,))
    if kind in (aten.chunk.default, aten.split.Tensor, aten.tensor_split.sections):
        return call(kind, ref, 2, dim)
    return call(kind, ref, dim, *more)


@recipe
def view(m: Maker) -> Step:
    ref, x = real(m)
    order = list(range(x.dim()))
    m.random.shuffle(order)
    flat = [x.numel()] if m.random.random() < 0.5 else [-1, *x.shape[1:]]
    return m.random.choice([
        call(aten.permute.default, ref, order), call(aten.reshape.default, ref, flat), call(aten.flatten.using_ints, ref, 0, -1),
        call(aten.expand.default, ref, [2, *x.shape]), call(aten.unsqueeze.default, ref, 0), call(aten.squeeze.default, ref),
        call(aten.contiguous.default, ref), call(aten.clone.default, ref), call(aten.movedim.int, ref, 0, -1),
        call(aten._unsafe_view.default, ref, flat), call(aten.repeat.default, ref, [2, *[1] * x.dim()]),
    ])  # fmt: skip


@recipe
def choosing(m: Maker) -> Step:
    ref, x = real(m, 1, 2, 3)
    mask = m.hold(m.data(*x.shape, dtype=torch.bool))
    other = like(m, x, *x.shape[-1:])
    return m.random.choice([
        call(aten.where.self, mask, ref, other), call(aten.masked_fill.Scalar, ref, mask, 0.0), call(aten.masked_fill_.Scalar, ref, mask, 0.0),
        call(aten.topk.default, ref, 1), call(aten.sort.default, ref), call(aten.argsort.default, ref), call(aten.cumsum.default, ref, -1),
    ])  # fmt: skip


@recipe
def loss(m: Maker) -> Step:
    ref, x = real(m, 2, 4)
    target = indices(m, x.shape[1], x.shape[0], *x.shape[2:])
    reduction = m.random.choice([0, 1, 2])
    if m.random.random() < 0.5:
        return call(aten.cross_entropy_loss.default, ref, target, None, reduction)
    return call(m.random.choice([aten.mse_loss.default, aten.l1_loss.default, aten.smooth_l1_loss.default]), ref, like(m, x, *x.shape), reduction)


@recipe
def pad(m: Maker) -> Step:
    ref, x = real(m, 2, 3, 4)
    amounts = [m.random.choice([0, 1, 2]) for _ in range(2 * m.random.randint(1, x.dim()))]
    return call(aten.constant_pad_nd.default, ref, amounts, 0.0)


@recipe
def written(m: Maker) -> Step:
    ref, x = real(m)
    other = like(m, x, *x.shape[-1:])
    op = m.random.choice([aten.add_.Tensor, aten.mul_.Tensor, aten.copy_.default, aten.sub_.Tensor])
    return call(op, ref, other)
