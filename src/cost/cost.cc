// One pass over the graph: the row of each distinct op is looked up once, and one OpCall is filled and priced
// after the other, without allocating. And one op's cost in words: the row's formula, the formula with this
// call's sizes, the result, the bytes.
#include "cost/cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/choices.h"
#include "base/large_pages.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "cost/assumed.h"

namespace opscope {
namespace {

constexpr auto kConventions = choices<Convention, Convention::kFvcore>("opscope", "macs", "torch", "fvcore");

Count by_convention(const Work& work, const OpRule* rule, const OpCall& call, Convention convention) {
  switch (convention) {
    case Convention::kOpscope:
      return work.macs * 2 + work.other_flops + work.specials;
    case Convention::kMacs:
      return work.macs;
    case Convention::kTorch:
      if (rule == nullptr || !rule->in_torch_counter) return 0;
      return rule->torch != nullptr ? rule->torch(call) : work.macs * 2;
    case Convention::kFvcore:
      return rule != nullptr && rule->fvcore != nullptr ? rule->fvcore(call) : Count{};
  }
  return 0;
}

// What gets the elements that are read of quantised weights back into their dtype. An op that reads a part of
// a weight dequantises that part.
Count dequantise_flops(const OpCall& call, const Traffic& traffic) {
  Count flops{};
  std::optional<Traffic> whole;
  for (const TensorView& in : call.inputs) {
    if (!in.is_stored || in.repeated) continue;
    if (!whole) whole = default_traffic(call);
    const Count read = in.is_weight() ? traffic.weight_bytes : traffic.input_bytes;
    const Count all = in.is_weight() ? whole->weight_bytes : whole->input_bytes;
    flops += share_of(in.numel, std::min(read, all), all) * Count{in.back_flops};
  }
  return flops;
}

OpCost price(const OpCall& call, const OpRule* rule, Convention convention, OpId op, const Experts& experts) {
  auto work = rule != nullptr ? rule->work(call) : std::nullopt;
  auto confidence = Confidence::kUnknown;
  if (work) confidence = rule->confidence_of != nullptr ? rule->confidence_of(call) : rule->confidence;
  const auto own = work && rule->traffic != nullptr ? rule->traffic(call) : std::nullopt;
  Traffic traffic = own ? *own : default_traffic(call);
  experts.apply(op, traffic, confidence);
  if (!work) return {.traffic = traffic};
  if (const Count flops = dequantise_flops(call, traffic)) {
    work->other_flops += flops;
    confidence = std::max(confidence, Confidence::kEstimated);  // how a kernel does it is an assumption
  }
  return {.work = *work,
          .traffic = traffic,
          .flops = by_convention(*work, rule, call, convention),
          .confidence = confidence,
          .rule = rule};
}

// `bytes` in all: weights and outputs as they are, as far as it goes, and the rest read.
Traffic split(const Traffic& usual, Count bytes) {
  Traffic traffic;
  traffic.weight_bytes = std::min(usual.weight_bytes, bytes);
  traffic.output_bytes = std::min(usual.output_bytes, bytes - traffic.weight_bytes);
  traffic.input_bytes = bytes - traffic.weight_bytes - traffic.output_bytes;
  return traffic;
}

// Of declared work: every convention counts it. Where the declaration says nothing of flops besides the MACs,
// those that the table knows are opscope's alone.
Count declared_flops(const Work& work, bool has_flops, Convention convention) {
  const Count others =
      has_flops || convention == Convention::kOpscope ? work.other_flops + work.specials : Count{};
  switch (convention) {
    case Convention::kOpscope:
    case Convention::kTorch:
      return work.macs * 2 + others;
    case Convention::kMacs:
      return work.macs;
    case Convention::kFvcore:
      return work.macs + others;
  }
  return 0;
}

// The user's word wins. Declared flops are all arithmetic, the MACs included at two each; what is not
// declared stays as the table has it. Whether fvcore's handle means MACs, which it counts as one, it does not
// say.
void apply_declared(OpCost& cost, const DeclaredCost& declared, Convention convention) {
  if (declared.bytes) cost.traffic = split(cost.traffic, Count{*declared.bytes});
  if (!declared.macs && !declared.flops) return;
  if (declared.macs) cost.work.macs = Count{*declared.macs};
  if (declared.flops) {
    cost.work.other_flops = Count{*declared.flops} - cost.work.macs * 2;
    cost.work.specials = {};
  }
  const bool is_estimate = declared.source == "fvcore" || declared.source == "bitsandbytes";
  cost.confidence = is_estimate ? Confidence::kEstimated : Confidence::kExact;
  cost.flops = declared_flops(cost.work, declared.flops.has_value(), convention);
}

// In words, for explain.
std::string_view source_of(const DeclaredCost& declared) {
  if (declared.source == "torch") return "by the formula of torch.utils.flop_counter.register_flop_formula";
  if (declared.source == "fvcore") return "by a handle of fvcore, whose count is taken as MACs";
  if (declared.source == "bitsandbytes") return "estimated for the 8-bit step of bitsandbytes";
  return "declared by the user";
}

// What the graph says of the op: it runs several times; sizes that are the largest possible make a number an
// upper bound, whoever gave its formula.
void apply_op(OpCost& cost, const Op& op) {
  if (op.bounded) cost.confidence = std::max(cost.confidence, Confidence::kUpperBound);
  if (op.estimated) cost.confidence = std::max(cost.confidence, Confidence::kEstimated);
  if (op.repeats == 1) return;
  const Count times = op.repeats;
  for (Count* one : {&cost.work.macs, &cost.work.other_flops, &cost.work.specials, &cost.flops,
                     &cost.traffic.input_bytes, &cost.traffic.output_bytes, &cost.traffic.weight_bytes})
    *one *= times;
}

using Letters = std::vector<std::pair<std::string_view, Count>>;

Letters letters_of(const OpRule& rule, const OpCall& call) {
  if (rule.letters != nullptr) return rule.letters(call);
  Letters letters;
  if (!call.outputs.empty()) letters.emplace_back("n", call.outputs[0].numel);
  if (!call.inputs.empty()) letters.emplace_back("m", call.inputs[0].numel);
  return letters;
}

constexpr bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// A word of the formula that is one of the letters becomes its value; "MACs" and "adds" stay. Words in
// parentheses that are remarks ("(bias)") have no letters in them, or are longer than one; the "s" of
// "input's" is none.
std::string substitute(std::string_view formula, const Letters& letters) {
  std::string text;
  for (std::size_t i = 0; i < formula.size();) {
    std::size_t end = i;
    while (end < formula.size() && is_word(formula[end])) ++end;
    const std::string_view word = formula.substr(i, end - i);
    const bool is_ending = i > 0 && formula[i - 1] == '\'';
    const auto letter =
        is_ending ? letters.end() : std::ranges::find(letters, word, &Letters::value_type::first);
    if (letter != letters.end())
      text += fmt::format("{}", letter->second.value());
    else
      text += word.empty() ? formula.substr(i, 1) : word;
    i = word.empty() ? i + 1 : end;
  }
  return text;
}

std::string result_of(const Work& work) {
  std::string text;
  const auto add = [&](Count count, std::string_view unit) {
    if (count) text += fmt::format("{}{} {}", text.empty() ? "" : " + ", format_exact(count), unit);
  };
  add(work.macs, "MACs");
  add(work.other_flops, "flops");
  add(work.specials, "specials");
  return text.empty() ? "no arithmetic" : text;
}

std::string how(const Graph& graph, OpId op, const OpCost& cost) {
  const DeclaredCost* declared = find_declared(graph, op);
  if (declared != nullptr && (declared->macs || declared->flops)) return std::string(source_of(*declared));
  if (cost.confidence != Confidence::kUnknown) return {};
  if (find_rule(graph.op_name(graph.ops[op])) != nullptr)
    return "the table has this op, but not with such arguments";
  return "not in the table: its work is unknown and counted as none";
}

std::string tensors(std::span<const TensorView> views) {
  std::string text;
  for (const TensorView& view : views.subspan(0, std::min<std::size_t>(views.size(), 8))) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_shape(view.shape), name(view.dtype));
    if (view.is_stored)
      text += fmt::format(" (stored in {} bytes, {} flops an element to dequantise)",
                          format_exact(view.stored_bytes), view.back_flops);
    if (view.is_sparse) text += fmt::format(" (sparse, {} stored)", format_exact(view.numel));
  }
  return views.size() > 8 ? text + fmt::format(", {} more", views.size() - 8) : text;
}

}  // namespace

