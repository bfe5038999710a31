// Costs by op type, the small ones together.
#include <algorithm>
#include <tuple>

#include "analyse/plot.h"
#include "base/error.h"

namespace opscope {
namespace {

Count value_of(const TypeRow& row, PlotMetric metric) {
  switch (metric) {
    case PlotMetric::kFlops:
      return row.metrics.flops;
    case PlotMetric::kMacs:
      return row.metrics.work.macs;
    case PlotMetric::kMemoryBytes:
      return row.metrics.memory_bytes();
    case PlotMetric::kParams:
      break;
  }
  throw Error("op types have no parameters", "--metric", "choose flops, macs or memory-bytes");
}

}  // namespace

TypesPlot make_types_plot(const Profile& profile, PlotMetric metric, std::size_t top) {
  TypesPlot plot{.metric = metric, .rows = profile.types, .totals = profile.totals};
  std::erase_if(plot.rows, [](const TypeRow& row) { return !row.metrics.counts(); });
  std::ranges::stable_sort(plot.rows, std::ranges::greater{}, [&](const TypeRow& row) {
    return std::tuple(value_of(row, metric), row.metrics.memory_bytes());
  });
  if (plot.rows.size() > std::max<std::size_t>(top, 1)) {
    const std::size_t shown = std::max<std::size_t>(top, 1);
    plot.others = plot.rows.size() - shown;
    for (std::size_t i = shown; i < plot.rows.size(); ++i) plot.rest += plot.rows[i].metrics;
    plot.rows.resize(shown);
  }
  return plot;
}

}  // namespace opscope
