"""Every shape rule against a real run on the CPU: shapes, dtypes, strides, aliasing and errors.

A case is an op and its real arguments. It is run once as it is and once with abstract twins of its tensors; the
two must agree. Where PyTorch's own meta kernel agrees with the real run, the rule agrees with it too. The cases
are in `engine_rule_cases.py`, one entry for each rule, or generated here for pointwise ops.
"""

from __future__ import annotations

import itertools

import pytest
import torch

import engine_rule_cases as table
from engine_rule_cases_backward import BACKWARD_CASES
from engine_rule_cases_layers import LAYER_CASES
from engine_rule_cases_linalg import LINALG_CASES
from engine_rule_cases_quantised import QUANTISED_CASES
from engine_rule_cases_tensors import TENSOR_CASES

native = pytest.importorskip("opscope._native")
from opscope.engine import torch_version  # noqa: E402
from opscope.engine.abstract_run import abstract_calls  # noqa: E402

CASES = {**table.POINTWISE_CASES, **LAYER_CASES, **TENSOR_CASES, **QUANTISED_CASES, **BACKWARD_CASES, **LINALG_CASES}
RULES = sorted(native.shape_rules())
CUDNN = {"aten::_cudnn_rnn", "aten::_cudnn_rnn_backward", "aten::cudnn_batch_norm", "aten::cudnn_batch_norm_backward"}  # below
NOT_ON_THE_CPU = {"aten::_grouped_mm"} if torch_version.RELEASE < (2, 9) else set()  # ops without a real run to agree with


def op_of(name: str, overload: str):
    space, _, short = name.partition("::")
    return getattr(getattr(getattr(torch.ops, space), short), overload or "default")


def overloads(name: str, overload: str) -> list[str]:
    """The overloads that a rule speaks for: its own, or for "*" all on tensors but out= and named ones."""
    if overload != "*":
        return [overload]
    packet = getattr(torch.ops.aten, name.removeprefix("aten::"))
    taken = {own for rule, own in RULES if rule == name}
    every = ["" if o == "default" else o for o in packet.overloads()]
    return [o for o in every if "out" not in o.lower() and "ame" not in o and o not in taken and takes_tensors(op_of(name, o))]


def takes_tensors(op) -> bool:
    return any(str(a.type) == "Tensor" for a in op._schema.arguments)


def fresh(value):
    """The same argument on memory of its own, with its strides and offset."""
    if isinstance(value, torch.Tensor) and value.is_quantized:
        return value  # clone would lose its format, and no rule here writes
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage().clone()
        return torch.empty(0, dtype=value.dtype).set_(storage, value.storage_offset(), value.size(), value.stride())
    if isinstance(value, (list, tuple)):
        return type(value)(fresh(item) for item in value)
    return value


def abstracted(session, value):
    if isinstance(value, torch.Tensor):
        return session.abstract(value)
    if isinstance(value, (list, tuple)):
        return type(value)(abstracted(session, item) for item in value)
    return value


def tensors(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors(item)]
    return []


def described(args, results, storage) -> list[tuple]:
    """What must agree: each result's form, the inputs it shares memory with, and whether it is one of them."""
    inputs = tensors(args)
    form = []
    for result in tensors(results):
        shares = [i for i, tensor in enumerate(inputs) if tensor.numel() and storage(tensor) == storage(result)]
        same = [i for i, tensor in enumerate(inputs) if tensor is result]
        form.append((tuple(result.shape), result.dtype, result.stride(), shares if result.numel() else [], same))
    return form


RAISED = (RuntimeError, IndexError, ValueError, TypeError)


def real_run(op, case):
    args = fresh(case.args)
    try:
        return described(args, op(*args, **case.kwargs), lambda tensor: tensor.untyped_storage().data_ptr()), None
    except RAISED as error:
        return None, error


def abstract_run(session, op, case):
    args = tuple(fresh(a) if i in case.known else abstracted(session, a) for i, a in enumerate(case.args))
    name = op._schema.name
    hits = session.rule_hits.get(name, 0)
    try:
        form = described(args, op(*args, **case.kwargs), session.storage_id)
    except RAISED as error:
        return None, error, False
    return form, None, session.rule_hits.get(name, 0) > hits


def judge(op, case, real, abstract) -> bool:
    """Compares the two runs of a case; says whether the rule answered."""
    expected, error = real
    got, abstract_error, hit = abstract
    where = f"{op} {shown(case.args)} {case.kwargs}"
    if error is not None:
        # A rule never answers for a call that fails, unless a CPU kernel merely lacks the dtype: another device's
        # may have it. What the rule leaves to PyTorch must raise, where PyTorch's own meta kernel does.
        lacks_kernel = any(text in str(error) for text in ("not implemented for", "not support", "scalar type"))
        assert abstract_error is not None or lacks_kernel or (not hit and is_lenient(op, case)), (
            f"{where}: the real run raises: {error}")
        return False
    if abstract_error is not None:
        raise AssertionError(f"{where}: {abstract_error}") from abstract_error
    assert not hit or got == expected, f"{where}: the rule says {got}, the real run {expected}"
    return hit


