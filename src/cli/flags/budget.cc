// One table for both ways.
#include "cli/flags/budget.h"

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

struct FlagTable {
  explicit FlagTable(BudgetFlags& flags) : FlagTable(flags.model, flags.cost) {}
  FlagTable(ModelFlags& f, CostFlags& cost)
      : texts{{"batch", &f.batch},          {"seq_len", &f.seq_len},     {"image_size", &f.image_size},
              {"phase", &f.phase},          {"past_len", &f.past_len},   {"task", &f.task},
              {"dtype", &f.dtype},          {"device", &f.device},       {"registry", &f.registry},
              {"tracer", &f.tracer},        {"optimizer", &f.optimizer}, {"convention", &cost.convention},
              {"hardware", &cost.hardware}, {"float32", &cost.float32}},
        lists{{"input_shape", &f.input_shape}, {"input", &f.input}, {"limit", &f.limit}, {"dim", &f.dim}},
        switches{{"training", &f.training}, {"trust", &f.trust}} {}

  std::vector<std::pair<const char*, std::string*>> texts;
  std::vector<std::pair<const char*, std::vector<std::string>*>> lists;
  std::vector<std::pair<const char*, bool*>> switches;
};

bool truth(const std::string& name, const std::string& value, const std::string& where) {
  if (value != "true" && value != "false")
    throw Error("'" + name + "' is true or false, not '" + value + "'", where);
  return value == "true";
}

// `first`: of the values that a list is given, which take the place of the command line's.
void set_flag(const FlagTable& table, const std::string& name, const std::string& value, bool first,
              const std::string& where) {
  std::vector<std::string_view> known{"spec", "max", "min", "max_increase", "modules", "types"};
  for (const auto& [key, text] : table.texts) {
    if (name == key) return *text = value, void();
    known.emplace_back(key);
  }
  for (const auto& [key, list] : table.lists) {
    known.emplace_back(key);
    if (name != key) continue;
    if (first) list->clear();
    return list->push_back(value);
  }
  for (const auto& [key, on] : table.switches) {
    if (name == key) return *on = truth(name, value, where), void();
    known.emplace_back(key);
  }
  throw Error("no flag of a model is called '" + name + "'", where, did_you_mean(name, known));
}

}  // namespace

BudgetFlags with_budget_flags(BudgetFlags flags, const ModelBudget& budget) {
  const FlagTable table(flags);
  std::string_view last;
  for (const auto& [name, value] : budget.flags) {
    set_flag(table, name, value, name != last, budget.where);
    last = name;
  }
  return flags;
}

std::vector<std::pair<std::string, std::string>> flags_given(BudgetFlags flags) {
  BudgetFlags unsaid;
  const FlagTable table(flags), defaults(unsaid);
  std::vector<std::pair<std::string, std::string>> given;
  for (std::size_t i = 0; i < table.texts.size(); ++i)
    if (const auto& [key, text] = table.texts[i]; *text != *defaults.texts[i].second)
      given.emplace_back(key, *text);
  for (const auto& [key, list] : table.lists)
    for (const std::string& value : *list) given.emplace_back(key, value);
  for (const auto& [key, on] : table.switches)
    if (*on) given.emplace_back(key, "true");
  return given;
}

}  // namespace opscope
