#include "graph/alignment.h"

#include <algorithm>
#include <optional>

namespace opscope {
namespace {

constexpr std::size_t kReach = 512;  // elements looked ahead for the place where two runs meet again

struct Meeting {
  std::size_t expected, seen;  // elements to pass over
};

// Where two stretches are alike again for two elements, or one at their end; the least to pass over in all.
std::optional<Meeting> meeting(std::span<const Id> expected, std::span<const Id> seen) {
  const auto alike = [&](std::size_t a, std::size_t b) {
    if (expected[a] != seen[b]) return false;
    const bool last = a + 1 == expected.size() || b + 1 == seen.size();
    return last || expected[a + 1] == seen[b + 1];
  };
  for (std::size_t passed = 1; passed <= kReach; ++passed)
    for (std::size_t b = 0; b <= passed; ++b) {
      const std::size_t a = passed - b;
      if (a < expected.size() && b < seen.size() && alike(a, b)) return Meeting{a, b};
    }
  return std::nullopt;
}

}  // namespace

std::vector<Id> align(std::span<const Id> expected, std::span<const Id> seen) {
  std::vector<Id> found(seen.size(), kNone);
  std::size_t a = 0, b = 0;
  while (a < expected.size() && b < seen.size()) {
    if (expected[a] == seen[b]) {
      found[b++] = static_cast<Id>(a++);
      continue;
    }
    const auto next = meeting(expected.subspan(a), seen.subspan(b));
    if (!next) {  // nothing in reach: one of each is passed over
      ++a, ++b;
      continue;
    }
    a += next->expected, b += next->seen;
  }
  return found;
}

}  // namespace opscope
