"""opscope: what a PyTorch model costs, op by op.

Importing this package loads neither torch nor the native module: both come with the first name that needs
them, so that `import opscope` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opscope.api import (
        Capture,
        Graph,
        capture,
        devices,
        explain,
        from_graph_module,
        inputs_for,
        list_models,
        load,
        profile,
        profile_model,
        show_table,
        trace,
        trace_model_hybrid,
    )
    from opscope import dynamo
    from opscope.checking import Check, check
    from opscope.comparing import Comparison, compare
    from opscope.custom_ops import register_op
    from opscope.differing import Diff, diff
    from opscope.descriptors import SubgraphDescriptor, TensorDescriptor, UnifiedAnalyzer
    from opscope.discovery import (
        discover_models,
        discover_transformers,
        load_and_trace_model,
        load_yolo_model,
        show_model_list,
    )
    from opscope.errors import Error
    from opscope.sources.hf_models import load_transformer_model
    from opscope.inputs import Inputs
    from opscope.measuring import measure
    from opscope.partitioning import FusionPartitioner, GraphPartitioner, PartitionReport
    from opscope.peers.reconciling import Reconciliation, reconcile
    from opscope.profiler import Profiler, ProfilerGraph
    from opscope.registry import MODEL_REGISTRY, register_model
    from opscope.result import Profile, Row
    from opscope.sweeping import Fit, Sweep, fit, sweep
    from opscope.visualization import generate_visualization

__version__ = "0.1.0"

_HOME = {
    "Capture": "api",
    "Check": "checking",
    "Comparison": "comparing",
    "Diff": "differing",
    "Error": "errors",
    "Fit": "sweeping",
    "FusionPartitioner": "partitioning",
    "Graph": "api",
    "GraphPartitioner": "partitioning",
    "Inputs": "inputs",
    "MODEL_REGISTRY": "registry",
    "PartitionReport": "partitioning",
    "Profile": "result",
    "Profiler": "profiler",
    "ProfilerGraph": "profiler",
    "Reconciliation": "peers.reconciling",
    "Row": "result",
    "SubgraphDescriptor": "descriptors",
    "Sweep": "sweeping",
    "TensorDescriptor": "descriptors",
    "UnifiedAnalyzer": "descriptors",
    "capture": "api",
    "check": "checking",
    "compare": "comparing",
    "devices": "api",
    "diff": "differing",
    "discover_models": "discovery",
    "discover_transformers": "discovery",
    "explain": "api",
    "fit": "sweeping",
    "from_graph_module": "api",
    "generate_visualization": "visualization",
    "inputs_for": "api",
    "list_models": "api",
    "load": "api",
    "load_and_trace_model": "discovery",
    "load_transformer_model": "sources.hf_models",
    "load_yolo_model": "discovery",
    "measure": "measuring",
    "profile": "api",
    "profile_model": "api",
    "reconcile": "peers.reconciling",
    "register_model": "registry",
    "register_op": "custom_ops",
    "show_model_list": "discovery",
    "show_table": "api",
    "sweep": "sweeping",
    "trace": "api",
    "trace_model_hybrid": "api",
}

_MODULES = ("dynamo",)

__all__ = [*sorted((*_HOME, *_MODULES)), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME and name not in _MODULES:
        raise AttributeError(f"module 'opscope' has no attribute {name!r}")
    if _HOME.get(name) != "registry":
        importlib.import_module("opscope._load")  # first: it says what is wrong where torch is missing or another
    if name in _MODULES:
        return importlib.import_module(f"opscope.{name}")
    value = getattr(importlib.import_module(f"opscope.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
