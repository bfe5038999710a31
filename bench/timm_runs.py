"""Runs of timm's tables as kernels: of which class each is, what it computes and moves. Predictions are fitted on them."""

from __future__ import annotations

import dataclasses
import gzip
import pathlib
import tempfile
from collections import defaultdict

import numpy as np

from timm_graphs import CAPTURES, TABLES, Key, capture_file, table

OPS = CAPTURES / "ops.npz"
GENERATED = "pointwise.float32"  # what a compiler's own kernels are as fast as
GROUPED, DEPTHWISE = 32, 64  # bits of a convolution's kind, see features.cc
COMPILED_UNFUSED = 0.4  # of the time of attention that is made of single ops: a compiler fuses what goes over its scores
COMPILED_CONV = 0.7  # of an eager convolution's time: a compiler keeps channels last, and cuDNN transforms no layouts


@dataclasses.dataclass
class Runs:
    """Kernels of many runs: of which run, of which class, FLOPs, bytes, how often."""

    keys: list[tuple[str, Key]]  # mode
    classes: list[str]
    run: np.ndarray
    kind: np.ndarray
    flops: np.ndarray
    bytes: np.ndarray
    count: np.ndarray

    def parts(self, constants: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of each kernel: whether arithmetic limits it, seconds of that, of bytes, of the least."""
        rate, bandwidth, least = np.exp(constants.reshape(3, -1))
        compute, memory = self.flops / rate[self.kind], self.bytes / bandwidth[self.kind]
        return compute > memory, self.count * compute, self.count * memory, self.count * least[self.kind]

    def seconds(self, constants: np.ndarray) -> np.ndarray:
        limited, compute, memory, least = self.parts(constants)
        return np.bincount(self.run, np.where(limited, compute, memory) + least, len(self.keys))


def kernels(rows: list[dict], subgraph_bytes: list[int], mode: str) -> dict[tuple[str, float, float], float]:
    """(class, FLOPs, bytes) of a run's kernels, with how often."""
    found: dict[tuple[str, float, float], float] = defaultdict(float)
    left: dict[int, float] = {}
    generated: set[int] = set()
    for row in rows:
        if row["idle"]:
            continue
        group = row["subgraph"] if mode == "compiled" else -1
        if group >= 0:
            left.setdefault(group, subgraph_bytes[group])
        if group >= 0 and not row["library"]:
            generated.add(group)
            continue
        if group >= 0:
            left[group] += 2 * row["written"] - row["bytes"]
        if row["group"] == "unfused":  # attention that is made of single ops, in float32
            part = COMPILED_UNFUSED if mode == "compiled" else 1.0
            found["matmul.float32", row["products"] * part, 0.0] += row["repeats"]
            found[GENERATED, 0.0, row["bytes"] * part] += row["repeats"]
            continue
        sparse = row["family"] == "conv" and row["kind"] & (GROUPED | DEPTHWISE)
        kind = f"{row['family']}{'/dw' if sparse & DEPTHWISE else '/grp' if sparse else ''}.{row['dtype']}"
        found[kind, row["products"] or row["others"], row["bytes"]] += row["repeats"]
    for group in generated:
        found[GENERATED, 0.0, max(left[group], 0.0)] += 1
    return found


def features() -> None:
    import opscope  # noqa: F401  (finds the engine)
    from opscope._load import native

    runs: list[tuple[int, int, float, float, float]] = []
    keys, classes = [], {}
    with tempfile.NamedTemporaryFile(suffix=".json") as plain:
        for path in sorted(CAPTURES.glob("*.json.gz")):
            pathlib.Path(plain.name).write_bytes(gzip.decompress(path.read_bytes()))
            graph = native.read_capture(plain.name)
            rows, moved = native.op_features(graph), native.subgraph_bytes(graph)
            for mode in ("eager", "compiled"):
                for (kind, flops, size), count in kernels(rows, moved, mode).items():
                    runs.append((len(keys), classes.setdefault(kind, len(classes)), flops, size, count))
                keys.append(f"{mode} {path.name}")
    np.savez_compressed(OPS, runs=np.array(runs), keys=np.array(keys), classes=np.array(list(classes)))


def chosen(results: pathlib.Path, device: str) -> tuple[Runs, np.ndarray]:
    """The runs of a device's tables that were captured, and what they took."""
    with np.load(OPS) as file:
        ops, names, classes = file["runs"], {str(name): i for i, name in enumerate(file["keys"])}, [str(name) for name in file["classes"]]
    keys, seconds, place = [], [], np.full(len(names), -1)
    for mode, name in (("eager", TABLES[device]), ("compiled", TABLES[device] + "-dynamo")):
        for key, took in table(results, name).items():
            at = names.get(f"{mode} {capture_file(key).name}")
            if at is not None:
                place[at] = len(keys)
                keys.append((mode, key))
                seconds.append(took)
    run = place[ops[:, 0].astype(int)]
    ops, run = ops[run >= 0], run[run >= 0]
    runs = Runs(keys, classes, run, ops[:, 1].astype(int), *ops[:, 2:].T)
    return merged(runs), np.array(seconds)


def merged(runs: Runs) -> Runs:
    """Depthwise and grouped convolutions as the others, after dense ones have lost their transforms in compiled runs."""
    dense = np.array([kind.startswith("conv.") for kind in runs.classes])[runs.kind]
    compiled = np.array([mode == "compiled" for mode, _ in runs.keys])[runs.run]
    factor = np.where(dense & compiled, COMPILED_CONV, 1.0)
    names = [kind.replace("/dw", "").replace("/grp", "") for kind in runs.classes]
    classes = list(dict.fromkeys(names))
    kind = np.array([classes.index(name) for name in names])[runs.kind]
    return dataclasses.replace(runs, classes=classes, kind=kind, flops=runs.flops * factor, bytes=runs.bytes * factor)
