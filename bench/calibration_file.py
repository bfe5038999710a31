"""What the published calibrations share: constants of a family, their fit, and the file (see src/hardware/predict)."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np
import tomllib

FIT_LOSS_KNEE = 0.7  # beyond, a point pulls no harder: it may be of another kernel


@dataclasses.dataclass
class Family:
    """max(FLOPs / flop_rate, bytes / byte_rate) + seconds; errors are of ops or runs that were not fitted."""

    name: str
    dtype: str
    flop_rate: float = 0.0
    byte_rate: float = 0.0
    seconds: float = 0.0
    spread: float = 0.0
    error_median: float = 0.0
    error_p90: float = 0.0
    points: int = 0
    source: str = ""

    def row(self) -> str:
        cells = [self.name, self.dtype, f"{self.points:,}", f"{self.flop_rate / 1e12:.5g}", f"{self.byte_rate / 1e9:.5g}"]
        cells += [f"{self.seconds * 1e6:.3g}", f"{self.error_median:.1%}", f"{self.error_p90:.1%}"]
        return " | ".join(cells)

    def text(self) -> str:
        figures = [
            f'flop_rate = "{self.flop_rate / 1e12:.5g} TFLOP/s"' if self.flop_rate else 'flop_rate = "0"',
            f'byte_rate = "{self.byte_rate / 1e9:.5g} GB/s"' if self.byte_rate else 'byte_rate = "0"',
            f'seconds = "{self.seconds * 1e6:.5g} us"' if self.seconds else 'seconds = "0"',
            *(f'{key} = "{getattr(self, key):.4g}"' for key in ("spread", "error_median", "error_p90")),
            f"points = {self.points}",
        ]
        return "\n".join([f"[families.{self.name}.{self.dtype}]", *figures, f'source = "{self.source}"', ""])


def told(rates: tuple[float, ...] | np.ndarray, flops: np.ndarray, moved: np.ndarray, before: np.ndarray) -> np.ndarray:
    """`before`: bytes of another kernel that was timed with the op, at a rate of its own."""
    return np.maximum(flops / rates[0], moved / rates[1]) + rates[2] + before / rates[3]


def loss(misses: np.ndarray, weights: np.ndarray) -> float:
    sizes = np.abs(misses)
    far = FIT_LOSS_KNEE * (1 + np.log(np.maximum(sizes, FIT_LOSS_KNEE) / FIT_LOSS_KNEE))
    return float(np.sum(weights * np.where(sizes < FIT_LOSS_KNEE, sizes, far)))


def fit(flops: np.ndarray, moved: np.ndarray, before: np.ndarray, seconds: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Steps along one constant after the other, from the best that any op reached."""
    rates = np.array([np.max(flops / seconds), np.max(moved / seconds), np.min(seconds), np.max(moved / seconds)])
    best = loss(np.log(seconds / told(rates, flops, moved, before)), weights)
    step = 1.0
    while step > 0.002:
        for _ in range(3):
            for i in range(4 if before.any() else 3):
                for factor in (np.exp(step), np.exp(-step)):
                    other = rates.copy()
                    other[i] *= factor
                    now = loss(np.log(seconds / told(other, flops, moved, before)), weights)
                    if now < best:
                        best, rates = now, other
        step *= 0.6
    return rates


def quantile(values: np.ndarray, share: float, weights: np.ndarray | None = None) -> float:
    order = np.argsort(values)
    below = np.cumsum(np.ones(len(values)) if weights is None else weights[order])
    return float(values[order][min(np.searchsorted(below, share * below[-1]), len(values) - 1)])


def judged(family: Family, misses: np.ndarray, weights: np.ndarray) -> Family:
    """`misses`: log(measured / told) of what was not fitted."""
    errors = np.abs(np.expm1(-misses))
    return dataclasses.replace(
        family,
        spread=quantile(np.abs(misses), 0.683, weights),
        error_median=quantile(errors, 0.5, weights),
        error_p90=quantile(errors, 0.9, weights),
    )


FIGURES = ("flop_rate", "byte_rate", "seconds", "spread", "error_median", "error_p90")  # of a family, not of its groups
_SCALES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "u": 1e-6, "n": 1e-9}


def quantity(text: str) -> float:
    """Of "4.8 TB/s", "3.2 us" or a plain number."""
    number, _, unit = text.partition(" ")
    return float(number) * (1 if unit in ("s", "") else _SCALES.get(unit[0], 1))


def read_families(root: pathlib.Path, device: str) -> list[Family]:
    path = root / "data" / "calibrations" / f"{device}.toml"
    if not path.exists():
        return []
    families = []
    for name, dtypes in tomllib.loads(path.read_text())["families"].items():
        for dtype, keys in dtypes.items():
            figures = {key: quantity(str(keys[key])) for key in FIGURES if key in keys}
            families.append(Family(name, dtype, **figures, points=keys["points"], source=keys.get("source", "")))
    return families


def device_file(root: pathlib.Path, device: str) -> dict:
    return tomllib.loads((root / "data" / "hardware" / f"{device}.toml").read_text())


def element_bytes(dtype: str) -> int:
    return {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2}.get(dtype, 1)


def peak(root: pathlib.Path, device: str, family: str, dtype: str) -> float:
    """Of the units that PyTorch runs the family's products on: TF32 for convolutions of float32."""
    peaks = device_file(root, device)["peaks"]
    matrix = peaks.get("matrix", {})
    name = "tf32" if dtype == "float32" and family in ("conv", "recurrent") else dtype.split("_")[0]
    on_matrix = family in ("matmul", "conv", "attention", "recurrent") and name != "float32"
    return quantity((matrix[name] if on_matrix and name in matrix else peaks["vector"]["float32"])["value"])


def write_calibration(
    root: pathlib.Path, device: str, facts: dict[str, str], families: list[Family], tables: dict[str, dict[str, str | int]] | None = None
) -> None:
    about = device_file(root, device)
    lines = ['calibration = "1"', f'device = "{device}"', f'device_name = "{(about["reported_as"] or [about["name"]])[0]}"']
    lines += [f'kind = "{about["kind"]}"', 'made = "published"', "", "[facts]", *(f'{key} = "{text}"' for key, text in facts.items()), ""]
    for name, keys in (tables or {}).items():
        lines += [f"[{name}]", *(f"{key} = {value}" if isinstance(value, int) else f'{key} = "{value}"' for key, value in keys.items()), ""]
    lines += [family.text() for family in families]
    path = root / "data" / "calibrations" / f"{device}.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([*lines, "[measured]", "ops = []", ""]))
