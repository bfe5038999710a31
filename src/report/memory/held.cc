// What is held at the peak: storages of repeated blocks that are alike in one row.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

// Storages that differ in the numbers of their blocks alone.
struct Alike {
  const MemoryPiece* piece = nullptr;  // the first; nullptr for an op's workspace
  std::string what{}, needed{}, held{};
  std::size_t count = 0;
  Count bytes{};
};

class Grouping {
 public:
  explicit Grouping(const MemoryReport& report) : report_(report), graph_(report.graph()) {
    for (const auto index : report.held) add(report.pieces[index]);
    add_workspace(report.timeline().peak_op);
    std::ranges::stable_sort(rows, std::greater{}, &Alike::bytes);
    for (auto& row : rows)
      if (row.count == 1 && row.piece != nullptr) name_exactly(row);
  }
  std::vector<Alike> rows;

 private:
  // A value's name, or the layer that made it.
  std::string what(const MemoryPiece& piece) const {
    if (piece.held.made != kNone) return std::string(layer_name(*report_.profile, piece.held.made));
    const auto name =
        piece.value == kNone ? std::string_view() : graph_.text(graph_.values[piece.value].name);
    return name.empty() ? "there from the start" : std::string(name);
  }
  std::string needed(const MemoryPiece& piece) const {
    if (piece.returned) return "returned";
    return piece.last_use == kNone ? "never read" : std::string(layer_name(*report_.profile, piece.last_use));
  }
  std::string held(const MemoryPiece& piece) const {
    return piece.held.freed == kNone ? "the end"
                                     : std::string(layer_name(*report_.profile, piece.held.freed));
  }

  // "addcmul_57" -> "addcmul": an optimiser's ops count up over all parameters.
  static std::string without_count(std::string layer) {
    const auto end = layer.find_last_not_of("0123456789");
    if (end != std::string::npos && end + 1 < layer.size() && layer[end] == '_') layer.resize(end);
    return layer;
  }
  static std::string alike(const std::string& layer) { return pattern_of(without_count(layer)); }

  void add(const MemoryPiece& piece) {
    const auto size = piece.value == kNone ? format_bytes(piece.bytes) : shape_text(graph_, piece.value);
    Alike row{&piece, alike(what(piece)), alike(needed(piece)), alike(held(piece)), 0, {}};
    const std::string key = row.what + "\n" + row.needed + "\n" + row.held + "\n" + size + "\n" +
                            std::to_string(static_cast<int>(piece.kind)) +
                            std::to_string(piece.bytes.value());
    const auto [found, is_new] = index_.try_emplace(key, rows.size());
    if (is_new) rows.push_back(std::move(row));
    ++rows[found->second].count;
    rows[found->second].bytes += piece.bytes;
  }
  void add_workspace(OpId op) {
    if (op == kNone || graph_.ops[op].workspace == 0) return;
    const std::string layer(layer_name(*report_.profile, op));
    rows.push_back({nullptr, layer, layer, layer, 1, Count{graph_.ops[op].workspace}});
  }
  void name_exactly(Alike& row) const {
    row.what = what(*row.piece), row.needed = needed(*row.piece), row.held = held(*row.piece);
  }

  const MemoryReport& report_;
  const Graph& graph_;
  std::map<std::string, std::size_t> index_;
};

std::vector<Cell> cells(const MemoryReport& report, const Alike& row) {
  const Graph& graph = report.graph();
  const bool is_returned = row.piece != nullptr && row.piece->returned;
  const bool has_value = row.piece != nullptr && row.piece->value != kNone;
  const auto kind = row.piece != nullptr ? row.piece->kind : MemoryKind::kWorkspace;
  std::vector<Cell> cells{
      {row.what},
      {row.count > 1 ? "x" + std::to_string(row.count) : "", Style::kQuiet},
      {std::string(title(kind)), Style::kQuiet},
      {has_value ? shape_text(graph, row.piece->value) : ""},
      {has_value ? std::string(name(graph.values[row.piece->value].dtype)) : "", Style::kQuiet},
      {format_bytes(row.bytes), Style::kStrong},
      {format_percent(row.bytes, report.timeline().peak_memory_bytes())},
      {row.needed}};
  if (report.lifetimes_told)
    cells.push_back({row.held == row.needed ? "the same" : row.held,
                     row.held == row.needed || is_returned ? Style::kQuiet : Style::kWarning});
  return cells;
}

}  // namespace

Section memory_held_section(const MemoryReport& report, const TextOptions& options) {
  const auto rows = Grouping(report).rows;
  std::vector<Column> columns{
      {.title = "Held at the peak", .align = Align::kLeft, .min_width = 12, .good_width = 28},
      {""},
      {.title = "Kind", .align = Align::kLeft, .optional = true},
      {"Shape", Align::kLeft},
      {.title = "Type", .align = Align::kLeft, .optional = true},
      {"Bytes"},
      {.title = "% peak", .optional = true},
      {.title = "Needed until", .align = Align::kLeft, .min_width = 8, .good_width = 24}};
  if (report.lifetimes_told)
    columns.push_back({.title = "Held until", .align = Align::kLeft, .min_width = 8, .good_width = 16});
  Section section{"Held at the peak", {std::move(columns), {}}, {}};
  const auto limit = static_cast<std::size_t>(std::max(options.top, 0));
  const auto shown = options.verbose ? rows.size() : std::min(rows.size(), limit);
  for (std::size_t i = 0; i < shown; ++i) section.table.rows.push_back(cells(report, rows[i]));
  Count rest{};
  std::size_t more = 0;
  for (std::size_t i = shown; i < rows.size(); ++i) rest += rows[i].bytes, more += rows[i].count;
  if (more > 0)
    section.remarks.push_back("and " + plural(more, "more storage") + " with " + format_bytes(rest) +
                              ": --top N or --verbose shows " + (more == 1 ? "it" : "them"));
  return section;
}

}  // namespace opscope
