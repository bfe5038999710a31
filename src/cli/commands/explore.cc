// `opscope explore`: the graph node by node, beside the subgraphs; one node in full; the ways between two.
// `opscope explain`: an op's numbers as a formula with its values put in. `opscope fuse`: which ops run as
// one kernel, why each group ends where it does, and what that saves.
#include "report/explore/explore.h"

#include <algorithm>

#include "app/models/trace.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "cli/commands/interactive.h"
#include "cli/flags/flags.h"
#include "report/core/document.h"
#include "report/fuse/report.h"

namespace opscope {
namespace {

struct ExploreFlags : ModelCommandFlags {
  std::string level = "layer", depth;
  std::string start, end, around, context, max_nodes, find, type, module, bottleneck, top, node;
  std::vector<std::string> path;
  std::string sort = "flops";
  bool interactive = false;
};

std::optional<Bottleneck> bottleneck_from(const std::string& text) {
  if (text.empty()) return std::nullopt;
  for (const char* word : {"compute", "compute_bound", "compute-bound"})
    if (text == word) return Bottleneck::kComputeBound;
  for (const char* word : {"memory", "memory_bound", "memory-bound", "bandwidth", "bandwidth_bound"})
    if (text == word) return Bottleneck::kMemoryBound;
  throw Error("no such bottleneck: '" + text + "'", "--bottleneck", "choose compute or memory");
}

ExploreQuery query_from(const ExploreFlags& flags) {
  ExploreQuery query;
  read_number(query.start, "--start", flags.start, 1);
  read_number(query.end, "--end", flags.end, 1);
  query.around = flags.around;
  read_number(query.context, "--context", flags.context, 0);
  if (!flags.context.empty() && flags.around.empty())
    throw Error("around which node?", "--context", "add --around N");
  read_number(query.max_nodes, "--max-nodes", flags.max_nodes, 1);
  read_number(query.top, "--top", flags.top, 1);
  query.find = flags.find;
  query.type = flags.type;
  query.module = flags.module;
  query.bound = bottleneck_from(flags.bottleneck);
  return query;
}

// One question at a time.
void check_questions(const ExploreFlags& flags, const ExploreQuery& query) {
  if (flags.path.size() == 1 || flags.path.size() > 2)
    throw Error(flags.path.size() == 1 ? "a path has two ends" : "one path at a time", "--path",
                "for example --path 1 12, or by name");
  const bool one = !flags.node.empty(), two = !flags.path.empty(), list = query.lists();
  if (one + two + list + flags.interactive < 2) return;
  const char* where = flags.interactive ? "--interactive" : two ? "--path" : "--node";
  throw Error(
      "choose one: a list of nodes, one node (--node), paths between two nodes (--path), or --interactive",
      where, "leave out the others");
}

std::string ways_answer(const GraphView& view, const ExploreFlags& flags, Format format,
                        const TextOptions& text) {
  const std::uint32_t from = node_called(view, flags.path[0], "--path");
  const std::uint32_t to = node_called(view, flags.path[1], "--path");
  if (from == to) throw Error("both are node " + node_text(view, from), "--path", "name two nodes");
  if (const auto ways = ways_between(view, from, to)) return explore_ways(view, *ways, format, text);
  const bool other = ways_between(view, to, from).has_value();
  throw Error("no path from " + node_text(view, from) + " to " + node_text(view, to), "--path",
              other ? "there is a path from " + node_text(view, to) + " to " + node_text(view, from)
                    : "and no path back: the two nodes are independent");
}

std::string answer(const GraphView& view, const ExploreFlags& flags, const ExploreQuery& query, Format format,
                   const TextOptions& text) {
  if (!flags.node.empty()) return explore_node(view, node_called(view, flags.node, "--node"), format, text);
  if (!flags.path.empty()) return ways_answer(view, flags, format, text);
  if (!query.lists()) return explore_summary(view, format, text);
  return explore_listing(view, select_nodes(view, query, sort_key(*view.profile, *text.sort)), format, text);
}

int run_explore(const ExploreFlags& flags) {
  TextOptions text;
  text.sort = &metric_named(flags.sort, "--sort", kLayerNeeds);
  const ExploreQuery query = query_from(flags);
  check_questions(flags, query);
  const Level level = level_from_name(flags.level);
  std::uint32_t depth = 1;
  read_number(depth, "--depth", flags.depth, 0);
  if (!flags.depth.empty() && level != Level::kModule)
    throw Error("only modules have a depth", "--depth", "add --level module");
  const ProfileOptions options = profile_options(flags.cost);
  const AskedGraph asked(flags, text.notes);
  if (flags.interactive) check_interactive();
  const Output output(flags, text);
  const Graph graph = asked.load();
  const Profile profile = make_profile(graph, options);
  if (flags.interactive) return browse(profile);
  const GraphView view = make_view(profile, level, depth);
  output.write(answer(view, flags, query, output.format(), text));
  return kExitDone;
}

void add_list_flags(CLI::App& app, ExploreFlags& flags) {
  add_value(app, "--start", flags.start, "N", "List nodes, beginning with this number");
  add_value(app, "--end", flags.end, "N", "List nodes up to and including this number");
  add_value(app, "--around", flags.around, "NODE", "List nodes near one node, given by number or name");
  add_value(app, "--context", flags.context, "N", "With --around: nodes on each side, default 10");
  add_value(app, "--max-nodes", flags.max_nodes, "N", "List at most N nodes");
  add_value(app, "--find", flags.find, "TEXT",
            "List nodes whose name, target, module or shape contains TEXT");
  add_value(app, "--type", flags.type, "TYPE",
            "List nodes of an op, module or subgraph type, for example conv");
  add_value(app, "--module", flags.module, "PATH", "List the nodes of a module");
  add_value(app, "--bottleneck", flags.bottleneck, "NAME", "List nodes with this bound: compute or memory");
  add_value(app, "--top", flags.top, "N", "List the N most expensive nodes");
  add_value(app, "--sort", flags.sort, "KEY",
            "Metric for --top, default flops: " + metric_choices(kLayerNeeds));
}

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
    out.append("op " + std::to_string(op) + "  ")
        .append(printable(profile.layers()[profile.layer_of()[op]].name));
    out += "\n" + explain(*profile.graph, op, profile.experts);
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
      {listed("explanation"), [&](OpId op) { return one_line(explain(graph, op, profile.experts)); }}};
  return table_of(columns, ops).called("ops");
}

