"""Runs the peers one after the other; one that is missing or fails is a row with its reason."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import torch
from torch import nn

from opscope.errors import error, first_line, three_nearest
from opscope.peers import calflops_counts, fvcore_counts, ptflops_counts, thop_counts, torch_counter, torchinfo_counts
from opscope.peers.subject import Subject

_PEERS: tuple[ModuleType, ...] = (
    fvcore_counts, torch_counter, ptflops_counts, thop_counts, torchinfo_counts, calflops_counts,
)  # fmt: skip
TOOLS = tuple(str(peer.NAME) for peer in _PEERS)

Status = Callable[[str], None]


def check_tools(names: Sequence[str]) -> None:
    """Before anything is built: raises an Error for a tool that there is not."""
    chosen(names)


def chosen(names: Sequence[str]) -> list[ModuleType]:
    """In the order asked for; 'all' is every one."""
    asked = TOOLS if "all" in names else tuple(dict.fromkeys(names))
    by_name = {peer.NAME: peer for peer in _PEERS}
    for name in asked:
        if name not in by_name:
            near = three_nearest(name, list(TOOLS))
            raise error(f"no tool called '{name}'", "--with", f"there are {', '.join(TOOLS)} and all", near)
    return [by_name[name] for name in asked]


def run_peers(
    subject: Subject, names: Sequence[str], status: Status = lambda _: None, model_name: str = ""
) -> list[dict[str, Any]]:
    """What each tool says of the model, as rows that C++ reads."""
    rows = []
    for peer in chosen(names):
        status(f"running {peer.NAME} on {model_name}")
        rows.append(_row(peer, subject))
    return rows


def _row(peer: ModuleType, subject: Subject) -> dict[str, Any]:
    row: dict[str, Any] = {"tool": peer.NAME, "version": "", "unit": peer.UNIT}
    if importlib.util.find_spec(peer.PACKAGE) is None:
        return row | {"error": {"what": f"{peer.PACKAGE} is not installed", "hint": f"pip install {peer.PACKAGE}"}}
    row["version"] = _version(peer.PACKAGE)
    started = time.perf_counter()
    own = subject.fresh()
    try:
        with _quiet(), torch.random.fork_rng(devices=[]):
            found: dict[str, Any] = peer.run(own)
    except Exception as problem:
        return row | {"error": {"what": f"{peer.NAME} failed: {first_line(problem)}", "hint": ""}, "notes": own.notes}
    return row | found | {"notes": own.notes, "seconds": time.perf_counter() - started}


def _version(package: str) -> str:
    """Of the distribution that holds the package: ultralytics has a thop of its own."""
    held = importlib.metadata.packages_distributions().get(package, [package])
    name = package if package in held else held[0]
    version = importlib.metadata.version(name).split("+")[0]
    return version if name == package else f"{version} ({name})"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Peers print and log as they like; here the table is what is said."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(before)


def reconcile_call(call: Any, names: Sequence[str], status: Status = lambda _: None) -> list[dict[str, Any]]:
    """The peers on the model of a capture's call, with weights that hold numbers."""
    source, model = call.source, call.source.model
    if not isinstance(model, nn.Module):
        raise error(f"{source.name} is a function, and other tools take modules", source.name, "wrap it in an nn.Module")
    arguments = call.arguments
    return run_peers(Subject(model, tuple(arguments.args), dict(arguments.kwargs)), names, status, source.name)

