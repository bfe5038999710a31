"""data/calibrations/h200.toml, fitted again on what was measured: where the features of ops or the fit have changed.

    python bench/predict_fit.py

Rates, neighbours and trees come from the calls that are in the file; what is known of the device, its host and whole runs stays.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

FILE = Path(__file__).parent.parent / "data" / "calibrations" / "h200.toml"
TENSOR = re.compile(r"(?:weight )?\w+\[([\d,]*)\](?: strides \[([\d,]*)\])?")
Call = tuple[str, float, float, float]


def calls_of(text: str) -> list[Call]:
    """The call, its seconds, their deviation, the host's."""
    found = []
    for line in text[text.index("\n[measured]\n") :].splitlines():
        if line.startswith('  "'):
            head, _, call = line[3:-2].split(" | ", 2)
            found.append((call, *(float(number) for number in head.split(" ")[2:5])))
    return found


def runs_another_way(call: str) -> bool:
    """A product of a weight and a batch that lies across: it was timed with a weight that cannot be trained, and then
    PyTorch makes a batch of products of it, which it does in no model."""
    if not call.startswith(("aten::linear(", "aten::matmul(")):
        return False
    batch, matrix = (TENSOR.search(call, call.index(f"{name}: ")) for name in (("input", "weight") if "linear" in call[:13] else ("self", "other")))
    if batch is None or matrix is None or matrix[1].count(",") != 1 or batch[2] is None:
        return False
    sizes, strides = ([int(each) for each in part.split(",")] for part in (batch[1], batch[2]))
    return any(strides[i] != strides[i + 1] * sizes[i + 1] for i in range(len(sizes) - 2))


def head_of(text: str) -> str:
    """What is not fitted: the device, its facts, the host, the runs, the gaps."""
    parts = re.split(r"\n(?=\[)", text[: text.index("\n[measured]\n")])
    return "\n".join(part for part in parts if not re.match(r"\[(families|likeness|host_ops|forests)\b", part)) + "\n[measured]\nops = []\n"


def fit_calls() -> None:
    from opscope._load import native

    text = FILE.read_text()
    calls = [call for call in calls_of(text) if not runs_another_way(call[0])]
    FILE.write_text(native.fitted_calibration(re.sub(r'features = "\d+"\n', "", head_of(text)), calls, 0))
    print(f"{len(calls)} calls")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args(arguments)
    fit_calls()


if __name__ == "__main__":
    main(sys.argv[1:])
