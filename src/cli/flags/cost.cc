#include "cli/flags/cost.h"

#include "cli/flags/flags.h"

namespace opscope {

void add_cost_flags(CLI::App& app, CostRequest& request) {
  add_convention_flag(app, request.convention);
  add_value(
      app, "--ridge", request.ridge, "X",
      "Ridge point in FLOPs per byte: ops below it are memory-bound. Default: that of --hardware, else 10");
  add_value(app, "--hardware", request.hardware, "NAME",
            "Device for roofline times: a name from `opscope devices`, or a .toml file. `profile` takes "
            "several: h100,l4");
  add_value(app, "--float32", request.float32, "NAME",
            "Precision of float32 products on the device: torch (TF32 for convolutions only, PyTorch's "
            "default), tf32 (wherever possible) or ieee (never)");
  add_value(app, "--partition", request.partition, "NAME",
            "How ops are grouped into subgraphs: none (one op each), layer (one leaf module each) or "
            "fused (one fused kernel each; default)");
  add_value(app, "--fast-memory", request.fast_memory, "SIZE",
            "Limit for the working set of a fused kernel, for example 256KiB. Default: no limit");
}

}  // namespace opscope
