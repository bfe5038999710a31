"""Cases of test_engine_rules.py for quantised dtypes."""

from __future__ import annotations

import warnings

import torch

from engine_rule_cases import c, cl, f


def q(x: torch.Tensor, dtype: torch.dtype = torch.quint8) -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(x, 1.0, 0, dtype)


PLAIN = [f(2, 3), f(2, 3, 4, 5), cl(2, 3, 4, 5), f(4, 3).t(), f(0, 3), f(2, 4, 5, 3).permute(0, 3, 1, 2)]
QUANTISED = [q(x) for x in PLAIN] + [q(f(2, 3), torch.qint8), q(f(2, 3), torch.qint32)]
UNSIGNED = [q(f(2, 3, 4, 5)), q(cl(2, 3, 4, 5)), q(f(2, 3))]
ONES = torch.ones(3)


def pairs(*numbers: float) -> list:
    return [c(x, x, *numbers) for x in UNSIGNED] + [c(q(f(2, 3)), q(f(2, 3), torch.qint8), *numbers)]


QUANTISED_CASES = {
    "quantize_per_tensor": [c(x, 0.1, 0, torch.quint8) for x in PLAIN] + [c(f(2, 3), 0.1, 0, torch.float32)],
    "quantize_per_tensor.tensor_qparams": [
        c(x, torch.tensor(0.1), torch.tensor(0), torch.qint8, known=(1, 2)) for x in PLAIN[:3]
    ],
    "quantize_per_tensor_dynamic": [c(x, torch.quint8, False) for x in PLAIN[:3]],
    "quantize_per_channel": [c(x, ONES, torch.zeros(3, dtype=torch.long), 1, torch.quint8) for x in PLAIN[:2]],
    "dequantize.self": [c(x) for x in QUANTISED],
    "int_repr": [c(x) for x in QUANTISED],
    "q_scale": [c(q(f(2, 3)))],
    "q_zero_point": [c(q(f(2, 3)))],
    "quantized::add": pairs(0.1, 0),
    "quantized::add_relu": pairs(0.1, 0),
    "quantized::mul": pairs(0.1, 0),
    "quantized::mul_relu": pairs(0.1, 0),
    "quantized::hardswish": [c(x, 0.1, 0) for x in UNSIGNED],
    "quantized::sigmoid": [c(x, 1 / 256, 0) for x in UNSIGNED],
    "quantized::leaky_relu": [c(x, 0.1, False, 0.1, 0) for x in UNSIGNED],
    "quantized::relu6": [c(x) for x in UNSIGNED],
    "quantized::batch_norm2d": [c(x, ONES, ONES, ONES, ONES, 1e-5, 0.1, 0) for x in UNSIGNED[:2]],
    "quantized::batch_norm2d_relu": [c(x, ONES, ONES, ONES, ONES, 1e-5, 0.1, 0) for x in UNSIGNED[:2]],
}
