// The memory report: the split and a plot of the timeline, then phases, what is held (storages of repeated
// blocks that are alike in one row), whose it is (the module tree, cut to what holds something), what helps.
// For programs all of it as JSON, and the timeline as CSV, one row per op.
#include "report/memory/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <span>

#include "analyse/tree/module_tree.h"
#include "base/text.h"
#include "cost/kv_cache.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr std::size_t kOwnerRows = 24;  // on a screen; --verbose shows all

Section split_section(const MemoryReport& report) {
  const auto& timeline = report.timeline();
  Section section{"Peak memory",
                  {{words("Peak memory"), number("At peak", Unit::kBytes), number("Share"),
                    number("Most", Unit::kBytes).quiet(), words("")},
                   {}}};
  const Count total = timeline.peak_memory_bytes();
  const auto add = [&](std::string_view label, Count at_peak, Count most, Style style) {
    section.table.add(
        {{label, style}, {at_peak, style}, share_cell(at_peak, total), most, bar_cell(at_peak, total)});
  };
  for (std::size_t k = 0; k < kMemoryKinds; ++k) {
    const auto kind = static_cast<MemoryKind>(k);
    Count most = kind == MemoryKind::kWeights ? timeline.weights : Count{};
    for (const auto& split : report.splits) most = std::max(most, split[kind]);
    if (most) add(title(kind), timeline.at_peak[kind], most, Style::kPlain);
  }
  add("total", total, total, Style::kStrong);
  if (const LibraryWorkspace& library = timeline.library; library.most)
    section.remarks.push_back(library_text(library));
  if (timeline.peak_op == kNone) return section;
  const Graph& graph = report.graph();
  const auto layer = layer_name(*report.profile, timeline.peak_op);
  const auto type = short_op_name(graph.op_name(graph.ops[timeline.peak_op]));
  section.remarks.push_back(fmt::format(
      "at op {} of {}, {}{}; {}", timeline.peak_op, graph.ops.size(), layer,
      layer.ends_with(type) ? "" : fmt::format(" ({})", type),
      report.lifetimes_told ? "lifetimes as in the captured run" : "lifetimes end at the last use"));
  return section;
}

Section phases_section(const MemoryReport& report) {
  using Row = const MemoryPhase&;
  const auto if_ops = [](const char* none, const auto& read) {
    return [=](Row phase) { return phase.peak_op == kNone ? Cell(none) : Cell(read(phase)); };
  };
  Columns<MemoryPhase> columns{
      {words("Phase"), &MemoryPhase::name},
      {number("Ops"), [](Row phase) { return phase.end - phase.begin; }},
      {number("Peak").strong(), if_ops("-", [](Row phase) { return format_bytes(phase.at_peak.total()); })},
      {words("At", 16, 24),
       if_ops("", [&](Row phase) { return layer_name(*report.profile, phase.peak_op); })}};
  for (const auto kind : kinds_in_use(report.splits))
    columns += {{number(std::string(title(kind)), Unit::kBytes).or_not(),
                 [kind](Row phase) { return phase.at_peak[kind]; }}};
  return {"Phases", table_of(columns, report.phases)};
}

// Storages that differ in the numbers of their blocks alone.
struct Alike {
  const MemoryPiece* piece = nullptr;  // the first; nullptr for an op's workspace
  std::string what{}, needed{}, held{};
  std::size_t count = 1;
  Count bytes{};
};

// A storage by name: of its value or the layer that made it, of who needs it last and of who frees it.
Alike named(const MemoryReport& report, const MemoryPiece& piece) {
  const auto layer = [&](OpId op) { return std::string(layer_name(*report.profile, op)); };
  const Graph& graph = report.graph();
  const std::string name(piece.value == kNone ? "" : graph.text(graph.values[piece.value].name));
  Alike row{.piece = &piece, .bytes = piece.bytes};
  row.what = piece.held.made != kNone ? layer(piece.held.made) : name.empty() ? "there from the start" : name;
  row.needed = piece.returned ? "returned" : piece.last_use == kNone ? "never read" : layer(piece.last_use);
  row.held = piece.held.freed == kNone ? "the end" : layer(piece.held.freed);
  return row;
}

