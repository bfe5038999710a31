// `opscope list`, `opscope ops` and `opscope devices`: the models, rows of the cost table and devices there
// are, by name. `opscope cache`: what is kept between runs, how much of it, and until when.
#include <algorithm>

#include "app/models/model_list.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/flags/flags.h"
#include "metrics/unit.h"
#include "ops/op_rule.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

struct NameFlags : CommandFlags {
  std::string pattern, registry;
  bool no_cache = false, only_cached = false;
};

struct ListFlags : NameFlags {
  std::string source;
  bool works = false, profile = false;
};

[[noreturn]] void none_match(const std::string& kind, const std::string& pattern,
                             const std::vector<std::string>& names, const std::string& otherwise) {
  throw Error("no " + kind + " matches '" + pattern + "'", "", did_you_mean(pattern, names, otherwise));
}

// --source takes libraries by their names, without versions.
void check_source(const std::string& wanted, const std::vector<ModelStatus>& models) {
  std::vector<std::string> names;
  for (const ModelStatus& status : models) {
    const std::string name = status.model.source.substr(0, status.model.source.find(' '));
    if (name.starts_with(wanted)) return;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  if (!wanted.empty())
    throw Error("no source called '" + wanted + "'", "--source", "there are " + join(names));
}

// What models cost is left out where nobody has asked for it yet.
Columns<ModelStatus> model_columns(bool with_costs) {
  using Row = const ModelStatus&;
  Columns<ModelStatus> columns{{listed("name"), [](Row row) { return row.model.name; }},
                               {listed("family"), [](Row row) { return row.model.family; }},
                               {listed("source"), [](Row row) { return row.model.source; }}};
  if (!with_costs) return columns;
  const auto cost = [](auto member) {
    return [=](Row row) {
      return row.cost ? cell_of((*row.cost).*member, Unit::kCount, Style::kPlain, Zero::kDigit) : Cell();
    };
  };
  using Cost = std::decay_t<decltype(*std::declval<Row>().cost)>;
  return columns += {{listed("params", Align::kRight), cost(&Cost::params)},
                     {listed("macs", Align::kRight), cost(&Cost::macs)},
                     {listed("flops", Align::kRight), cost(&Cost::flops)},
                     {listed("captured"), [](Row row) -> Cell {
                        if (row.cost) return row.cost->captured;
                        return row.failed.empty() ? Cell() : Cell("failed: " + row.failed);
                      }}};
}

int run_list(const ListFlags& flags) {
  TextOptions text;
  const Output output(flags, text);
  Talk talk(flags.talk);
  ModelCatalogue catalogue(registry_path(flags.registry), !flags.no_cache, talk);
  std::vector<ModelStatus> models = catalogue.list(flags.only_cached);
  if (flags.only_cached && models.empty()) return kExitDone;
  const std::string source = library_called(flags.source);
  check_source(source, models);
  std::vector<std::string> names;
  for (const ModelStatus& status : models) names.push_back(status.model.name);
  std::erase_if(models, [&](const ModelStatus& status) {
    return !status.model.source.starts_with(source) ||
           !(matches_name(flags.pattern, status.model.name) || status.model.family == flags.pattern);
  });
  if (models.empty()) none_match("model", flags.pattern, names, "opscope list shows them all");
  if (!flags.only_cached) catalogue.add_known_costs(models);
  if (flags.profile) catalogue.profile(models);
  if (flags.works) std::erase_if(models, [](const ModelStatus& status) { return !status.cost; });
  if (models.empty())
    throw Error("none of these was profiled yet", "--works",
                "opscope list " + flags.pattern + " --profile does it");
  const bool has_costs =
      !is_for_people(output.format()) ||
      std::ranges::any_of(models, [](const ModelStatus& m) { return m.cost || !m.failed.empty(); });
  const Table table = table_of(model_columns(has_costs), models).called("models");
  output.write(to_format(table, output.format(), text));
  return kExitDone;
}

int run_ops(const NameFlags& flags) {
  TextOptions text;
  const Output output(flags, text);
  std::vector<std::string> names;
  std::vector<const OpRule*> rules;
  for (const OpRule* rule : all_rules()) {
    names.emplace_back(rule->name);
    if (matches_name(flags.pattern, std::string(rule->name))) rules.push_back(rule);
  }
  if (rules.empty())
    none_match("op", flags.pattern, names,
               "an op that is not in the table can be declared with opscope.register_op");
  using Row = const OpRule*;
  const Columns<Row> columns{{listed("name"), [](Row rule) { return rule->name; }},
                             {listed("category"), [](Row rule) { return name(rule->category); }},
                             {listed("fusion"), [](Row rule) { return name(rule->fusion); }},
                             {listed("confidence"), [](Row rule) { return name(rule->confidence); }},
                             {listed("formula"), [](Row rule) { return rule->formula; }}};
  output.write(to_format(table_of(columns, rules).called("ops"), output.format(), text));
  return kExitDone;
}

// A device by its name, else those with it in their names.
std::vector<DevicePointer> chosen(const std::string& name) {
  const auto known = known_devices();
  if (name.empty()) return {known.begin(), known.end()};
  if (find_device(name) == nullptr) {
    std::vector<DevicePointer> found;
    for (const DevicePointer& device : known)
      if (contains_text(device->id, name) || contains_text(device->name, name)) found.push_back(device);
    if (!found.empty()) return found;
  }
  return {load_device(name, "")};
}

int run_devices(const NameFlags& flags) {
  TextOptions text;
  const Output output(flags, text);
  output.write(devices_report(chosen(flags.pattern), output.format(), text));
  return kExitDone;
}

struct CacheFlags : CommandFlags {
  bool clear = false;
  std::string limit;
};

Table table_of_cache(const CacheContents& contents) {
  const auto count = [](CellValue number) {
    return cell_of(std::move(number), Unit::kCount, Style::kPlain, Zero::kDigit);
  };
  Table table{{listed("folder"), listed("entries", Align::kRight), listed("bytes", Align::kRight),
               listed("op_times_bytes", Align::kRight), listed("limit_bytes", Align::kRight)},
              {},
              "cache"};
  table.add({contents.folder, count(contents.entries.size()), count(CacheContents::bytes(contents.entries)),
             count(CacheContents::bytes(contents.times)), count(contents.limit)});
  return table;
}

void say_removed(const std::vector<CacheFile>& files, const TalkFlags& talk) {
  if (!talk.quiet)
    remark("removed " + std::to_string(files.size()) + (files.size() == 1 ? " file, " : " files, ") +
           format_bytes(Count{CacheContents::bytes(files)}));
}

int run_cache(const CacheFlags& flags) {
  TextOptions text;
  const Output output(flags, text);
  const CacheContents contents = cache_contents();
  if (!flags.limit.empty()) {
    const Count limit = parse_bytes("--limit", flags.limit);
    set_cache_limit(contents, limit);
    if (!flags.clear) say_removed(remove_files(contents.entries, limit), flags.talk);
  }
  if (flags.clear) {
    std::vector<CacheFile> removed = remove_files(contents.entries);
    const std::vector<CacheFile> times = remove_files(contents.times);
    removed.insert(removed.end(), times.begin(), times.end());
    say_removed(removed, flags.talk);
  }
  output.write(to_format(table_of_cache(cache_contents()), output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_list(CLI::App& app) {
  const auto flags = std::make_shared<ListFlags>();
  add_value(app, "PATTERN", flags->pattern, "", "Part of a name, a pattern with * and ?, or a family");
  add_value(app, "--source", flags->source, "SOURCE",
            "Only models of torchvision, timm, transformers, ultralytics, ...");
  add_switch(app, "--profile", flags->profile, "Profile all listed models, each with its default inputs");
  add_switch(app, "--works", flags->works, "Only models that could be profiled");
  add_value(app, "--registry", flags->registry, "FILE", std::string(capture_field("registry").help));
  add_switch(app, "--no-cache", flags->no_cache, "Do not read or write the cache");
  add_switch(app, "--only-cached", flags->only_cached,
             "Print only what is in the cache, without starting Python; for shell completion");
  add_result_flags(app, *flags);
  return [flags] { return run_list(*flags); };
}

Action define_ops(CLI::App& app) {
  const auto flags = std::make_shared<NameFlags>();
  add_value(app, "PATTERN", flags->pattern, "", "Part of a name, or a pattern with * and ?");
  add_result_flags(app, *flags);
  return [flags] { return run_ops(*flags); };
}

Action define_devices(CLI::App& app) {
  const auto flags = std::make_shared<NameFlags>();
  add_value(app, "NAME", flags->pattern, "",
            "A device, part of its name, or a .toml file to check. Default: all devices");
  add_result_flags(app, *flags);
  return [flags] { return run_devices(*flags); };
}

Action define_cache(CLI::App& app) {
  const auto flags = std::make_shared<CacheFlags>();
  add_switch(app, "--clear", flags->clear, "Remove all captures, lists of models and measured op times");
  add_value(app, "--limit", flags->limit, "SIZE",
            "Size limit for this and later runs, default 2GB. The least recently used captures and lists are "
            "removed first");
  add_result_flags(app, *flags);
  return [flags] { return run_cache(*flags); };
}

}  // namespace opscope
