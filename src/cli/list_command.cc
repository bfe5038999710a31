// `opscope list` and `opscope ops`: the models and the cost table's rows there are, by name.
#include <fnmatch.h>

#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/models.h"
#include "cli/output.h"
#include "ops/op_rule.h"
#include "report/listing.h"

namespace opscope {
namespace {

struct Flags {
  OutputFlags output;
  TalkFlags talk;
  std::string pattern, registry;
  bool no_cache = false, only_cached = false;
};

// A part of the name, or a whole one with * and ?.
bool matches(const std::string& pattern, std::string_view name) {
  if (pattern.find_first_of("*?[") == std::string::npos) return name.find(pattern) != std::string_view::npos;
  return ::fnmatch(pattern.c_str(), std::string(name).c_str(), 0) == 0;
}

[[noreturn]] void none_match(const std::string& kind, const std::string& pattern,
                             const std::vector<std::string>& names, const std::string& otherwise) {
  const std::string near = did_you_mean(pattern, names);
  throw Error("no " + kind + " matches '" + pattern + "'", "", near.empty() ? otherwise : near);
}

void write(const Output& output, const Listing& listing) {
  TextOptions text;
  output.set_style(text);
  output.write(to_format(listing, output.format(), text));
}

int run_list(const Flags& flags) {
  const Output output(flags.output);
  const auto models =
      list_models(registry_path(flags.registry), !flags.no_cache, flags.only_cached, flags.talk);
  Listing listing{"models", {"name", "source"}, {}};
  std::vector<std::string> names;
  for (const ListedModel& model : models) {
    names.push_back(model.name);
    if (matches(flags.pattern, model.name)) listing.rows.push_back({model.name, model.source});
  }
  if (flags.only_cached && models.empty()) return kExitDone;
  if (listing.rows.empty()) none_match("model", flags.pattern, names, "opscope list shows them all");
  write(output, listing);
  return kExitDone;
}

int run_ops(const Flags& flags) {
  const Output output(flags.output);
  Listing listing{"ops", {"name", "category", "fusion", "confidence", "formula"}, {}};
  std::vector<std::string> names;
  for (const OpRule* rule : all_rules()) {
    names.emplace_back(rule->name);
    if (matches(flags.pattern, rule->name))
      listing.rows.push_back({std::string(rule->name), std::string(name(rule->category)),
                              std::string(name(rule->fusion)), std::string(name(rule->confidence)),
                              std::string(rule->formula)});
  }
  if (listing.rows.empty())
    none_match("op", flags.pattern, names,
               "an op that is not in the table can be declared with opscope.register_op");
  write(output, listing);
  return kExitDone;
}

}  // namespace

Action define_list(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("PATTERN", flags->pattern, "A part of the name, or a whole one with * and ?");
  add_registry_flags(app, flags->registry, flags->no_cache);
  app.add_flag("--only-cached", flags->only_cached,
               "Print nothing rather than ask Python; for shell completion");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_list(*flags); };
}

Action define_ops(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("PATTERN", flags->pattern, "A part of the name, or a whole one with * and ?");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_ops(*flags); };
}

}  // namespace opscope
