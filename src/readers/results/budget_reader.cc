// toml++ reads; here each table has its meaning, and what has none is a mistake, told with the nearest name.
#include "readers/results/budget_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 5> kTables{"max", "min", "max_increase", "modules", "types"};

class BudgetReader {
 public:
  BudgetReader(const toml::table& file, const std::string& where) : file_(file), where_(where) {}

  std::vector<ModelBudget> read() {
    ModelBudget all{.where = where_};
    std::vector<ModelBudget> models;
    for (const auto& [key, node] : file_) {
      if (key.str() == "model") continue;
      if (!add_table(key.str(), node, all.limits)) unknown(key, std::array<std::string_view, 1>{"model"});
    }
    if (const toml::node* list = file_.get("model")) models = read_models(*list, all);
    if (models.empty()) models.push_back(std::move(all));
    return models;
  }

 private:
  std::string at(const toml::source_region& source) const {
    return fmt::format("{}:{}", where_, source.begin.line);
  }
  [[noreturn]] void fail(const toml::node& node, const std::string& what,
                         const std::string& hint = "") const {
    throw Error(what, at(node.source()), hint);
  }

  template <class More>
  [[noreturn]] void unknown(const toml::key& key, const More& more) const {
    std::vector<std::string_view> known(kTables.begin(), kTables.end());
    known.insert(known.end(), more.begin(), more.end());
    const std::string hint = did_you_mean(key.str(), known);
    throw Error("'" + std::string(key.str()) + "' says nothing in a budget", at(key.source()),
                hint.empty() ? fmt::format("known: {}", fmt::join(known, ", ")) : hint);
  }

  std::vector<ModelBudget> read_models(const toml::node& list, const ModelBudget& all) const {
    std::vector<ModelBudget> models;
    const toml::array* entries = list.as_array();
    if (!entries) fail(list, "'model' is a list of tables", "[[model]], with two brackets");
    for (const toml::node& entry : *entries) {
      const toml::table* table = entry.as_table();
      if (!table) fail(entry, "'model' is a list of tables", "[[model]], with two brackets");
      models.push_back(read_model(*table, all));
    }
    return models;
  }

  ModelBudget read_model(const toml::table& table, const ModelBudget& all) const {
    ModelBudget model = all;
    model.where = at(table.source());
    for (const auto& [key, node] : table) {
      if (add_table(key.str(), node, model.limits)) continue;
      if (key.str() == "spec")
        model.spec = text(node);
      else
        add_flag(std::string(key.str()), node, model.flags);
    }
    if (model.spec.empty()) fail(table, "a [[model]] without its spec", "spec = \"resnet18\"");
    return model;
  }

  // A list of texts is a flag given several times; a list of numbers is one value, "1,3,224,224".
  void add_flag(const std::string& name, const toml::node& node,
                std::vector<std::pair<std::string, std::string>>& flags) const {
    const toml::array* list = node.as_array();
    if (!list || !list->is_homogeneous(toml::node_type::string)) {
      flags.emplace_back(name, text(node));
      return;
    }
    for (const toml::node& item : *list) flags.emplace_back(name, text(item));
  }

  // False where the key is no table of limits.
  bool add_table(std::string_view key, const toml::node& node, std::vector<BudgetLimit>& limits) const {
    if (std::ranges::find(kTables, key) == kTables.end()) return false;
    const toml::table* table = node.as_table();
    if (!table) fail(node, "'" + std::string(key) + "' is a table", "[" + std::string(key) + "]");
    if (key == "modules" || key == "types") {
      for (const auto& [name, part] : *table) add_part(key == "modules", name, part, limits);
      return true;
    }
    const LimitKind kind = key == "max"   ? LimitKind::kMost
                           : key == "min" ? LimitKind::kLeast
                                          : LimitKind::kIncrease;
    add_limits(*table, {.kind = kind}, limits);
    return true;
  }