// "addcmul_57" -> "addcmul": an optimiser's ops count up over all parameters.
std::string pattern_without_count(std::string layer) {
  const auto end = layer.find_last_not_of("0123456789");
  if (end != std::string::npos && end + 1 < layer.size() && layer[end] == '_') layer.resize(end);
  return pattern_of(layer);
}

std::vector<Alike> alike_storages(const MemoryReport& report) {
  const Graph& graph = report.graph();
  std::vector<Alike> rows;
  std::map<std::vector<std::string>, std::size_t> index;
  for (const auto held : report.held) {
    const MemoryPiece& piece = report.pieces[held];
    Alike row = named(report, piece);
    for (std::string* text : {&row.what, &row.needed, &row.held}) *text = pattern_without_count(*text);
    const auto [found, is_new] =
        index.try_emplace({row.what, row.needed, row.held, shape_text(graph, piece.value),
                           std::string(name(piece.kind)), std::to_string(piece.bytes.value())},
                          rows.size());
    if (is_new)
      rows.push_back(std::move(row));
    else
      ++rows[found->second].count, rows[found->second].bytes += piece.bytes;
  }
  if (const OpId op = report.timeline().peak_op; op != kNone && graph.ops[op].workspace != 0) {
    const std::string layer(layer_name(*report.profile, op));
    rows.push_back({nullptr, layer, layer, layer, 1, Count{graph.ops[op].workspace}});
  }
  std::ranges::stable_sort(rows, std::greater{}, &Alike::bytes);
  for (Alike& row : rows)
    if (row.count == 1 && row.piece) row = named(report, *row.piece);
  return rows;
}

Columns<Alike> held_columns(const MemoryReport& report) {
  using Row = const Alike&;
  const Graph& graph = report.graph();
  const auto value = [](Row row) { return row.piece == nullptr ? kNone : row.piece->value; };
  Columns<Alike> columns{
      {words("Held at the peak", 12, 28), &Alike::what},
      {number("").quiet(), [](Row row) { return row.count > 1 ? "x" + std::to_string(row.count) : ""; }},
      {words("Kind").or_not().quiet(),
       [](Row row) { return title(row.piece ? row.piece->kind : MemoryKind::kWorkspace); }},
      {words("Shape"), [&, value](Row row) { return shape_cell(graph, value(row)); }},
      {words("Type").or_not().quiet(),
       [&, value](Row row) { return value(row) == kNone ? "" : name(graph.values[value(row)].dtype); }},
      {number("Bytes").strong(), [](Row row) { return format_bytes(row.bytes); }},
      {number("% peak").or_not(),
       [&](Row row) { return format_percent(row.bytes, report.timeline().peak_memory_bytes()); }},
      {words("Needed until", 8, 24), &Alike::needed}};
  if (!report.lifetimes_told) return columns;
  return columns += {{words("Held until", 8, 16), [](Row row) {
                        const bool same = row.held == row.needed;
                        const bool expected = same || (row.piece && row.piece->returned);
                        return Cell(same ? "the same" : row.held, expected ? Style::kQuiet : Style::kWarning);
                      }}};
}

Section held_section(const MemoryReport& report, const TextOptions& options) {
  const auto rows = alike_storages(report);
  const auto shown = std::span(rows).first(shown_of(rows.size(), options));
  Section section{"Held at the peak", table_of(held_columns(report), shown)};
  Count rest{};
  std::size_t more = 0;
  for (const Alike& row : std::span(rows).subspan(shown.size())) rest += row.bytes, more += row.count;
  if (more > 0)
    section.remarks.push_back("and " + plural(more, "more storage") + " with " + format_bytes(rest) +
                              ": --top N or --verbose shows " + (more == 1 ? "it" : "them"));
  return section;
}

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

