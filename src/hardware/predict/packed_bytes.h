// Lists of plain numbers in one run of bytes, to be used where they lie: the lengths, then list after list.
// Written and read by one build of opscope: they are as the machine has them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"

namespace opscope {

inline constexpr std::size_t kPackedAlignment = 64;  // a line of the cache: where a list of sizes begins

using PackedCounts = std::array<std::uint64_t, kPackedAlignment / sizeof(std::uint64_t)>;

class ListPacker {
 public:
  // `counts`: the lengths, which several lists may share.
  explicit ListPacker(const PackedCounts& counts) { add<std::uint64_t>(counts); }

  template <class T>
  ListPacker& add(std::span<const T> list) {
    static_assert(std::is_trivially_copyable_v<T>);
    OPSCOPE_CHECK(bytes_.size() % alignof(T) == 0);
    const auto* begin = reinterpret_cast<const char*>(list.data());
    bytes_.insert(bytes_.end(), begin, begin + list.size_bytes());
    return *this;
  }
  std::vector<char> take() { return std::move(bytes_); }

 private:
  std::vector<char> bytes_;
};

class PackedLists {
 public:
  explicit PackedLists(std::string_view bytes) : rest_(bytes) {
    OPSCOPE_CHECK(bytes.size() >= sizeof counts_);
    std::memcpy(counts_.data(), bytes.data(), sizeof counts_);
    rest_.remove_prefix(sizeof counts_);
  }

  // As long as the count of this number says.
  template <class T>
  std::span<const T> next(std::size_t count) {
    const std::size_t size = counts_[count] * sizeof(T);
    OPSCOPE_CHECK(size <= rest_.size() && reinterpret_cast<std::uintptr_t>(rest_.data()) % alignof(T) == 0);
    const std::span<const T> list(reinterpret_cast<const T*>(rest_.data()), counts_[count]);
    rest_.remove_prefix(size);
    return list;
  }

 private:
  std::string_view rest_;
  PackedCounts counts_{};
};

}  // namespace opscope
