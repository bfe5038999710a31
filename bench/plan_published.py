"""The solver of `opscope plan --costs` on the published instances of msr-fiddle/dnn-partitioning, beside their own program.

    bench/plan_published.py CHECKOUT [--opscope OPSCOPE] [--theirs] [--keep FOLDER]

CHECKOUT is a clone of https://github.com/msr-fiddle/dnn-partitioning (MIT). Their JSON is made into that of `--costs`;
with --theirs their dynamic program (throughput-dp/dp.cpp) is compiled and run too, for at most 90 s each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

#: Optima of the throughput objective that others published or proved.
KNOWN = {
    "LayerGraphs/bert24_inference": 17.7899,
    "LayerGraphs/gnmt_inference": 32.9107,
    "LayerGraphs/resnet50_inference": 33.7747,
    "OperatorGraphs/resnet50_inference": 124.349,
    "OperatorGraphs/bert_l-3_inference": 27.9186,
    "OperatorGraphs/bert_l-6_inference": 29.5795,
    "OperatorGraphs/bert_l-12_inference": 147.478,
}


def costs(theirs: dict[str, Any]) -> dict[str, Any]:
    """Their instance as `opscope plan --costs` takes it: accelerators pay for what they send and receive, the CPU does not."""
    sent = {edge["sourceId"]: edge["cost"] for edge in theirs["edges"]}
    nodes = []
    for node in theirs["nodes"]:
        seconds = {"cpu": node["cpuLatency"]} | ({"gpu": node["fpgaLatency"]} if node["supportedOnFpga"] else {})
        made = {"id": node["id"], "seconds": seconds, "bytes": node["size"], "transfer_seconds": sent.get(node["id"], 0)}
        if "colorClass" in node:
            made["colocate"] = node["colorClass"]
        if node["isBackwardNode"]:
            made["backward"] = True
        nodes.append(made)
    return {
        "devices": [
            {"class": "gpu", "count": theirs["maxFPGAs"], "memory_bytes": theirs["maxSizePerFPGA"]},
            {"class": "cpu", "count": theirs["maxCPUs"], "transfers_free": True},
        ],
        "nodes": nodes,
        "edges": [[edge["sourceId"], edge["destId"]] for edge in theirs["edges"]],
    }


def their_seconds(program: Path, instance: Path) -> tuple[float, float] | None:
    """Seconds and objective of their program; None: not within 90 s."""
    start = time.perf_counter()
    try:
        done = subprocess.run([program], stdin=instance.open(), capture_output=True, text=True, timeout=90)
    except subprocess.TimeoutExpired:
        return None
    found = [line for line in done.stderr.splitlines() if "objective = " in line]
    return (time.perf_counter() - start, float(found[-1].rsplit(" ", 1)[1])) if found else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--opscope", default=str(Path(sys.executable).parent / "opscope"))
    parser.add_argument("--theirs", action="store_true", help="run their program too")
    parser.add_argument("--keep", type=Path, help="keep the converted files in this folder")
    asked = parser.parse_args()
    folder = asked.keep or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "dp"
    if asked.theirs:
        subprocess.run(["g++", "-O3", asked.checkout / "throughput-dp" / "dp.cpp", "-o", program], check=True, capture_output=True)
    wrong = []
    print(f"{'instance':38} {'optimum':>10} {'proven':>7} {'seconds':>9} {'theirs':>10} {'seconds':>9} {'times':>7}")
    for instance in sorted((asked.checkout / "throughput-inputs").glob("*/*.json")):
        name = f"{instance.parent.name}/{instance.stem}"
        path = folder / f"{name.replace('/', '_')}.json"
        path.write_text(json.dumps(costs(json.loads(instance.read_text()))))
        done = subprocess.run([asked.opscope, "plan", "--costs", path, "--format", "json"], capture_output=True, text=True, check=True)
        plan = json.loads(done.stdout)
        value, seconds = plan["objective_value"], plan["solve_seconds"]
        row = f"{name:38} {value:10.6g} {'yes' if plan['proven'] else format(plan['gap'], '.2%'):>7} {seconds:9.4f}"
        their = their_seconds(program, instance) if asked.theirs else None
        if their:
            row += f" {their[1]:10.6g} {their[0]:9.3f} {their[0] / seconds:6.0f}x"
        elif asked.theirs:
            row += f" {'over 90 s':>10}"
        print(row, flush=True)
        if name in KNOWN and abs(value / KNOWN[name] - 1) > 1e-5:
            wrong.append(f"{name}: {value} is not {KNOWN[name]}")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
