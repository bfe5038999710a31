"""Where a model was measured: the device, the processor, the versions and the clocks, as far as they can be read.

Values are read here and handed over as they are; what cannot be read is left out.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from typing import Any

import torch

from opscope.engine.structural_copy import model_tensors

_SMI_SECONDS = 10  # a driver that hangs is not waited for


def environment_of(device: torch.device, model: Any) -> dict[str, Any]:
    """The fields of a measurement's environment but for its clocks, which change: see clocks_of."""
    made: dict[str, Any] = {
        "device": str(device),
        "device_name": cpu_name(),
        "host": cpu_name(),
        "system": f"{platform.system()} {platform.release()}",
        "torch": torch.__version__,
        "precision": torch.get_float32_matmul_precision(),
        "dtype": ", ".join(dict.fromkeys(str(t.dtype).removeprefix("torch.") for t in _weights(model))),
        "threads": torch.get_num_threads(),
        "memory_bytes": memory_of(device),
    }
    if device.type == "cuda":
        made["device_name"] = torch.cuda.get_device_name(device)
        made["runtime"] = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
        made["driver"] = driver_of(device)
    return made


def _weights(model: Any) -> list[torch.Tensor]:
    """Those that the model computes with: counters and masks among the buffers say nothing of its dtype."""
    found = list(model_tensors(model))
    return [t for t in found if t.is_floating_point() or t.is_complex()] or found


def cpu_name() -> str:
    for line in _lines("/proc/cpuinfo"):
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model") and value.strip():
            return " ".join(value.split())
    return platform.processor() or platform.machine()


def memory_of(device: torch.device) -> int:
    """Bytes of the device's own memory, all of it."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return _meminfo("MemTotal")


def free_memory_of(device: torch.device) -> int:
    """Bytes of it that nobody has; what PyTorch holds and does not use is free too."""
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + unused)
    return _meminfo("MemAvailable")


def _meminfo(key: str) -> int:
    for line in _lines("/proc/meminfo"):
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024
    return 0


def clocks_of(device: torch.device, when: str) -> dict[str, float]:
    """{"graphics before": 1980.0, ...}: what the device runs at now, in MHz."""
    if device.type == "cuda":
        names: tuple[str, ...] = ("graphics", "memory")
        values = _smi(device, "clocks.gr,clocks.mem")
    else:
        names, values = ("processor",), _fastest_core()
    return {f"{name} {when}": float(value) for name, value in zip(names, values, strict=False) if _is_number(value)}


def _fastest_core() -> list[str]:
    found = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("cpu MHz")]
    return [max(found, key=float)] if found and all(map(_is_number, found)) else []


def driver_of(device: torch.device) -> str:
    for line in _lines("/proc/driver/nvidia/version"):
        if line.startswith("NVRM version:"):
            return next((word for word in line.split() if word[:1].isdigit() and "." in word), "")
    return next(iter(_smi(device, "driver_version")), "")


def _smi(device: torch.device, query: str) -> list[str]:
    """What nvidia-smi says of this device; nothing where there is no such program."""
    program = shutil.which("nvidia-smi")
    uuid = getattr(torch.cuda.get_device_properties(device), "uuid", None)
    if program is None or uuid is None:
        return []
    command = [program, f"--query-gpu={query}", "--format=csv,noheader,nounits", "-i", f"GPU-{uuid}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [part.strip() for part in done.stdout.strip().split(",")]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []
