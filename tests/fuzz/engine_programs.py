"""Random programs of ops from the cost table, made by running them: a step is kept where PyTorch itself takes it.

Arguments are guessed from an op's schema. Ops whose tensors must fit together (convolutions, norms, losses) have
recipes. The same seed gives the same program.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

Tensor = torch.Tensor
REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "ops.md"
REAL = [torch.float32, torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16]
MOST_ELEMENTS = 4096

# Ops that no such program can hold, with the reason.
LEFT_OUT = {
    "the size of the result depends on data": """nonzero masked_select unique unique_consecutive unique_dim _unique _unique2
        bincount argwhere where nonzero_numpy one_hot histogram _histogramdd_from_bin_cts nonzero_static combinations
        segment_reduce repeat_interleave _pad_packed_sequence _pack_padded_sequence _nested_tensor_from_mask
        to_padded_tensor histc _ctc_loss ctc_loss""",
    "it gives a number of unknown data, or checks one": """item _local_scalar_dense is_nonzero equal allclose __contains__
        _assert_async _assert_scalar _functional_assert_async Bool Int Float Complex scalar_tensor _is_all_true
        _is_any_true is_same_size""",
    "it is of another backend or layout": """mkldnn_.* cudnn_.* miopen_.* _cudnn_.* _mkldnn_.* to_mkldnn.* _mkldnn.* to_sparse.*
        sparse.* _sparse.* _to_sparse.* _coalesce.* coalesce _values _indices values indices crow.* col_ind.* .*quant.*
        int_repr q_.* dequantize _nested.* nested.* _efficient.* _flash.* pin_memory is_pinned record_stream _pin_memory
        _cslt.* _make_.* _transformer.* _native_multi.* _fused_sdp.* _fw_primal _make_dual fbgemm.* _foobar
        _convert_weight.* _weight_int.* _dyn.* choose_q.* _choose_q.* _scaled_mm.* _scaled_grouped.* _addmm_act.*
        _use_cudnn.* _spdiags _wrapped.* _thnn.* _grouped_mm _int_mm _assert_tensor.*""",
    "its result is uninitialised or of another machine": """_cuda_get.* _empty_affine.* _empty_per.* from_file _resize_output.*
        set set_data _standard_gamma_grad _copy_from.* _linalg_check_errors _print _new_zeros.* _reshape_from.*
        set_ _unsafe_set.*""",
    "its strides are those of the library that PyTorch calls for it (LAPACK, MKL, pocketfft)": """svd linalg_svd linalg_eig
        linalg_lstsq fft_.* stft istft""",
    "it takes as many steps as one of its numbers says": "special_.*polynomial.*",
    "the memory of what it is given moves, in a real run too": "resize_ resize_as_",
    "only PyTorch itself calls it, and its arguments are not checked: wrong ones end the process": """_(?!_).* .*backward.*
        .*jvp.* batch_norm_elemt batch_norm_stats batch_norm_gather.* batch_norm_update.* fused_moving.* rnn_.*cell
        lstm_cell gru_cell lstm gru rnn_tanh rnn_relu lift lift_fresh native_.*""",
}


def known_ops() -> list[str]:
    """The names in the cost table that PyTorch has and that a program can hold."""
    names = set(re.findall(r"^\| aten::(\w+) ", REFERENCE.read_text(encoding="utf-8").replace("\\", ""), re.MULTILINE))
    left_out = re.compile("|".join(word for words in LEFT_OUT.values() for word in words.split()))
    return sorted(n for n in names if not left_out.fullmatch(n) and any(map(gives_tensors, overloads(n))))


def overloads(name: str) -> Iterator[Any]:
    packet = getattr(torch.ops.aten, name, None)
    for each in packet.overloads() if packet else ():
        if not each.startswith("prim_"):  # TorchScript's: `to.prim_Device` without a dtype reads what is not there
            yield getattr(packet, each)


def gives_tensors(op: Any) -> bool:
    schema = op._schema
    kinds = {str(a.type) for a in schema.arguments}
    plain = not any(a.is_out for a in schema.arguments) and "ame" not in schema.overload_name
    return plain and not kinds & {"Storage", "Any"} and any("Tensor" in str(r.type) for r in schema.returns) and any(
        "Tensor" in str(a.type) for a in schema.arguments)


@dataclass(frozen=True)
class Ref:
    """A tensor of a program, by its number."""

    index: int


@dataclass(frozen=True)
class Step:
    op: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.op}({', '.join([*map(str, self.args), *(f'{k}={v}' for k, v in self.kwargs.items())])})"


def put(value: Any, values: list[Tensor]) -> Any:
    """The value with its tensors in place of their numbers."""
    if isinstance(value, Ref):
        return values[value.index]
    if isinstance(value, (list, tuple)):
        return type(value)(put(item, values) for item in value)
    return value


def tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def copied(tensor: Tensor) -> Tensor:
    """The same on memory of its own, strides and offset as they are."""
    storage = tensor.untyped_storage().clone()
    return torch.empty(0, dtype=tensor.dtype).set_(storage, tensor.storage_offset(), tensor.size(), tensor.stride())


class Program(nn.Module):
    """A model that runs the steps one after the other. A step without an op takes a parameter or buffer of the model."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.see: Callable[[list[Tensor]], None] = lambda values: None

    def hold(self, tensor: Tensor) -> Step:
        name = f"t{len(self.steps)}"
        if tensor.is_floating_point():
            self.register_parameter(name, nn.Parameter(tensor))
        else:
            self.register_buffer(name, tensor)
        return Step(None, (name,), {})

    def run(self, step: Step, values: list[Tensor]) -> list[Tensor]:
        if step.op is None:
            return [getattr(self, step.args[0])]
        return tensors_in(step.op(*put(step.args, values), **{k: put(v, values) for k, v in step.kwargs.items()}))

    def forward(self, *inputs: Tensor) -> list[Tensor]:
        values = list(inputs)
        for step in self.steps:
            self.see(values)
            values += self.run(step, values)
        self.see(values)
        return values[len(inputs):]