Section owners_section(const MemoryReport& report, const TextOptions& options) {
  const Graph& graph = report.graph();
  const Count all = report.owners.front().held;
  const auto tree = owner_tree(report, options.verbose ? Count{} : all / 100);
  const auto deepest = options.verbose ? kNone : tree.depth_that_fits(kOwnerRows);
  using Row = const TreeLine&;
  const auto repeat = [&](Row line) { return Count{tree[line.item].repeat}; };
  const auto owner = [&](Row line) -> const MemoryOwner& { return report.owners[line.item]; };
  const auto held = [=](Row line) { return owner(line).held * repeat(line); };
  const Columns<TreeLine> columns{
      {words("By module", 20, 32),
       [&](Row line) {
         const TreeNode& item = tree[line.item];
         const std::string range =
             item.repeat > 1 ? fmt::format("{} x{}", numbered_range(item.name, item.repeat), item.repeat)
                             : item.name;
         return Cell(range, Style::kPlain, line.guides);
       }},
      {words("Type", 8).or_not().quiet(),
       [&](Row line) { return graph.text(graph.modules[owner(line).module].type); }},
      {number("Held", Unit::kBytes), held},
      {number("% held"), [&](Row line) { return format_percent(held(line), all, Zero::kDash); }},
      {number("Storages"),
       [&](Row line) { return number_or_dash(owner(line).pieces * repeat(line).value()); }},
      {number("Weights", Unit::kBytes).quiet(), [&](Row line) { return owner(line).weights * repeat(line); }},
      {words(""), [&](Row line) { return bar_cell(held(line), all); }}};
  const bool is_cut = deepest != kNone && tree.shown_at_depth().size() > deepest + 1;
  return {
      "By module",
      table_of(columns, tree.lines(deepest)),
      {fmt::format("held at the peak by the module whose op made it, weights apart; rows under 1% {}are left "
                   "out: --verbose shows all",
                   is_cut ? "and deeper ones " : "")}};
}

// "32 layers keep 131.1KB for a token in bfloat16, 24 of them for the newest 1024: ..."
std::string kept_text(const KvCache& cache) {
  const auto kept = [](const KvLayer& layer) { return layer.kind != KvKind::kState; };
  const auto layers = static_cast<std::size_t>(std::ranges::count_if(cache.layers, kept));
  if (layers == 0) return "";
  const KvLayer& first = *std::ranges::find_if(cache.layers, kept);
  std::string text = plural(layers, "layer") + (layers == 1 ? " keeps " : " keep ") +
                     format_bytes(kv_bytes_per_token(cache)) + " for a token, in " +
                     std::string(name(first.dtype));
  const auto sliding = std::ranges::find(cache.layers, KvKind::kSliding, &KvLayer::kind);
  if (sliding != cache.layers.end())
    text +=
        fmt::format(", {} of them for the newest {}", kv_layers(cache, KvKind::kSliding), sliding->window);
  return text;
}

