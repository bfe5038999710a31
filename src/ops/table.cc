// The families merged into one index, and the names of the table's enums.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/choices.h"
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr std::array kFamilies{
    activation_rules, attention_rules, index_rules,     linalg_rules,    matmul_rules,    moving_rules,
    norm_rules,       onnx_rules,      pointwise_rules, quantised_rules, recurrent_rules, reduction_rules,
    resize_rules,     sparse_rules,    special_rules,   training_rules,  window_rules,
};

// Ops whose cost is not known, and yet something else of them: not in the table.
constexpr OpRow uncosted(std::string_view name) { return OpRule{.name = name, .formula = {}}; }

constexpr OpRow kUncosted[] = {
    uncosted("aten::_nested_tensor_from_mask") | kRowsByData,
    uncosted("aten::embedding_renorm") | indexes("indices", Within::kRows, "self"),
    uncosted("aten::gather_backward") | indexes("index", Within::kDimension, "self"),
    uncosted("aten::multi_margin_loss_backward") | indexes("target", Within::kClasses, "self"),
    uncosted("aten::value_selecting_reduction_backward") | indexes("indices", Within::kListed, "sizes"),
};

std::vector<const OpRule*> merge_families() {
  std::vector<const OpRule*> rules;
  for (const auto family : kFamilies)
    for (const OpRow& row : family()) rules.push_back(&row);
  std::ranges::sort(rules, {}, &OpRule::name);
  // An op in two families would have two costs; each family is sorted and unique by itself.
  OPSCOPE_CHECK(std::ranges::adjacent_find(rules, {}, &OpRule::name) == rules.end());
  return rules;
}

// By hash: names share long prefixes, so that a binary search compares too many characters.
const OpRule* find_exact(std::string_view op_name) {
  static const std::unordered_map<std::string_view, const OpRule*> kByName = [] {
    std::unordered_map<std::string_view, const OpRule*> index;
    for (const OpRule* rule : all_rules()) index.emplace(rule->name, rule);
    return index;
  }();
  const auto found = kByName.find(op_name);
  return found != kByName.end() ? found->second : nullptr;
}

constexpr auto kCategories = choices<Category, Category::kCustom>(
    "conv", "matmul", "attention", "norm", "activation", "pointwise", "softmax", "reduction", "pool",
    "embedding", "recurrent", "resize", "index", "sort", "copy", "create", "random", "view", "metadata",
    "fft", "quantised", "loss", "custom");
constexpr auto kFusions =
    choices<Fusion, Fusion::kBarrier>("anchor", "pointwise", "reduction", "view", "barrier");
constexpr auto kConfidences =
    choices<Confidence, Confidence::kUnknown>("exact", "estimated", "upper_bound", "unknown");

}  // namespace

std::span<const OpRule* const> all_rules() {
  static const std::vector<const OpRule*> kRules = merge_families();
  return kRules;
}

// Names in double underscores ("aten::__and__") are not in-place.
std::string_view functional_name(std::string_view op_name) {
  if (op_name.ends_with('_') && !op_name.ends_with("__")) op_name.remove_suffix(1);
  return op_name;
}

const OpRule* find_rule(std::string_view op_name) {
  if (const OpRule* rule = find_exact(op_name)) return rule;
  const auto functional = functional_name(op_name);
  return functional.size() < op_name.size() ? find_exact(functional) : nullptr;
}

const OpFacts& facts_of(std::string_view op_name) {
  static constexpr OpFacts kNothing{};
  if (const OpRule* rule = find_rule(op_name)) return facts_of(*rule);
  const auto* row = std::ranges::find(kTable<kUncosted>, functional_name(op_name), &OpRow::name);
  return row != kTable<kUncosted>.end() ? row->facts : kNothing;
}

std::string_view name(Category category) { return kCategories[category]; }
std::string_view name(Fusion fusion) { return kFusions[fusion]; }
std::string_view name(Confidence confidence) { return kConfidences[confidence]; }

}  // namespace opscope
