"""Calibrations of gaming and workstation GPUs, from the times of whole models that timm publishes, and their judgement.

`python bench/timm_graphs.py RESULTS` captures the models first. Then, each stage from what the one before wrote:

    python bench/predict_timm.py features          the ops of each capture, to build/timm/ops.npz (needs opscope)
    python bench/predict_timm.py fit RESULTS       data/calibrations/<device>.toml, from models with an even checksum
    python bench/predict_timm.py judge RESULTS     docs/predict_published.md, from the models with an odd one

A run takes the sum of its kernels: max(FLOPs / flop_rate, bytes / byte_rate) + seconds each, by family and dtype. A
compiled run has the libraries' kernels, and one kernel for all else of a subgraph, as fast as pointwise ops in float32;
its dense convolutions take seven tenths of an eager run's, as the compiler keeps channels last and cuDNN transforms no
layouts. Eager and compiled runs are fitted together. Needs numpy and scipy.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import zlib
from collections.abc import Iterator

import numpy as np

from calibration_file import Family, device_file, peak, quantile, quantity, read_families, write_calibration
from timm_graphs import TABLES, Key
from timm_runs import Runs, chosen, features

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = {
    "source": "timm, results/benchmark-infer-amp-nchw: whole models, inference in float16 autocast",
    "repository": "https://github.com/huggingface/pytorch-image-models",
    "licence": "Apache-2.0",
    "commit": "aa4b5850c1543fa488abf260f18390eda46cf85d",
    "date": "2026-08-08",
}
PULL = 0.02  # to where the fit starts: of a constant that is off by a factor of e, per constant, in error
SMALLEST_SHARE = 5e-4  # of the time of all runs: a family below says nothing
OP_SPREAD = 0.25  # of single ops, which whole runs do not tell; as wide as the families of aiconfigurator's devices


def is_even(key: tuple[str, Key]) -> bool:
    return zlib.crc32(key[1][0].encode()) % 2 == 0


def start(device: str, classes: list[str]) -> np.ndarray:
    """The H200's utilisation, where it is measured; else what kernels usually reach."""
    bandwidth = quantity(device_file(ROOT, device)["memory"]["bandwidth"]["value"])
    known = {f"{each.name}.{each.dtype}": each for each in read_families(ROOT, "h200")}
    there = quantity(device_file(ROOT, "h200")["memory"]["bandwidth"]["value"])
    constants = np.empty((3, len(classes)))
    for i, kind in enumerate(classes):
        family, dtype = kind.split(".")
        top = peak(ROOT, device, family, dtype)
        constants[:, i] = top * 0.75, bandwidth * 0.85, 3e-6
        if (rates := known.get(kind)) is not None and rates.flop_rate > 0 and rates.byte_rate > 0:
            constants[:, i] = (
                min(rates.flop_rate / peak(ROOT, "h200", family, dtype), 1) * top,
                min(rates.byte_rate / there, 0.95) * bandwidth,
                max(rates.seconds, 1e-6),
            )
    return np.log(constants).ravel()


def fitted(runs: Runs, took: np.ndarray, device: str) -> np.ndarray:
    """Least absolute logarithms over the even models; rates stay below what the device can do, seconds above 1 us."""
    from scipy.optimize import minimize

    first, count = start(device, runs.classes), len(runs.classes)
    weights = np.array([is_even(key) for key in runs.keys], dtype=float)
    weights /= weights.sum()
    bandwidth = quantity(device_file(ROOT, device)["memory"]["bandwidth"]["value"])
    bounds = [(None, np.log(1.12 * peak(ROOT, device, *kind.split(".")))) for kind in runs.classes]  # clocks above the boost clock
    bounds += [(None, np.log(0.97 * bandwidth))] * count + [(np.log(1e-6), np.log(2e-5))] * count

    def loss(constants: np.ndarray) -> tuple[float, np.ndarray]:
        limited, compute, memory, least = runs.parts(constants)
        told = np.bincount(runs.run, np.where(limited, compute, memory) + least, len(took))
        miss = np.log(told / took)
        size = np.sqrt(miss**2 + 4e-4)
        per_second = (weights * miss / size / told)[runs.run]
        slopes = [
            np.bincount(runs.kind, per_second * part, count)
            for part in (-np.where(limited, compute, 0), -np.where(limited, 0, memory), least)
        ]
        away = constants - first
        return weights @ size + PULL * away @ away / count, np.concatenate(slopes) + 2 * PULL * away / count

    return minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 600, "maxfun": 2000}).x


