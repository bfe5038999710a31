// Downsets as bits, found by hash in an open table.
#include "plan/solver/downsets.h"

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

Downsets::Downsets(std::size_t items)
    : items_(items), words_((items + 63) / 64), slots_(1024, kNone), by_size_(items + 1) {
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < items; ++i) item_hash_.push_back({next_random(state), next_random(state)});
  hash_.push_back({0, 0});
  size_.push_back(0);
  bits_.resize(words_, 0);
  by_size_[0].push_back(0);
  insert(0);
}

std::uint32_t Downsets::find(const SetHash& hash) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash[0] & mask;; at = (at + 1) & mask) {
    const std::uint32_t set = slots_[at];
    if (set == kNone || hash_[set] == hash) return set;
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
  bits_.resize(bits_.size() + words_);
  for (std::size_t w = 0; w < words_; ++w) bits_[set * words_ + w] = bits_[base * words_ + w];
  for (const std::uint32_t item : more) bits_[set * words_ + item / 64] |= std::uint64_t{1} << (item % 64);
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
