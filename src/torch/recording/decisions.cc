#include "torch/recording/decisions.h"

#include <algorithm>

namespace opscope::engine {

namespace {

constexpr std::uint32_t kMostAnswers = 1000;

// "model.py:42" names "/path/model.py:42".
bool names(std::string_view text, std::string_view where) {
  if (!where.ends_with(text)) return false;
  return where.size() == text.size() || where[where.size() - text.size() - 1] == '/';
}

}  // namespace

const bool* Decisions::given_for(std::string_view where) const {
  const auto found = std::ranges::find_if(given, [&](const auto& one) { return names(one.first, where); });
  return found == given.end() ? nullptr : &found->second;
}

Decisions::Site& Decisions::site(const std::string& where) {
  const auto found = std::ranges::find(sites_, where, &Site::where);
  return found != sites_.end() ? *found : sites_.emplace_back(Site{.where = where});
}

Decisions::Answer Decisions::answer(const std::string& where, bool likely, OpId next_op) {
  const bool* const said = given_for(where);
  const auto tried_here = tried.find(where);
  bool holds = said ? *said : tried_here != tried.end() ? tried_here->second : likely;
  if (!said && flipped.contains(made_)) holds = !holds;
  ++made_;
  auto& asked = site(where);
  if (asked.times++ == 0) asked.answer = holds, asked.given = said != nullptr, asked.first_op = next_op;
  return {holds, asked};
}

bool Decisions::is_endless(std::string_view where) const {
  const auto found = std::ranges::find(sites_, where, &Site::where);
  return found != sites_.end() && found->times >= kMostAnswers;
}

}  // namespace opscope::engine
