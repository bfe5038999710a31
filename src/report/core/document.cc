// The parts of documents, and what several reports word alike.
#include "report/core/document.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace opscope {

Facts::Facts(std::string heading) : Section{heading, {{words(heading), {}, words("", 20)}, {}}} {}

void Facts::add(std::string label, Cell value, std::string detail) {
  if (value.style == Style::kPlain) value.style = Style::kStrong;
  table.add({std::move(label), std::move(value), {std::move(detail), Style::kQuiet}});
}

Section titled_section(std::string title, Table table) {
  table.columns.front().title = title;
  return {std::move(title), std::move(table)};
}

std::size_t shown_of(std::size_t all, const TextOptions& options) {
  return options.verbose ? all : std::min(all, static_cast<std::size_t>(std::max(options.top, 0)));
}

void say_more(Section& section, std::size_t shown, std::size_t all, std::string_view noun) {
  if (shown < all)
    section.remarks.push_back("and " + plural(all - shown, "more " + std::string(noun)) +
                              ": --verbose shows them");
}

void Document::add(Section section) {
  if (!section.table.rows.empty() || !section.remarks.empty() || !section.entries.empty())
    sections.push_back(std::move(section));
}

std::string_view confidence_mark(Confidence confidence) {
  static constexpr std::array<std::string_view, 4> kMarks{"", "~", "≤", "≥"};  // by Confidence
  return kMarks[static_cast<std::size_t>(confidence)];
}

Cell flops_cell(const Metrics& metrics) {
  const bool is_bound = metrics.confidence == Confidence::kUpperBound;
  if (!metrics.flops && metrics.confidence == Confidence::kUnknown) return "?";
  Cell cell = cell_of(metrics.flops, Unit::kCount);
  if (metrics.flops || is_bound) cell.mark = confidence_mark(metrics.confidence);
  return cell;
}

std::string flops_text(const Metrics& metrics) { return text_of(flops_cell(metrics)); }

std::string flops_legend(Confidence worst) {
  std::string text = "~ has estimated ops";
  if (worst >= Confidence::kUpperBound) text += "   ≤ has upper bounds";
  if (worst == Confidence::kUnknown) text += "   ≥ and ? have ops of unknown cost, not counted";
  return text;
}

std::string model_name(const Graph& graph) {
  if (!graph.capture.model.empty()) return graph.capture.model;
  return std::string(graph.text(graph.modules[0].type));
}

std::string shape_text(const Graph& graph, ValueId value) {
  return value == kNone ? std::string() : format_shape(graph.shape(graph.values[value]));
}

Cell shape_cell(const Graph& graph, ValueId value) {
  if (value == kNone) return {};
  const auto shape = graph.shape(graph.values[value]);
  return Shape{{shape.begin(), shape.end()}};
}

std::string_view source_text(std::string_view source) { return source.substr(source.rfind('/') + 1); }

std::string plural(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace opscope
