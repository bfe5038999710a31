// The document of a joined trace.
#include "report/trace/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr double kWellJoined = 0.95;

class TraceDocument {
 public:
  TraceDocument(const Profile& profile, const JoinedTrace& joined, const std::string& file,
                const TextOptions& options)
      : profile_(profile), graph_(*profile.graph), joined_(joined), file_(file), options_(options) {}

  Document run() {
    TextOptions options = options_;
    options.notes.insert(options.notes.end(), joined_.notes.begin(), joined_.notes.end());
    Document document{header(), note_lines(profile_, options), {}};
    auto& sections = document.sections;
    sections.push_back(joined_section());
    sections.push_back(tree_section(profile_, options_));
    if (options_.top > 0 || options_.verbose) sections.push_back(top_layers_section(profile_, options_));
    if (!joined_.kernels.empty() && shown() > 0) sections.push_back(kernel_section());
    if (!joined_.not_joined.empty()) sections.push_back(rest_section());
    if (!joined_.missing.empty()) sections.push_back(missing_section());
    return document;
  }

 private:
  std::size_t shown() const {
    return options_.verbose ? joined_.kernels.size() + joined_.not_joined.size()
                            : static_cast<std::size_t>(std::max(options_.top, 0));
  }
  bool on_device() const { return graph_.measurement.on_device; }
  std::string clock() const { return on_device() ? "device time" : "time of calls"; }
  double runs() const { return std::max(1.0, static_cast<double>(graph_.measurement.runs)); }

  std::vector<Cell> header() const {
    const Measurement& measured = graph_.measurement;
    std::vector<Cell> cells = model_cells(graph_);
    cells.push_back({std::string(source_text(file_)), Style::kStrong});
    const Environment& at = measured.environment;
    cells.push_back({at.device_name.empty() ? (on_device() ? "device" : "cpu") : at.device_name});
    if (!at.runtime.empty()) cells.push_back({at.runtime});
    cells.push_back({plural(measured.runs, "run")});
    cells.push_back(
        {format_percent(seconds(joined_.joined), seconds(joined_.total)) + " of " + clock() + " joined",
         joined_.joined_share() >= kWellJoined ? Style::kGood : Style::kWarning});
    return cells;
  }

  Section joined_section() const {
    Section section{"Joined", {{{"", Align::kLeft}, {"Joined"}, {"Of"}, {"Share"}}, {}}, {}};
    const auto row = [&](std::string what, std::string part, std::string whole, std::string share) {
      section.table.rows.push_back(
          {{std::move(what)}, {std::move(part)}, {std::move(whole)}, {std::move(share)}});
    };
    const auto ops = graph_.ops.size();
    row("ops of the graph", format_exact(joined_.joined_ops), format_exact(ops),
        format_percent(Count{joined_.joined_ops}, Count{ops}));
    row(clock() + ", a run", format_time(seconds(joined_.joined) / runs()),
        format_time(seconds(joined_.total) / runs()),
        format_percent(seconds(joined_.joined), seconds(joined_.total)));
    section.remarks.push_back(fmt::format(
        "{} events, {} calls of ops, {}", format_exact(joined_.events), format_exact(joined_.calls),
        joined_.steps > 0 ? plural(joined_.steps, "step") + " marked by the profiler"
                          : "no profiler steps: runs are separated by their ops"));
    return section;
  }

  // A name once for each kind of op that it works for.
  struct KernelRow {
    std::string_view name, op;
    std::uint64_t count = 0;
    Nanoseconds total = 0;
  };
  std::vector<KernelRow> kernel_rows() const {
    std::map<std::pair<std::string_view, std::string_view>, KernelRow> by_name;
    for (const JoinedKernel& kernel : joined_.kernels) {
      const std::string_view op = short_op_name(graph_.op_name(graph_.ops[kernel.op]));
      KernelRow& row = by_name[{kernel.name, op}];
      row.name = kernel.name, row.op = op;
      row.count += kernel.count, row.total += kernel.total;
    }
    std::vector<KernelRow> rows;
    for (const auto& [key, row] : by_name) rows.push_back(row);
    std::ranges::stable_sort(rows, std::ranges::greater{}, &KernelRow::total);
    return rows;
  }

  std::vector<Cell> amount_cells(std::uint64_t count, Nanoseconds total) const {
    const double each = static_cast<double>(count) / runs();
    return {{each == std::floor(each) ? fmt::format("{:.0f}", each) : format_ratio(each)},
            {format_time(seconds(total) / runs())},
            {format_percent(seconds(total), seconds(joined_.total))}};
  }
  static void add_amounts(std::vector<Column>& columns) {
    for (const char* title : {"A run", "Time", "Share"}) columns.push_back({title});
  }
  void add_more(Section& section, std::size_t rows) const {
    if (rows > shown()) section.remarks.push_back(fmt::format("{} more with --verbose", rows - shown()));
  }

  Section kernel_section() const {
    Section section{"Kernels",
                    {{{.title = "Kernel", .align = Align::kLeft, .min_width = 24, .good_width = 60},
                      {.title = "Op", .align = Align::kLeft}},
                     {}},
                    {}};
    add_amounts(section.table.columns);
    const auto rows = kernel_rows();
    for (const KernelRow& row : rows) {
      if (section.table.rows.size() == shown()) break;
      std::vector<Cell> cells{{std::string(row.name)}, {std::string(row.op)}};
      for (Cell& cell : amount_cells(row.count, row.total)) cells.push_back(std::move(cell));
      section.table.rows.push_back(std::move(cells));
    }
    add_more(section, rows.size());
    return section;
  }

  Section rest_section() const {
    Section section{
        fmt::format("Not joined, {} of {}",
                    format_percent(seconds(joined_.total - joined_.joined), seconds(joined_.total)), clock()),
        {{{.title = "Not joined", .align = Align::kLeft, .min_width = 24, .good_width = 40},
          {.title = "Why", .align = Align::kLeft, .min_width = 20, .good_width = 48}},
         {}},
        {}};
    add_amounts(section.table.columns);
    for (const NotJoined& row : joined_.not_joined) {
      if (section.table.rows.size() == std::max<std::size_t>(shown(), 1)) break;
      std::vector<Cell> cells{{row.name}, {row.reason, Style::kQuiet}};
      for (Cell& cell : amount_cells(row.count, row.total)) cells.push_back(std::move(cell));
      section.table.rows.push_back(std::move(cells));
    }
    add_more(section, joined_.not_joined.size());
    return section;
  }

  Section missing_section() const {
    Section section{"Ops that are not in the trace",
                    {{{"Ops that are not in the trace", Align::kLeft}, {"Count"}}, {}},
                    {}};
    std::map<std::string_view, std::uint64_t> counts;
    for (const OpId op : joined_.missing) ++counts[graph_.op_name(graph_.ops[op])];
    for (const auto& [name, count] : counts)
      section.table.rows.push_back({{std::string(name)}, {format_exact(count)}});
    return section;
  }

  const Profile& profile_;
  const Graph& graph_;
  const JoinedTrace& joined_;
  const std::string& file_;
  const TextOptions& options_;
};

}  // namespace

std::string joined_trace_report(const Profile& profile, const JoinedTrace& joined, const std::string& file,
                                Format format, const TextOptions& options) {
  return in_format(
      format, options, [&] { return joined_trace_json(profile, joined, file); },
      [&] { return joined_trace_csv(profile, joined); },
      [&] { return TraceDocument(profile, joined, file, options).run(); });
}

}  // namespace opscope
