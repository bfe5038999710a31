"""data/calibrations/h200.toml, fitted again: where the features of ops or the fit have changed, or more was measured.

    python bench/predict_fit.py
    python bench/predict_fit.py --add h200.toml.partial=calls.txt [--add ...]

The calls and their times are in h200.calls, beside the calibration. Rates, likenesses and trees come from them; what is
known of the device, its host and whole runs stays. `--add`: the journal of a calibration that was interrupted, and the list
that it timed.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

FILE = Path(__file__).parent.parent / "data" / "calibrations" / "h200.toml"
CALLS = FILE.with_suffix(".calls")
TENSOR = re.compile(r"(?:weight )?\w+\[([\d,]*)\](?: strides \[([\d,]*)\])?")
Call = tuple[str, float, float, float]


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


def added(journal: Path, calls: Path) -> list[Call]:
    from opscope._load import native

    texts = native.read_call_list(str(calls))
    words = [line.split() for line in journal.read_text().splitlines() if line.startswith("timed ")]
    return [(texts[int(at)], float(seconds), float(deviation), float(host)) for _, _, at, seconds, deviation, host in words]


def head_of(text: str) -> str:
    """What is not fitted: the device, its facts, the host, the runs, the gaps."""
    parts = re.split(r"\n(?=\[)", text[: text.index("\n[measured]\n")])
    return "\n".join(part for part in parts if not re.match(r"\[(families|likeness|host_ops|forests)\b", part)) + "\n[measured]\nops = []\n"


def main(arguments: list[str]) -> None:
    from opscope._load import native

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", action="append", default=[], metavar="JOURNAL=LIST")
    found = {call[0]: call for call in native.read_measured_list(str(CALLS))}
    for pair in parser.parse_args(arguments).add:
        journal, _, calls = pair.partition("=")
        found |= {call[0]: call for call in added(Path(journal), Path(calls)) if not runs_another_way(call[0])}
    FILE.write_text(native.fitted_calibration(head_of(FILE.read_text()), list(found.values()), with_calls=False))
    CALLS.write_text(native.write_measured_list(list(found.values())))
    print(f"{len(found)} calls")


if __name__ == "__main__":
    main(sys.argv[1:])
