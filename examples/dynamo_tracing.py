"""Dynamo's graphs of four small models, and what symbolic_trace makes of the same.

    python examples/dynamo_tracing.py [simple|control|loops|compare]      all of them without an argument
"""

import sys

import torch
from torch import nn

import opscope
from opscope.dynamo import analyze_memory_timeline, trace_model_with_dynamo


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.pool, self.fc = nn.MaxPool2d(2), nn.Linear(32 * 8 * 8, 10)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.fc(x.flatten(1))


class ControlFlow(nn.Module):
    """Takes one of two ways by a value: symbolic_trace gives up, Dynamo breaks the graph and goes on."""

    def __init__(self):
        super().__init__()
        self.stem, self.small, self.large = nn.Linear(16, 16), nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        if x.mean() > 0.5:
            return self.large(x)
        return self.small(x)


class Loops(nn.Module):
    """Loops as often as its input is long: symbolic_trace does not know how often that is, Dynamo unrolls it."""

    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.Linear(8 + 16, 16), nn.Linear(16, 2)

    def forward(self, x):
        state = x.new_zeros(x.shape[0], 16)
        for step in range(x.shape[1]):
            state = torch.tanh(self.cell(torch.cat([x[:, step], state], dim=-1)))
        return self.head(state)


MODELS = {
    "simple": (SimpleCNN, torch.randn(1, 3, 32, 32)),
    "control": (ControlFlow, torch.randn(2, 16)),
    "loops": (Loops, torch.randn(2, 3, 8)),
}


def show(name):
    model, x = MODELS[name][0]().eval(), MODELS[name][1]
    print(f"--- {name}: {type(model).__doc__ or 'a small CNN'}\n")
    extractor = trace_model_with_dynamo(model, x)
    print()
    for number, module in enumerate(extractor.graph_modules, 1):
        _, node, used = max(analyze_memory_timeline(module.graph), key=lambda row: row[2])
        print(f"partition {number}: its graph's {node} leaves the most in use, {used:,} bytes")
    breaks = len(extractor.breaks)
    print(f"{extractor.graph.profile().totals.macs:,} MACs in all, {breaks} graph break{'' if breaks == 1 else 's'}\n")


def compare():
    print(f"--- compare\n\n{'model':8} {'tracer':7} {'nodes':>5} {'graphs':>6} {'breaks':>6} {'MACs':>9}")
    for name, (make, x) in MODELS.items():
        for tracer in ("fx", "dynamo", "export"):
            try:
                graph = opscope.trace(make().eval(), x, tracer=tracer)
            except opscope.Error as problem:
                print(f"{name:8} {tracer:7} {problem}".splitlines()[0])
                continue
            counts = f"{len(graph.nodes):5} {len(graph.parts):6} {len(graph.breaks):6}"
            print(f"{name:8} {tracer:7} {counts} {graph.profile().totals.macs:9,}")


if __name__ == "__main__":
    asked = sys.argv[1:] or [*MODELS, "compare"]
    for each in asked:
        if each not in (*MODELS, "compare"):
            sys.exit(f"no example called '{each}': simple, control, loops, compare")
    for each in asked:
        compare() if each == "compare" else show(each)
