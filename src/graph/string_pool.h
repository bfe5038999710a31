// Strings by number, those that repeat kept once. Views stay valid while the pool grows, and in copies of it.
// A pool that was moved from may only be assigned to or destroyed.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/text_blocks.h"

namespace opscope {

class StringPool {
 public:
  // The number of text, given on first sight; "" is 0.
  std::uint32_t intern(std::string_view text);
  // A number of its own, for what is hardly ever the same twice, as paths are: not looked up, nor found.
  std::uint32_t add(std::string_view text);
  std::string_view operator[](std::uint32_t id) const { return views_[id]; }
  std::size_t size() const { return views_.size(); }
  void reserve(std::size_t count) { reserve_large(views_, count); }

 private:
  void grow();

  std::vector<std::string_view> views_{std::string_view{}};
  struct Slot {
    std::uint32_t number = 0;  // id + 1, or 0 where it is free
    std::uint32_t hash = 0;    // of the text, to compare and to grow without reading it
  };
  std::vector<Slot> slots_;  // a power of two of them, at most half used
  std::size_t used_ = 0;
  TextBlocks texts_;
};

}  // namespace opscope
