// The names of the conventions. What each counts is in cost.cc.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "cost/cost.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 4> kNames{"opscope", "macs", "torch", "fvcore"};
static_assert(kNames.size() == static_cast<std::size_t>(Convention::kFvcore) + 1);

}  // namespace

std::string_view name(Convention convention) { return kNames[static_cast<std::size_t>(convention)]; }

Convention convention_from_name(std::string_view text) {
  const auto found = std::find(kNames.begin(), kNames.end(), text);
  if (found != kNames.end()) return static_cast<Convention>(found - kNames.begin());
  std::string hint = did_you_mean(text, kNames);
  if (hint.empty()) hint = "choose opscope, macs, torch or fvcore";
  throw Error("no convention called '" + std::string(text) + "'", {}, std::move(hint));
}

}  // namespace opscope
