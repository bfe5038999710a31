// Downsets as bits, found by hash in an open table.
#include "plan/solver/downsets.h"

#include <algorithm>

namespace opscope {
namespace {

// splitmix64: the same numbers on every machine.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

Downsets::Downsets(std::size_t items) : items_(items), slots_(1024, kNone), by_size_(items + 1) {
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < items; ++i) item_hash_.push_back({next_random(state), next_random(state)});
  hash_.push_back({0, 0});
  size_.push_back(0);
  spans_.emplace_back();
  by_size_[0].push_back(0);
  insert(0);
}

std::uint32_t Downsets::find(const SetHash& hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash[0] & mask;; at = (at + 1) & mask) {
    const std::uint32_t set = slots_[at];
    if (set == kNone || (hash_[set][0] == hash[0] && hash_[set][1] == hash[1])) return set;
  }
}

void Downsets::insert(std::uint32_t set) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash_[set][0] & mask;
  while (slots_[at] != kNone) at = (at + 1) & mask;
  slots_[at] = set;
}

void Downsets::grow() {
  slots_.assign(slots_.size() * 2, kNone);
  for (std::uint32_t set = 0; set < hash_.size(); ++set) insert(set);
}

std::uint32_t Downsets::make(const SetHash& hash, std::uint32_t base, std::span<const std::uint32_t> more) {
  const auto set = static_cast<std::uint32_t>(hash_.size());
  hash_.push_back(hash);
  // As far as the set has all items, and up to the last that it has.
  const std::uint32_t last = more.empty() ? 0 : std::ranges::max(more) + 1;
  Span span{.begin = begin(base), .end = std::max(end(base), last), .bits = bits_.size()};
  const bool is_run = begin(base) == end(base) && last == begin(base) + more.size();
  if (is_run) span.begin = span.end;  // the first items, as most sets are
  std::vector<std::uint64_t> bits((span.end - span.begin + 63) / 64, 0);
  const auto set_bit = [&](std::uint32_t item) {
    bits[(item - span.begin) / 64] |= std::uint64_t{1} << ((item - span.begin) % 64);
  };
  for (std::uint32_t item = span.begin; item < end(base); ++item)
    if (has(base, item)) set_bit(item);
  for (std::size_t i = 0; i < more.size() && !is_run; ++i) set_bit(more[i]);
  std::size_t full = 0;  // words of items that are all in it
  while (full < bits.size() && bits[full] == ~std::uint64_t{0}) ++full;
  span.begin += static_cast<std::uint32_t>(full * 64);
  span.end = std::max(span.end, span.begin);
  bits_.insert(bits_.end(), bits.begin() + static_cast<std::ptrdiff_t>(full), bits.end());
  spans_.push_back(span);
  const std::size_t size = size_[base] + more.size();
  size_.push_back(static_cast<std::uint32_t>(size));
  by_size_[size].push_back(set);
  if (size == items_) full_ = set;
  if (hash_.size() * 2 > slots_.size())
    grow();
  else
    insert(set);
  return set;
}

}  // namespace opscope
