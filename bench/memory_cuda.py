"""Peak memory on a GPU, measured there and predicted on a machine without one.

    python bench/memory_cuda.py measure --to bench/h200_memory.jsonl [--held-out] [--models resnet18,bert-base] [--kind decode,8bit]
    python bench/memory_cuda.py merge --from some_rows.jsonl --to bench/h200_memory.jsonl
    python bench/memory_cuda.py limits --to bench/h200_limits.jsonl
    python bench/memory_cuda.py predict --to build/predicted.jsonl       # without a GPU; with the package installed
    python bench/memory_cuda.py write docs/memory_measured.md --from build/predicted.jsonl

`measure` needs torch, torchvision and transformers, and no opscope; rows of quantised caches and of 8-bit Adam need hqq,
optimum-quanto and bitsandbytes, which may lie in a folder beside (`pip install --no-deps --target`). A row has what PyTorch's allocator held at the peak of a
run that is not the first, weights and optimizer state with it, and how much of it were cuBLAS's pools. `limits` looks for
the least memory under which ten models run, with set_per_process_memory_fraction.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))
from memory_cases import (  # noqa: E402
    HELD_OUT,
    LONG_PAST,
    MODELS,
    MOST_SEQUENCES,
    OPTIMIZERS,
    PAST_TOKENS,
    QUANTISED_CACHES,
    made,
    runs_of,
    tensors,
)

Row = dict[str, Any]
HERE = Path(__file__).parent
LIMITED = (
    ("resnet50", "training-fp32-adamw"), ("vgg16", "forward-fp32"), ("regnet_y_8gf", "forward-fp32"), ("inception_v3", "forward-fp32"),
    ("bert-base", "training-fp32-adamw"), ("bert-large", "training-amp-adamw"), ("gpt2", "training-bf16-sgd"), ("llama-1b", "training-bf16-sgd"),
    ("llama-odd", "training-amp-adamw-checkpoint"), ("swin_t", "training-fp32-adamw"), ("efficientnet_b0", "training-amp-adamw"), ("t5-small", "training-fp32-adamw"),
)  # fmt: skip


# --- on the GPU


def _clean() -> None:
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


class Run:
    """One run of a model on the GPU, as often as it is called."""

    def __init__(self, model: Any, inputs: Any, run: str, device: str = "cuda") -> None:
        self.kind, numbers, *words = run.split("-")
        self.model, self.device = model, device
        self.inputs = tensors(inputs, numbers, device)
        self.optimizer: torch.optim.Optimizer | None = None
        self.outputs: Any = None
        if self.kind == "training":
            self.optimizer = OPTIMIZERS[words[0]]([p for p in model.parameters() if p.requires_grad])
        if self.kind == "decode":
            self.cache_kind = words[0]
            self.sequences = min(self.inputs["input_ids"].shape[0], MOST_SEQUENCES)

    def ready(self) -> None:
        self.outputs = None
        if self.optimizer is not None:
            self.optimizer.zero_grad()
        if self.kind == "decode":
            self.fill_cache()
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def fill_cache(self) -> None:
        self.model.config.use_cache = True
        past, held = past_of(self.cache_kind), 0
        cache = _cache(self.cache_kind, self.model.config, past)
        with torch.no_grad():  # the prompt and two steps: after the first a sliding window holds its tokens alone
            for new in (past - 2, 1, 1):
                held += new
                self.model(**self._tokens(new, held), past_key_values=cache, use_cache=True)
        self.inputs = {**self._tokens(1, past + 1), "past_key_values": cache, "use_cache": True}

    def cache_bytes(self) -> int:
        """What goes with the cache."""
        self.outputs = None
        before = torch.cuda.memory_stats()["requested_bytes.all.current"]
        self.inputs.clear()
        gc.collect()
        return int(before - torch.cuda.memory_stats()["requested_bytes.all.current"])

    def _tokens(self, new: int, all: int) -> dict[str, Any]:
        ids = torch.randint(0, 1000, (self.sequences, new), device=self.device)
        return {"input_ids": ids, "attention_mask": torch.ones(self.sequences, all, dtype=torch.int64, device=self.device)}

    def __call__(self) -> None:
        if self.optimizer is None:
            with torch.no_grad():
                self.outputs = self.model(**self.inputs)
            return
        self.optimizer.zero_grad()
        self.model(**self.inputs).backward()
        self.optimizer.step()


def past_of(cache_kind: str) -> int:
    return LONG_PAST if cache_kind in QUANTISED_CACHES else PAST_TOKENS


def _cache(kind: str, config: Any, past: int) -> Any:
    from transformers import DynamicCache, QuantizedCache, StaticCache

    if kind in QUANTISED_CACHES:
        backend, bits = QUANTISED_CACHES[kind]
        if backend == "quanto":
            _import_quanto()
        return QuantizedCache(backend, config, nbits=bits, axis_key=0, axis_value=0)
    return StaticCache(config=config, max_cache_len=past + 1) if kind == "static" else DynamicCache(config=config)


def _import_quanto() -> None:
    """With its operators in Python: it would compile those for CUDA, where there may be no compiler."""
    there, torch.cuda.is_available = torch.cuda.is_available, lambda: False
    try:
        import optimum.quanto  # noqa: F401
    finally:
        torch.cuda.is_available = there


def measured(name: str, run: str) -> Row:
    _clean()
    with torch.device("cuda"):
        model, inputs = made(name, run)
    one = Run(model.to("cuda"), inputs, run)
    one.ready()
    one()
    if one.kind != "decode":
        one()
    one.ready()
    one()
    torch.cuda.synchronize()
    row = {
        "model": name,
        "run": run,
        "allocated": torch.cuda.max_memory_allocated(),
        "requested": torch.cuda.memory_stats()["requested_bytes.all.peak"],
        "reserved": torch.cuda.max_memory_reserved(),
    }
    if one.kind == "decode":
        row["cache"] = one.cache_bytes()
    before = torch.cuda.memory_allocated()
    torch._C._cuda_clearCublasWorkspaces()
    return row | {"pool": before - torch.cuda.memory_allocated()}


def measure(names: list[str], kind: str) -> Iterator[Row]:
    for name in names:
        for run in runs_of(name):
            if not any(word in run for word in kind.split(",")):
                continue
            torch.manual_seed(0)
            try:
                yield measured(name, run)
            except Exception as problem:
                yield {"model": name, "run": run, "error": repr(problem)[:200]}


def limits() -> Iterator[Row]:
    total = torch.cuda.get_device_properties(0).total_memory
    for name, run in LIMITED:
        on_cpu = made(name, run)

        def goes_through(limit: int, on_cpu: Any = on_cpu, run: str = run) -> tuple[int, int] | None:
            _clean()
            torch.cuda.set_per_process_memory_fraction(min(limit / total, 1.0))
            torch.cuda.reset_peak_memory_stats()
            try:
                one = Run(copy.deepcopy(on_cpu[0]).to("cuda"), on_cpu[1], run)
                for _ in range(3):
                    one()
            except torch.OutOfMemoryError:
                return None
            return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()

        free = goes_through(total)
        assert free is not None
        fails, least = free[0] * 9 // 10, free[1]
        while least - fails > max(4 << 20, least // 400):
            middle = (fails + least) // 2
            fails, least = (fails, middle) if goes_through(middle) else (middle, least)
        yield {"model": name, "run": run, "allocated": free[0], "reserved": free[1], "least": least, "fails": fails}
    torch.cuda.set_per_process_memory_fraction(1.0)


# --- without one

_OPTIMIZERS = {"sgd": "sgd", "sgdm": "sgd-momentum", "adamw": "adamw", "adamwfused": "adamw:fused", "adamwloop": "adamw:loop", "adamw8bit": "adamw:8bit", "adafactor": "adafactor"}


def captured_as(made: Callable[[str, str], tuple[Any, Any]], name: str, run: str) -> tuple[Any, Any, dict[str, Any]]:
    """The model, what it is called with and opscope's options, for a graph of that run on a GPU."""
    kind, numbers, *words = run.split("-")
    try:
        with torch.device("meta"):
            model, inputs = made(name, run)
    except NotImplementedError:  # it initialises its weights by their values
        model, inputs = made(name, run)
    given: Any = tensors(inputs, numbers, "cpu")
    options: dict[str, Any] = {"device": "cuda", "tracer": "static"}
    if kind == "training":
        options |= {"training": True, "optimizer": _OPTIMIZERS[words[0]]}
    if kind == "decode":
        batch = min(given["input_ids"].shape[0], MOST_SEQUENCES)
        options |= {"phase": "decode", "past_len": past_of(words[0]), "batch": batch}
        if words[0] in QUANTISED_CACHES:
            backend, bits = QUANTISED_CACHES[words[0]]
            options["kv_dtype"] = f"int{bits}:{backend}"
        elif words[0] == "static":
            options["kv_cache"] = "static"
        given, model.config.use_cache = None, True
    return model, given, options


