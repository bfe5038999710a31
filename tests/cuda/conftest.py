"""What the Python tests share: one thread, and torchvision importable before anything imports it."""

from __future__ import annotations

import torch

from opscope.engine import torchvision_ops

torchvision_ops.prepare()
torch.set_num_threads(1)
