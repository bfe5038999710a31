"""Random programs, run for real and captured: both must see the same tensors, and the capture must leave no trace.

    python tests/fuzz/engine_fuzzer.py --seeds 0:2000        # or --minutes 30 from --seeds 5000: on
    python tests/fuzz/engine_fuzzer.py --seeds 1234 --show   # one program, with its steps

Compared after every step: shape, dtype, strides, offset, conjugate and negative bits of every tensor there is, which
of them share memory, and which are one object. Compared around the capture: the inputs and the model's tensors with
their versions and gradients, random states, gradient and inference mode, dispatch keys, modes and hooks.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import random
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from engine_programs import Maker, Program, Tensor, copied, known_ops
from engine_recipes import RECIPES
from torch import nn

import opscope
from opscope.engine import abstract_run
from opscope.engine.training import Training

STEPS = 8
Seen = list[list[tuple[Any, ...]]]


def made(seed: int, ops: list[str]) -> Maker:
    state = torch.get_rng_state()
    maker = Maker(seed, ops, RECIPES)
    maker.make(STEPS)
    torch.set_rng_state(state)
    return maker


# --- what must agree


def form(tensor: Tensor) -> tuple[Any, ...]:
    """Strides and offsets of what holds nothing, and strides of one element, mean nothing."""
    strides = [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size != 1]
    where = (strides, tensor.storage_offset()) if tensor.numel() else ()
    return tuple(tensor.shape), tensor.dtype, where, tensor.is_conj(), tensor.is_neg()


def real_memory(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def described(values: list[Tensor], memory_of: Callable[[Tensor], int]) -> list[tuple[Any, ...]]:
    """Each tensor's form, the first tensor whose memory it has, and the first that it is."""
    memory: dict[int, int] = {}
    objects: dict[int, int] = {}
    rows = []
    for index, tensor in enumerate(values):
        first = memory.setdefault(memory_of(tensor), index) if tensor.numel() else index
        rows.append((*form(tensor), first, objects.setdefault(id(tensor), index)))
    return rows


@contextlib.contextmanager
def seeing(program: Program) -> Iterator[tuple[Seen, Callable[[Any], Program]]]:
    """What a program's values are after each step of its next run; and what makes a session tell whose memory is whose."""
    seen: Seen = []

    def through(session: Any) -> Program:
        program.see = lambda values: seen.append(described(values, session.storage_id))
        return program

    program.see = lambda values: seen.append(described(values, real_memory))
    try:
        yield seen, through
    finally:
        program.see = lambda values: None


def bits(tensor: Tensor) -> list[Any]:
    plain = torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor.detach())
    return plain.flatten().view(torch.uint8).tolist() if plain.numel() else []


def state_of(program: Program, inputs: list[Tensor]) -> dict[str, Any]:
    """All that a capture might leave changed."""
    tensors = [*inputs, *program.state_dict(keep_vars=True).values()]
    c = torch._C
    return {
        "data": [bits(t) for t in tensors],
        "forms": [(*form(t), t._version, t.requires_grad, t.data_ptr()) for t in tensors],
        "grads": [None if t.grad is None else bits(t.grad) for t in tensors if t.is_leaf],
        "random": (torch.get_rng_state().tolist(), random.getstate()),
        "modes": (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), program.training, torch.get_default_dtype(),
                  torch.is_autocast_enabled("cpu"), torch.are_deterministic_algorithms_enabled()),
        "keys": (str(c._dispatch_tls_local_include_set()), str(c._dispatch_tls_local_exclude_set())),
        "stacks": (c._len_torch_dispatch_stack(), c._len_torch_function_stack()),
        "hooks": (len(nn.modules.module._global_forward_hooks), len(nn.modules.module._global_forward_pre_hooks),
                  len(program._forward_hooks), len(program._forward_pre_hooks), sorted(vars(program))),
    }  # fmt: skip


# --- one program


def real_forms(maker: Maker) -> Seen:
    """On copies: the program may write."""
    program = maker.program
    held = {name: copied(tensor.detach()) for name, tensor in program.state_dict(keep_vars=True).items()}
    with torch.no_grad(), seeing(program) as (seen, _):
        try:
            torch.func.functional_call(program, held, tuple(copied(tensor) for tensor in maker.inputs))
        except RuntimeError:  # a guess that was refused had written already, and the step was kept for what it wrote
            del program.steps[len(seen) - 1 :]
    return seen


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [f"{name} was changed by the capture" for name in before if before[name] != after[name]]


def check(maker: Maker, real: Seen) -> list[str]:
    """What is wrong with a capture of the program, in words; nothing where all agrees."""
    program = maker.program.eval()
    before = state_of(program, maker.inputs)
    found: list[str] = []
    with seeing(program) as (seen, through):
        try:
            abstract_run.capture(program, tuple(maker.inputs), {}, tracer="static", name="program", through=through)
        except opscope.Error as error:
            found.append(f"step {len(seen) - 1} is refused: {error}")
    found += differences(before, state_of(program, maker.inputs))
    for step, (expected, got) in enumerate(zip(real, seen, strict=False)):
        wrong = [f"step {step - 1}, value {i}: real {e}, captured {g}" for i, (e, g) in enumerate(zip(expected, got, strict=False)) if e != g]
        if wrong or len(expected) != len(got):
            return [*found, *(wrong or [f"step {step - 1}: {len(expected)} values, captured {len(got)}"])]
    return found


def check_training(maker: Maker) -> list[str]:
    """A training step of the program changes nothing either, whether or not it can be captured."""
    program = maker.program.train()
    before = state_of(program, maker.inputs)
    with contextlib.suppress(opscope.Error):
        abstract_run.capture(program, tuple(maker.inputs), {}, tracer="static", name="program", training=Training())
    return differences(before, state_of(program, maker.inputs))


def fuzz(seed: int, ops: list[str]) -> tuple[Maker, list[str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        maker = made(seed, ops)
        found = check(maker, real_forms(maker))
        if seed % 4 == 0:
            found += check_training(maker)
    return maker, found


# --- the command


@contextlib.contextmanager
def limited_memory(more: int = 4 << 30) -> Iterator[None]:
    """A program that asks for more is refused by its allocator, and does not take the machine down."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def listed(maker: Maker) -> Iterator[str]:
    yield from (f"  input {i}: {form(t)}" for i, t in enumerate(maker.inputs))
    for number, step in enumerate(maker.program.steps):
        held = f"{form(getattr(maker.program, step.args[0]))}" if step.op is None else ""
        yield f"  step {number}: {step} {held}"


def seeds_of(text: str, minutes: float) -> Iterator[int]:
    first, colon, last = text.partition(":")
    end = time.monotonic() + minutes * 60 if minutes else float("inf")
    seed = int(first)
    stop = int(last) if last else None if minutes else seed + 1
    while time.monotonic() < end and (stop is None or seed < stop):
        yield seed
        seed += 1


def main(arguments: list[str], say: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", default="0:200")
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    ops, used = known_ops(), collections.Counter[str]()
    programs = steps = wrong = 0
    for seed in seeds_of(asked.seeds, asked.minutes):
        with limited_memory():
            maker, found = fuzz(seed, ops)
        programs += 1
        names = [step.op._schema.name for step in maker.program.steps if step.op is not None]
        used.update(names)
        steps += len(names)
        if found or asked.show:
            wrong += bool(found)
            say("\n".join([f"seed {seed}", *listed(maker), *(f"  -> {line}" for line in found)]))
            sys.stdout.flush()
    say(f"{programs} programs, {steps} ops of {len(used)} kinds among {len(ops)}: {wrong} with differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
