// Where FLOPs, bytes and time go: by op type, with what that suggests, and the layers that cost most.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "base/text.h"
#include "report/hardware/hardware.h"
#include "report/profile/columns.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 12;

// The bar is of what the table is about.
Columns<TypeRow> type_columns(const Profile& profile) {
  const bool measured = is_measured(profile), device = has_device(profile);
  Columns<Metrics> metrics =
      shown_columns(profile, measured ? "ops time_seconds time_seconds% flops flops%? memory_bytes"
                             : device ? "ops flops flops% memory_bytes memory_bytes% arithmetic_intensity "
                                        "roofline_seconds roofline_seconds%"
                                      : "ops flops flops% memory_bytes memory_bytes% arithmetic_intensity");
  if (measured) metrics += rate_columns(profile);
  const auto amount = [=](const Metrics& m) {
    return measured ? m.time : device ? m.roofline_time : m.flops;
  };
  const auto whole = static_cast<double>(amount(profile.totals));
  metrics += {{words(""), [=](const Metrics& m) {
                 return bar_cell(whole > 0 ? static_cast<double>(amount(m)) / whole : 0, Style::kGood);
               }}};
  Columns<TypeRow> columns{{words("Operations", 16), &TypeRow::type}};
  return columns += through<TypeRow>(&TypeRow::metrics, metrics);
}

// By time where it was measured.
std::vector<TypeRow> sorted_types(const Profile& profile) {
  std::vector<TypeRow> types = profile.types();
  if (is_measured(profile))
    std::ranges::stable_sort(types, std::greater{}, [](const TypeRow& row) { return row.metrics.time; });
  return types;
}

bool shows(const Metrics& metrics) { return metrics.counts() || metrics.time; }

// Types that do work or move bytes, up to a screenful.
std::size_t shown_types(const std::vector<TypeRow>& types, const TextOptions& options) {
  std::size_t shown = types.size();
  if (options.verbose) return shown;
  while (shown > 0 && !shows(types[shown - 1].metrics)) --shown;
  return shown > kTypesShown ? kTypesShown - 1 : shown;
}

std::string rest_label(const std::vector<TypeRow>& types, std::size_t shown, const Metrics& rest) {
  const std::size_t count = types.size() - shown;
  if (count == 1) return types[shown].type;
  return std::to_string(count) + (shows(rest) ? " other types" : " types that cost nothing");
}

// The order asked for, where the profile has what it goes by. What was measured is shown in any case: it
// cannot be had again.
const Metric& known_sort(const Profile& profile, const Metric& sort) {
  if (sort.need == kNeedsDevice && !has_device(profile) && is_measured(profile))
    return metric_at("time_seconds");
  require_known(sort, costs_of(profile, profile.totals, &profile.parameters), "--sort");
  return sort;
}

using Layer = const LayerRow*;

// Costliest first; equal ones in execution order.
std::vector<Layer> ranking(const Profile& profile, const Metric& sort) {
  std::vector<Layer> order;
  for (const LayerRow& layer : profile.layers()) order.push_back(&layer);
  std::ranges::stable_sort(order, std::greater{}, [&](Layer layer) {
    return value_of(sort, costs_of(profile, layer->metrics, &layer->parameters));
  });
  return order;
}

Cell bound_cell(const LayerRow& layer) {
  if (!layer.metrics.counts()) return {"-", Style::kQuiet};
  const bool compute = layer.bottleneck == Bottleneck::kComputeBound;
  return {compute ? "compute" : "memory", compute ? Style::kGood : Style::kWarning};
}

Columns<Layer> top_columns(const Profile& profile, const Metric& sort, bool show_shapes, const OpTimes* times,
                           const std::string& heading) {
  Column params = keyed("params", number("Params", Unit::kParams)), bound = words("Bound");
  params.optional = sort.key != "params";
  bound.optional = times != nullptr;
  Columns<Layer> columns{
      {words(heading, std::max(24, display_width(heading)), 40), [](Layer layer) { return layer->name; }},
      {words("Type", 10), [](Layer layer) { return Cell(layer->type, Style::kQuiet); }},
      {params, [](Layer layer) { return layer->parameters.total; }}};
  if (show_shapes)
    columns +=
        {{words("Output", 10), [&](Layer layer) { return shape_cell(*profile.graph, layer->output); }}};
  const auto metrics = [](Layer layer) -> const Metrics& { return layer->metrics; };
  if (times)
    columns += timed_columns<Layer>(
        profile, metrics,
        [&profile, times](Layer layer) {
          return times->of_layer(static_cast<std::size_t>(layer - profile.layers().data()));
        },
        "time_seconds time_seconds%",
        sort.key == "memory_bytes" ? "flops? memory_bytes" : "flops? memory_bytes?");
  else
    columns += through<Layer>(
        metrics, shown_columns(profile, has_device(profile) ? "macs? flops flops%? memory_bytes "
                                                              "arithmetic_intensity roofline_seconds"
                                                            : "macs? flops flops%? memory_bytes "
                                                              "arithmetic_intensity"));
  // What is sorted by is shown, also where the table has no column of it.
  if (std::ranges::none_of(columns, [&](const auto& of) { return of.column.key == sort.key; }))
    columns += {{number(std::string(sort.title)), [&](Layer layer) {
                   const Costs costs = costs_of(profile, layer->metrics, &layer->parameters);
                   return text(sort, *amount_of(sort, costs), Zero::kDash);
                 }}};
  return columns += {{bound, [&](Layer layer) {
                        return has_device(profile) ? bound_cell(layer->metrics) : bound_cell(*layer);
                      }}};
}

}  // namespace

Section breakdown_section(const Profile& profile, const TextOptions& options) {
  std::vector<TypeRow> rows = sorted_types(profile);
  const std::size_t shown = shown_types(rows, options);
  const bool cut = shown < rows.size();
  if (cut) {
    TypeRow rest;
    for (std::size_t t = shown; t < rows.size(); ++t) rest.metrics += rows[t].metrics;
    rest.type = rest_label(rows, shown, rest.metrics);
    rows.resize(shown);
    rows.push_back(rest);
  }
  const auto style = [&](const TypeRow& row) {
    return cut && &row == &rows.back() ? Style::kQuiet : Style::kPlain;
  };
  Section section{"Operations", table_of<TypeRow>(type_columns(profile), rows, In::kPeople, style)};
  for (const Advice& advice : profile.advice()) {
    section.remarks.push_back(advice.finding + ":");
    for (const auto suggestion : advice.suggestions)
      section.remarks.push_back("  - " + std::string(suggestion));
  }
  return section;
}

Section top_layers_section(const Profile& profile, const TextOptions& options) {
  const Metric& sort = known_sort(profile, *options.sort);
  auto order = ranking(profile, sort);
  const std::size_t all = order.size(), shown = shown_of(all, options);
  order.resize(shown);
  const std::string heading = (shown == all ? "All" : fmt::format("Top {} of", shown)) +
                              fmt::format(" {} layers by {}", all, sort.words);
  std::optional<OpTimes> times;
  if (is_measured(profile)) times.emplace(profile);
  return {
      heading,
      table_of(top_columns(profile, sort, options.show_shapes, times ? &*times : nullptr, heading), order)};
}

}  // namespace opscope