int run_explain(ExplainFlags flags) {
  settle_positional(flags.model, flags.node);
  if (flags.node.empty())
    throw Error("which op?", "",
                "opscope explain MODEL NODE, where NODE is an op's index, a layer, a module or an op type");
  TextOptions text;
  const AskedGraph asked(flags, text.notes);
  const ProfileOptions options = profile_options(flags.cost);
  const Output output(flags, text);
  const Graph graph = asked.load();
  const Profile profile = make_profile(graph, options);
  const auto ops = find_node(profile, flags.node);
  output.write(output.format() == Format::kText ? as_text(profile, ops)
                                                : to_format(as_table(profile, ops), output.format(), text));
  return kExitDone;
}

struct FuseFlags : ModelCommandFlags {
  std::string top, against, sort = "order";
  bool no_fold = false;
};

FuseOptions fuse_options(const FuseFlags& flags) {
  FuseOptions options{.sort = fuse_sort_from_name(flags.sort, "--sort")};
  options.text.fold = !flags.no_fold;
  read_number(options.text.top, "--top", flags.top, 0);
  return options;
}

int run_fuse(const FuseFlags& flags) {
  FuseOptions fuse = fuse_options(flags);
  const ProfileOptions options = profile_options(flags.cost);
  const AskedGraph asked(flags, fuse.text.notes);
  const Output output(flags, fuse.text);
  if (!flags.against.empty()) {
    Talk talk(flags.talk);
    const auto answer = compare_with_inductor(asked.request(), flags.against, options.partition, talk);
    std::ranges::copy(answer.notes, std::back_inserter(fuse.text.notes));
    output.write(to_format(answer.comparison(), output.format(), fuse.text));
    return kExitDone;
  }
  const Graph graph = asked.load();
  output.write(fuse_report(make_profile(graph, options), output.format(), fuse));
  return kExitDone;
}

}  // namespace

Action define_explore(CLI::App& app) {
  const auto flags = std::make_shared<ExploreFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  add_level_flag(app, flags->level);
  add_value(app, "--depth", flags->depth, "N", "With --level module: depth of the module tree, default 1");
  add_list_flags(app, *flags);
  add_value(app, "--node", flags->node, "NODE", "Everything about one node, given by number or name");
  app.add_option("--path", flags->path, "Paths between two nodes")
      ->expected(2)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("A B");
  add_switch(app, "-i,--interactive", flags->interactive, "Browse the model in the terminal");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All op types, ops and notes");
  return [flags] { return run_explore(*flags); };
}

Action define_explain(CLI::App& app) {
  const auto flags = std::make_shared<ExplainFlags>();
  add_model_flags(app, flags->model);
  add_value(app, "NODE", flags->node, "",
            "What to explain: an op's index, a layer's name, a module's path or an op type");
  add_convention_flag(app, flags->cost.convention);
  add_routing_flag(app, flags->cost.routing);
  add_result_flags(app, *flags);
  return [flags] { return run_explain(*flags); };
}

Action define_fuse(CLI::App& app) {
  const auto flags = std::make_shared<FuseFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  add_value(app, "--against", flags->against, "COMPILER",
            "Compare with the kernels of torch.compile: inductor, or inductor-max (frozen weights, "
            "Inductor's own matmul templates)");
  add_value(app, "--top", flags->top, "N", "Rows: largest savings, and ops that were not fused. Default 10");
  add_value(app, "--sort", flags->sort, "KEY",
            "Sort subgraphs by: order (execution order), " + metric_choices(kSubgraphNeeds));
  add_switch(app, "--no-fold", flags->no_fold, "Show equal subgraphs one by one");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All subgraphs, all that was not fused, and all notes");
  return [flags] { return run_fuse(*flags); };
}

}  // namespace opscope
