// The timeline in characters: a column for a stretch of ops, stacked by kind above the weights, which are
// there all the time; below it the phases and the module calls.
#include <algorithm>

#include "base/text.h"
#include "report/memory/axis.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

constexpr int kPlotRows = 12;
constexpr int kEighths = 8;
constexpr int kLabelWidth = 9;  // "1234.5MB "
constexpr std::string_view kTops[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

struct KindLook {
  std::string_view glyph;
  Style style;
};
KindLook look_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::kInputs:
      return {"▞", Style::kQuiet};
    case MemoryKind::kKvCache:
      return {"▓", Style::kWarning};
    case MemoryKind::kGradients:
      return {"▒", Style::kStrong};
    case MemoryKind::kOptimizerState:
      return {"░", Style::kQuiet};
    case MemoryKind::kWorkspace:
      return {"▚", Style::kWarning};
    default:
      return {"█", Style::kGood};
  }
}

class Plot {
 public:
  Plot(const MemoryReport& report, const TextOptions& options)
      : report_(report),
        options_(options),
        columns_(static_cast<std::size_t>(std::max(options.width, 40) - kLabelWidth - 2)),
        ops_(column_ops(report, columns_)) {}

  std::string text() {
    if (ops_.empty()) return "";
    for (int row = kPlotRows; row-- > 0;) line(row);
    out_ += std::string(kLabelWidth, ' ') + "└";
    for (std::size_t c = 0; c < columns_; ++c) out_ += is_phase_start(c) ? "┴" : "─";
    out_ += '\n';
    peak_line();
    if (report_.phases.size() > 1) phase_line();
    module_line();
    legend();
    return std::move(out_);
  }

 private:
  double height(OpId op) const {
    const auto peak = static_cast<double>(report_.timeline().peak);
    return peak == 0 ? 0 : static_cast<double>(report_.timeline().alive[op]) / peak * kPlotRows * kEighths;
  }
  // The kind at a height in eighths, from the weights up.
  MemoryKind kind_at(OpId op, double eighths) const {
    const auto peak = static_cast<double>(report_.timeline().peak);
    double sum = 0;
    MemoryKind top = MemoryKind::kActivations;
    for (const auto kind : kStacking) {
      const Count bytes = report_.splits[op][kind];
      if (kind == MemoryKind::kWeights || !bytes) continue;
      sum += static_cast<double>(bytes) / peak * kPlotRows * kEighths;
      top = kind;
      if (eighths < sum) break;
    }
    return top;
  }

  void line(int row) {
    const auto& timeline = report_.timeline();
    std::string label;
    if (row == kPlotRows - 1) label = format_bytes(timeline.peak_memory_bytes());
    if (row == kPlotRows / 2 - 1) label = format_bytes(timeline.weights + timeline.peak / 2);
    if (row == 0) label = format_bytes(timeline.weights);
    out_ += paint(pad_left(label, kLabelWidth - 1), Style::kQuiet, options_.color);
    out_ += row == kPlotRows - 1 || row == kPlotRows / 2 - 1 || row == 0 ? " ┤" : " │";
    cells(row);
    while (out_.ends_with(' ')) out_.pop_back();
    out_ += '\n';
  }
  // Equal looks are painted together.
  void cells(int row) {
    std::string run;
    Style style = Style::kPlain;
    const auto flush = [&](Style next) {
      if (!run.empty()) out_ += paint(run, style, options_.color && style != Style::kPlain);
      run.clear();
      style = next;
    };
    for (const auto op : ops_) {
      const int filled = static_cast<int>(height(op) + 0.5) - row * kEighths;
      const auto look = look_of(kind_at(op, row * kEighths + std::min(filled, kEighths) / 2.0));
      const Style next = filled > 0 ? look.style : Style::kPlain;
      if (next != style) flush(next);
      const bool is_whole = filled >= kEighths;
      run += is_whole ? look.glyph : kTops[std::max(filled, 0)];
    }
    flush(Style::kPlain);
  }

