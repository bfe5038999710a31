// Captures by the table of their fields; of costs, what the figures of a budget depend on.
#include "cli/flags/budget.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

struct CostKey {
  std::string_view key;
  std::string CostRequest::*text;
};
constexpr std::array kCosts{CostKey{"convention", &CostRequest::convention},
                            CostKey{"hardware", &CostRequest::hardware},
                            CostKey{"float32", &CostRequest::float32}};

// What a budget need not say: it is this machine's, or shows more and costs the same.
bool is_kept(const CaptureField& field) { return field.key != "download" && field.key != "source_lines"; }

const CaptureField* field_called(const std::string& name) {
  for (const CaptureField& field : capture_fields())
    if (is_kept(field) && field.budget_key() == name) return &field;
  return nullptr;
}

[[noreturn]] void fail_unknown(const std::string& name, const std::string& where) {
  std::vector<std::string> known{"spec", "max", "min", "max_increase", "modules", "types"};
  for (const CaptureField& field : capture_fields())
    if (is_kept(field)) known.push_back(field.budget_key());
  for (const CostKey& cost : kCosts) known.emplace_back(cost.key);
  throw Error("no flag of a model is called '" + name + "'", where, did_you_mean(name, known));
}

}  // namespace

BudgetFlags with_budget_flags(BudgetFlags flags, const ModelBudget& budget) {
  std::string_view last;
  for (const auto& [name, value] : budget.flags) {
    const auto cost = std::ranges::find(kCosts, name, &CostKey::key);
    const CaptureField* const field = field_called(name);
    if (cost != kCosts.end())
      flags.cost.*cost->text = value;
    else if (!field)
      fail_unknown(name, budget.where);
    else if (field->is_switch() && value != "true" && value != "false")
      throw Error("'" + name + "' is true or false, not '" + value + "'", budget.where);
    else if (!field->is_list() || name != last)  // the first of a list takes the place of the command line's
      flags.model.set(field->key, value);
    else
      flags.model.texts[std::string(field->key)].push_back(value);
    last = name;
  }
  return flags;
}

std::vector<std::pair<std::string, std::string>> flags_given(const BudgetFlags& flags) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const CaptureField& field : capture_fields())
    if (const auto texts = flags.model.texts.find(field.key);
        is_kept(field) && texts != flags.model.texts.end())
      for (const std::string& text : texts->second)
        if (!text.empty() && text != "false" && !(field.key == "tracer" && text == "auto"))
          given.emplace_back(field.budget_key(), text);
  const CostRequest defaults;
  for (const CostKey& cost : kCosts)
    if (flags.cost.*cost.text != defaults.*cost.text) given.emplace_back(cost.key, flags.cost.*cost.text);
  return given;
}

}  // namespace opscope
