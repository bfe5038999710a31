// Text that a profile's rows refer to, written once into blocks that never move: a million names are a few
// hundred allocations, and views stay valid when the blocks' owner is moved or copied.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace opscope {

using TextBlock = std::shared_ptr<const char[]>;

class TextBlocks {
 public:
  std::string_view add(std::string_view text) {
    if (text.empty()) return {};
    if (text.size() > free_bytes_) grow(text.size());
    char* const at = std::exchange(free_, free_ + text.size());
    free_bytes_ -= text.size();
    std::memcpy(at, text.data(), text.size());
    return {at, text.size()};
  }
  // The blocks, for whoever keeps the views.
  std::vector<TextBlock> take() && { return std::move(blocks_); }

 private:
  void grow(std::size_t least) {
    free_bytes_ = std::max(least, kBlockBytes);
    // Not make_shared: blocks need no zeroes.
    std::shared_ptr<char[]> block(new char[free_bytes_]);
    free_ = block.get();
    blocks_.push_back(std::move(block));
  }

  static constexpr std::size_t kBlockBytes = 1 << 16;
  std::vector<TextBlock> blocks_;
  char* free_ = nullptr;  // in the last block
  std::size_t free_bytes_ = 0;
};

// Where a large text goes as it is made, one block after the other, so that it is never whole in memory.

using TextSink = std::function<void(std::string_view block)>;
using TextSource = std::function<void(const TextSink& sink)>;

}  // namespace opscope
