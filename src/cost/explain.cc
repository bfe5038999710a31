// One op's cost in words: the row's formula, the formula with this call's sizes, the result, the bytes.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cost/cost.h"

namespace opscope {
namespace {

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
  if (std::ranges::any_of(graph.declared, [&](const auto& d) { return d.op == op && (d.macs || d.flops); }))
    return "declared by the user";
  if (cost.confidence != Confidence::kUnknown) return {};
  if (find_rule(graph.op_name(graph.ops[op])) != nullptr)
    return "the table has this op, but not with such arguments";
  return "not in the table: its work is unknown and counted as none";
}

std::string tensors(std::span<const TensorView> views) {
  std::string text;
  for (const TensorView& view : views.subspan(0, std::min<std::size_t>(views.size(), 8)))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_shape(view.shape), name(view.dtype));
  return views.size() > 8 ? text + fmt::format(", {} more", views.size() - 8) : text;
}

}  // namespace

std::string explain(const Graph& graph, OpId op) {
  OPSCOPE_CHECK(op < graph.ops.size());
  const OpCost cost = estimate_one(graph, op, Convention::kOpscope);
  OpCall call(graph);
  call.reset(graph.ops[op]);
  const std::string_view op_name = call.name();
  const std::string indent(op_name.size() + 2, ' ');
  std::string text = fmt::format("{}  ", op_name);
  if (const std::string note = how(graph, op, cost); !note.empty()) {
    text += note + "\n";
  } else {
    const std::string with_values = substitute(cost.rule->formula, letters_of(*cost.rule, call));
    text += fmt::format("{}\n", cost.rule->formula);
    if (with_values != cost.rule->formula) text += fmt::format("{}= {}\n", indent, with_values);
  }
  text += fmt::format("{}= {}\n", indent, result_of(cost.work));
  text += fmt::format("{}= {} FLOPs, {}\n", indent, format_exact(cost.flops), name(cost.confidence));
  const Traffic& traffic = cost.traffic;
  text += traffic.total() ? fmt::format("{}bytes: reads {} (activations) + {} (weights), writes {}\n", indent,
                                        format_exact(traffic.input_bytes), format_exact(traffic.weight_bytes),
                                        format_exact(traffic.output_bytes))
                          : indent + "bytes: none\n";
  text += fmt::format("{}from  {}\n", indent, tensors(call.inputs));
  text += fmt::format("{}to    {}\n", indent, tensors(call.outputs));
  return text;
}

}  // namespace opscope
