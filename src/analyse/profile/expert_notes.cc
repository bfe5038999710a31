// What is assumed of a mixture of experts, as notes of its profile.
#include <fmt/format.h>

#include "analyse/profile/rollup.h"
#include "base/text.h"

namespace opscope {
namespace {

// "of 8 experts are read in each of 32 layers"
std::string in_layers(const ExpertKind& kind) {
  return fmt::format("of {} experts are read in {}", format_exact(kind.choice.experts),
                     kind.layers == 1 ? "1 layer" : fmt::format("each of {} layers", kind.layers));
}

std::string note_of(const ExpertKind& kind, const Routing& routing) {
  const Choice& choice = kind.choice;
  const std::string which =
      fmt::format("{} to {} are possible", format_exact(choice.least()), format_exact(choice.most()));
  switch (routing.way) {
    case Routing::Way::kBalanced:
      return fmt::format("{} {} if routing is balanced; {}: --routing decides",
                         format_experts(choice.reached(routing)), in_layers(kind), which);
    case Routing::Way::kWorst:
      return fmt::format("{} {} at worst; {}", format_experts(choice.reached(routing)), in_layers(kind),
                         which);
    case Routing::Way::kGiven:
      return fmt::format("{} {}, as --routing {} says; {}", format_experts(choice.reached(routing)),
                         in_layers(kind), text(routing), which);
  }
  return "";
}

}  // namespace

std::string format_experts(double count) {
  const std::string one_digit = fmt::format("{:.1f}", count);
  return one_digit.ends_with(".0") ? one_digit.substr(0, one_digit.size() - 2) : one_digit;
}

void assess_experts(Profile& profile) {
  const auto add = [&](std::string_view kind, std::string message) {
    profile.diagnostics.push_back({std::string(kind), "", "", std::move(message)});
  };
  const Routing& routing = profile.experts.routing();
  const ExpertFacts& facts = profile.experts.facts();
  for (const ExpertKind& kind : facts.kinds()) {
    if (kind.is_dense)
      add("experts",
          fmt::format("all {}: the model multiplies every token by all of them, though {} are chosen",
                      in_layers(kind), format_exact(kind.choice.chosen)));
    else if (!kind.choice.is_certain() && kind.choice.tokens)
      add("assumption", note_of(kind, routing));
  }
  if (facts.empty() && routing != Routing{})
    add("experts", fmt::format("the model has no experts: --routing {} changes nothing", text(routing)));
}

}  // namespace opscope
