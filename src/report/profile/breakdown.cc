// Where FLOPs, bytes and time go: by op type, with what that suggests, and the layers that cost most.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>

#include "base/text.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"
#include "report/profile/columns.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 12;

struct ShownType {
  std::string label;
  Metrics metrics;
  Style style = Style::kPlain;
};

// The bar is of what the table is about.
Columns<ShownType> type_columns(const Profile& profile) {
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
  Columns<ShownType> columns{{words("Operations", 16), &ShownType::label}};
  return columns += through<ShownType>(&ShownType::metrics, metrics);
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

// Costliest first; equal ones in execution order.
std::vector<std::size_t> ranking(const Profile& profile, const Metric& sort) {
  std::vector<std::size_t> order(profile.layers().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) {
    const LayerRow& layer = profile.layers()[i];
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

Columns<std::size_t> top_columns(const Profile& profile, const TextOptions& options, const OpTimes* times,
                                 const std::string& heading) {
  const auto layer = [&profile](const auto& read) {
    return [&profile, read](std::size_t i) { return Cell(read(profile.layers()[i])); };
  };
  const auto metrics = [&](std::string_view names) {
    return through<std::size_t>([&](std::size_t i) -> const Metrics& { return profile.layers()[i].metrics; },
                                shown_columns(profile, names));
  };
  using Row = const LayerRow&;
  Column params = number("Params", Unit::kParams);
  params.optional = options.sort->key != "params";
  Columns<std::size_t> columns{
      {words(heading, std::max(24, display_width(heading)), 40), layer([](Row row) { return row.name; })},
      {words("Type", 10), layer([](Row row) { return Cell(row.type, Style::kQuiet); })},
      {params, layer([](Row row) { return row.parameters.total; })}};
  if (options.show_shapes)
    columns +=
        {{words("Output", 10), layer([&](Row row) { return shape_cell(*profile.graph, row.output); })}};
  if (times) {
    columns += metrics("time_seconds time_seconds%");
    columns += {{spread_column(), [=](std::size_t i) { return spread_cell(times->of_layer(i)); }}};
    columns += metrics(options.sort->key == "memory_bytes" ? "flops? memory_bytes" : "flops? memory_bytes?");
    columns += through<std::size_t>(
        [&](std::size_t i) -> const Metrics& { return profile.layers()[i].metrics; }, rate_columns(profile));
  } else {
    columns +=
        metrics(has_device(profile) ? "macs? flops flops%? memory_bytes arithmetic_intensity roofline_seconds"
                                    : "macs? flops flops%? memory_bytes arithmetic_intensity");
  }
  const Metric& sort = *options.sort;
  if (needs_column(profile, sort))
    columns +=
        {{number(std::string(sort.title)), layer([&](Row row) {
            return text(sort, *amount_of(sort, costs_of(profile, row.metrics, &row.parameters)), Zero::kDash);
          })}};
  Column bound = words("Bound");
  bound.optional = times != nullptr;
  return columns +=
         {{bound,
           layer([&](Row row) { return has_device(profile) ? bound_cell(row.metrics) : bound_cell(row); })}};
}

}  // namespace

Section breakdown_section(const Profile& profile, const TextOptions& options) {
  const std::vector<TypeRow> types = sorted_types(profile);
  const std::size_t shown = shown_types(types, options);
  std::vector<ShownType> rows;
  for (std::size_t t = 0; t < shown; ++t) rows.push_back({types[t].type, types[t].metrics});
  if (shown < types.size()) {
    Metrics rest;
    for (std::size_t t = shown; t < types.size(); ++t) rest += types[t].metrics;
    rows.push_back({rest_label(types, shown, rest), rest, Style::kQuiet});
  }
  Section section{"Operations",
                  table_of<ShownType>(type_columns(profile), rows, In::kPeople, &ShownType::style)};
  for (const Advice& advice : profile.advice()) {
    section.remarks.push_back(advice.finding + ":");
    for (const auto suggestion : advice.suggestions)
      section.remarks.push_back("  - " + std::string(suggestion));
  }
  return section;
}

Section top_layers_section(const Profile& profile, const TextOptions& asked) {
  TextOptions options = asked;
  options.sort = &known_sort(profile, *asked.sort);
  const std::size_t all = profile.layers().size();
  const std::size_t shown = shown_of(all, options);
  auto order = ranking(profile, *options.sort);
  order.resize(shown);
  const std::string heading = (shown == all ? "All" : fmt::format("Top {} of", shown)) +
                              fmt::format(" {} layers by {}", all, options.sort->words);
  std::optional<OpTimes> times;
  if (is_measured(profile)) times.emplace(profile);
  return {heading, table_of(top_columns(profile, options, times ? &*times : nullptr, heading), order)};
}

}  // namespace opscope
