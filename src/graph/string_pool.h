// Strings by number, each kept once. Views stay valid while the pool grows, and in copies of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace opscope {

class StringPool {
 public:
  StringPool() = default;
  // The text is shared, not copied: what was written never changes, and a copy writes to a block of its own.
  StringPool(const StringPool& other);
  StringPool& operator=(const StringPool& other);
  // A pool that was moved from may only be assigned to or destroyed.
  StringPool(StringPool&& other) noexcept;
  StringPool& operator=(StringPool&& other) noexcept;
  ~StringPool() = default;

  // The number of text, given on first sight; "" is 0.
  std::uint32_t intern(std::string_view text);
  std::string_view operator[](std::uint32_t id) const { return views_[id]; }
  std::size_t size() const { return views_.size(); }
  void reserve(std::size_t count);

 private:
  std::string_view store(std::string_view text);
  void grow(std::size_t slots);

  std::vector<std::string_view> views_{std::string_view{}};
  struct Slot {
    std::uint32_t number = 0;  // id + 1, or 0 where it is free
    std::uint32_t hash = 0;    // of the text, to compare and to grow without reading it
  };
  std::vector<Slot> slots_;  // a power of two of them, at most half used
  std::vector<std::shared_ptr<char[]>> blocks_;
  char* free_ = nullptr;  // in the last block
  std::size_t free_bytes_ = 0;
};

}  // namespace opscope
