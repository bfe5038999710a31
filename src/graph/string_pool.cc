// An open-addressing table over text in large blocks: a million names are a few dozen allocations.
#include "graph/string_pool.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>

#include "base/error.h"
#include "base/large_pages.h"

namespace opscope {
namespace {

constexpr std::size_t kFirstSlots = 64;
constexpr std::size_t kFirstBlock = std::size_t{1} << 12, kLargestBlock = std::size_t{1} << 24;

std::uint32_t hash_of(std::string_view text) {
  const std::uint64_t hash = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

}  // namespace

StringPool::StringPool(const StringPool& other)
    : views_(other.views_), slots_(other.slots_), blocks_(other.blocks_) {}

StringPool& StringPool::operator=(const StringPool& other) {
  if (this != &other) *this = StringPool(other);
  return *this;
}

StringPool::StringPool(StringPool&& other) noexcept
    : views_(std::move(other.views_)),
      slots_(std::move(other.slots_)),
      blocks_(std::move(other.blocks_)),
      free_(std::exchange(other.free_, nullptr)),
      free_bytes_(std::exchange(other.free_bytes_, 0)) {}

StringPool& StringPool::operator=(StringPool&& other) noexcept {
  if (this == &other) return *this;
  views_ = std::move(other.views_);
  slots_ = std::move(other.slots_);
  blocks_ = std::move(other.blocks_);
  free_ = std::exchange(other.free_, nullptr);
  free_bytes_ = std::exchange(other.free_bytes_, 0);
  return *this;
}

std::string_view StringPool::store(std::string_view text) {
  if (text.size() > free_bytes_) {
    const auto usual = std::min(kFirstBlock << std::min<std::size_t>(blocks_.size(), 12), kLargestBlock);
    free_bytes_ = std::max(usual, text.size());
    blocks_.emplace_back(new char[free_bytes_]);
    free_ = blocks_.back().get();
    expect_large(free_, free_bytes_);
  }
  const std::string_view stored(free_, text.size());
  std::memcpy(free_, text.data(), text.size());
  free_ += text.size();
  free_bytes_ -= text.size();
  return stored;
}

void StringPool::reserve(std::size_t count) {
  reserve_large(views_, count);
  if (count * 2 > slots_.size()) grow(std::bit_ceil(count * 2));
}

void StringPool::grow(std::size_t slots) {
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
  if (views_.size() * 2 > slots_.size()) grow(std::max(kFirstSlots, slots_.size() * 2));
  const auto hash = hash_of(text);
  auto at = hash & (slots_.size() - 1);
  for (; slots_[at].number != 0; at = (at + 1) & (slots_.size() - 1))
    if (const auto id = slots_[at].number - 1; slots_[at].hash == hash && views_[id] == text) return id;
  OPSCOPE_CHECK(views_.size() < std::numeric_limits<std::uint32_t>::max() - 1);
  const auto id = static_cast<std::uint32_t>(views_.size());
  views_.push_back(store(text));
  slots_[at] = {id + 1, hash};
  return id;
}

}  // namespace opscope
