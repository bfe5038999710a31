"""What a profile depends on beside the model, as the native functions take it: text, and only what was given."""

from __future__ import annotations

import os
from typing import Any


def cost_settings(
    *,
    convention: str = "opscope",
    ridge: float | None = None,
    hardware: str | os.PathLike[str] | None = None,
    float32: str | None = None,
    routing: str | int | None = None,
    mode: str | None = None,
    host: str | float | None = None,
) -> dict[str, Any]:
    given: dict[str, Any] = {"ridge": ridge, "float32": float32, "mode": mode}
    given |= {name: None if value is None else str(value) for name, value in (("routing", routing), ("host", host))}
    given["hardware"] = None if hardware is None else os.fspath(hardware)
    return {"convention": convention, **{name: value for name, value in given.items() if value is not None}}
