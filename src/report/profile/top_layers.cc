// The layers that cost most, by the measure asked for.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/text.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"
#include "report/times/times.h"

namespace opscope {
namespace {

// The order asked for, where the profile has what it goes by. What was measured is shown in any case: it
// cannot be had again.
const Metric& known_sort(const Profile& profile, const Metric& sort) {
  if (sort.need == kNeedsDevice && !has_device(profile) && is_measured(profile))
    return metric_at("time_seconds");
  require_known(sort, costs_of(profile, profile.totals, &profile.parameters), "--sort");
  return sort;
}

// Costliest first; equal ones in execution order.
std::vector<std::size_t> ranking(const Profile& profile, const Metric& sort) {
  std::vector<std::size_t> order(profile.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) {
    const LayerRow& layer = profile.layers[i];
    return value_of(sort, costs_of(profile, layer.metrics, &layer.parameters));
  });
  return order;
}

// What is sorted by is shown, also where the table has no column of it.
bool needs_column(const Profile& profile, const Metric& sort) {
  static constexpr std::array<std::string_view, 5> kShown{"params", "macs", "flops", "memory_bytes",
                                                          "arithmetic_intensity"};
  static constexpr std::array<std::string_view, 6> kMeasured{
      "params", "time_seconds", "flops", "memory_bytes", "flops_per_second", "bytes_per_second"};
  if (is_measured(profile)) return std::ranges::find(kMeasured, sort.key) == kMeasured.end();
  return sort.need != kNeedsDevice && std::ranges::find(kShown, sort.key) == kShown.end();
}

Cell bound_cell(const LayerRow& layer) {
  if (!layer.metrics.counts()) return {"-", Style::kQuiet};
  const bool compute = layer.bottleneck == Bottleneck::kComputeBound;
  return {compute ? "compute" : "memory", compute ? Style::kGood : Style::kWarning};
}

std::vector<Cell> cells(const Profile& profile, const TextOptions& options, const OpTimes* times,
                        std::size_t index) {
  const LayerRow& layer = profile.layers[index];
  const Metrics& metrics = layer.metrics;
  std::vector<Cell> result{{std::string(layer.name)},
                           {std::string(layer.type), Style::kQuiet},
                           {format_params(layer.parameters.total, Zero::kDash)}};
  const auto add = [&](std::string text) { result.push_back({std::move(text)}); };
  if (options.show_shapes) add(shape_text(*profile.graph, layer.output));
  if (times) {
    add_time_cells(profile, metrics, times->of_layer(index), Style::kPlain, result);
    add(flops_text(metrics)), add(format_bytes(metrics.memory_bytes(), Zero::kDash));
    add_rate_cells(profile, metrics, Style::kPlain, result);
  } else {
    add(format_count(metrics.work.macs, Zero::kDash)), add(flops_text(metrics));
    add(format_percent(metrics.flops, profile.totals.flops, Zero::kDash));
    add(format_bytes(metrics.memory_bytes(), Zero::kDash));
    add(format_ratio(metrics.arithmetic_intensity(), Zero::kDash));
    if (has_device(profile)) add(roofline_text(metrics));
  }
  if (needs_column(profile, *options.sort))
    add(text(*options.sort, *amount_of(*options.sort, costs_of(profile, metrics, &layer.parameters)),
             Zero::kDash));
  result.push_back(has_device(profile) ? bound_cell(metrics) : bound_cell(layer));
  return result;
}

void add_columns(const Profile& profile, const TextOptions& options, std::vector<Column>& columns) {
  const auto add = [&](std::vector<Column> more) { append(columns, std::move(more)); };
  if (options.show_shapes) add({{"Output", Align::kLeft, 10}});
  if (is_measured(profile)) {
    add(time_columns());
    add({{.title = "FLOPs", .optional = true},
         {.title = "Memory", .optional = options.sort->key != "memory_bytes"}});
    add(rate_columns(profile));
  } else {
    add({{.title = "MACs", .optional = true}, {"FLOPs"}, {.title = "% FLOPs", .optional = true}});
    add({{"Memory"}, {"AI"}});
    if (has_device(profile)) add({{"Roofline"}});
  }
  if (needs_column(profile, *options.sort)) add({{std::string(options.sort->title)}});
  add({{.title = "Bound", .align = Align::kLeft, .optional = is_measured(profile)}});
}

}  // namespace

Section top_layers_section(const Profile& profile, const TextOptions& asked) {
  TextOptions options = asked;
  options.sort = &known_sort(profile, *asked.sort);
  const std::size_t all = profile.layers.size();
  const std::size_t shown =
      options.verbose ? all : std::min(all, static_cast<std::size_t>(std::max(options.top, 0)));
  const std::string heading =
      (shown == all ? "All " + std::to_string(all) + " layers by "
                    : "Top " + std::to_string(shown) + " of " + std::to_string(all) + " layers by ") +
      std::string(options.sort->words);
  Section section{heading,
                  {{{.title = heading,
                     .align = Align::kLeft,
                     .min_width = std::max(24, display_width(heading)),
                     .good_width = 40},
                    {"Type", Align::kLeft, 10},
                    {.title = "Params", .optional = options.sort->key != "params"}},
                   {}},
                  {}};
  add_columns(profile, options, section.table.columns);
  std::optional<OpTimes> times;
  if (is_measured(profile)) times.emplace(profile);
  const auto order = ranking(profile, *options.sort);
  for (std::size_t i = 0; i < shown; ++i)
    section.table.rows.push_back(cells(profile, options, times ? &*times : nullptr, order[i]));
  return section;
}

}  // namespace opscope
