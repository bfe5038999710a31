// The reserve, and what it is a share of.
#include "analyse/memory/need.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "metrics/unit.h"

namespace opscope {

Reserve Reserve::from(const std::string& text, Count memory, bool whole_device) {
  if (text.empty()) return {.by_default = true, .fixed = whole_device ? kContextBytes : Count{}};
  Reserve reserve{.by_default = false};
  if (text.ends_with('%')) {
    const double share = number_from<double>(text.substr(0, text.size() - 1)).value_or(-1);
    if (!(share >= 0 && share < 100))
      throw Error("'" + text + "' is not a part of the memory", "--reserve", "for example 1GiB or 10%");
    reserve.fixed = Count{static_cast<std::uint64_t>(std::ceil(static_cast<double>(memory) * share / 100))};
  } else {
    reserve.fixed = parse_bytes("--reserve", text);
  }
  if (reserve.fixed >= memory)
    throw Error("the reserve is all of the memory", "--reserve", "for example 1GiB or 10%");
  return reserve;
}

MemoryNeed memory_need(const MemorySplit& at_peak, const Reserve& reserve) {
  MemoryNeed need{.tensors = at_peak.total(), .fixed = reserve.fixed};
  if (!reserve.by_default) return need;
  const Count lasting = at_peak[MemoryKind::kWeights] + at_peak[MemoryKind::kKvCache];
  const double moving = static_cast<double>(need.tensors - lasting);
  need.allocator = Count{static_cast<std::uint64_t>(std::ceil(moving * kAllocatorShare))};
  return need;
}

MemoryNeed memory_need(const MemoryTimeline& timeline, const Reserve& reserve) {
  MemoryNeed need = memory_need(timeline.at_peak, reserve);
  need.library = timeline.library.most;
  if (!reserve.by_default || !timeline.allocator.needed) return need;
  const Count held = need.tensors + need.library;
  need.allocator = timeline.allocator.needed > held ? timeline.allocator.needed - held : Count{};
  return need;
}

}  // namespace opscope