def predicted(name: str, run: str) -> Row:
    import opscope

    model, given, options = captured_as(made, name, run)
    memory = json.loads(opscope.profile(model, given, **options).to_json())["memory"]
    kept = ("peak_memory_bytes", "library_workspace", "allocator", "needed_bytes")
    return {"model": name, "run": run} | {key: memory[key] for key in kept}


def predict(names: list[str], kind: str = "") -> Iterator[Row]:
    from opscope.engine import torchvision_ops

    torchvision_ops.prepare()
    for name in names:
        for run in runs_of(name):
            if any(word in run for word in kind.split(",")):
                yield predicted(name, run)


# --- the page


def _rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def merge(new: Path, to: Path) -> None:
    """New rows take the place of old ones; runs that are no longer made go, in the order of the cases."""
    rows = {(row["model"], row["run"]): row for path in (to, new) for row in _rows(path) if "error" not in row}
    order = [(name, run) for name in MODELS | HELD_OUT for run in runs_of(name)]
    to.write_text("".join(json.dumps(rows[key]) + "\n" for key in order if key in rows))


def error_of(least: float, most: float, real: float) -> float:
    """0 where it lies between; else how far from the nearer end."""
    return 0.0 if least <= real <= most else (least if real < least else most) / real - 1


class Pair:
    def __init__(self, real: Row, told: Row) -> None:
        self.model, self.run, self.real, self.told = real["model"], real["run"], real, told
        allocator, library = told["allocator"], told["library_workspace"]
        self.least, self.most = allocator["allocated_least_bytes"], allocator["allocated_most_bytes"]
        self.error = error_of(self.least, self.most, real["allocated"])
        tensors = told["peak_memory_bytes"]
        self.of_requested = error_of(tensors + library["least_bytes"], tensors + library["most_bytes"], real["requested"])
        self.width = (self.most - self.least) / real["allocated"]


