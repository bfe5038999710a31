"""Calibrations that come with opscope and were not measured by it: each says where it is from, and is of a known device."""

from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib")

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "data" / "calibrations").glob("*.toml"))
PUBLISHED = [path for path in FILES if 'made = "published"' in path.read_text()]


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_a_published_calibration_names_its_source(path: Path) -> None:
    calibration = tomllib.loads(path.read_text())
    assert calibration["device"] == path.stem
    assert (ROOT / "data" / "hardware" / path.name).exists()
    assert {"source", "repository", "licence", "commit", "date"} <= set(calibration["facts"])
    assert calibration["measured"]["ops"] == []
    for name, dtypes in calibration["families"].items():
        for dtype, rates in dtypes.items():
            assert rates["source"], (name, dtype)
            assert 0 < float(rates["spread"]) < 1, (name, dtype)


def figure(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"TFLOP/s": 1e12, "GB/s": 1e9, "TB/s": 1e12}[unit]


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.stem)
def test_no_family_is_faster_than_its_device(path: Path) -> None:
    calibration, device = tomllib.loads(path.read_text()), tomllib.loads((ROOT / "data" / "hardware" / path.name).read_text())
    bandwidth = figure(device["memory"]["bandwidth"]["value"])
    for name, dtypes in calibration["families"].items():
        for dtype, rates in dtypes.items():
            assert figure(rates["byte_rate"]) < 1.05 * bandwidth, (name, dtype)  # caches
            peak = device["peaks"].get("matrix", {}).get(dtype.split("_")[0])
            if peak is not None and name in ("matmul", "conv", "attention"):
                assert figure(rates["flop_rate"]) < 1.13 * figure(peak["value"]), (name, dtype)  # clocks above the boost clock
