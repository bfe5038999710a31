// An open-addressing table over text in large blocks.
#include "graph/string_pool.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/error.h"

namespace opscope {
namespace {

constexpr std::size_t kFirstSlots = 64;

std::uint32_t hash_of(std::string_view text) {
  const std::uint64_t hash = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

void StringPool::grow() {
  const std::size_t slots = std::max(kFirstSlots, slots_.size() * 2);
  std::vector<Slot> grown;
  reserve_large(grown, slots);
  grown.resize(slots);
  for (const Slot& slot : slots_)
    if (slot.number != 0) {
      auto at = slot.hash & (grown.size() - 1);
      while (grown[at].number != 0) at = (at + 1) & (grown.size() - 1);
      grown[at] = slot;
    }
  slots_ = std::move(grown);
}

std::uint32_t StringPool::intern(std::string_view text) {
  if (text.empty()) return 0;
  if (used_ * 2 >= slots_.size()) grow();
  const auto hash = hash_of(text);
  auto at = hash & (slots_.size() - 1);
  for (; slots_[at].number != 0; at = (at + 1) & (slots_.size() - 1))
    if (const auto id = slots_[at].number - 1; slots_[at].hash == hash && views_[id] == text) return id;
  const auto id = add(text);
  slots_[at] = {id + 1, hash};
  ++used_;
  return id;
}

std::uint32_t StringPool::add(std::string_view text) {
  if (text.empty()) return 0;
  OPSCOPE_CHECK(views_.size() < std::numeric_limits<std::uint32_t>::max() - 1);
  views_.push_back(texts_.add(text));
  return static_cast<std::uint32_t>(views_.size() - 1);
}

}  // namespace opscope
