// Text that graphs and profiles refer to, written once into blocks that never move: a million names are a few
// dozen allocations, and views stay valid when the blocks' owner is moved or copied.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/large_pages.h"

namespace opscope {

using TextBlock = std::shared_ptr<const char[]>;

class TextBlocks {
 public:
  std::string_view add(std::string_view text) {
    if (text.empty()) return {};
    if (text.size() > free_.bytes) grow(text.size());
    char* const at = std::exchange(free_.at, free_.at + text.size());
    free_.bytes -= text.size();
    std::memcpy(at, text.data(), text.size());
    return {at, text.size()};
  }
  // The blocks, for whoever keeps the views.
  std::vector<TextBlock> take() && { return std::move(blocks_); }

 private:
  void grow(std::size_t least) {
    constexpr std::size_t kFirst = std::size_t{1} << 12;
    free_.bytes = std::max(least, kFirst << std::min<std::size_t>(blocks_.size(), 12));
    std::shared_ptr<char[]> block(new char[free_.bytes]);  // not make_shared: blocks need no zeroes
    free_.at = block.get();
    blocks_.push_back(std::move(block));
    expect_large(free_.at, free_.bytes);
  }

  // The rest of the last block: of one owner. Copies share what was written, which never changes, and write
  // to blocks of their own; what was moved from has none.
  struct Free {
    Free() = default;
    Free(const Free&) {}
    Free(Free&& other) noexcept
        : at(std::exchange(other.at, nullptr)), bytes(std::exchange(other.bytes, 0)) {}
    Free& operator=(Free other) noexcept {
      std::swap(at, other.at), std::swap(bytes, other.bytes);
      return *this;
    }
    char* at = nullptr;
    std::size_t bytes = 0;
  };

  std::vector<TextBlock> blocks_;
  Free free_;
};

// Where a large text goes as it is made, one block after the other, so that it is never whole in memory.
using TextSink = std::function<void(std::string_view block)>;
using TextSource = std::function<void(const TextSink& sink)>;

}  // namespace opscope