Section kv_section(const MemoryReport& report) {
  const KvStep& step = *report.kv_step;
  const KvCache& cache = report.graph().kv_cache;
  using Row = const KvUse&;
  const Columns<KvUse> columns{{words("KV cache", 12), &KvUse::op},
                               {number("Calls").quiet(), [](Row use) { return use.calls; }},
                               {number("Reads of it", Unit::kBytes).strong(), &KvUse::read},
                               {number("Writes to it", Unit::kBytes).strong(), &KvUse::written},
                               {number("Writes elsewhere", Unit::kBytes), &KvUse::made}};
  Section section{"KV cache", table_of(columns, step.uses)};
  std::string held = "the step finds " + format_bytes(step.held) + " in it";
  if (!cache.empty()) {
    const std::string room = cache.capacity > 0 ? fmt::format(" with room for {}", cache.capacity) : "";
    held += fmt::format(", of {} of {} tokens{}", plural(static_cast<std::size_t>(cache.batch), "sequence"),
                        cache.past_len, room);
    if (const std::string kept = kept_text(cache); !kept.empty()) held += "; " + kept;
  }
  section.remarks.push_back(held);
  if (const Count all = report.profile->totals.memory_bytes(), saved = step.saved_in_place(); saved)
    section.remarks.push_back(fmt::format(
        "{} writes the whole cache to new memory and so moves {} of the {} of the step; the new tokens "
        "have {}, and written in place, as --kv-block 16 captures it, they would save {}",
        step.copies.front().op, format_bytes(step.copied), format_bytes(all), format_bytes(step.added),
        format_bytes(saved)));
  return section;
}

std::string advice_text(const MemoryReport& report, const MemoryAdvice& advice) {
  std::string text = advice.where.empty() ? advice.change : advice.where + ": " + advice.change;
  const bool is_dtype = advice.remedy == Remedy::kHalfWeights || advice.remedy == Remedy::kHalfAll;
  if (advice.places > 1 && !is_dtype) text += " (" + plural(advice.places, "place") + ")";
  if (advice.flops)
    text += fmt::format("; costs {} FLOPs more ({} of the step)", format_count(advice.flops),
                        format_percent(advice.flops, report.profile->totals.flops));
  return text;
}

Section advice_section(const MemoryReport& report, const TextOptions& options) {
  Section section{"What would lower the peak", {{words("What would lower the peak")}, {}}};
  const Count peak = report.timeline().peak_memory_bytes();
  const std::size_t all = report.advice.size();
  const std::size_t shown = std::max(shown_of(all, options), std::min<std::size_t>(all, 1));
  for (const MemoryAdvice& advice : report.advice | std::views::take(shown))
    section.entries.push_back(
        {"saves " + format_bytes(advice.saved_bytes) + ", " + format_percent(advice.saved_bytes, peak),
         {advice_text(report, advice)}});
  if (report.advice.empty())
    section.remarks.push_back("no simple change lowers the peak of " + format_bytes(peak));
  else
    section.remarks.push_back("each by itself, of the peak of " + format_bytes(peak) +
                              "; computed by simulating memory again with the change");
  if (!report.is_training)
    section.remarks.push_back(
        "activation checkpointing does not apply: without a backward pass nothing is saved for it");
  return section;
}

Document memory_document(const MemoryReport& report, Format format, const TextOptions& options) {
  Document document{header_cells(*report.profile), note_lines(*report.profile, options)};
  auto& sections = document.sections;
  sections.push_back(split_section(report));
  if (format == Format::kHtml) sections.back().svg = memory_svg(report);
  if (format != Format::kHtml) sections.back().plot = memory_plot(report, options);
  if (report.phases.size() > 1) sections.push_back(phases_section(report));
  if (!report.held.empty() && (options.top > 0 || options.verbose))
    sections.push_back(held_section(report, options));
  if (!report.held.empty()) sections.push_back(owners_section(report, options));
  if (report.kv_step) sections.push_back(kv_section(report));
  if (report.is_advised) sections.push_back(advice_section(report, options));
  return document;
}

// An op's number and its layer; both null where there is none.
Columns<OpId> op_columns(const Profile& profile, const std::string& key, const std::string& layer_key) {
  return {
      {{.key = key}, [](OpId op) { return op == kNone ? Cell() : Cell(op); }},
      {{.key = layer_key}, [&](OpId op) { return op == kNone ? Cell() : Cell(layer_name(profile, op)); }}};
}

