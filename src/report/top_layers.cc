// The layers that cost most, by the measure asked for.
#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "report/document.h"

namespace opscope {
namespace {

double measure(const LayerRow& layer, Sort sort) {
  switch (sort) {
    case Sort::kFlops:
      return static_cast<double>(layer.metrics.flops);
    case Sort::kMacs:
      return static_cast<double>(layer.metrics.work.macs);
    case Sort::kMemoryBytes:
      return static_cast<double>(layer.metrics.memory_bytes());
    case Sort::kParams:
      return static_cast<double>(layer.parameters.total);
    case Sort::kArithmeticIntensity:
      return layer.metrics.arithmetic_intensity();
  }
  return 0;
}

std::string_view title(Sort sort) {
  switch (sort) {
    case Sort::kFlops:
      return "FLOPs";
    case Sort::kMacs:
      return "MACs";
    case Sort::kMemoryBytes:
      return "memory";
    case Sort::kParams:
      return "parameters";
    case Sort::kArithmeticIntensity:
      return "arithmetic intensity";
  }
  return "";
}

// Costliest first; equal ones in execution order.
std::vector<std::size_t> ranking(const Profile& profile, Sort sort) {
  std::vector<std::size_t> order(profile.layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{},
                           [&](std::size_t i) { return measure(profile.layers[i], sort); });
  return order;
}

std::vector<Cell> cells(const Profile& profile, const TextOptions& options, const LayerRow& layer) {
  const Metrics& metrics = layer.metrics;
  std::vector<Cell> result{{std::string(layer.name)},
                           {std::string(layer.type), Style::kQuiet},
                           {format_params(layer.parameters.total, Zero::kDash)}};
  if (options.show_shapes) result.push_back({shape_text(*profile.graph, layer.output)});
  result.push_back({format_count(metrics.work.macs, Zero::kDash)});
  result.push_back({flops_text(metrics)});
  result.push_back({format_percent(metrics.flops, profile.totals.flops, Zero::kDash)});
  result.push_back({format_bytes(metrics.memory_bytes(), Zero::kDash)});
  result.push_back({format_ratio(metrics.arithmetic_intensity(), Zero::kDash)});
  const bool compute = layer.bottleneck == Bottleneck::kComputeBound;
  result.push_back(metrics.counts()
                       ? Cell{compute ? "compute" : "memory", compute ? Style::kGood : Style::kWarning}
                       : Cell{"-", Style::kQuiet});
  return result;
}

}  // namespace

Section top_layers_section(const Profile& profile, const TextOptions& options) {
  const std::size_t all = profile.layers.size();
  const std::size_t shown =
      options.verbose ? all : std::min(all, static_cast<std::size_t>(std::max(options.top, 0)));
  const std::string heading =
      (shown == all ? "All " + std::to_string(all) + " layers by "
                    : "Top " + std::to_string(shown) + " of " + std::to_string(all) + " layers by ") +
      std::string(title(options.sort));
  Section section{heading,
                  {{{heading, Align::kLeft, std::max(24, display_width(heading))},
                    {"Type", Align::kLeft, 10},
                    {.title = "Params", .optional = options.sort != Sort::kParams}},
                   {}},
                  {}};
  auto& columns = section.table.columns;
  if (options.show_shapes) columns.push_back({"Output", Align::kLeft, 10});
  columns.push_back({.title = "MACs", .optional = true});
  columns.push_back({"FLOPs"});
  columns.push_back({.title = "% FLOPs", .optional = true});
  for (const char* name : {"Memory", "AI"}) columns.push_back({name});
  columns.push_back({"Bound", Align::kLeft});
  const auto order = ranking(profile, options.sort);
  for (std::size_t i = 0; i < shown; ++i)
    section.table.rows.push_back(cells(profile, options, profile.layers[order[i]]));
  return section;
}

}  // namespace opscope
