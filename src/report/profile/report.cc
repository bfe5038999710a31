// A profile in every format: what its report is made of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <span>

#include "base/text.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

Document make_document(const Profile& profile, const TextOptions& options) {
  Document document{header_cells(profile), note_lines(profile, options)};
  document.sections.push_back(pieces_section(profile, options));
  document.sections.push_back(summary_section(profile));
  if (has_device(profile)) document.sections.push_back(hardware_section(profile));
  if (profile.parts().size() > 1) document.sections.push_back(parts_section(profile));
  if (!options.sections_000) document.sections.push_back(breakdown_section(profile, options));
  document.sections.push_back(bottleneck_section(profile));
  if (!options.sections_000 && (options.top > 0 || options.verbose))
    document.sections.push_back(top_layers_section(profile, options));
  return document;
}

constexpr std::size_t kNotesShown = 4;
constexpr std::size_t kInputsShown = 4;

std::string tensor_text(const Graph& graph, ValueId id) {
  const std::string_view label = graph.text(graph.values[id].name);
  return fmt::format("{}{}{} {}", label, label.empty() ? "" : ": ", shape_text(graph, id),
                     name(graph.values[id].dtype));
}

// "past_key_values" of "past_key_values.layers[0].keys"
std::string_view root_of(const Graph& graph, ValueId id) {
  const std::string_view name = graph.text(graph.values[id].name);
  return name.substr(0, name.find_first_of(".["));
}

// Tensors of one structure: "past_key_values: 64 tensors, 1.07GB".
std::string group_text(const Graph& graph, std::span<const ValueId> group) {
  Count bytes;
  for (const ValueId id : group) bytes += bytes_of(graph, graph.values[id]);
  return fmt::format("{}: {} tensors, {}", root_of(graph, group.front()), group.size(), format_bytes(bytes));
}

// What is more than two tensors of one structure is told as one.
std::vector<std::string> tensor_texts(const Graph& graph, std::span<const ValueId> rest) {
  std::vector<std::string> texts;
  while (!rest.empty()) {
    const std::string_view root = root_of(graph, rest[0]);
    std::size_t count = 1;
    while (count < rest.size() && !root.empty() && root_of(graph, rest[count]) == root) ++count;
    if (count > 2) texts.push_back(group_text(graph, rest.first(count)));
    for (std::size_t i = 0; i < count && count <= 2; ++i) texts.push_back(tensor_text(graph, rest[i]));
    rest = rest.subspan(count);
  }
  return texts;
}

// "3 graphs, 2 breaks, 54 nodes"
std::string graphs_text(const Graph& graph) {
  if (graph.parts.empty()) return "";
  std::string text = graph.parts.size() > 1 ? plural(graph.parts.size(), "graph") + ", " : "";
  if (!graph.breaks.empty()) text += plural(graph.breaks.size(), "break") + ", ";
  return text + plural(graph.nodes.size(), "node");
}

// "static capture 1.4 ms", "dynamo capture 1.20 s: 3 graphs, 2 breaks, 54 nodes", "hybrid capture by fx ..."
std::string capture_text(const Graph& graph) {
  const CaptureInfo& capture = graph.capture;
  if (capture.tracer.empty()) return "";
  std::string text =
      capture.rungs.empty() ? capture.tracer + " capture" : "hybrid capture by " + capture.tracer;
  if (capture.seconds > 0) text.append(" ").append(format_seconds(capture.seconds));
  if (const std::string graphs = graphs_text(graph); !graphs.empty()) text.append(": ").append(graphs);
  return text;
}

// "mylib::foo x3, mylib::bar"
std::string counted(const std::vector<SlowOp>& ops) {
  const auto named = [](const SlowOp& op) {
    return op.count > 1 ? fmt::format("{} x{}", op.op, op.count) : op.op;
  };
  const std::string text = join(ops | std::views::take(3) | std::views::transform(named));
  return ops.size() > 3 ? fmt::format("{} and {} more", text, ops.size() - 3) : text;
}

Cell coverage_cell(const Coverage& coverage) {
  const std::string all = plural(coverage.ops, "op");
  if (coverage.ops == 0) return {"no ops", Style::kWarning};
  if (coverage.unknown > 0)
    return {fmt::format("{} of {} unknown: {}", coverage.unknown, all, counted(coverage.unknown_ops)),
            Style::kWarning};
  if (coverage.exact == coverage.ops) return {all + ", all exact", Style::kGood};
  std::string text = fmt::format("{}: {} exact", all, coverage.exact);
  if (coverage.estimated) text += fmt::format(", {} estimated", coverage.estimated);
  if (coverage.upper_bound) text += ", " + plural(coverage.upper_bound, "upper bound");
  return {text, Style::kWarning};
}

std::string note_text(const Diagnostic& diagnostic) {
  std::string text = diagnostic.op;
  if (!diagnostic.module.empty()) text += (text.empty() ? "in " : " in ") + diagnostic.module;
  if (!text.empty()) text += ": ";
  return text + diagnostic.message;
}

// All that PyTorch said, on lines of its own.
std::string with_detail(std::string line, std::string_view detail, bool verbose) {
  while (detail.ends_with('\n')) detail.remove_suffix(1);
  if (verbose && !detail.empty()) line.append("\n").append(detail);
  return line;
}

