// `opscope explain`: an op's numbers as a formula with its values put in.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "analyse/profile/profile.h"
#include "base/error.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "report/core/document.h"

namespace opscope {
namespace {

struct ExplainFlags : ModelCommandFlags {
  std::string node, convention = "opscope";
};

// "aten::relu n compares = 64 compares = 64 FLOPs, exact; bytes: ...": for formats whose cells are one line.
std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto begin = std::min(text.find_first_not_of(' '), end);
    if (begin < end) {
      if (!line.empty()) line += text[begin] == '=' ? " " : "; ";
      line += text.substr(begin, end - begin);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto both_spaces = [](char a, char b) { return a == ' ' && b == ' '; };
  line.erase(std::unique(line.begin(), line.end(), both_spaces), line.end());
  return line;
}

std::string with_line_end(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string as_text(const Profile& profile, const std::vector<OpId>& ops) {
  std::string out;
  for (const OpId op : ops) {
    if (!out.empty()) out += "\n";
    out += "op " + std::to_string(op) + "  ";
    out += profile.layers()[profile.layer_of()[op]].name;
    out += "\n";
    out += with_line_end(explain(*profile.graph, op));
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

// With --model, the only positional is the node.
void settle_positionals(ExplainFlags& flags) {
  if (flags.node.empty() && flags.model.model) {
    flags.node = flags.model.positional.value_or("");
    flags.model.positional.reset();
  }
  if (flags.node.empty())
    throw Error("which op?", "",
                "opscope explain MODEL NODE, where NODE is an op's index, a layer, a module or an op type");
}

int run_explain(ExplainFlags flags) {
  settle_positionals(flags);
  TextOptions text;
  const AskedGraph asked(flags, text.notes);
  const Convention convention = convention_from_name(flags.convention);
  const Output output(flags.output);
  const Graph graph = asked.load();
  const Profile profile = make_profile(graph, {convention, 10});
  const auto ops = find_node(profile, flags.node);
  output.set_style(text);
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
  add_convention_flag(app, flags->convention);
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_explain(*flags); };
}

}  // namespace opscope
