// `opscope explain`: an op's numbers as a formula with its values put in.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "analyse/profile/profile.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "report/core/document.h"

namespace opscope {
namespace {

struct ExplainFlags : ModelCommandFlags {
  std::string node;
};

// "aten::relu n compares = 64 compares = 64 FLOPs, exact; bytes: ...": for formats whose cells are one line.
std::string one_line(std::string_view text) {
  std::string line;
  for (std::string_view part : split_by(text, '\n')) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (part.empty()) continue;
    if (!line.empty()) line += part[0] == '=' ? " " : "; ";
    line += part;
  }
  const auto both_spaces = [](char a, char b) { return a == ' ' && b == ' '; };
  line.erase(std::unique(line.begin(), line.end(), both_spaces), line.end());
  return line;
}

std::string as_text(const Profile& profile, const std::vector<OpId>& ops) {
  std::string out;
  for (const OpId op : ops) {
    if (!out.empty()) out += "\n";
    out.append("op " + std::to_string(op) + "  ").append(profile.layers()[profile.layer_of()[op]].name);
    out += "\n" + explain(*profile.graph, op);
    if (!out.ends_with('\n')) out += '\n';
  }
  return out;
}

Table as_table(const Profile& profile, const std::vector<OpId>& ops) {
  const Graph& graph = *profile.graph;
  const auto cost = [&](auto read) {
    return [&profile, read](OpId op) { return Cell(std::invoke(read, profile.costs[op])); };
  };
  const Columns<OpId> columns{
      {listed("index", Align::kRight), [](OpId op) { return op; }},
      {listed("op"), [&](OpId op) { return graph.op_name(graph.ops[op]); }},
      {listed("layer"), [&](OpId op) { return profile.layers()[profile.layer_of()[op]].name; }},
      {listed("macs", Align::kRight), cost([](const OpCost& c) { return c.work.macs; })},
      {listed("other_flops", Align::kRight), cost([](const OpCost& c) { return c.work.other_flops; })},
      {listed("specials", Align::kRight), cost([](const OpCost& c) { return c.work.specials; })},
      {listed("flops", Align::kRight), cost(&OpCost::flops)},
      {listed("memory_bytes", Align::kRight), cost([](const OpCost& c) { return c.traffic.total(); })},
      {listed("confidence"), cost([](const OpCost& c) { return name(c.confidence); })},
      {listed("explanation"), [&](OpId op) { return one_line(explain(graph, op)); }}};
  Table table = table_of(columns, ops);
  table.name = "ops";
  return table;
}

int run_explain(ExplainFlags flags) {
  settle_positional(flags.model, flags.node);
  if (flags.node.empty())
    throw Error("which op?", "",
                "opscope explain MODEL NODE, where NODE is an op's index, a layer, a module or an op type");
  TextOptions text;
  const AskedGraph asked(flags, text.notes);
  const Convention convention = convention_from_name(flags.cost.convention);
  const Output output(flags, text);
  const Graph graph = asked.load();
  const Profile profile = make_profile(graph, {convention, 10});
  const auto ops = find_node(profile, flags.node);
  output.write(output.format() == Format::kText ? as_text(profile, ops)
                                                : to_format(as_table(profile, ops), output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_explain(CLI::App& app) {
  const auto flags = std::make_shared<ExplainFlags>();
  add_model_flags(app, flags->model);
  add_value(app, "NODE", flags->node, "",
            "What to explain: an op's index, a layer's name, a module's path or an op type");
  add_convention_flag(app, flags->cost.convention);
  add_result_flags(app, *flags);
  return [flags] { return run_explain(*flags); };
}

}  // namespace opscope
