// Costs by op type, the small ones together.
#include <algorithm>
#include <tuple>

#include "analyse/plot/plot.h"

namespace opscope {
namespace {

double share(Count part, Count whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

TypesPlot make_types_plot(const Profile& profile, const Metric& metric, std::size_t top) {
  require_known(metric, costs_of(profile, profile.totals), "--metric");
  TypesPlot plot{.metric = &metric, .rows = profile.types, .totals = profile.totals};
  std::erase_if(plot.rows, [](const TypeRow& row) { return !row.metrics.counts() && !row.metrics.time; });
  // By the larger share first, so that what moves many bytes and computes little is shown too.
  std::ranges::stable_sort(plot.rows, std::ranges::greater{}, [&](const TypeRow& row) {
    return std::max(share(plotted_count(metric, row.metrics), plotted_count(metric, plot.totals)),
                    share(row.metrics.memory_bytes(), plot.totals.memory_bytes()));
  });
  if (const std::size_t shown = std::max<std::size_t>(top, 1); plot.rows.size() > shown + 1) {
    plot.others = plot.rows.size() - shown;
    for (std::size_t i = shown; i < plot.rows.size(); ++i) plot.rest += plot.rows[i].metrics;
    plot.rows.resize(shown);
  }
  std::ranges::stable_sort(plot.rows, std::ranges::greater{}, [&](const TypeRow& row) {
    return std::tuple(plotted_count(metric, row.metrics), row.metrics.memory_bytes());
  });
  return plot;
}

}  // namespace opscope
