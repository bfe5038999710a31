"""Forward times over epochs: a model is trained, and before each epoch a pass of the Profiler looks at it.

A pass leaves weights, buffers, gradients and random numbers as they were: the losses are those of training without it,
which the last line checks.

    python examples/profiler_epochs.py --epochs 5
"""

import argparse
import copy

import torch
from opscope import Profiler
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"


def make_model():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Dropout(0.1), nn.Linear(64, 10),
    ).to(device)  # fmt: skip


def train(model, epochs, before_epoch=lambda x: None):
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(epochs):
        x, y = torch.randn(16, 3, 32, 32, device=device), torch.randint(10, (16,), device=device)
        before_epoch(x)
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    epochs = parser.parse_args().epochs

    torch.manual_seed(0)
    plain = make_model()
    prof = Profiler(copy.deepcopy(plain), granularity="layer", auto_profile=False)
    seconds = []

    def look(x):
        graph = prof.profile_once(x)
        seconds.append([row.time_seconds for row in graph.nodes])

    losses = train(prof, epochs, look)
    names = [f"{row.name} {row.type}" for row in prof.graph.nodes]
    print("forward ms of each epoch")
    for name, times in zip(names, zip(*seconds, strict=True), strict=True):
        print(f"  {name:<22}" + "".join(f"{1e3 * time:>9.4f}" for time in times))
    print("losses      " + "".join(f"{loss:>9.4f}" for loss in losses))
    print("as without the Profiler:", losses == train(plain, epochs))


if __name__ == "__main__":
    main()
