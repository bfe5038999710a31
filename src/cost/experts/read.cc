// What is read of experts that were found: bytes, as the routing says, and why.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "cost/experts/experts.h"

namespace opscope {
namespace {

Count part_of(Count whole, double share) {
  if (share >= 1 || whole.saturated()) return whole;
  return Count{static_cast<std::uint64_t>(std::llround(static_cast<double>(whole) * share))};
}

}  // namespace

double Experts::Use::share(const Routing& routing) const {
  return over ? std::min(1.0, choice.reached(routing) / static_cast<double>(over)) : 0;
}

const Experts::Use* Experts::find(OpId op) const {
  const auto found = std::ranges::lower_bound(uses_, op, {}, &Use::op);
  return found != uses_.end() && found->op == op ? &*found : nullptr;
}

void Experts::apply(OpId op, Traffic& traffic, Confidence& confidence) const {
  const Use* use = find(op);
  if (use == nullptr) return;
  Count& from = use->is_weight ? traffic.weight_bytes : traffic.input_bytes;
  const Count idle = use->bytes - part_of(use->bytes, use->share(routing_));
  from = from - std::min(from, idle);
  if (!use->over || use->choice.is_certain()) return;
  const bool is_bound = routing_.way == Routing::Way::kWorst;
  confidence = std::max(confidence, is_bound ? Confidence::kUpperBound : Confidence::kEstimated);
}

std::string Experts::explain(OpId op) const {
  const Use* use = find(op);
  if (use == nullptr) return "";
  if (!use->over) return "experts: no row is sent to this one, and its weights are not read";
  const Choice& choice = use->choice;
  const double reached = choice.reached(routing_);
  const std::string tokens = format_exact(choice.tokens) + (choice.tokens == Count{1} ? " token" : " tokens");
  std::string text = fmt::format("experts: {} of {} for each of {}", format_exact(choice.chosen),
                                 format_exact(choice.experts), tokens);
  if (choice.is_certain()) return text + fmt::format(", so {} are read", format_exact(choice.most()));
  const std::string range =
      fmt::format("{} to {} possible", format_exact(choice.least()), format_exact(choice.most()));
  if (routing_.way == Routing::Way::kBalanced)
    text +=
        fmt::format("; balanced, E*(1 - (1 - k/E)^T) = {0}*(1 - (1 - {1}/{0})^{2}) = {3:.4g} are read ({4})",
                    format_exact(choice.experts), format_exact(choice.chosen), format_exact(choice.tokens),
                    reached, range);
  else
    text +=
        fmt::format("; {:.4g} are read, as routing {} says ({})", reached, opscope::text(routing_), range);
  return text;
}

std::vector<ExpertKind> ExpertFacts::kinds() const {
  std::vector<ExpertKind> kinds;
  for (const ExpertLayer& layer : layers) {
    const auto same = std::ranges::find_if(kinds, [&](const ExpertKind& kind) {
      return kind.choice == layer.choice && kind.is_dense == layer.is_dense;
    });
    if (same != kinds.end())
      ++same->layers;
    else
      kinds.push_back({1, layer.choice, layer.is_dense});
  }
  std::ranges::stable_sort(kinds, std::greater{}, &ExpertKind::layers);
  return kinds;
}

Count ExpertFacts::bytes_read(Count tokens, const Routing& routing) const {
  Count read{};
  for (const ExpertLayer& layer : layers) {
    const Choice choice{layer.choice.experts, std::max(layer.choice.chosen, Count{1}), tokens};
    read += part_of(layer.bytes, choice.reached(routing) / static_cast<double>(choice.experts));
  }
  return read;
}

}  // namespace opscope
