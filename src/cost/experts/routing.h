// How many experts of a layer the tokens of a run reach. A capture does not know where its tokens go, so for
// more than one token this is an expectation, a bound, or the word of the user.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/count.h"

namespace opscope {

struct Routing {
  // balanced: the expectation if every token is as likely to choose any expert. worst: as many as there can
  // be. given: so many in each layer, as far as there can be so many.
  enum class Way : std::uint8_t { kBalanced, kWorst, kGiven };
  Way way = Way::kBalanced;
  std::uint64_t experts = 0;  // where it is given
  friend bool operator==(const Routing&, const Routing&) = default;
};

std::string text(const Routing& routing);  // "balanced", "worst", "4"
// Throws Error naming the choices.
Routing routing_from_text(std::string_view text, const std::string& where);

// Of one layer in one run.
struct Choice {
  Count experts, chosen, tokens;  // each token chooses so many of so many

  Count least() const { return tokens ? std::min(chosen, experts) : Count{}; }
  Count most() const { return std::min(experts, tokens * chosen); }
  // Which experts are read is not known, but how many are: those of one token, or all.
  bool is_certain() const { return least() == most(); }
  // Distinct experts: E * (1 - (1 - k/E)^T) if balanced.
  double reached(const Routing& routing) const;
  friend bool operator==(const Choice&, const Choice&) = default;
};

}  // namespace opscope