void write_needs(JsonWriter& json, const MemoryTimeline& timeline) {
  const LibraryWorkspace& library = timeline.library;
  json.field("library_workspace_bytes", library.most);
  json.inline_object("library_workspace", [&] {
    json.fields("pool_bytes", library.pools, "least_bytes", library.least, "most_bytes", library.most);
  });
  const CudaAllocation& allocator = timeline.allocator;
  json.inline_object("allocator", [&] {
    json.fields("allocated_least_bytes", allocator.allocated_least, "allocated_most_bytes",
                allocator.allocated_most, "reserved_bytes", allocator.reserved, "needed_bytes",
                allocator.needed);
  });
  json.field("needed_bytes", timeline.needed_bytes());
}

void write_peak(JsonWriter& json, const Profile& profile, OpId op, const MemorySplit& split) {
  write_fields(json, op_columns(profile, "peak_op", "peak_layer"), op);
  json.inline_object("split", [&] { write_fields(json, split_columns(), split); });
}

Columns<MemoryPiece> piece_columns(const Profile& profile) {
  using Row = const MemoryPiece&;
  const Graph& graph = *profile.graph;
  Columns<MemoryPiece> columns{
      {"bytes", &MemoryPiece::bytes},
      {"kind", &MemoryPiece::kind},
      {"name", [&](Row piece) {
         const bool named = piece.value != kNone && graph.values[piece.value].name != 0;
         return named ? Cell(graph.text(graph.values[piece.value].name)) : Cell(Absent{});
       }}};
  const auto values = through<MemoryPiece>(&MemoryPiece::value, value_columns(graph));
  columns += {values[0], values[1]};
  const auto op = [&](const auto& read, const std::string& key) {
    columns += through<MemoryPiece>(read, op_columns(profile, key, key + "_layer"));
  };
  op([](Row piece) { return piece.held.made; }, "made_by");
  op([](Row piece) { return piece.last_use; }, "needed_until");
  op([](Row piece) { return piece.held.freed; }, "held_until");
  return columns += {{"returned", &MemoryPiece::returned}};
}

Columns<MemoryOwner> owner_columns(const Graph& graph) {
  return {{"path", [&](const MemoryOwner& row) { return graph.path(graph.modules[row.module]); }},
          {"type", [&](const MemoryOwner& row) { return graph.text(graph.modules[row.module].type); }},
          {"depth", &MemoryOwner::depth},
          {"held_bytes", &MemoryOwner::held},
          {"own_held_bytes", &MemoryOwner::own_held},
          {"weights_bytes", &MemoryOwner::weights},
          {"storages", &MemoryOwner::pieces}};
}

// Whatever holds at an op: a row each.
Columns<OpId> timeline_columns(const MemoryReport& report) {
  const Graph& graph = report.graph();
  const auto phase = [&](OpId op) -> std::string_view {
    for (const MemoryPhase& each : report.phases)
      if (op < each.end || &each == &report.phases.back()) return op >= each.begin ? each.name : "";
    return {};
  };
  Columns<OpId> columns{
      {"index", [](OpId op) { return op; }},
      {"op", [&](OpId op) { return graph.op_name(graph.ops[op]); }},
      {"layer", [&](OpId op) { return layer_name(*report.profile, op); }},
      {in_csv("module"),
       [&](OpId op) { return graph.path(graph.modules[graph.scopes[graph.ops[op].scope].module]); }},
      {in_csv("phase"), phase},
      {"in_use_bytes", [&](OpId op) { return report.splits[op].total(); }}};
  return columns +=
         through<OpId>([&](OpId op) -> const MemorySplit& { return report.splits[op]; }, split_columns());
}

void write_kv_step(JsonWriter& json, const MemoryReport& report) {
  const KvStep& step = *report.kv_step;
  const KvCache& cache = report.graph().kv_cache;
  json.object("kv_cache", [&] {
    json.fields("type", cache.type, "held_bytes", step.held, "bytes_per_token", kv_bytes_per_token(cache));
    json.fields("added_bytes", step.added, "copied_bytes", step.copied);
    json.field("saved_in_place_bytes", step.saved_in_place());
    json.objects("ops", step.uses, [&](const KvUse& use) {
      json.fields("op", use.op, "calls", use.calls, "read_bytes", use.read, "written_bytes", use.written);
      json.field("made_bytes", use.made);
    });
  });
}

