// The model as a whole: its totals, each with what it is made of; what limits its ops; the graphs that a
// tracer cut it into; and where FLOPs, bytes and time go, by op type and by layer.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "base/text.h"
#include "report/hardware/hardware.h"
#include "report/memory/report.h"
#include "report/predict/predict.h"
#include "report/profile/sections.h"
#include "report/times/times.h"

namespace opscope {
namespace {

std::string parameter_detail(const Parameters& parameters) {
  if (!parameters.total) return "";
  const Count frozen = parameters.total - parameters.trainable;
  return fmt::format("{}, {}, shared ones once", format_bytes(parameters.bytes),
                     !frozen                 ? "all trainable"
                     : !parameters.trainable ? "none trainable"
                                             : format_params(parameters.trainable) + " trainable, " +
                                                   format_params(frozen) + " not");
}

// "of a token: 2 of 8 experts in 32 layers; 12.7G without embedding tables"
std::string active_detail(const ExpertFacts& facts) {
  const ExpertKind kind = facts.kinds().front();
  std::string text = fmt::format("used by a token: {} of {} experts in {}", format_exact(kind.choice.chosen),
                                 format_exact(kind.choice.experts), plural(kind.layers, "layer"));
  if (facts.active_without_embedding != facts.active_parameters)
    text += fmt::format("; {} without embedding tables", format_params(*facts.active_without_embedding));
  return text;
}

// "5.5 of 8 read in a layer, 2 to 8 possible (--routing); 90.2GB in all"
std::string reach_detail(const Profile& profile) {
  const ExpertFacts& facts = profile.experts.facts();
  const ExpertKind kind = facts.kinds().front();
  const Choice& choice = kind.choice;
  std::string text = fmt::format("of {} read in a layer", format_exact(choice.experts));
  if (kind.is_dense) return text + ": the model multiplies by all";
  text += fmt::format(" by {} tokens", format_exact(choice.tokens));
  if (choice.tokens == Count{1}) text.pop_back();
  if (choice.is_certain()) return text;
  return text + fmt::format(", routing {}; {} to {} possible", opscope::text(profile.experts.routing()),
                            format_exact(choice.least()), format_exact(choice.most()));
}

std::string flops_detail(const Profile& profile) {
  static constexpr std::array<std::string_view, 4> kOthers{
      "", "one per MAC and nothing else (--convention macs)",
      "what torch's FlopCounterMode counts (--convention torch)",
      "what fvcore counts, one per MAC (--convention fvcore)"};  // by Convention
  if (profile.options.convention != Convention::kOpscope)
    return std::string(kOthers[static_cast<std::size_t>(profile.options.convention)]);
  const Work& work = profile.totals.work;
  std::string text =
      fmt::format("2 x {} MACs + {} other", format_count(work.macs), format_count(work.other_flops));
  if (work.specials) text += " + " + format_count(work.specials) + " special (exp, tanh, ...)";
  return text;
}

std::string memory_detail(const Traffic& traffic) {
  return fmt::format("{} inputs + {} outputs + {} weights", format_bytes(traffic.input_bytes),
                     format_bytes(traffic.output_bytes), format_bytes(traffic.weight_bytes));
}

std::string peak_detail(const Profile& profile) {
  const MemoryTimeline& memory = profile.memory();
  std::string text = split_text(memory.at_peak, 2);
  if (memory.peak_op != kNone) text += fmt::format(", at {}", layer_name(profile, memory.peak_op));
  if (memory.library.most) text += "; " + library_text(memory.library);
  return text;
}

std::string subgraph_detail(const Partition& partition) {
  if (partition.options.strategy == Strategy::kEachOp) return "one op each (--partition none)";
  const Count saved = partition.unfused_bytes - partition.fused_bytes;
  return fmt::format("{} moved if each is one kernel, {} less{}", format_bytes(partition.fused_bytes),
                     format_percent(saved, partition.unfused_bytes),
                     partition.options.strategy == Strategy::kLayer ? " (--partition layer)" : "");
}

// "of all ops, 97.1% of a run of 1.90 ms ±1.2%, over 50 runs on cuda:0"
std::string time_detail(const Profile& profile) {
  const Measurement& measured = profile.graph->measurement;
  const RunTimes runs = run_times(profile, OpTimes(profile));
  std::string text = "of all ops";
  if (runs.whole() > 0)
    text += fmt::format(", {} of a run of {} {}", share_text(runs.accounted()), format_time(runs.whole()),
                        spread_text(runs.on_device ? runs.plain_device : runs.plain));
  const std::string& device = measured.environment.device;
  return text + ", over " + plural(measured.runs, "run") + (device.empty() ? "" : " on " + device);
}

// How many ops, FLOPs and bytes are limited by arithmetic and how many by memory.
struct BandRow {
  std::string label;
  const Band* band;
  Style style = Style::kPlain;
};

constexpr std::size_t kTypesShown = 12;

// The bar is of what the table is about.
Columns<TypeRow> type_columns(const Profile& profile, bool predicted) {
  const bool measured = is_measured(profile), device = has_device(profile);
  std::string names = measured ? "ops time_seconds time_seconds% flops flops%? memory_bytes"
                               : "ops flops flops% memory_bytes memory_bytes% arithmetic_intensity";
  if (predicted)
    names = "ops predicted_seconds predicted_seconds% flops memory_bytes? predicted_bound";
  else if (device && !measured)
    names += " roofline_seconds? predicted_seconds predicted_seconds%";
  Columns<Metrics> metrics = shown_columns(profile, names);
  if (measured && !predicted) metrics += rate_columns(profile);
  const auto amount = [=](const Metrics& m) {
    return measured && !predicted ? m.time : device ? m.predicted_time : m.flops;
  };
  metrics += {{words(""), [=, whole = amount(profile.totals)](const Metrics& m) {
                 return bar_cell(amount(m), whole, Style::kGood);
               }}};
  Columns<TypeRow> columns{{words("Operations", 16), &TypeRow::type}};
  return columns += through<TypeRow>(&TypeRow::metrics, metrics);
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
  if ((sort.need == kNeedsDevice || sort.need == kNeedsPrediction) && !has_device(profile) &&
      is_measured(profile))
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

Columns<Layer> top_columns(const Profile& profile, const Metric& sort, const TextOptions& options,
                           const OpTimes* times, const std::string& heading) {
  const bool show_shapes = options.show_shapes, predicted = options.predicted;
  Column params = keyed("params", number("Params", Unit::kParams)), bound = words("Bound");
  params.optional = sort.key != "params";
  bound.optional = times != nullptr;
  Columns<Layer> columns{
      {words(heading, std::max(24, display_width(heading)), 40), [](Layer layer) { return layer->name; }},
      {words("Type", 10).quiet(), [](Layer layer) { return layer->type; }},
      {params, [](Layer layer) { return layer->parameters.total; }}};
  if (show_shapes)
    columns +=
        {{words("Output", 10), [&](Layer layer) { return shape_cell(*profile.graph, layer->output); }}};
  const auto metrics = [](Layer layer) -> const Metrics& { return layer->metrics; };
  if (times)
    columns += timed_columns<Layer>(
        profile, metrics,
        [&profile, times](Layer layer) { return times->of_layer(index_in(profile.layers(), *layer)); },
        "time_seconds time_seconds%",
        sort.key == "memory_bytes" ? "flops? memory_bytes" : "flops? memory_bytes?");
  else
    columns += through<Layer>(
        metrics, shown_columns(profile, predicted ? "flops? memory_bytes?"
                                                  : "macs? flops flops%? memory_bytes arithmetic_intensity"));
  if (!times && has_device(profile))
    columns +=
        through<Layer>(metrics, shown_columns(profile, predicted ? "predicted_seconds predicted_seconds%"
                                                                 : "roofline_seconds? predicted_seconds"));
  // What is sorted by is shown, also where the table has no column of it.
  if (std::ranges::none_of(columns, [&](const auto& of) { return of.column.key == sort.key; }))
    columns += {{number(std::string(sort.title)), [&](Layer layer) {
                   const Costs costs = costs_of(profile, layer->metrics, &layer->parameters);
                   return text(sort, *amount_of(sort, costs), Zero::kDash);
                 }}};
  return columns += {{bound, [&](Layer layer) {
                        if (predicted) return predicted_bound_cell(layer->metrics);
                        return has_device(profile) ? bound_cell(layer->metrics) : bound_cell(*layer);
                      }}};
}

}  // namespace

Section summary_section(const Profile& profile) {
  Facts section("Summary");
  const auto add = [&](auto... cells) { section.add(std::move(cells)...); };
  const Metrics& totals = profile.totals;
  const Parameters& parameters = profile.parameters;
  add("Parameters", format_params(parameters.total), parameter_detail(parameters));
  if (const ExpertFacts& facts = profile.experts.facts(); !facts.empty()) {
    if (facts.active_parameters) add("Active", format_params(*facts.active_parameters), active_detail(facts));
    const ExpertKind kind = facts.kinds().front();
    add("Experts",
        kind.is_dense ? format_exact(kind.choice.experts)
                      : format_experts(kind.choice.reached(profile.experts.routing())),
        reach_detail(profile));
  }
  add("Buffers", format_params(parameters.buffers),
      parameters.buffers ? format_bytes(parameters.buffer_bytes) : "");
  add("MACs", format_count(totals.work.macs), "");
  add("FLOPs", flops_text(totals), flops_detail(profile));
  add("Bytes moved", format_bytes(totals.memory_bytes()), memory_detail(totals.traffic));
  add("Peak memory", format_bytes(profile.memory().peak_memory_bytes()), peak_detail(profile));
  add("Intensity", format_ratio(totals.arithmetic_intensity()), "FLOPs per byte moved");
  if (is_measured(profile)) add("Time", format_time(totals.time_seconds()), time_detail(profile));
  add("Ops", std::to_string(totals.ops),
      "in " + plural(profile.layers().size(), "layer") + " of " + plural(profile.modules().size(), "module"));
  if (const auto outputs = output_texts(*profile.graph); outputs.size() > 1)
    add("Outputs", std::to_string(profile.graph->outputs.size()), join(outputs));
  add("Subgraphs", std::to_string(profile.partition().subgraphs.size()),
      subgraph_detail(profile.partition()));
  return section;
}

Section bottleneck_section(const Profile& profile) {
  const BottleneckSummary& summary = profile.bottlenecks();
  const Band &compute = summary.compute_bound, &memory = summary.memory_bound;
  const Band all{compute.ops + memory.ops, compute.flops + memory.flops,
                 compute.memory_bytes + memory.memory_bytes};
  // On a device each op has its own ridge: that of the units that do its products.
  const bool own_ridges = has_device(profile) && !profile.options.ridge_is_given;
  const auto at_ridge = [&](const char* sign) {
    return own_ridges ? "" : fmt::format("{} {:g}", sign, summary.ridge);
  };
  const std::vector<BandRow> rows{{"compute-bound" + at_ridge("   AI >"), &compute},
                                  {"memory-bound" + at_ridge("    AI <="), &memory},
                                  {"  AI > 100", &summary.over_100, Style::kQuiet},
                                  {"  AI 50 to 100", &summary.from_50_to_100, Style::kQuiet},
                                  {"  AI 10 to 50", &summary.from_10_to_50, Style::kQuiet},
                                  {"  AI < 10", &summary.under_10, Style::kQuiet}};
  Columns<BandRow> columns{{words("Bottlenecks"), &BandRow::label}};
  columns +=
      through<BandRow>([](const BandRow& row) -> const Band& { return *row.band; }, band_columns(all, "Ops"));
  return {"Bottlenecks", table_of<BandRow>(columns, rows, In::kPeople, &BandRow::style)};
}

Columns<Band> band_columns(const Band& all, const std::string& what) {
  return {
      {number(what), [](const Band& band) { return number_or_dash(band.ops); }},
      {number("% " + what), [=](const Band& band) { return share_cell(Count{band.ops}, Count{all.ops}); }},
      {number("FLOPs", Unit::kCount), &Band::flops},
      {number("% FLOPs"), [=](const Band& band) { return share_cell(band.flops, all.flops); }},
      {number("Bytes", Unit::kBytes), &Band::memory_bytes},
      {number("% Bytes"), [=](const Band& band) { return share_cell(band.memory_bytes, all.memory_bytes); }}};
}

// Dynamo's "torch_dynamo_resume_in_forward_at_14": what is left of a function after a break.
std::string function_text(std::string_view name) {
  constexpr std::string_view kPrefix = "torch_dynamo_resume_in_", kMark = "_at_";
  const auto mark = name.rfind(kMark);
  if (!name.starts_with(kPrefix) || mark == std::string_view::npos || mark < kPrefix.size())
    return std::string(name);
  return std::string(name.substr(kPrefix.size(), mark - kPrefix.size())) + ", from line " +
         std::string(name.substr(mark + kMark.size())) + " on";
}

Section parts_section(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<PartRow> rows = profile.parts();
  if (profile.outside().ops > 0) rows.push_back({kNone, 0, profile.outside()});
  const auto of_part = [](const auto& read) {
    return [=](const PartRow& row) { return row.part == kNone ? Cell("") : Cell(read(row)); };
  };
  Columns<PartRow> columns{
      {words(""),
       [](const PartRow& row) {
         return row.part == kNone ? "outside the graphs" : std::to_string(row.part + 1);
       }},
      {words("Function", 12), of_part([&](const PartRow& row) {
         return Cell(function_text(graph.parts[row.part].name), Style::kQuiet);
       })},
      {number("Calls"), of_part([&](const PartRow& row) { return graph.parts[row.part].calls; })},
      {number("Nodes"), of_part([](const PartRow& row) { return row.nodes; })}};
  columns += through<PartRow>(&PartRow::metrics, shown_columns(profile, "ops macs flops memory_bytes"));
  Section section = titled_section(plural(profile.parts().size(), "graph") + " of " + graph.capture.tracer,
                                   table_of(columns, rows));
  section.remarks.push_back("--graph-part N shows one of them on its own");
  return section;
}

Section breakdown_section(const Profile& profile, const TextOptions& options) {
  std::vector<TypeRow> rows = profile.types();
  if (options.predicted)
    std::ranges::stable_sort(rows, std::greater{},
                             [](const TypeRow& row) { return row.metrics.predicted_time; });
  else if (is_measured(profile))
    std::ranges::stable_sort(rows, std::greater{}, [](const TypeRow& row) { return row.metrics.time; });
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
  Section section{"Operations",
                  table_of<TypeRow>(type_columns(profile, options.predicted), rows, In::kPeople, style)};
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
  if (is_measured(profile) && !options.predicted) times.emplace(profile);
  return {heading, table_of(top_columns(profile, sort, options, times ? &*times : nullptr, heading), order)};
}

}  // namespace opscope
