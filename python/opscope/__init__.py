"""opscope: what a PyTorch model costs, op by op.

Importing this package loads neither torch nor the native module: both come with the first name that needs
them, so that `import opscope` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opscope import dynamo
    from opscope._build import VERSION as __version__
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
        predict,
        profile,
        profile_model,
        show_table,
        trace,
        trace_model_hybrid,
    )
    from opscope.engine.custom_ops import register_op
    from opscope.errors import Error
    from opscope.inputs import Inputs
    from opscope.measurement.calibration import Calibration, calibrate
    from opscope.measurement.measurement import measure
    from opscope.measurement.profiler import Profiler, ProfilerGraph
    from opscope.peers.reconciliation import Reconciliation, reconcile
    from opscope.questions.answer import Answer, memory
    from opscope.questions.check import Check, check
    from opscope.questions.comparison import Comparison, compare
    from opscope.questions.diff import Diff, diff
    from opscope.questions.llm import Llm, llm
    from opscope.questions.plan import Plan, plan
    from opscope.questions.sweep import Fit, Sweep, fit, sweep
    from opscope.registry import MODEL_REGISTRY, register_model
    from opscope.results.profile import Profile, Row
    from opscope.results.visualization import generate_visualization
    from opscope.sources.discovery import (
        discover_models,
        discover_transformers,
        load_and_trace_model,
        load_yolo_model,
        show_model_list,
    )
    from opscope.sources.hf_models import load_transformer_model
    from opscope.subgraphs.descriptors import SubgraphDescriptor, TensorDescriptor, UnifiedAnalyzer
    from opscope.subgraphs.partitioners import FusionPartitioner, GraphPartitioner, PartitionReport

_HOME = {
    "Calibration": "measurement.calibration",
    "Capture": "api",
    "Answer": "questions.answer",
    "Check": "questions.check",
    "Comparison": "questions.comparison",
    "Diff": "questions.diff",
    "Error": "errors",
    "Fit": "questions.sweep",
    "FusionPartitioner": "subgraphs.partitioners",
    "Graph": "api",
    "GraphPartitioner": "subgraphs.partitioners",
    "Inputs": "inputs",
    "Llm": "questions.llm",
    "MODEL_REGISTRY": "registry",
    "PartitionReport": "subgraphs.partitioners",
    "Plan": "questions.plan",
    "Profile": "results.profile",
    "Profiler": "measurement.profiler",
    "ProfilerGraph": "measurement.profiler",
    "Reconciliation": "peers.reconciliation",
    "Row": "results.profile",
    "SubgraphDescriptor": "subgraphs.descriptors",
    "Sweep": "questions.sweep",
    "TensorDescriptor": "subgraphs.descriptors",
    "UnifiedAnalyzer": "subgraphs.descriptors",
    "calibrate": "measurement.calibration",
    "capture": "api",
    "check": "questions.check",
    "compare": "questions.comparison",
    "devices": "api",
    "diff": "questions.diff",
    "discover_models": "sources.discovery",
    "discover_transformers": "sources.discovery",
    "explain": "api",
    "fit": "questions.sweep",
    "from_graph_module": "api",
    "generate_visualization": "results.visualization",
    "inputs_for": "api",
    "list_models": "api",
    "llm": "questions.llm",
    "load": "api",
    "load_and_trace_model": "sources.discovery",
    "load_transformer_model": "sources.hf_models",
    "load_yolo_model": "sources.discovery",
    "measure": "measurement.measurement",
    "memory": "questions.answer",
    "plan": "questions.plan",
    "predict": "api",
    "profile": "api",
    "profile_model": "api",
    "reconcile": "peers.reconciliation",
    "register_model": "registry",
    "register_op": "engine.custom_ops",
    "show_model_list": "sources.discovery",
    "show_table": "api",
    "sweep": "questions.sweep",
    "trace": "api",
    "trace_model_hybrid": "api",
}

_MODULES = ("dynamo",)

__all__ = [*sorted((*_HOME, *_MODULES)), "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("opscope._build").VERSION
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
