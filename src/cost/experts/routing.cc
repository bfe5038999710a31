#include "cost/experts/routing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 2> kWords{"balanced", "worst"};

}  // namespace

std::string text(const Routing& routing) {
  if (routing.way == Routing::Way::kGiven) return std::to_string(routing.experts);
  return std::string(kWords[static_cast<std::size_t>(routing.way)]);
}

Routing routing_from_text(std::string_view text, const std::string& where) {
  if (text == kWords[0]) return {};
  if (text == kWords[1]) return {.way = Routing::Way::kWorst};
  std::uint64_t experts = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), experts);
  if (error == std::errc{} && end == text.data() + text.size() && experts > 0)
    return {.way = Routing::Way::kGiven, .experts = experts};
  throw Error("no routing called '" + std::string(text) + "'", where,
              did_you_mean(text, kWords,
                           "balanced, worst, or how many distinct experts of a layer are reached, from 1"));
}

double Choice::reached(const Routing& routing) const {
  const Count low = least(), high = most();
  if (low == high || routing.way == Routing::Way::kWorst) return static_cast<double>(high);
  if (routing.way == Routing::Way::kGiven)
    return static_cast<double>(std::clamp(Count{routing.experts}, low, high));
  const double all = static_cast<double>(experts);
  return all * (1 - std::pow(1 - static_cast<double>(chosen) / all, static_cast<double>(tokens)));
}

}  // namespace opscope