def pairs(real: list[Row], told: list[Row]) -> list[Pair]:
    by_run = {(row["model"], row["run"]): row for row in told}
    return [Pair(row, by_run[row["model"], row["run"]]) for row in real if (row.get("model"), row.get("run")) in by_run]


def _percent(value: float) -> str:
    return f"{value:+.2%}".replace("%", " %") if value else "0"


def summary(of: list[Pair]) -> str:
    errors = [abs(pair.error) for pair in of]
    requested = [abs(pair.of_requested) for pair in of]
    within = sum(error <= 0.05 for error in errors)
    cells = (len(of), len({pair.model for pair in of}), statistics.median(errors), max(errors), statistics.median(requested), max(requested), statistics.median(p.width for p in of), within)
    return "| {} | {} | {:.2%} | {:.2%} | {:.2%} | {:.2%} | {:.2%} | {} |".format(*cells)


def table(of: list[Pair]) -> Iterator[str]:
    yield "| model | run | predicted MB | measured MB | |"
    yield "|---|---|---:|---:|---:|"
    for pair in of:
        least, most = pair.least / 1e6, pair.most / 1e6
        shown = f"{most:,.1f}" if most - least < 0.05 else f"{least:,.1f} to {most:,.1f}"
        yield f"| {pair.model} | {pair.run} | {shown} | {pair.real['allocated'] / 1e6:,.1f} | {_percent(pair.error)} |"


def write(page: Path, told: list[Row]) -> None:
    real, unseen = _rows(HERE / "h200_memory.jsonl"), _rows(HERE / "h200_memory_held_out.jsonl")
    known, held = pairs(real, told), pairs(unseen, told)
    kinds = ("forward", "training", "decode")
    head = "| | runs | models | median | worst | requested: median | worst | interval's median width | within 5 % |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    lines = [head, *(f"| {kind} {summary(part)}" for kind in kinds if (part := [p for p in known if p.run.startswith(kind)]))]
    lines += [f"| all {summary(known)}"] + ([f"| models kept out {summary(held)}"] if held else [])
    text = page.read_text()
    for mark, block in (("summary", lines), ("limits", list(_limits(told))), ("rows", list(table(known))), ("held out", list(table(held)))):
        begin, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
        before, rest = text.split(begin)
        text = before + begin + "\n" + "\n".join(block) + "\n" + end + rest.split(end)[1]
    page.write_text(text)


def _limits(told: list[Row]) -> Iterator[str]:
    by_run = {(row["model"], row["run"]): row for row in told}
    yield "| model | run | needed, as predicted MB | least that runs MB | |"
    yield "|---|---|---:|---:|---:|"
    for row in _rows(HERE / "h200_limits.jsonl"):
        needed = by_run[row["model"], row["run"]]["needed_bytes"]
        yield f"| {row['model']} | {row['run']} | {needed / 1e6:,.1f} | {row['least'] / 1e6:,.1f} | {_percent(needed / row['least'] - 1)} |"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["measure", "merge", "limits", "predict", "write"])
    parser.add_argument("page", nargs="?", type=Path)
    parser.add_argument("--to", type=Path)
    parser.add_argument("--from", dest="told", type=Path)
    parser.add_argument("--models", default="")
    parser.add_argument("--kind", default="", help="runs with one of these words alone: decode,8bit")
    parser.add_argument("--held-out", action="store_true")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if asked.what == "write":
        return write(asked.page, _rows(asked.told))
    if asked.what == "merge":
        return merge(asked.told, asked.to)
    every = {"measure": [*(HELD_OUT if asked.held_out else MODELS)], "predict": [*MODELS, *HELD_OUT], "limits": []}[asked.what]
    names = [name for name in asked.models.split(",") if name] or every
    work: dict[str, Callable[[], Iterator[Row]]] = {"measure": lambda: measure(names, asked.kind), "limits": limits, "predict": lambda: predict(names, asked.kind)}
    with asked.to.open("w") as file:
        for row in work[asked.what]():
            file.write(json.dumps(row) + "\n")
            file.flush()
            print(*row.values(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
