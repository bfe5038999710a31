"""What the Python tests share: one thread, and torchvision importable before anything imports it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from opscope.engine import torchvision_ops

torchvision_ops.prepare()
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def docs_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all that the documentation's commands capture."""
    return tmp_path_factory.mktemp("docs_cache")
