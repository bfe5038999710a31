// The memory report: the split and a plot of the timeline, then phases, what is held, whose it is, what
// helps.
#include "report/memory/report.h"

#include <algorithm>

#include "analyse/tree/module_tree.h"
#include "base/text.h"
#include "report/memory/axis.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

Document memory_document(const MemoryReport& report, Format format, const TextOptions& options) {
  Document document{header_cells(*report.profile), note_lines(*report.profile, options)};
  auto& sections = document.sections;
  sections.push_back(memory_split_section(report));
  if (format == Format::kHtml) sections.back().drawing.svg = memory_svg(report);
  if (format != Format::kHtml) sections.back().drawing.text = memory_plot(report, options);
  if (report.phases.size() > 1) sections.push_back(memory_phases_section(report));
  if (!report.held.empty() && (options.top > 0 || options.verbose))
    sections.push_back(memory_held_section(report, options));
  if (!report.held.empty()) sections.push_back(memory_owners_section(report, options));
  if (report.is_advised) sections.push_back(memory_advice_section(report, options));
  return document;
}

}  // namespace

std::string to_format(const MemoryReport& report, Format format, const TextOptions& options) {
  TextOptions fitted = options;
  if (format == Format::kText) fitted.width = std::max(options.width, 60);
  if (format != Format::kText) fitted.color = false;
  return to_format(
      Report{[&](JsonWriter& json) { write_memory_report(json, report); },
             [&] { return memory_rows(report); }, [&] { return memory_document(report, format, fitted); }},
      format, fitted);
}

namespace {

std::string at_text(const MemoryReport& report, OpId op) {
  const Graph& graph = report.graph();
  const auto layer = layer_name(*report.profile, op);
  const auto type = short_op_name(graph.op_name(graph.ops[op]));
  std::string text(layer);
  if (!layer.ends_with(type)) text.append(" (").append(type).append(")");
  return text;
}

std::string advice_text(const MemoryReport& report, const MemoryAdvice& advice) {
  std::string text = advice.where.empty() ? advice.change : advice.where + ": " + advice.change;
  const bool is_dtype = advice.remedy == Remedy::kHalfWeights || advice.remedy == Remedy::kHalfAll;
  if (advice.places > 1 && !is_dtype) text += " (" + plural(advice.places, "place") + ")";
  if (advice.flops)
    text += "; costs " + format_count(advice.flops) + " FLOPs more (" +
            format_percent(advice.flops, report.profile->totals.flops) + " of the step)";
  return text;
}

}  // namespace

std::string_view title(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kKvCache:
      return "KV cache";
    case MemoryKind::kOptimizerState:
      return "optimizer state";
    default:
      return name(kind);
  }
}

std::string split_text(const MemorySplit& split, std::size_t most) {
  std::vector<MemoryKind> kinds;
  for (std::size_t k = 0; k < kMemoryKinds; ++k)
    if (split.bytes[k]) kinds.push_back(static_cast<MemoryKind>(k));
  std::ranges::stable_sort(kinds, std::greater{}, [&](MemoryKind kind) { return split[kind]; });
  std::string text;
  Count rest{};
  const auto add = [&](Count bytes, std::string_view what) {
    text += (text.empty() ? "" : " + ") + format_bytes(bytes) + " " + std::string(what);
  };
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (i < most || kinds.size() <= most + 1)
      add(split[kinds[i]], title(kinds[i]));
    else
      rest += split[kinds[i]];
  if (rest) add(rest, "other");
  return text;
}

Section memory_split_section(const MemoryReport& report) {
  const auto& timeline = report.timeline();
  Section section{"Peak memory",
                  {{words("Peak memory"), number("At peak", Unit::kBytes), number("Share"),
                    number("Most", Unit::kBytes), words("")},
                   {}}};
  const Count total = timeline.peak_memory_bytes();
  const auto add = [&](std::string_view label, Count at_peak, Count most, Style style) {
    const double share = static_cast<double>(at_peak) / std::max(1.0, static_cast<double>(total));
    section.table.add({{label, style},
                       {at_peak, style},
                       share_cell(at_peak, total),
                       {most, Style::kQuiet},
                       bar_cell(share)});
  };
  for (std::size_t k = 0; k < kMemoryKinds; ++k) {
    const auto kind = static_cast<MemoryKind>(k);
    Count most = kind == MemoryKind::kWeights ? timeline.weights : Count{};
    for (const auto& split : report.splits) most = std::max(most, split[kind]);
    if (most) add(title(kind), timeline.at_peak[kind], most, Style::kPlain);
  }
  add("total", total, total, Style::kStrong);
  if (timeline.peak_op == kNone) return section;
  section.remarks.push_back(
      "at op " + std::to_string(timeline.peak_op) + " of " + std::to_string(report.graph().ops.size()) +
      ", " + at_text(report, timeline.peak_op) + "; " +
      (report.lifetimes_told ? "lifetimes as in the captured run" : "lifetimes end at the last use"));
  return section;
}