def rank_correlation(told: np.ndarray, took: np.ndarray) -> float:
    return float(np.corrcoef(told.argsort().argsort(), took.argsort().argsort())[0, 1])


def misses(runs: Runs, told: np.ndarray, took: np.ndarray, mode: str, even: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    at = np.array([key[0] == mode and is_even(key) == even for key in runs.keys])
    return told[at], took[at], np.abs(told[at] / took[at] - 1)


def fit(results: pathlib.Path, device: str) -> None:
    runs, took = chosen(results, device)
    constants = fitted(runs, took, device)
    told = runs.seconds(constants)
    limited, compute, memory, least = runs.parts(constants)
    share = np.bincount(runs.kind, (np.where(limited, compute, memory) + least) / told[runs.run], len(runs.classes)) / len(took)
    source = f"fitted on the runs of {sum(map(is_even, runs.keys))} models and sizes, timm's {TABLES[device]}"
    families = [
        Family(*kind.split("."), *rates, spread=OP_SPREAD, source=source)
        for kind, rates, part in zip(runs.classes, np.exp(constants.reshape(3, -1)).T.tolist(), share, strict=True)
        if part >= SMALLEST_SHARE
    ]
    _, _, errors = misses(runs, told, took, "eager", even=False)
    judged = {"count": len(errors), "spread": f"{quantile(np.log1p(errors), 0.683):.4g}", "error_median": f"{np.median(errors):.4g}"}
    judged |= {"error_p90": f"{quantile(errors, 0.9):.4g}", "source": "eager runs of the models that were not fitted"}
    write_calibration(
        ROOT, device, {**FACTS, "table": TABLES[device]}, sorted(families, key=lambda each: (each.name, each.dtype)), {"runs": judged}
    )


def judge(results: pathlib.Path) -> Iterator[str]:
    yield "| device | runs | not fitted | median | p90 | worst | within 20 % | rank, step | rank, image | fitted ones, median |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for device in TABLES:
        runs, took = chosen(results, device)
        constants = start(device, runs.classes).reshape(3, -1)
        for each in read_families(ROOT, device):
            constants[:, runs.classes.index(f"{each.name}.{each.dtype}")] = np.log([each.flop_rate, each.byte_rate, each.seconds])
        told = runs.seconds(constants.ravel())
        batch = np.array([key[1] for _, key in runs.keys])
        for mode in dict.fromkeys(key[0] for key in runs.keys):
            odd_told, odd_took, errors = misses(runs, told, took, mode, even=False)
            cells = [device, mode, f"{len(errors):,}", f"{np.median(errors):.1%}", f"{quantile(errors, 0.9):.1%}", f"{errors.max():.0%}"]
            images = misses(runs, told / batch, took / batch, mode, even=False)
            cells += [
                f"{np.mean(errors <= 0.2):.0%}",
                f"{rank_correlation(odd_told, odd_took):.4f}",
                f"{rank_correlation(*images[:2]):.4f}",
            ]
            yield "| " + " | ".join([*cells, f"{np.median(misses(runs, told, took, mode, even=True)[2]):.1%}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stage", choices=("features", "fit", "judge"))
    parser.add_argument("results", type=pathlib.Path, nargs="?", help="timm's results folder")
    parser.add_argument("--only", choices=TABLES, help="one device")
    options = parser.parse_args()
    if options.stage == "features":
        return features()
    if options.results is None:
        sys.exit("give timm's results folder")
    if options.stage == "judge":
        print("\n".join(judge(options.results)))
        return
    for device in TABLES:
        if options.only in (None, device):
            fit(options.results, device)


if __name__ == "__main__":
    main()