void write_memory_report(JsonWriter& json, const MemoryReport& report) {
  const Profile& profile = *report.profile;
  begin_report(json, report.graph());
  json.fields("lifetimes", report.lifetimes_told ? "captured" : "last_use", "training", report.is_training);
  json.field("peak_memory_bytes", report.timeline().peak_memory_bytes());
  write_needs(json, report.timeline());
  write_peak(json, profile, report.timeline().peak_op, report.timeline().at_peak);
  json.objects("phases", report.phases, [&](const MemoryPhase& row) {
    json.fields("name", row.name, "begin", row.begin, "end", row.end);
    json.field("peak_memory_bytes", row.at_peak.total());
    write_peak(json, profile, row.peak_op, row.at_peak);
  });
  const auto pieces = piece_columns(profile);
  json.objects("held", report.held,
               [&](std::uint32_t piece) { write_fields(json, pieces, report.pieces[piece]); });
  write_rows(json, "modules", owner_columns(report.graph()), report.owners);
  const Columns<MemoryAdvice> advice{
      {"remedy", &MemoryAdvice::remedy},           {"where", &MemoryAdvice::where},
      {"change", &MemoryAdvice::change},           {"places", &MemoryAdvice::places},
      {"saved_bytes", &MemoryAdvice::saved_bytes}, {"extra_flops", &MemoryAdvice::flops}};
  if (report.kv_step) write_kv_step(json, report);
  if (report.is_advised) write_rows(json, "advice", advice, report.advice);
  write_rows(json, "timeline", timeline_columns(report), all_ops(report.graph()));
}

}  // namespace

std::string to_format(const MemoryReport& report, Format format, const TextOptions& options) {
  TextOptions fitted = options;
  if (format == Format::kText) fitted.width = std::max(options.width, 60);
  if (format != Format::kText) fitted.color = false;
  return to_format(
      Report{[&](JsonWriter& json) { write_memory_report(json, report); },
             [&] { return table_of(timeline_columns(report), all_ops(report.graph()), In::kCsv); },
             [&] { return memory_document(report, format, fitted); }},
      format, fitted);
}

std::string_view title(MemoryKind kind) {
  return kind == MemoryKind::kKvCache          ? "KV cache"
         : kind == MemoryKind::kOptimizerState ? "optimizer state"
                                               : name(kind);
}

Columns<MemorySplit> split_columns() {
  Columns<MemorySplit> columns;
  for (std::size_t k = 0; k < kMemoryKinds; ++k)
    columns.push_back({{.key = std::string(name(static_cast<MemoryKind>(k))) + "_bytes"},
                       [k](const MemorySplit& split) { return split.bytes[k]; }});
  return columns;
}

std::string library_text(const LibraryWorkspace& library) {
  const std::string most = format_bytes(library.most);
  return fmt::format("cuBLAS and cuDNN take {} more",
                     library.is_exact() ? most : format_bytes(library.least) + " to " + most);
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

void write_memory(JsonWriter& json, const Profile& profile) {
  const auto& timeline = profile.memory();
  json.object("memory", [&] {
    json.field("peak_memory_bytes", timeline.peak_memory_bytes());
    write_needs(json, timeline);
    write_peak(json, profile, timeline.peak_op, timeline.at_peak);
    json.objects("phases", memory_phases(*profile.graph, timeline), [&](const MemoryPhase& phase) {
      json.fields("name", phase.name, "peak_memory_bytes", timeline.weights + phase.peak);
      write_field(json, "peak_op", phase.peak_op == kNone ? Cell() : Cell(phase.peak_op));
    });
  });
}

}  // namespace opscope