Section memory_phases_section(const MemoryReport& report) {
  using Row = const MemoryPhase&;
  const auto if_ops = [](const char* none, const auto& read, Style style = Style::kPlain) {
    return [=](Row phase) { return phase.peak_op == kNone ? Cell(none, style) : Cell(read(phase), style); };
  };
  Columns<MemoryPhase> columns{
      {words("Phase"), &MemoryPhase::name},
      {number("Ops"), [](Row phase) { return phase.end - phase.begin; }},
      {number("Peak"),
       if_ops(
           "-", [](Row phase) { return format_bytes(phase.at_peak.total()); }, Style::kStrong)},
      {words("At", 16, 24),
       if_ops("", [&](Row phase) { return layer_name(*report.profile, phase.peak_op); })}};
  for (const auto kind : kinds_in_use(report))
    columns += {{number(std::string(title(kind)), Unit::kBytes).or_not(),
                 [kind](Row phase) { return phase.at_peak[kind]; }}};
  return {"Phases", table_of(columns, report.phases)};
}

Section memory_advice_section(const MemoryReport& report, const TextOptions& options) {
  Section section{"What would lower the peak", {{words("What would lower the peak")}, {}}};
  const Count peak = report.timeline().peak_memory_bytes();
  const auto limit = static_cast<std::size_t>(std::max(options.top, 1));
  const auto shown = options.verbose ? report.advice.size() : std::min(report.advice.size(), limit);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& advice = report.advice[i];
    section.entries.push_back(
        {"saves " + format_bytes(advice.saved_bytes) + ", " + format_percent(advice.saved_bytes, peak),
         {advice_text(report, advice)}});
  }
  if (shown == 0) section.remarks.push_back("no simple change lowers the peak of " + format_bytes(peak));
  if (shown > 0)
    section.remarks.push_back("each by itself, of the peak of " + format_bytes(peak) +
                              "; computed by simulating memory again with the change");
  if (!report.is_training)
    section.remarks.push_back(
        "activation checkpointing does not apply: without a backward pass nothing is saved for it");
  return section;
}

namespace {

constexpr std::size_t kOwnerRows = 24;  // on a screen; --verbose shows all

// What holds at least `least`. An item for each of the report's owners, of the same number.
ModuleTree<TreeNode> owner_tree(const MemoryReport& report, Count least) {
  auto tree = module_tree<TreeNode>(*report.profile);
  const auto& owners = report.owners;
  for (TreeNode& item : tree.items)
    std::erase_if(item.children, [&](std::uint32_t c) { return owners[c].held < least || !owners[c].held; });
  tree.find_shapes([&](std::uint32_t row, FoldKey& key) {
    key.add(report.graph().modules[owners[row].module].type).add(owners[row].held.value());
    key.add(owners[row].pieces);
  });
  tree.fold();
  return tree;
}

}  // namespace

Section memory_owners_section(const MemoryReport& report, const TextOptions& options) {
  const Graph& graph = report.graph();
  Section section{"By module",
                  {{{.title = "By module", .align = Align::kLeft, .min_width = 20, .good_width = 32},
                    {.title = "Type", .align = Align::kLeft, .min_width = 8, .optional = true},
                    {"Held"},
                    {"% held"},
                    {"Storages"},
                    {"Weights"},
                    {"", Align::kLeft}},
                   {}},
                  {}};
  const Count all = report.owners.front().held;
  const auto tree = owner_tree(report, options.verbose ? Count{} : all / 100);
  const auto deepest = options.verbose ? kNone : tree.depth_that_fits(kOwnerRows);
  for (TreeLine& line : tree.lines(deepest)) {
    const auto& row = report.owners[line.item];
    const Count repeat{tree[line.item].repeat};
    std::string label = tree[line.item].name;
    if (repeat > Count{1})
      label = numbered_range(label, repeat.value()) + " x" + std::to_string(repeat.value());
    section.table.rows.push_back(
        {{std::move(label), Style::kPlain, std::move(line.guides)},
         {std::string(graph.text(graph.modules[row.module].type)), Style::kQuiet},
         {format_bytes(row.held * repeat, Zero::kDash)},
         {format_percent(row.held * repeat, all, Zero::kDash)},
         {row.pieces == 0 ? "-" : std::to_string(row.pieces * repeat.value())},
         {format_bytes(row.weights * repeat, Zero::kDash), Style::kQuiet},
         bar_cell(static_cast<double>(row.held * repeat) / std::max(1.0, static_cast<double>(all)))});
  }
  const bool is_cut = deepest != kNone && tree.shown_at_depth().size() > deepest + 1;
  section.remarks.push_back("held at the peak by the module whose op made it, weights apart; rows under 1% " +
                            std::string(is_cut ? "and deeper ones " : "") +
                            "are left out: --verbose shows all");
  return section;
}

}  // namespace opscope
