"""Transformers models that can be named without a network: the shipped table, and what the hub cache holds.

Reads JSON and looks into folders; imports neither torch nor transformers, so that listing names is quick.
"""

from __future__ import annotations

import functools
import json
import os
import re
from dataclasses import dataclass
from typing import Any

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hf_known.json")

_UNITS = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Known:
    """One row of the table: an architecture that was published under one or several ids."""

    id: str
    class_name: str
    family: str
    published: int | str  # parameters: exact, or rounded as its authors print it ("86.6M")
    counted_by: str  # who published the count: hub, paper, card, ...
    config: dict[str, Any]  # model_type, and what differs from transformers' defaults
    aliases: tuple[str, ...] = ()
    dtype: str | None = None  # the dtype that its weights were published in

    @property
    def parameters(self) -> range:
        """The counts that the published one stands for: one number, or all that round to it."""
        return rounded_range(self.published)


def rounded_range(published: int | str) -> range:
    """'86.6M' stands for every count from 86,550,000 to 86,650,000; a number for itself."""
    if isinstance(published, int):
        return range(published, published + 1)
    digits, unit = published[:-1], _UNITS[published[-1]]
    whole, _, decimals = digits.partition(".")
    step = unit // 10 ** len(decimals)  # what the last printed digit is worth
    middle = int(whole + decimals) * step
    return range(middle - step // 2, middle + step // 2 + 1)


@functools.cache
def table() -> dict[str, Known]:
    """Every id and alias of the table, each with its row."""
    with open(TABLE, encoding="utf-8") as file:
        rows = [_row(entry) for entry in json.load(file)["models"]]
    return {name: row for row in rows for name in (row.id, *row.aliases)}


def _row(entry: dict[str, Any]) -> Known:
    return Known(
        entry["id"],
        entry["class"],
        entry["family"],
        entry["parameters"],
        entry["counted_by"],
        entry["config"],
        tuple(entry.get("aliases", ())),
        entry.get("dtype"),
    )


def hub_cache() -> str:
    """The folder that huggingface_hub keeps its downloads in, by the same environment variables."""
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.join("~", ".cache"), "huggingface"
    )
    given = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    return os.path.expanduser(given or os.path.join(home, "hub"))


def cached_config(hub_id: str) -> str | None:
    """The config.json of the revision that `main` names in the local hub cache; else of the newest one there."""
    folder = os.path.join(hub_cache(), "models--" + hub_id.replace("/", "--"))
    snapshots = os.path.join(folder, "snapshots")
    try:
        with open(os.path.join(folder, "refs", "main"), encoding="utf-8") as file:
            revisions = [file.read().strip()]
    except OSError:
        revisions = sorted(_entries(snapshots), key=lambda name: os.path.getmtime(os.path.join(snapshots, name)))[::-1]
    paths = [os.path.join(snapshots, revision, "config.json") for revision in revisions]
    return next((path for path in paths if os.path.isfile(path)), None)


def cached_ids() -> list[str]:
    """Ids of the local hub cache that have a config."""
    folders = [name for name in _entries(hub_cache()) if name.startswith("models--")]
    ids = [name.removeprefix("models--").replace("--", "/") for name in folders]
    return sorted(hub_id for hub_id in ids if cached_config(hub_id))


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def listed() -> list[tuple[str, str]]:
    """(id, family) of every model that can be built here and now."""
    known = {name: row.family for name, row in table().items()}
    cached = {name: _family(name) for name in cached_ids() if name not in known}
    return sorted({**known, **cached}.items())


def _family(hub_id: str) -> str:
    try:
        return str(read_config(cached_config(hub_id) or "")["model_type"])
    except (OSError, ValueError, KeyError):
        return "other"


def read_config(path: str) -> dict[str, Any]:
    """Raises OSError, or ValueError where the file is no JSON object."""
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    if not isinstance(config, dict):
        raise ValueError("not a JSON object")
    return config


def config_file(spec: str) -> str | None:
    """The transformers config that a path means: a folder's config.json, or a JSON file that names a model_type."""
    path = os.path.join(spec, "config.json") if os.path.isdir(spec) else spec
    if not path.endswith(".json") or not os.path.isfile(path):
        return None
    if os.path.basename(path) == "config.json":
        return path
    try:
        return path if "model_type" in read_config(path) else None
    except (OSError, ValueError):
        return None


def looks_like_hub_id(spec: str) -> bool:
    return re.fullmatch(r"[\w.-]+/[\w.-]+", spec) is not None and not spec.startswith(".")
