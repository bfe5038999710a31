// Costs by op type, the small ones together.
#include <algorithm>
#include <tuple>

#include "analyse/plot/plot.h"
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
    case PlotMetric::kTime:
      return row.metrics.time;
    case PlotMetric::kParams:
      break;
  }
  throw Error("op types have no parameters", "--metric", "choose flops, macs or memory-bytes");
}

double share(Count part, Count whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

TypesPlot make_types_plot(const Profile& profile, PlotMetric metric, std::size_t top) {
  require_measured(profile, metric);
  TypesPlot plot{.metric = metric, .rows = profile.types, .totals = profile.totals};
  std::erase_if(plot.rows, [](const TypeRow& row) { return !row.metrics.counts() && !row.metrics.time; });
  const TypeRow all{.type = {}, .metrics = plot.totals};
  // By the larger share first, so that what moves many bytes and computes little is shown too.
  std::ranges::stable_sort(plot.rows, std::ranges::greater{}, [&](const TypeRow& row) {
    return std::max(share(value_of(row, metric), value_of(all, metric)),
                    share(row.metrics.memory_bytes(), plot.totals.memory_bytes()));
  });
  if (const std::size_t shown = std::max<std::size_t>(top, 1); plot.rows.size() > shown + 1) {
    plot.others = plot.rows.size() - shown;
    for (std::size_t i = shown; i < plot.rows.size(); ++i) plot.rest += plot.rows[i].metrics;
    plot.rows.resize(shown);
  }
  std::ranges::stable_sort(plot.rows, std::ranges::greater{}, [&](const TypeRow& row) {
    return std::tuple(value_of(row, metric), row.metrics.memory_bytes());
  });
  return plot;
}

}  // namespace opscope
