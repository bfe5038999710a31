// The bytes: how many calls and kin there are, then the lists one after the other, those of the widest
// elements first so that all are aligned.
#include "hardware/predict/measured_ops.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/hash.h"
#include "hardware/predict/packed_bytes.h"

namespace opscope {

MeasuredOps::MeasuredOps(std::string_view packed) {
  if (packed.empty()) return;
  PackedLists lists(packed);
  sizes = lists.next<OpSizes>(0), misses = lists.next<double>(0);
  keys = lists.next<std::uint64_t>(0), times = lists.next<MeasuredTime>(0);
  kin = lists.next<OpKin>(1), places = lists.next<std::uint32_t>(0);
}

std::vector<char> MeasuredOps::packed() const {
  return ListPacker({sizes.size(), kin.size()})
      .add(sizes)
      .add(misses)
      .add(keys)
      .add(times)
      .add(kin)
      .add(places)
      .take();
}

const MeasuredTime* MeasuredOps::time_of(std::uint64_t key) const {
  const auto found = std::ranges::lower_bound(keys, key);
  return found == keys.end() || *found != key ? nullptr
                                              : &times[static_cast<std::size_t>(found - keys.begin())];
}

std::uint64_t call_key(std::string_view text) {
  const auto on = text.rfind(") on ");
  if (on == std::string_view::npos) return hash64(text);
  std::string shorter(text.substr(0, on + 1));
  return hash64(shorter += text.substr(std::min(text.find(" -> ", on), text.size())));
}

}  // namespace opscope
