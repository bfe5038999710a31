"""Calibrations of devices that we cannot touch, from the op timings that NVIDIA publishes with aiconfigurator.

`python bench/predict_published.py SYSTEMS` reads the tables under SYSTEMS/data, a checkout of aiconfigurator's
aic-core/src/aiconfigurator_core/systems, and writes data/calibrations/<device>.toml. Needs numpy and pyarrow.

Of each table half is fitted, by a checksum of the sizes, and the other half says the error. Matrix products are linear
layers without bias: 2*m*n*k FLOPs. Attention is a causal prefill, a decode step and an encoder's without a mask;
a causal mask counts half of the pairs, as kernels compute them. Timed by replay of a CUDA graph.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import zlib
from typing import Any

import numpy as np
import pyarrow.parquet

from calibration_file import (
    FIT_LOSS_KNEE,
    Family,
    device_file,
    element_bytes,
    fit,
    judged,
    peak,
    quantity,
    read_families,
    told,
    write_calibration,
)

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = {
    "source": "NVIDIA aiconfigurator, tables of measured ops",
    "repository": "https://github.com/ai-dynamo/aiconfigurator",
    "licence": "Apache-2.0",
    "commit": "095f58a51c4ca8e61b66ec108d86f223f8d559ce",
    "date": "2026-08-21",
}


@dataclasses.dataclass
class System:
    device: str
    folder: str
    matmul: tuple[str, str] = ("vllm", "0.24.0")  # who timed, in which version
    attention: tuple[str, str] = ("vllm", "0.24.0")


SYSTEMS = [
    System("a100-sxm-80gb", "a100_sxm", ("sglang", "0.5.10"), ("vllm", "0.14.0")),
    System("l40s", "l40s"),
    System("h100-sxm", "h100_sxm"),
    System("h200", "h200_sxm"),  # measured by ourselves; for comparison alone
    System("b200", "b200_sxm"),
    System("b300", "b300_sxm"),
    System("gb200", "gb200"),
    System("gb300", "gb300"),
    System("rtx-pro-6000-server", "rtx_pro_6000_server"),
    System("arc-pro-b60", "b60", ("vllm", "0.20.0"), ("vllm", "0.20.0")),
]
MEASURED_HERE = {"h200"}
# Families without data take the part of the peak that another device reaches: the first of these that has them.
LENDERS = {"l40s": ("rtx-4090",), "rtx-pro-6000-server": ("rtx-pro-6000-max-q",), "a100-sxm-80gb": ("h200", "rtx-3090")}
OTHER_LENDERS = ("h200", "rtx-5090")
BORROWED = 0.25  # standard deviation of the logarithm that this adds


@dataclasses.dataclass
class Points:
    """Ops of one family: what they compute and move, what they took, and the half they are in."""

    flops: np.ndarray
    bytes: np.ndarray
    before: np.ndarray  # bytes of the kernel that quantises the activations, timed with the product
    seconds: np.ndarray
    fitted: np.ndarray
    weights: np.ndarray

    def half(self, fitted: bool) -> tuple[np.ndarray, ...]:
        at = self.fitted == fitted
        return self.flops[at], self.bytes[at], self.before[at], self.seconds[at], self.weights[at]


def points(rows: list[tuple[tuple[int, ...], float, float, float, float]]) -> Points:
    """Of (sizes, FLOPs, bytes, bytes before, milliseconds); a size that was timed twice is in one half."""
    even = [zlib.crc32(str(sizes).encode()) % 2 == 0 for sizes, *_ in rows]
    flops, moved, before, millis = (np.array([row[i] for row in rows], dtype=float) for i in (1, 2, 3, 4))
    return Points(flops, moved, before, millis / 1000, np.array(even), np.full(len(rows), 1 / max(len(rows), 1)))


def table(path: pathlib.Path, **only: Any) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    rows = pyarrow.parquet.read_table(path).to_pylist()
    return [row for row in rows if all(row.get(name, value) == value for name, value in only.items()) and row["latency"] > 0]


def matmul_points(folder: pathlib.Path, engine: tuple[str, str], dtype: str, element: int) -> tuple[Points, set[str]]:
    rows = table(folder / "gemm" / engine[0] / engine[1] / "gemm_perf.parquet", gemm_dtype=dtype)
    found = []
    for row in rows:
        m, n, k = row["m"], row["n"], row["k"]
        before = 3.0 * m * k if element == 1 else 0.0  # reads two bytes, writes one
        found.append(((m, n, k), 2.0 * m * n * k, float(element * (m * k + n * k) + 2 * m * n), before, row["latency"]))
    return points(found), {row["kernel_source"] for row in rows}


def attention_points(folder: pathlib.Path, engine: tuple[str, str]) -> tuple[Points, set[str]]:
    """The three kinds weigh the same, however many rows each has."""
    parts, kernels = [], set()
    for kind, where in (("context", "attention"), ("generation", "attention"), ("encoder", "encoder_attention")):
        path = folder / where / engine[0] / engine[1] / f"{kind}_attention_perf.parquet"
        found = []
        for row in table(path, attn_dtype="bfloat16", kv_cache_dtype="bfloat16", window_size=0):
            b, h, d, length = row["batch_size"], row["num_heads"], row["head_dim"], row["isl"]
            kv = row.get("num_key_value_heads") or h
            keys = length + (row["step"] if kind == "generation" else 0)
            pairs = length * keys * (0.5 if kind == "context" else 1.0)
            moved = 2.0 * b * d * (2 * h * length + 2 * kv * keys)
            found.append(((b, h, kv, d, length, keys), 4.0 * b * h * d * pairs, moved, 0.0, row["latency"]))
            kernels.add(row["kernel_source"])
        if found:
            parts.append(points(found))
    return Points(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in dataclasses.fields(Points))), kernels


def family(name: str, dtype: str, ops: Points, source: str) -> Family:
    rates = fit(*ops.half(True))
    flops, moved, before, seconds, weights = ops.half(False)
    family = Family(name, dtype, *rates[:3].tolist(), points=len(ops.seconds), source=source)
    return judged(family, np.log(seconds / told(rates, flops, moved, before)), weights)


def calibrated(system: System, data: pathlib.Path) -> list[Family]:
    folder = data / system.folder
    families = []
    for dtype, table_dtype, element, what in (
        ("bfloat16", "bfloat16", 2, "linear layers"),
        ("float8_e4m3fn", "fp8", 1, "linear layers in fp8, less the activations' quantisation"),
    ):
        ops, kernels = matmul_points(folder, system.matmul, table_dtype, element)
        if len(ops.seconds):
            source = f"{what}, {' '.join(system.matmul)}: {', '.join(sorted(kernels))}"
            families.append(family("matmul", dtype, ops, source))
    for each in families[1:]:  # two kernels were timed: the product's own least time is taken to be that of bfloat16
        each.seconds = families[0].seconds
    ops, kernels = attention_points(folder, system.attention)
    source = f"prefill, decode and encoder, {' '.join(system.attention)}: {', '.join(sorted(kernels))}"
    families.append(family("attention", "bfloat16", ops, source))
    return families


def borrowed(device: str, own: list[Family]) -> list[Family]:
    """As wide numbers are taken to be as fast: what is known of bfloat16 is not borrowed for float16."""
    have = {(each.name, element_bytes(each.dtype)) for each in own}
    for lender in LENDERS.get(device, OTHER_LENDERS):
        families = [each for each in read_families(ROOT, lender) if (each.name, element_bytes(each.dtype)) not in have]
        if families:
            break
    else:
        return []
    here, there = (quantity(device_file(ROOT, each)["memory"]["bandwidth"]["value"]) for each in (device, lender))
    name = device_file(ROOT, lender)["name"]
    return [
        dataclasses.replace(
            each,
            flop_rate=each.flop_rate * peak(ROOT, device, each.name, each.dtype) / peak(ROOT, lender, each.name, each.dtype),
            byte_rate=each.byte_rate * here / there,
            spread=float(np.hypot(each.spread, BORROWED)),
            error_median=0.0,
            error_p90=0.0,
            points=0,
            source=f"borrowed: the part of its peak that the {name} reaches",
        )
        for each in families
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("systems", type=pathlib.Path, help="aiconfigurator's systems folder")
    parser.add_argument("--only", help="one device")
    options = parser.parse_args()
    print(f"least absolute logarithms, less beyond {FIT_LOSS_KNEE}; errors of the half that was not fitted")
    print("| device | family | dtype | points | TFLOP/s | GB/s | us | median | p90 |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    for system in SYSTEMS:
        if options.only not in (None, system.device):
            continue
        families = calibrated(system, options.systems / "data")
        for each in families:
            print(f"| {system.device} | {each.row()} |", flush=True)
        if system.device not in MEASURED_HERE:
            facts = {**FACTS, "matmul": " ".join(system.matmul), "attention": " ".join(system.attention)}
            write_calibration(ROOT, system.device, facts, families + borrowed(system.device, families))


if __name__ == "__main__":
    main()
