// The fixed parts of an emitted program.
#pragma once

namespace opscope {

inline constexpr const char* kTorchHead = R"py(
import argparse
import contextlib
import functools
import importlib
import json
import os
import time

import torch
import torch.distributed as dist

LAYOUTS = {"Strided": torch.strided, "Sparse": torch.sparse_coo}
FORMATS = {
    "contiguous": torch.contiguous_format, "preserve": torch.preserve_format,
    "channels_last": torch.channels_last, "channels_last_3d": torch.channels_last_3d,
}
DEVICE = torch.device("cpu")


@functools.cache
def target(name, overload):
    library, function = name.split("::")
    with contextlib.suppress(ImportError):
        if library not in ("aten", "prims"):
            importlib.import_module(library)
    return getattr(getattr(getattr(torch.ops, library), function), overload or "default")


def converted(kind, value):
    if value is None or not isinstance(value, str):
        return value
    if kind.removeprefix("Optional[").startswith("Device"):
        return DEVICE
    if "Layout" in kind:
        return LAYOUTS[value]
    return FORMATS[value] if "MemoryFormat" in kind else value


def op(name, overload, /, **given):
    """Calls the operator as the model called it; its tensors as a list."""
    called = target(name, overload)
    positional, named, complete = [], {}, True
    for argument in called._schema.arguments:
        if argument.name not in given:
            complete = False
            continue
        value = converted(str(argument.real_type), given[argument.name])
        if argument.kwarg_only or not complete:
            named[argument.name] = value
        else:
            positional.append(value)
    return tensors(called(*positional, **named))


def tensors(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [tensor for item in result for tensor in tensors(item)]
    return []


class Stage:
    """What a stage has: the weights and inputs by name, and the tensors that it sends and receives."""

    def __init__(self, rank, held):
        self.rank, self.held, self.sending, self.outputs = rank, held, [], {}

    def weight(self, *names):
        for name in names:
            if name in self.held["weights"]:
                return self.held["weights"][name]
        raise SystemExit(f"the file of tensors has no weight called {' or '.join(names)}")

    def input(self, name):
        if name not in self.held["inputs"]:
            raise SystemExit(f"the file of tensors has no input called {name}")
        return self.held["inputs"][name]

    def receive(self, index):
        # A dimension of stride 0 is sent once.
        sender, _, shape, stride, dtype = TRANSFERS[index]
        sent = [1 if step == 0 else size for size, step in zip(shape, stride)]
        tensor = torch.empty(sent, dtype=dtype, device=DEVICE)
        dist.recv(tensor, sender)
        steps = [step if step else 1 for step in stride]
        laid = torch.empty_strided(sent, steps, dtype=dtype, device=DEVICE) if dense(sent, steps) else tensor
        return (laid.copy_(tensor) if laid is not tensor else tensor).expand(shape)

    def send(self, index, tensor):
        _, receivers, shape, stride, _ = TRANSFERS[index]
        for dimension, step in enumerate(stride):
            if step == 0 and shape[dimension] > 1:
                tensor = tensor.narrow(dimension, 0, 1)
        copy = tensor.detach().clone(memory_format=torch.contiguous_format)
        self.sending += [(dist.isend(copy, receiver), copy) for receiver in receivers]

    def sent(self):
        for work, _ in self.sending:
            work.wait()
        self.sending = []


def dense(shape, stride):
    """Every element of the memory is one of the tensor's."""
    expected = 1
    for step, size in sorted((step, size) for size, step in zip(shape, stride) if size != 1):
        if step != expected:
            return False
        expected *= size
    return True

)py";

inline constexpr const char* kTorchTail = R"py(

def main():
    global DEVICE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensors", required=True, help="weights and inputs, as torch.save wrote them")
    parser.add_argument("--save", help="where the last process writes the model's outputs, as a list")
    parser.add_argument("--times", help="where each process writes its times, with .RANK.json behind")
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--device", default="cpu", help="cpu, or cuda: each process its own")
    parser.add_argument("--init", default="env://", help="init_method of torch.distributed")
    asked = parser.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if world != len(STAGES):
        raise SystemExit(f"the plan has {len(STAGES)} stages: torchrun --nproc-per-node {len(STAGES)}")
    DEVICE = torch.device("cuda", int(os.environ.get("LOCAL_RANK", rank))) if asked.device == "cuda" else torch.device(asked.device)
    dist.init_process_group(asked.backend, init_method=asked.init, rank=rank, world_size=world)
    # Each process keeps the weights that its stage reads, and no others.
    read = torch.load(asked.tensors, map_location="cpu", mmap=True)
    weights = {name: tensor.detach().to(DEVICE) for name, tensor in read["weights"].items() if name in WEIGHTS[rank]}
    held = {"weights": weights, "inputs": {name: tensor.to(DEVICE) for name, tensor in read["inputs"].items()}}
    stage = Stage(rank, held)
    seconds = []
    with torch.no_grad():
        for _ in range(asked.runs):
            before = {index: stage.receive(index) for index, transfer in enumerate(TRANSFERS) if rank in transfer[1]}
            start = time.perf_counter()
            STAGES[rank](stage, before)
            if DEVICE.type == "cuda":
                torch.cuda.synchronize()
            seconds.append(time.perf_counter() - start)
            stage.sent()
    if rank == world - 1 and asked.save:
        torch.save([stage.outputs[index] for index in range(len(stage.outputs))], asked.save)
    if asked.times:
        with open(f"{asked.times}.{rank}.json", "w") as file:
            json.dump({"rank": rank, "compute_seconds": seconds}, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
)py";

}  // namespace opscope
