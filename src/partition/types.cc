// What a subgraph is called: by the form it has, or by its ops.
#include <algorithm>
#include <array>

#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"
#include "partition/assemble.h"
#include "partition/dataflow.h"
#include "partition/partition.h"

namespace opscope {
namespace {

constexpr std::size_t kMaxNames = 4;

// "aten::conv2d" -> "conv", "aten::add_" -> "add".
std::string_view op_word(const Graph& graph, OpId op) {
  std::string_view word = short_op_name(graph.op_name(graph.ops[op]));
  if (word.ends_with('_') && !word.ends_with("__")) word.remove_suffix(1);
  for (const std::string_view conv : {"conv1d", "conv2d", "conv3d", "convolution"})
    if (word == conv) return "conv";
  return word;
}

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const auto word : words) text.append(text.empty() ? "" : "+").append(word);
  return text;
}

bool has(std::span<const std::string_view> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Folded rows, a root of what that gave for each row, and back over all of their elements: a norm. A root of
// each element, as in an optimizer's step, or of a sum that is the result, as in a distance, is none.
bool normalises(const Groups& groups, std::span<const OpId> members, const Loop& loop) {
  bool has_root = false;
  for (const OpId op : members) {
    const Trait& trait = groups.traits[op];
    const auto word = op_word(groups.graph, op);
    if (has_root && trait.role == Role::kPointwise && trait.out == loop.domain) return true;
    has_root |= trait.out == loop.rows && (word == "rsqrt" || word == "sqrt" || word == "std");
  }
  return false;
}

// Norms and softmax written out by hand.
std::string_view row_word(std::span<const std::string_view> words, bool is_norm) {
  const bool is_centred =
      has(words, "var") || has(words, "var_mean") || has(words, "std") || has(words, "sub");
  if (is_norm && is_centred) return "layer_norm";
  if (is_norm && has(words, "mean")) return "rms_norm";
  if (has(words, "exp") && has(words, "sum") && has(words, "div")) return "softmax";
  return "";
}

}  // namespace

std::string type_of(const Groups& groups, std::span<const OpId> members, Form form) {
  if (form == Form::kAttention) return "attention";
  if (form == Form::kSqueezeExcite) return "squeeze_excite";
  std::vector<std::string_view> words;
  std::string_view anchor, rows;
  for (const OpId op : members) {
    const Role role = groups.traits[op].role;
    if (role == Role::kRide) continue;
    const auto word = op_word(groups.graph, op);
    if (role == Role::kAnchor && anchor.empty()) anchor = word;
    if (role == Role::kRows || role == Role::kWindow) rows = word;
    if (!has(words, word)) words.push_back(word);
  }
  if (words.size() == 1) return std::string(words[0]);
  if (!anchor.empty()) return words.size() <= kMaxNames ? joined(words) : std::string(anchor) + "+pointwise";
  if (!rows.empty()) {
    const bool is_norm = normalises(groups, members, groups.loops[groups.order.group_of(members[0])]);
    if (const auto known = row_word(words, is_norm); !known.empty()) return std::string(known);
  }
  if (words.size() <= kMaxNames) return joined(words);
  return rows.empty() ? "pointwise" : "pointwise+" + std::string(rows);
}

// Words for what a partition is made of.

namespace {

constexpr auto kStrategies = choices<Strategy, Strategy::kFused>("none", "layer", "fused");

struct BorderWords {
  std::string_view name, explanation;
};

constexpr std::array kBorders{
    BorderWords{"input", "it reads inputs and weights of the model"},
    BorderWords{"output", "its result is an output of the model"},
    BorderWords{"anchor", "the consumer needs its own kernel"},
    BorderWords{"barrier", "the op on the other side cannot be fused"},
    BorderWords{"fork", "several consumers; fused with another one, or with none"},
    BorderWords{"join", "joins several branches; fused with another one"},
    BorderWords{"shape_change", "the consumer iterates over another shape"},
    BorderWords{"reduction", "the consumer needs the whole result before it can start"},
    BorderWords{"size_limit", "the fused kernel would be too large"},
    BorderWords{"cycle", "fusing would create a cycle between kernels"},
    BorderWords{"strategy", "--partition ends the subgraph here"},
    BorderWords{"unread", "nothing reads its result"},
    BorderWords{"phase", "the consumer is in another phase of the training step"},
};
static_assert(kBorders.size() == static_cast<std::size_t>(Border::kPhase) + 1);

}  // namespace

std::string_view name(Strategy strategy) { return kStrategies[strategy]; }
Strategy strategy_from_name(std::string_view text) {
  return kStrategies.parse(text, "no partition strategy called", "",
                           "none (one op each), layer (a leaf module each) or fused (one kernel each)");
}

std::string_view name(Border border) { return kBorders[static_cast<std::size_t>(border)].name; }
std::string_view explanation(Border border) { return kBorders[static_cast<std::size_t>(border)].explanation; }

std::string_view why_not_partitioned(const Graph& graph, std::span<const OpCost> costs, OpId op) {
  const OpRule* rule = costs[op].rule;
  if (does_work(costs[op])) return "";
  if (rule == nullptr) return "it is declared to cost nothing";
  if (rule->category == Category::kMetadata) return "it reads sizes only";
  if (rule->fusion == Fusion::kView) return "a view: nothing is computed or moved";
  if (rule->category == Category::kCreate) return "it only sets memory aside";
  if (graph.outputs_of(graph.ops[op]).empty()) return "it gives no tensor";
  return "it returns its argument as it is, or works on no elements";
}

}  // namespace opscope
