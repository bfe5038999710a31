"""Other tools that count a model's work, each run for real on the model and inputs that opscope captures.

One file per tool. What comes out is what the tool said, at the finest grain that it says it: C++ does the
comparing (src/analyse/reconcile/reconcile.h).
"""

from __future__ import annotations

from opscope.peers.runs import TOOLS, reconcile_call, run_peers

__all__ = ["TOOLS", "reconcile_call", "run_peers"]
