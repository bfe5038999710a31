"""Tensors that are not plain: quantised, sparse, nested, complex, subclasses, on several devices, custom ops."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import nn

from models import Case, case

X = torch.randn(3, 8)


# --- quantised


@case
def dynamically_quantised() -> Case:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(8, 4), nn.ReLU()), {nn.Linear})
    return Case(model.eval(), (X,), macs=3 * 8 * 4, ops=("linear_dynamic", "relu"))


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv, self.relu, self.fc = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.conv(self.quant(x)))
        return self.dequant(self.fc(x.mean((2, 3))))


def _quantised(model: nn.Module, image: torch.Tensor) -> nn.Module:
    """Calibrated on one image."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.eval().qconfig = torch.ao.quantization.get_default_qconfig("fbgemm")
        prepared = torch.ao.quantization.prepare(model)
        prepared(image)
        return torch.ao.quantization.convert(prepared)


@case
def statically_quantised() -> Case:
    image = torch.randn(2, 3, 6, 6)
    return Case(
        _quantised(Small(), image), (image,),
        macs=2 * 16 * 27 * 4 + 2 * 4 * 2,
        ops=("quantize_per_tensor", "conv2d", "linear", "dequantize"),
    )


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.quant, self.dequant = torch.ao.quantization.QuantStub(), torch.ao.quantization.DeQuantStub()
        self.conv, self.act = nn.Conv2d(4, 4, 3, padding=1), nn.Hardswish()
        self.sum = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.quant(x)
        return self.dequant(self.act(self.sum.add(x, self.conv(x) if x.numel() else x)))


@case
def quantised_residual() -> Case:
    """The scales of what is added are data, and some pairs of them no kernel takes."""
    image = torch.randn(1, 4, 6, 6) * 1e-4
    return Case(
        _quantised(Residual(), image), (image,),
        macs=36 * 36 * 4,
        ops=("quantize_per_tensor", "conv2d", "add", "hardswish", "dequantize"),
    )


class Rounds(nn.Module):
    """Quantises a tensor and back, without quantised modules."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        return q.dequantize() @ q.int_repr().float().t()


@case
def quantise_and_back() -> Case:
    return Case(Rounds(), (X,), macs=3 * 8 * 3, ops=("quantize_per_tensor", "dequantize", "int_repr", "matmul"))


# --- sparse and nested


class SparseWeight(nn.Module):
    def __init__(self, layout: torch.layout) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dense = torch.eye(8)
            self.weight = dense.to_sparse() if layout == torch.sparse_coo else dense.to_sparse_csr()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.weight @ x.t()).relu()


@case
def sparse_coo() -> Case:
    return Case(SparseWeight(torch.sparse_coo), (X,), ops=("matmul", "relu"))


@case
def sparse_csr() -> Case:
    return Case(SparseWeight(torch.sparse_csr), (X,), ops=("matmul", "relu"))


class MakesNested(nn.Module):
    def __init__(self, layout: torch.layout) -> None:
        super().__init__()
        self.layer, self.layout = nn.Linear(8, 4), layout

    def forward(self, x: torch.Tensor) -> Any:
        rows = torch.nested.as_nested_tensor([x[:1], x[1:]], layout=self.layout)
        return torch.nested.to_padded_tensor(self.layer(rows).relu(), 0.0)


@case
def nested_jagged() -> Case:
    return Case(MakesNested(torch.jagged), (X,), macs=3 * 8 * 4, ops=("relu",))


@case
def nested_strided() -> Case:
    return Case(MakesNested(torch.strided), (X,), error="nested")


class TakesNested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).relu()


@case
def nested_input() -> Case:
    rows = torch.nested.nested_tensor([X[:1], X[1:]], layout=torch.jagged)
    return Case(TakesNested().eval(), (rows,), macs=3 * 8 * 4, ops=("relu",))


@case
def nested_strided_input() -> Case:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = torch.nested.nested_tensor([X[:1], X[1:]])
    return Case(TakesNested(), (rows,), error="nested")


# --- complex numbers


class Spectrum(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.filter = nn.Parameter(torch.randn(5, dtype=torch.complex64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.fft.rfft(x) * self.filter
        power = (y * y.conj()).real
        return torch.fft.irfft(y, n=8) + power.sum(-1, keepdim=True) + torch.view_as_real(y).sum()


@case
def fft_and_complex() -> Case:
    return Case(Spectrum(), (X,), ops=("fft_rfft", "mul", "mul", "fft_irfft", "add"))


class ShortTime(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        spectrum = torch.stft(x, 16, window=torch.hann_window(16), return_complex=True)
        return torch.istft(spectrum * 2, 16, window=torch.hann_window(16)) + spectrum.abs().sum()


@case
def stft() -> Case:
    return Case(ShortTime(), (torch.randn(2, 64),), ops=("stft", "mul", "istft", "abs"))


# --- custom ops


@torch.library.custom_op("opscope_tests::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@torch.library.custom_op("opscope_tests::filled", mutates_args=("x",))
def filled(x: torch.Tensor) -> None:
    x.fill_(1.0)


class Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = doubled(self.layer(x))
        filled(y)
        return y + 1


@case
def custom_op_without_a_meta_kernel() -> Case:
    return Case(
        Custom(), (X,),
        macs=3 * 8 * 4,
        ops=("linear", "doubled", "filled", "add"),
        notes=("running it on zeros",),
    )


# --- subclasses


class Labelled(torch.Tensor):
    """A __torch_function__ subclass: keeps its type, does nothing else."""


class Scaled(torch.Tensor):
    """A __torch_dispatch__ subclass: a tensor and a factor."""

    @staticmethod
    def __new__(cls, data: torch.Tensor, factor: float) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, data.shape, dtype=data.dtype, device=data.device)

    def __init__(self, data: torch.Tensor, factor: float) -> None:
        self.data_, self.factor = data, factor

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def plain(value: Any) -> Any:
            return value.data_ * value.factor if isinstance(value, cls) else value

        return function(*[plain(value) for value in args], **{k: plain(v) for k, v in (kwargs or {}).items()})


@case
def subclass_by_function() -> Case:
    model = nn.Linear(8, 4, bias=False)
    model.weight = nn.Parameter(torch.randn(4, 8).as_subclass(Labelled))
    return Case(model, (X,), macs=3 * 8 * 4, ops=("linear",))


@case
def subclass_by_dispatch() -> Case:
    class Wraps(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Scaled(x, 2.0) @ x.t()

    return Case(Wraps(), (X,), macs=3 * 8 * 3, ops=("mul", "mm"))


# --- devices


class TwoDevices(nn.Module):
    """Half of it on another device, which need not exist."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.first, self.second, self.device = nn.Linear(8, 8), nn.Linear(8, 4), torch.device(device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x).to(self.device)
        mask = torch.arange(3, device=self.device) < 2
        return self.second(x) * mask[:, None] + torch.zeros(4, device=self.device)


@case
def several_devices() -> Case:
    return Case(
        TwoDevices("cuda:1"), (X,),
        macs=3 * 64 + 3 * 32,
        ops=("linear", "to", "linear", "mul", "add"),
        device="cuda:0",
    )


@case
def weights_on_meta() -> Case:
    return Case(
        nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8)).to("meta"), (torch.empty(3, 8, device="meta"),),
        macs=3 * 64,
        ops=("linear", "layer_norm"),
    )
