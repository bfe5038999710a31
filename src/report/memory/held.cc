// What is held at the peak: storages of repeated blocks that are alike in one row.
#include <algorithm>
#include <map>
#include <span>

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

Columns<Alike> held_columns(const MemoryReport& report) {
  using Row = const Alike&;
  const Graph& graph = report.graph();
  const auto value = [](Row row) { return row.piece == nullptr ? kNone : row.piece->value; };
  Columns<Alike> columns{
      {words("Held at the peak", 12, 28), &Alike::what},
      {number(""),
       [](Row row) { return Cell(row.count > 1 ? "x" + std::to_string(row.count) : "", Style::kQuiet); }},
      {words("Kind").or_not(),
       [](Row row) {
         return Cell(title(row.piece ? row.piece->kind : MemoryKind::kWorkspace), Style::kQuiet);
       }},
      {words("Shape"), [&, value](Row row) { return shape_cell(graph, value(row)); }},
      {words("Type").or_not(),
       [&, value](Row row) {
         return Cell(value(row) == kNone ? "" : name(graph.values[value(row)].dtype), Style::kQuiet);
       }},
      {number("Bytes"), [](Row row) { return Cell(format_bytes(row.bytes), Style::kStrong); }},
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

}  // namespace

Section memory_held_section(const MemoryReport& report, const TextOptions& options) {
  const auto rows = Grouping(report).rows;
  const auto limit = static_cast<std::size_t>(std::max(options.top, 0));
  const auto shown = options.verbose ? rows.size() : std::min(rows.size(), limit);
  Section section{"Held at the peak", table_of(held_columns(report), std::span(rows).first(shown))};
  Count rest{};
  std::size_t more = 0;
  for (std::size_t i = shown; i < rows.size(); ++i) rest += rows[i].bytes, more += rows[i].count;
  if (more > 0)
    section.remarks.push_back("and " + plural(more, "more storage") + " with " + format_bytes(rest) +
                              ": --top N or --verbose shows " + (more == 1 ? "it" : "them"));
  return section;
}

}  // namespace opscope
