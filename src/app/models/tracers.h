// The tracers by the names that --tracer takes: flag, help, completion and `opscope trace` come from these
// rows.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace opscope {

struct TracerName {
  std::string_view name;
  bool compared;  // by `opscope trace` without --tracer
};
inline constexpr std::array kTracers{
    TracerName{"auto", false},   TracerName{"static", true}, TracerName{"eager", false},
    TracerName{"fx", true},      TracerName{"dynamo", true}, TracerName{"export", true},
    TracerName{"hybrid", false},
};

// The name, if it is one; throws Error with the nearest ones.
std::string checked_tracer(const std::string& text);

// The engine's own graph, which has no tracer of PyTorch's in it.
constexpr bool is_engine(std::string_view tracer) { return tracer == "static" || tracer == "eager"; }

}  // namespace opscope