namespace {

// `counts`: whether a declared cost does.
template <class Counts>
std::vector<OpCost> estimate_where(const Graph& graph, Convention convention, const Experts& experts,
                                   Counts counts) {
  std::vector<const OpRule*> rules;
  for (const Target& target : graph.targets) rules.push_back(find_rule(graph.text(target.name)));
  std::vector<OpCost> costs;
  reserve_large(costs, graph.ops.size());
  OpCall call(graph);
  const auto price_op = [&](const Op& op) {
    call.reset(op);
    return price(call, rules[op.target], convention, static_cast<OpId>(&op - graph.ops.data()), experts);
  };
  for (const Op& op : graph.ops) apply_op(costs.emplace_back(price_op(op)), op);
  const std::vector<bool> assumed = sized_by_assumption(graph, experts.choices());
  for (const DeclaredCost& declared : graph.declared) {
    if (!counts(declared)) continue;
    const Op& op = graph.ops[declared.op];
    costs[declared.op] = price_op(op);
    apply_declared(costs[declared.op], declared, convention);
    apply_op(costs[declared.op], op);
  }
  for (OpId op = 0; op < assumed.size(); ++op)
    if (assumed[op]) costs[op].confidence = std::max(costs[op].confidence, Confidence::kEstimated);
  return costs;
}

}  // namespace