  std::size_t column_of(OpId op) const {
    return std::min(columns_ - 1, static_cast<std::size_t>(op) * columns_ / report_.graph().ops.size());
  }
  bool is_phase_start(std::size_t column) const {
    return std::ranges::any_of(report_.phases, [&](const MemoryPhase& phase) {
      return phase.begin > 0 && phase.begin < phase.end && column_of(phase.begin) == column;
    });
  }

  void peak_line() {
    const OpId peak = report_.timeline().peak_op;
    const auto found = std::ranges::find(ops_, peak);
    const auto column = static_cast<std::size_t>(found == ops_.end() ? 0 : found - ops_.begin());
    std::string label = "peak: " + std::string(layer_name(*report_.profile, peak));
    label = truncate_middle(label, static_cast<int>(columns_) - 3);
    const auto width = static_cast<std::size_t>(display_width(label));
    const bool is_left = column + 2 + width > columns_ && column > width;
    const std::size_t before = is_left ? column - width - 1 : column;
    out_ += std::string(static_cast<std::size_t>(kLabelWidth) + 1 + before, ' ');
    out_ += paint(is_left ? label + " ▲" : "▲ " + label, Style::kStrong, options_.color) + "\n";
  }

  void phase_line() {
    std::vector<AxisSegment> phases;
    for (const auto& phase : report_.phases)
      phases.push_back({phase.begin, phase.end, std::string(phase.name)});
    segments(phases, "│");
  }
  void module_line() { segments(axis_segments(report_), "╵"); }

  // "layer.11" -> "11" where there is no room for more.
  static std::string short_label(const std::string& label, int room) {
    if (display_width(label) <= room) return label;
    const auto dot = label.rfind('.');
    if (dot != std::string::npos && static_cast<int>(label.size() - dot - 1) <= room)
      return label.substr(dot + 1);
    return room >= 4 ? truncate(label, room) : "";
  }
  void segments(const std::vector<AxisSegment>& all, std::string_view mark) {
    std::string line;
    std::size_t at = 0;
    bool has_labels = false;
    for (const auto& segment : all) {
      if (segment.begin >= segment.end) continue;
      const auto begin = column_of(segment.begin);
      const auto end = segment.end >= report_.graph().ops.size() ? columns_ : column_of(segment.end);
      if (begin < at || end <= begin) continue;
      const int room = static_cast<int>(end - begin) - 2;
      const std::string label = short_label(segment.label, room);
      if (label.empty() && room < 1) continue;
      line += std::string(begin - at, ' ');
      line += std::string(mark) + label;
      at = begin + 1 + static_cast<std::size_t>(display_width(label));
      has_labels = has_labels || !label.empty();
    }
    if (!has_labels) return;
    out_ += std::string(kLabelWidth + 1, ' ') + paint(line, Style::kQuiet, options_.color) + "\n";
  }

  // Kinds that do not fit are below the first ones.
  void legend() {
    const std::string indent(kLabelWidth + 1, ' ');
    const std::string words = "above " + format_bytes(report_.timeline().weights) + " of weights:";
    out_ += indent + paint(words, Style::kQuiet, options_.color);
    int used = display_width(indent + words);
    for (const auto kind : kinds_in_use(report_)) {
      if (kind == MemoryKind::kWeights) continue;
      const auto look = look_of(kind);
      const int needed = 4 + display_width(title(kind));
      if (used + needed > options_.width) {
        out_ += "\n" + indent.substr(2);
        used = static_cast<int>(indent.size()) - 2;
      }
      out_ += "  " + paint(look.glyph, look.style, options_.color) + " " + std::string(title(kind));
      used += needed;
    }
    out_ += "\n";
  }

  const MemoryReport& report_;
  const TextOptions& options_;
  std::size_t columns_;
  std::vector<OpId> ops_;  // by column
  std::string out_;
};

}  // namespace

std::string memory_plot(const MemoryReport& report, const TextOptions& options) {
  return Plot(report, options).text();
}

std::string memory_plot(const Profile& profile, const TextOptions& options) {
  return memory_plot(make_memory_report(profile, {.advice = false}), options);
}

}  // namespace opscope
