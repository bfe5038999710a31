"""What must hold of a profile's subgraphs, whatever the model."""

from __future__ import annotations

from collections import Counter
from typing import Any

WORK = ("macs", "other_flops", "specials", "flops")
BYTES = ("input_bytes", "output_bytes", "weight_bytes")


def check(profile: dict[str, Any]) -> dict[str, Any]:
    """How many subgraphs of how many ops that do work, and what is wrong with them."""
    ops, subgraphs = profile["ops"], profile["subgraphs"]
    working = [op["index"] for op in ops if does_work(op)]
    problems = [*_members(working, subgraphs), *_order(subgraphs), *_sums(ops, subgraphs)]
    return {"subgraphs": len(subgraphs), "working": len(working), "problems": problems[:3]}


def does_work(op: dict[str, Any]) -> bool:
    counted = any(op[name] for name in ("macs", "other_flops", "specials", "memory_bytes"))
    return counted or op["confidence"] == "unknown"


def _members(working: list[int], subgraphs: list[dict[str, Any]]) -> list[str]:
    times = Counter(op for each in subgraphs for op in each["ops"])
    wrong = [f"op {op} is in {times[op]} subgraphs" for op in working if times[op] != 1]
    return wrong + [f"op {op} is in {n} subgraphs" for op, n in times.items() if n > 1]


def _order(subgraphs: list[dict[str, Any]]) -> list[str]:
    late = [each["id"] for each in subgraphs if any(other >= each["id"] for other in each["depends_on"])]
    return [f"subgraph {number} runs before what it takes" for number in late]


def _sums(ops: list[dict[str, Any]], subgraphs: list[dict[str, Any]]) -> list[str]:
    wrong = [f"{name} is not that of the ops" for name in WORK if _sum(ops, name) != _sum(subgraphs, name)]
    for each in subgraphs:
        members = [ops[index] for index in each["ops"]]
        if each["unfused_bytes"] != _sum(members, "memory_bytes"):
            wrong.append(f"subgraph {each['id']} does not have its ops' bytes")
        if any(each[name] > _sum(members, name) for name in BYTES):
            wrong.append(f"subgraph {each['id']} moves more than its ops")
    return wrong


def _sum(rows: list[dict[str, Any]], name: str) -> int:
    """Counts stop at 2^64 - 1."""
    return min(sum(row[name] for row in rows), 2**64 - 1)
