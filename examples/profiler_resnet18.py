"""ResNet18: its parts with their forward times, then its ops, each in a text file; then as ever.

    python examples/profiler_resnet18.py
    cat resnet18_profile_module.txt resnet18_profile_detail.txt
"""

import torch
from opscope import Profiler
from torchvision.models import resnet18

device = "cuda" if torch.cuda.is_available() else "cpu"
model = resnet18().eval().to(device)
prof = Profiler(model, granularity="module", auto_profile=False, capture_ops=False)

x = torch.randn(1, 3, 224, 224, device=device)

# Pass 1: module-level graph
prof.profile_once(x)
prof.export("resnet18_profile", module_include_edges=True, include_stats=True, overwrite_module=True)

# Optional Pass 2: operator-level detail graph
prof.profile_detail(x)
prof.export("resnet18_profile", detail_include_edges=True, include_stats=True, overwrite_module=False)

# Print stats in console
print("==== Module Graph Stats ====")
prof.graph.stats()
if prof.detail_graph:
    print("==== Detail Graph Stats ====")
    prof.detail_graph.stats()

# Normal inference works as usual
_ = prof(x)