void add_rungs(const CaptureInfo& capture, bool verbose, std::vector<std::string>& notes) {
  for (const Rung& rung : capture.rungs) {
    if (rung.outcome != "failed") continue;
    std::string line = rung.tracer + " did not work: " + rung.reason;
    if (!rung.hint.empty()) line += "; " + rung.hint;
    notes.push_back(with_detail(std::move(line), rung.detail, verbose));
  }
}

void add_breaks(const Graph& graph, bool all, bool verbose, std::vector<std::string>& notes) {
  auto lines = break_lines(graph.breaks, graph.parts.size() > 1, verbose);
  if (!all && lines.size() > 1) {
    lines.front() += "; " + plural(graph.breaks.size(), "break") + " in all: --verbose shows them";
    lines.resize(1);
  }
  std::ranges::move(lines, std::back_inserter(notes));
}

}  // namespace

std::vector<std::string> output_texts(const Graph& graph) { return tensor_texts(graph, graph.outputs); }

std::vector<std::string> break_lines(const std::vector<Break>& breaks, bool in_several, bool verbose) {
  std::vector<std::vector<std::size_t>> groups;  // of those that are told together, from 1
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    const auto same = std::ranges::find_if(groups, [&](const auto& numbers) {
      const Break& first = breaks[numbers[0] - 1];
      return !verbose && first.reason == breaks[i].reason && first.source == breaks[i].source;
    });
    same == groups.end() ? groups.push_back({i + 1}) : same->push_back(i + 1);
  }
  std::vector<std::string> lines;
  for (const auto& numbers : groups) {
    const Break& shown = breaks[numbers[0] - 1];
    const bool alone = numbers.size() == 1;
    std::string text = fmt::format("{} {}", alone ? "break" : "breaks", fmt::join(numbers, ", "));
    if (in_several && alone && shown.after != kNone) text += fmt::format(" after graph {}", shown.after + 1);
    if (!shown.source.empty()) text.append(" at ").append(source_text(shown.source));
    lines.push_back(with_detail(text + ": " + shown.reason, shown.detail, verbose));
  }
  return lines;
}

std::uint64_t slow_path_ops(const CaptureInfo& capture) {
  std::uint64_t count = 0;
  for (const SlowOp& op : capture.slow_path) count += op.count;
  return count;
}

std::vector<Cell> model_cells(const Graph& graph) {
  std::vector<Cell> cells{{model_name(graph), Style::kStrong}};
  if (!graph.capture.source.empty()) cells.push_back({graph.capture.source});
  const std::vector<std::string> inputs = tensor_texts(graph, graph.inputs);
  for (std::size_t i = 0; i < inputs.size() && i < kInputsShown; ++i) cells.push_back({inputs[i]});
  if (inputs.size() > kInputsShown)
    cells.push_back({std::to_string(inputs.size() - kInputsShown) + " more inputs"});
  return cells;
}

std::vector<Cell> header_cells(const Profile& profile) {
  std::vector<Cell> cells = model_cells(*profile.graph);
  if (std::string text = capture_text(*profile.graph); !text.empty()) cells.push_back({std::move(text)});
  if (has_device(profile))
    cells.push_back(
        fmt::format("on {}, ridge {}", profile.roofline.device->name, format_ratio(profile.options.ridge)));
  cells.push_back(coverage_cell(profile.coverage));
  return cells;
}

std::vector<std::string> note_lines(const Profile& profile, const TextOptions& options, bool all_breaks) {
  std::vector<std::string> notes = options.notes;
  add_rungs(profile.graph->capture, options.verbose, notes);
  add_breaks(*profile.graph, all_breaks || options.verbose, options.verbose, notes);
  if (const std::uint64_t count = slow_path_ops(profile.graph->capture))
    notes.push_back(fmt::format("{} ran PyTorch's Python meta kernels, which are slow: {}",
                                plural(count, "op"), counted(profile.graph->capture.slow_path)));
  const auto& diagnostics = profile.diagnostics;
  const std::size_t shown =
      options.verbose || diagnostics.size() <= kNotesShown ? diagnostics.size() : kNotesShown - 1;
  for (std::size_t i = 0; i < shown; ++i) notes.push_back(note_text(diagnostics[i]));
  if (shown < diagnostics.size())
    notes.push_back(std::to_string(diagnostics.size() - shown) + " more notes: --verbose shows them");
  return notes;
}

std::string to_format(const Profile& profile, Format format, const TextOptions& options) {
  if (format == Format::kJson) return to_json(profile);
  const Level level = options.level.value_or(Level::kLayer);
  if (!is_for_people(format) && (level == Level::kOp || level == Level::kSubgraph))
    return explore_summary(make_view(profile, level), format, options);
  return to_format(
      Report{
          {}, [&] { return profile_rows(profile, level); }, [&] { return make_document(profile, options); }},
      format, options);
}

Section pieces_section(const Profile& profile, const TextOptions& options) {
  if (options.level.value_or(Level::kModule) == Level::kModule) return tree_section(profile, options);
  return level_section(make_view(profile, *options.level), options);
}

}  // namespace opscope