std::vector<OpCost> estimate(const Graph& graph, Convention convention, const Experts& experts) {
  return estimate_where(graph, convention, experts, [](const DeclaredCost&) { return true; });
}

std::vector<OpCost> estimate(const Graph& graph, Convention convention) {
  return estimate(graph, convention, Experts(graph));
}

std::vector<OpCost> estimate_as_tool(const Graph& graph, Convention convention) {
  return estimate_where(graph, convention, Experts(graph),
                        [&](const DeclaredCost& declared) { return declared.source == name(convention); });
}

OpCost estimate_one(const Graph& graph, OpId op, Convention convention, const Experts& experts) {
  OpCall call(graph);
  call.reset(graph.ops[op]);
  OpCost cost = price(call, find_rule(call.name()), convention, op, experts);
  if (const auto* declared = find_declared(graph, op)) apply_declared(cost, *declared, convention);
  apply_op(cost, graph.ops[op]);
  if (const auto assumed = sized_by_assumption(graph, experts.choices()); !assumed.empty() && assumed[op])
    cost.confidence = std::max(cost.confidence, Confidence::kEstimated);
  return cost;
}

OpCost estimate_one(const Graph& graph, OpId op, Convention convention) {
  return estimate_one(graph, op, convention, Experts(graph));
}

std::string_view name(Convention convention) { return kConventions[convention]; }
Convention convention_from_name(std::string_view text) {
  return kConventions.parse(text, "no convention called");
}

std::string explain(const Graph& graph, OpId op, const Experts& experts) {
  OPSCOPE_CHECK(op < graph.ops.size());
  const OpCost cost = estimate_one(graph, op, Convention::kOpscope, experts);
  OpCall call(graph);
  call.reset(graph.ops[op]);
  const std::string op_name = printable(call.name());
  const std::string indent(op_name.size() + 2, ' ');
  std::string text = fmt::format("{}  ", op_name);
  if (const std::string note = how(graph, op, cost); !note.empty()) {
    text += note + "\n";
  } else {
    const std::string with_values = substitute(cost.rule->formula, letters_of(*cost.rule, call));
    text += fmt::format("{}\n", cost.rule->formula);
    if (with_values != cost.rule->formula) text += fmt::format("{}= {}\n", indent, with_values);
  }
  if (const auto times = graph.ops[op].repeats; times != 1)
    text += fmt::format("{}runs {} times\n", indent, format_exact(Count{times}));
  text += fmt::format("{}= {}\n", indent, result_of(cost.work));
  text += fmt::format("{}= {} FLOPs, {}\n", indent, format_exact(cost.flops), name(cost.confidence));
  const Traffic& traffic = cost.traffic;
  text += traffic.total() ? fmt::format("{}bytes: reads {} (activations) + {} (weights), writes {}\n", indent,
                                        format_exact(traffic.input_bytes), format_exact(traffic.weight_bytes),
                                        format_exact(traffic.output_bytes))
                          : indent + "bytes: none\n";
  if (const std::string reach = experts.explain(op); !reach.empty()) text += indent + reach + "\n";
  text += fmt::format("{}from  {}\n", indent, tensors(call.inputs));
  text += fmt::format("{}to    {}\n", indent, tensors(call.outputs));
  return text;
}

std::string explain(const Graph& graph, OpId op) { return explain(graph, op, Experts(graph)); }

}  // namespace opscope