class Maker:
    """Makes one program by running it. Everything random comes from the seed."""

    def __init__(self, seed: int, ops: list[str], recipes: list[Callable[[Maker], Step]]) -> None:
        self.random = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.ops, self.recipes = ops, recipes
        self.program = Program()
        self.inputs = [self.tensor() for _ in range(self.random.randint(1, 3))]
        self.values = [copied(tensor) for tensor in self.inputs]

    def make(self, steps: int) -> Program:
        for _ in range(self.random.randint(0, 2)):
            self.hold(self.tensor())
        for _ in range(steps * 6):
            if sum(step.op is not None for step in self.program.steps) >= steps:
                break
            self.try_step()
        return self.program

    def hold(self, tensor: Tensor) -> Ref:
        """A new parameter or buffer of the program."""
        self.program.steps.append(self.program.hold(tensor))
        self.values.append(copied(tensor))
        return Ref(len(self.values) - 1)

    def try_step(self) -> None:
        try:
            if self.random.random() < 0.4:
                step = self.random.choice(self.recipes)(self)
            else:
                step = self.guessed(self.random.choice([op for op in overloads(self.random.choice(self.ops)) if gives_tensors(op)]))
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = self.program.run(step, self.values)
        except Exception:  # PyTorch refuses most guesses
            return
        if sum(t.numel() for t in found) <= MOST_ELEMENTS and all(t.layout == torch.strided for t in found):
            self.values += found
            self.program.steps.append(step)

    # --- tensors

    def size(self) -> list[int]:
        return [self.random.choice([1, 2, 3, 4, 5, 8]) for _ in range(self.random.choice([0, 1, 2, 2, 3, 3, 4, 4, 5]))]

    def data(self, *size: int, dtype: torch.dtype = torch.float32) -> Tensor:
        if dtype == torch.bool:
            return torch.rand(size, generator=self.generator) > 0.5
        if dtype.is_floating_point or dtype.is_complex:
            return (torch.rand(size, generator=self.generator) / 2 + 0.25).to(dtype)
        return torch.randint(2, size, generator=self.generator, dtype=dtype)

    def tensor(self) -> Tensor:
        """Of any layout: plain, channels last, transposed, sliced, expanded, empty."""
        pick = self.random.choice
        size = self.size()
        if self.random.random() < 0.04 and size:
            size[self.random.randrange(len(size))] = 0
        x = self.data(*size, dtype=pick([*REAL, *REAL, torch.int64, torch.int32, torch.uint8, torch.bool, torch.complex64]))
        kind = pick(["plain", "plain", "last", "transposed", "sliced", "expanded"])
        if kind == "last" and x.dim() in (4, 5):
            return x.to(memory_format=torch.channels_last if x.dim() == 4 else torch.channels_last_3d)
        if kind == "transposed" and x.dim() > 1:
            order = list(range(x.dim()))
            self.random.shuffle(order)
            return x.permute(order)
        if kind == "sliced" and x.dim():
            return x.repeat_interleave(2, -1)[..., ::2]
        if kind == "expanded" and x.dim():
            return x[..., :1].expand(x.shape)
        return x

    # --- arguments

    def ref(self, wanted: Callable[[Tensor], bool] = lambda _: True) -> Ref:
        fitting = [i for i, tensor in enumerate(self.values) if wanted(tensor)]
        # The newest rather than the oldest, so that programs are chains.
        return Ref(self.random.choice(fitting[-4:] if self.random.random() < 0.6 else fitting))

    def guess(self, argument: Any, rank: int) -> Any:
        kind, name, pick = str(argument.type), argument.name, self.random.choice
        if kind.startswith("Optional["):
            if self.random.random() < 0.5:
                return None
            kind = kind[9:-1]
        if kind == "Tensor":
            whole = re.search("index|indices|ind|offset|target", name) is not None
            if "mask" in name or name == "condition":
                return self.ref(lambda t: t.dtype == torch.bool)
            return self.ref(lambda t: not whole or t.dtype == torch.int64)
        if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
            first = self.ref()
            return [first, *(self.ref() for _ in range(pick([0, 1, 2])))]
        if kind == "List[int]" and name in ("dim", "dims", "axes"):
            return self.random.sample(range(-rank, 0), self.random.randint(min(1, rank), rank)) if rank else []
        if kind == "List[int]":
            return [pick([-1, 0, 1, 1, 2, 2, 3, 4]) for _ in range(pick([1, 2, 2, 3, rank]))]
        if kind == "int":
            return self.random.randrange(-rank, rank) if "dim" in name and rank else pick([-2, -1, 0, 1, 1, 2, 3])
        values_of = {"number": [0, 1, 2, 0.5, -1.5], "float": [0.0, 0.5, 1.0, 1e-5], "bool": [True, False], "List[bool]": [[True]],
            "List[float]": [[1.0], [2.0, 2.0]], "str": ["none", "mean", "floor", "reflect", "ij"], "complex": [1j]}  # fmt: skip
        return pick(values_of[kind])

    def guessed(self, op: Any) -> Step:
        args: list[Any] = []
        kwargs = {}
        rank = 0
        for argument in op._schema.arguments:
            if argument.has_default_value() and self.random.random() < 0.6:
                if argument.kwarg_only:
                    continue
                value = argument.default_value
            elif argument.name in ("dtype", "layout", "memory_format", "device", "generator", "pin_memory"):
                value = self.form(argument)
            else:
                value = self.guess(argument, rank)
            if isinstance(value, Ref) and not args:
                rank = self.values[value.index].dim()
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        return Step(op, tuple(args), kwargs)

    def form(self, argument: Any) -> Any:
        if argument.name == "dtype":
            return self.random.choice([*REAL, torch.int64, torch.bool])
        if argument.name == "memory_format":
            return self.random.choice([torch.contiguous_format, torch.preserve_format, torch.channels_last])
        if "Optional" not in str(argument.type):
            raise TypeError("nothing else to guess")
        return None
