"""How a transformers config says that its weights are stored: its quantization_config in the words of --quantize.

The libraries that quantise (bitsandbytes, GPTQ, AWQ, ...) are not needed: models are built without weights, and C++
prices them by its own table of schemes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Published:
    """What a config says of how its weights are stored."""

    method: str
    scheme: str = ""  # "int4:group=128"; "": none that opscope can price
    only: list[str] = field(default_factory=list)
    without: list[str] = field(default_factory=list)


def published(config: dict[str, Any]) -> Published | None:
    """Of a config.json's content; None where nothing is quantised."""
    said = config.get("quantization_config") or (config.get("text_config") or {}).get("quantization_config")
    if not isinstance(said, dict):
        return None
    method = str(said.get("quant_method") or ("bitsandbytes" if _is_bitsandbytes(said) else "an unnamed method"))
    read = _METHODS.get(method.lower().replace("_", "-"))
    found = Published(method, without=_patterns(_left_out(said)))
    if read is not None:
        found.scheme = read(said) or ""
    if method == "mxfp4":
        found.only = ["experts"]  # all that its checkpoints hold in this form
    return found


def _left_out(said: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for key in ("modules_to_not_convert", "llm_int8_skip_modules", "ignore"):
        names += said.get(key) or []
    return names


def _patterns(names: list[str]) -> list[str]:
    """Regular expressions and parts of paths as patterns of --quantize-only."""
    made = [re.sub(r"\.[*+]", "*", name.removeprefix("re:").strip("^$").replace("\\.", ".")) for name in names]
    return list(dict.fromkeys(name for name in made if name))


def _is_bitsandbytes(said: dict[str, Any]) -> bool:
    return bool(said.get("load_in_8bit") or said.get("load_in_4bit"))


def _group(size: Any) -> str:
    """-1 is for one scale an output channel."""
    if size is None:
        return ""
    return f":group={size}" if int(size) > 0 else ":group=channel"


def _bitsandbytes(said: dict[str, Any]) -> str:
    if said.get("load_in_8bit"):
        return "int8"
    scheme = str(said.get("bnb_4bit_quant_type", "fp4"))
    return scheme + ("" if said.get("bnb_4bit_use_double_quant") else ":double=false")


def _gptq(said: dict[str, Any]) -> str:
    bits = int(said.get("bits", 4))
    return f"gptq{'' if bits == 4 else f':bits={bits}'}{_group(said.get('group_size', 128))}"


def _awq(said: dict[str, Any]) -> str | None:
    if int(said.get("bits", said.get("w_bit", 4))) != 4:
        return None
    return f"awq{_group(said.get('group_size', said.get('q_group_size', 128)))}"


def _fp8(said: dict[str, Any]) -> str | None:
    tile = said.get("weight_block_size")
    if tile is None:
        return "fp8:group=tensor"
    return f"fp8:tile={tile[0]}" if len(set(tile)) == 1 else None


def _hqq(said: dict[str, Any]) -> str | None:
    inner = (said.get("quant_config") or {}).get("weight_quant_params") or said
    bits, group = int(inner.get("nbits", 4)), inner.get("group_size", 64)
    return f"int4{_group(group)}" if bits == 4 else f"int8{_group(group)}" if bits == 8 else None


def _quanto(said: dict[str, Any]) -> str | None:
    return {"int8": "int8", "int4": "int4", "float8": "fp8"}.get(str(said.get("weights", "int8")))


def _torchao(said: dict[str, Any]) -> str | None:
    inner = said.get("quant_type", "")
    while isinstance(inner, dict) and "_type" not in inner and inner:
        inner = inner.get("default", next(iter(inner.values())))
    name, data = (inner.get("_type", ""), inner.get("_data", {})) if isinstance(inner, dict) else (str(inner), said)
    name = name.lower().replace("_", "")
    if "float8" in name:
        return "fp8" if "weightonly" in name else "fp8:group=tensor"
    if "int4weight" in name:
        return f"int4{_group(data.get('group_size', 128))}"
    return "int8" if "int8" in name else None


def _compressed_tensors(said: dict[str, Any]) -> str | None:
    schemes = {_of_group(group) for group in (said.get("config_groups") or {}).values()}
    return schemes.pop() if len(schemes) == 1 else None


def _of_group(group: dict[str, Any]) -> str | None:
    weights = group.get("weights") or {}
    bits, kind, strategy = weights.get("num_bits"), weights.get("type"), weights.get("strategy")
    size = {"tensor": ":group=tensor", "channel": ""}.get(str(strategy), _group(weights.get("group_size")))
    if bits == 8 and strategy == "block" and kind == "float":
        return _fp8({"weight_block_size": weights.get("block_structure")})
    if bits == 8:
        return ("fp8" if kind == "float" else "int8") + size
    if bits == 4 and kind == "int":
        size = size if strategy == "group" else ":group=channel"
        return f"int4{size}:zero=false" if weights.get("symmetric", True) else f"awq{size}"
    return None


_METHODS: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "auto-round": _gptq,
    "awq": _awq,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed_tensors,
    "eetq": lambda _: "int8",
    "fbgemm-fp8": lambda _: "fp8",
    "fp8": _fp8,
    "gptq": _gptq,
    "hqq": _hqq,
    "mxfp4": lambda _: "mxfp4",
    "quanto": _quanto,
    "torchao": _torchao,
}
