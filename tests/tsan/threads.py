"""Eight threads that capture, capture training steps and really train at once, some of them the same module.

    python tests/tsan/threads.py [--rounds 20] [--threads 8]

Every answer must be the one that a thread alone gets. tools/test_tsan.sh runs this on an engine built with
ThreadSanitizer; it is a test of its own without.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import opscope


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(8 * 16, 10), nn.Dropout(0.1), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.conv(x)))
        mask = torch.arange(4) > 1
        return self.head(x * mask) + torch.rand(10)


X = torch.rand(2, 3, 4, 4)
SHARED = Block().eval()  # captured by all threads at once, training steps among it
WATCHED = Block().eval()  # captured by some while others really run it: a training step would set its mode for all

BOTH = nn.ModuleList([SHARED, WATCHED])


def captured(model: nn.Module, **options: Any) -> tuple[Any, ...]:
    totals = opscope.profile(model, X, **options).to_dict()["totals"]
    return tuple(totals[name] for name in ("ops", "macs", "flops", "memory_bytes", "params"))


def trained() -> tuple[float, ...]:
    """Real steps of a model of its own, from fixed weights; other threads' captures must not touch them."""
    model = nn.Sequential(nn.Linear(12, 8), nn.Tanh(), nn.Linear(8, 1))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.linspace(-1, 1, parameter.numel()).view_as(parameter))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = model(torch.linspace(0, 1, 48).view(4, 12)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return tuple(losses)


JOBS: dict[str, Callable[[], Any]] = {
    "static capture of the shared module": lambda: captured(SHARED),
    "training step of the shared module": lambda: captured(SHARED, training=True),
    "static capture of a module of its own": lambda: captured(Block().eval()),
    "training step of a module of its own": lambda: captured(Block(), training=True),
    "real run of the shared module, recorded": lambda: captured(SHARED, tracer="eager"),
    "real training": trained,
    "static capture of a module that others run": lambda: captured(WATCHED),
    "real run of a module that others capture": lambda: tuple(WATCHED.head[:2](WATCHED.norm(WATCHED.conv(X))).flatten().tolist()),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--threads", type=int, default=8)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    expected = {name: job() for name, job in JOBS.items()}
    state = {name: tensor.clone() for name, tensor in BOTH.state_dict().items()}
    names, wrong = list(JOBS), []
    barrier = threading.Barrier(asked.threads)

    def work(number: int) -> None:
        barrier.wait()
        for step in range(asked.rounds):
            name = names[(number + step) % len(names)]
            try:
                got = JOBS[name]()
            except Exception as problem:
                got = repr(problem)
            if got != expected[name]:
                wrong.append(f"{name}: {got}, alone {expected[name]}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(asked.threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong += [f"{name} was changed" for name, tensor in BOTH.state_dict().items() if not torch.equal(tensor, state[name])]
    wrong += [f"{name} has a gradient" for name, parameter in BOTH.named_parameters() if parameter.grad is not None]
    print(f"{asked.threads} threads, {asked.threads * asked.rounds} jobs: {len(wrong)} wrong")
    print("\n".join(wrong[:10]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