  // [modules."layer1"] holds limits, and tables of the name max or min.
  void add_part(bool is_module, const toml::key& name, const toml::node& node,
                std::vector<BudgetLimit>& limits) const {
    const toml::table* table = node.as_table();
    const std::string path(name.str());
    if (!table)
      fail(node, "'" + path + "' is a table of limits",
           fmt::format("[{}.\"{}\"], the name in quotes", is_module ? "modules" : "types", path));
    BudgetLimit form{.module = is_module ? path : "", .type = is_module ? "" : path};
    for (const auto& [key, inner] : *table) {
      if (const toml::table* limits_of = inner.as_table()) {
        if (key.str() != "max" && key.str() != "min")
          fail(inner, "'" + std::string(key.str()) + "' says nothing of '" + path + "'",
               is_module ? "a path is one name in quotes: [modules.\"layer1.0\"]" : "max or min");
        form.kind = key.str() == "min" ? LimitKind::kLeast : LimitKind::kMost;
        add_limits(*limits_of, form, limits);
      } else {
        form.kind = LimitKind::kMost;
        limits.push_back(limit(key, inner, form));
      }
    }
  }

  void add_limits(const toml::table& table, const BudgetLimit& form, std::vector<BudgetLimit>& limits) const {
    for (const auto& [key, node] : table) limits.push_back(limit(key, node, form));
  }

  BudgetLimit limit(const toml::key& key, const toml::node& node, BudgetLimit form) const {
    form.where = at(key.source());
    form.metric = &metric_named(key.str(), form.where, kModelNeeds);
    return with_amount(std::move(form), text(node));
  }

  // As the flag would be written.
  std::string text(const toml::node& node) const {
    if (const auto* word = node.as_string()) return word->get();
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (const auto* list = node.as_array()) {
      std::string joined;
      for (const toml::node& item : *list) joined += (joined.empty() ? "" : ",") + text(item);
      return joined;
    }
    fail(node, "a number or a text is expected here");
  }

  const toml::table& file_;
  const std::string& where_;
};

// Bytes of the string, with its quotes, that the text begins with.
std::size_t string_bytes(std::string_view text) {
  const char quote = text[0];
  const bool is_long = text.size() > 2 && text[1] == quote && text[2] == quote;
  for (std::size_t at = is_long ? 3 : 1; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"')
      ++at;
    else if (text[at] == '\n' && !is_long)
      return at;
    else if (text[at] == quote && (!is_long || text.substr(at, 3) == text.substr(0, 3)))
      return at + (is_long ? 3 : 1);
  }
  return text.size();
}

// What toml++ 3.3 is not made for: outside of quotes and comments, letters beyond ASCII, for which it is
// undefined, and keys of so many parts that what is read cannot be taken apart again.
void check_form(std::string_view text, const std::string& where) {
  constexpr std::size_t kMostParts = 256;  // as deep as it lets values be nested
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t line = 1, dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto fail = [&](const char* what, const char* hint) {
      throw Error(what, fmt::format("{}:{}", where, line), hint);
    };
    if (static_cast<unsigned char>(rest[0]) >= 0x80)
      fail("not TOML: a letter beyond ASCII, and not in quotes", "\"größe\" = 1");
    if (rest[0] == '.' && ++dots == kMostParts) fail("a key of too many parts", "");
    if (std::string_view("=,[]{}\n").find(rest[0]) != std::string_view::npos) dots = 0;
    const std::size_t taken = rest[0] == '#'                      ? std::min(rest.find('\n'), rest.size())
                              : rest[0] == '"' || rest[0] == '\'' ? string_bytes(rest)
                                                                  : 1;
    line += static_cast<std::size_t>(std::ranges::count(rest.substr(0, taken), '\n'));
    at += taken;
  }
}

}  // namespace

std::vector<ModelBudget> read_budget(std::string_view text, const std::string& where) {
  check_form(text, where);
  const toml::parse_result result = toml::parse(text, where);
  if (!result)
    throw Error("not TOML: " + std::string(result.error().description()),
                fmt::format("{}:{}", where, result.error().source().begin.line));
  return BudgetReader(result.table(), where).read();
}

}  // namespace opscope