def is_lenient(op, case) -> bool:
    """True where PyTorch's meta kernel accepts the call, or the engine does by design."""
    if op._schema.name in table.RELAXED:
        return True
    try:
        op(*meta_twin(case.args), **case.kwargs)
    except Exception:
        return False
    return True


def meta_twin(value):
    if isinstance(value, torch.Tensor):
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return type(value)(meta_twin(item) for item in value)
    return value


def shown(value) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{list(value.shape)}/{list(value.stride())}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return repr(value)


def generated(op) -> list[table.Case]:
    """Layout, broadcasting and dtype cases for a pointwise op, by the tensors and numbers that its schema takes."""
    required = [a for a in op._schema.arguments if not a.has_default_value() and not a.kwarg_only]
    kinds = ["tensor" if "Tensor" in str(a.type) else "number" for a in required]
    operands = {1: table.UNARY, 2: table.BINARY, 3: table.TERNARY}[kinds.count("tensor")]
    numbers = table.NUMBERS if "number" in kinds else (None,)
    cases = []
    for supply, number in itertools.product(operands, numbers):
        supply = iter(supply)
        cases.append(table.Case(tuple(next(supply) if kind == "tensor" else number for kind in kinds)))
    return cases


def cases_of(name: str, overload: str) -> list[tuple]:
    found = []
    short = name.removeprefix("aten::")
    for own in overloads(name, overload):
        key = short + (f".{own}" if own else "")
        op = op_of(name, own)
        cases = CASES.get(key, [])
        if short in table.POINTWISE and not cases:
            cases = generated(op)
        found += [(op, case) for case in cases]
    return found


@pytest.mark.parametrize(("name", "overload"), [rule for rule in RULES if rule[0] not in CUDNN], ids=lambda part: part or "default")
def test_rule_agrees_with_a_real_run(name, overload):
    cases = cases_of(name, overload)
    assert cases, f"no case for {name}.{overload}: add one to engine_rule_cases.py"
    with torch.no_grad():
        real = [real_run(op, case) for op, case in cases]
        with abstract_calls() as session:
            abstract = [abstract_run(session, op, case) for op, case in cases]
    hits = sum(judge(op, case, *runs) for (op, case), *runs in zip(cases, real, abstract, strict=True))
    assert hits or name in NOT_ON_THE_CPU, f"the rule of {name}.{overload} declined every case"


def shapes(values) -> list[tuple[tuple[int, ...], torch.dtype]]:
    return [(tuple(tensor.shape), tensor.dtype) for tensor in tensors(values)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rules_of_cudnn_agree_with_meta_kernels(dtype):
    """No CPU has these; what PyTorch keeps for the backward pass beside the results has another size on a GPU."""
    ops, sized = torch.ops.aten, [(7, 4, 6), (32, 6), (32, 8), (32,), (32,), (1, 4, 8), (1, 4, 8)]

    def layer(made):
        x, *weights, hx, cx = (made(torch.empty(size, dtype=dtype)) for size in sized)
        rnn = ops._cudnn_rnn(x, weights, 4, None, hx, cx, 2, 8, 0, 1, False, 0.0, True, False, [], None)
        image, channels = made(torch.empty(4, 6, 5, 5, dtype=dtype)), made(torch.empty(6))
        norm = ops.cudnn_batch_norm(image, *[channels] * 4, True, 0.1, 1e-5)
        back = ops.cudnn_batch_norm_backward(image, image, *[channels] * 5, 1e-5, norm[3])
        return x, weights, hx, cx, rnn, norm[:3], back

    with torch.no_grad():
        *_, rnn, norm, back = layer(lambda tensor: tensor.to("meta"))
        with abstract_calls("cuda") as session:
            x, weights, hx, cx, *own = layer(session.abstract)
            assert shapes([own[0][:3], *own[1:]]) == shapes([rnn[:3], norm, back])
            given = (x, weights, 4, weights[0], hx, cx, own[0][0], own[0][0], hx, cx, 2, 8, 0, 1, False, 0.0, True, False, [], None)
            grads = ops._cudnn_rnn_backward(*given, own[0][3], [True] * 4)
            assert shapes(grads) == shapes([x, hx, cx, weights])
        assert set(session.rule_hits) == CUDNN


def test_every_case_belongs_to_a_rule():
    spoken_for = {name.removeprefix("aten::") + (f".{o}" if o else "") for name, own in RULES for o in overloads(name, own)}
    assert sorted(set(CASES) - spoken_for) == []


@pytest.mark.parametrize(("name", "overload"), [r for r in RULES if r[0] not in table.META_DIFFERS],
                         ids=lambda part: part or "default")
def test_rule_agrees_with_pytorchs_meta_kernel(name, overload):
    """Shapes and dtypes only: PyTorch's meta kernels get the strides of some real kernels wrong."""
    cases = [(op, case) for op, case in cases_of(name, overload) if not case.known]
    for op, case in cases[:12]:
        try:
            expected = [(tuple(t.shape), t.dtype) for t in tensors(op(*meta_twin(case.args), **case.kwargs))]
        except Exception:  # some raise on what the CPU takes
            continue
        with torch.no_grad(), abstract_calls() as session:
            got, error, hit = abstract_run(session, op, case)
        if hit:
            assert [form[:2] for form in got] == expected, f"{op} {shown(case.args)}"
