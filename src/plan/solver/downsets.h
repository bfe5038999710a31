// Downsets: sets of items with everything that comes before them. A plan is a chain of downsets, and each of
// its parts is the difference of two. They are made when a search first reaches them, and kept for the next.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace opscope {

// Of a set of items, so that two sets never meet in practice: 128 bits.
using SetHash = std::array<std::uint64_t, 2>;
inline SetHash operator^(const SetHash& a, const SetHash& b) { return {a[0] ^ b[0], a[1] ^ b[1]}; }

class Downsets {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit Downsets(std::size_t items);

  const SetHash& hash_of_item(std::uint32_t item) const { return item_hash_[item]; }
  const SetHash& hash(std::uint32_t set) const { return hash_[set]; }
  std::uint32_t empty() const { return 0; }
  std::uint32_t full() const { return full_; }  // kNone: not reached yet
  std::size_t size() const { return hash_.size(); }
  // The set of this hash; kNone where it was not made yet.
  std::uint32_t find(const SetHash& hash) const;
  // The one that has `more` beside the items of `base`.
  std::uint32_t make(const SetHash& hash, std::uint32_t base, std::span<const std::uint32_t> more);
  // Items before `begin` are in the set, those from `end` on are not; between them it differs.
  std::uint32_t begin(std::uint32_t set) const { return spans_[set].begin; }
  std::uint32_t end(std::uint32_t set) const { return spans_[set].end; }
  bool has(std::uint32_t set, std::uint32_t item) const {
    const Span& span = spans_[set];
    if (item < span.begin || item >= span.end) return item < span.begin;
    const std::uint32_t at = item - span.begin;
    return (bits_[span.bits + at / 64] >> (at % 64) & 1) != 0;
  }
  // Those of so many items.
  const std::vector<std::uint32_t>& of_size(std::size_t items) const { return by_size_[items]; }

 private:
  struct Span {
    std::uint32_t begin = 0, end = 0;
    std::size_t bits = 0;  // in bits_, of begin and on
  };
  void insert(std::uint32_t set);
  void grow();

  std::size_t items_;
  std::vector<Span> spans_;
  std::vector<SetHash> item_hash_, hash_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> size_, slots_;
  std::vector<std::vector<std::uint32_t>> by_size_;
  std::uint32_t full_ = kNone;
};

}  // namespace opscope
