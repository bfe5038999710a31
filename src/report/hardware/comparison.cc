// One model on several devices: a column each, for the whole, for the costliest layers and for op types; the
// best is marked, and said in words.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "report/hardware/hardware.h"
#include "report/predict/predict.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 10;

using Profiles = std::span<const Profile>;

struct Comparison {
  Profiles profiles;
  const TextOptions& options;
  AffinityComparison found = compare_affinity(profiles);

  Document document() const {
    const Profile& first = profiles.front();
    Document document{model_cells(*first.graph), note_lines(first, options)};
    document.header.push_back({fmt::format("on {} devices", profiles.size())});
    document.sections = {whole(), types(), layers()};
    return document;
  }

  template <class Row>
  using Rows = const std::vector<Row>& (Profile::*)() const;

  // Rows that take the most on any of the devices, by their share of the whole there.
  template <class Row>
  std::vector<std::size_t> ranked(Rows<Row> rows) const {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < (profiles.front().*rows)().size(); ++i) {
      double most = 0;
      for (const Profile& profile : profiles)
        if (const double whole = profile.totals.predicted_seconds(); whole > 0)
          most = std::max(most, (profile.*rows)()[i].metrics.predicted_seconds() / whole);
      if (most > 0) order.push_back({-most, i});
    }
    std::ranges::sort(order);
    const auto indices = order | std::views::values;
    return {indices.begin(), indices.end()};
  }

  // A column a device, of rows that `cell` reads for one of them.
  template <class Row, class Read>
  Columns<Row> device_columns(const Read& cell) const {
    Columns<Row> columns;
    for (std::size_t i = 0; i < profiles.size(); ++i)
      columns.push_back(
          {number(profiles[i].roofline.device->id), [=](const Row& row) { return cell(row, i); }});
    return columns;
  }

  // What is said of each device, in a row.
  struct Fact {
    const char* label;
    std::function<std::string(const Profile&, const Affinity&)> text;
  };

  Section whole() const {
    using P = const Profile&;
    using A = const Affinity&;
    const std::vector<Fact> facts{
        {"Best", [&](P p, A) { return &p == &profiles[found.best] ? "*" : ""; }},
        {"Peak", [](P p, A) { return p.roofline.peak->rate.text; }},
        {"  of its products",
         [](P p, A) { return p.roofline.peak->dtype + " " + std::string(name(p.roofline.peak->units)); }},
        {"Bandwidth", [](P p, A) { return p.roofline.device->memory_bandwidth.text; }},
        {"Ridge", [](P p, A) { return format_ratio(p.roofline.ridge); }},
        {"Predicted", [](P p, A) { return predicted_text(p.totals); }},
        {"  p10 to p90", [](P p, A) { return predicted_range_text(p, p.totals); }},
        {"  against the best",
         [best = profiles[found.best].totals.predicted_seconds()](P p, A) {
           return best > 0 ? fmt::format("{:.2f}x", p.totals.predicted_seconds() / best) : "-";
         }},
        {"  host-bound",
         [](P p, A) { return format_percent(p.totals.predicted_wait, p.totals.predicted_time); }},
        {"Roofline", [](P p, A) { return roofline_text(p.totals); }},
        {"  compute-bound", [](P, A a) { return format_percent(a.compute_share, 1.0); }},
        {"  memory-bound", [](P, A a) { return format_percent(a.memory_share, 1.0); }},
        {"  as subgraphs",
         [](P p, A) {
           return (p.fused_roofline().unknown ? "≥" : "") +
                  format_time(static_cast<double>(p.fused_roofline().time) * kPicosecond);
         }},
        {"Memory",
         [](P p, A) { return p.roofline.device->memory_size ? p.roofline.device->memory_size->text : "-"; }},
        {"  fits", [](P, A a) { return !a.fits   ? "-"
                                       : *a.fits ? "yes"
                                                 : "no"; }}};
    const auto style = [](const Fact& fact) { return fact.label[0] == ' ' ? Style::kQuiet : Style::kPlain; };
    Columns<Fact> columns{{words("Devices", 16), [](const Fact& fact) { return fact.label; }}};
    columns += device_columns<Fact>([&](const Fact& fact, std::size_t i) {
      return Cell(fact.text(profiles[i], found.devices[i]), i == found.best ? Style::kStrong : Style::kPlain);
    });
    Section section{"Devices", table_of<Fact>(columns, facts, In::kPeople, style)};
    for (const std::string& finding : found.findings) section.remarks.push_back("- " + finding);
    return section;
  }

  // "12.3 us m"
  template <class Row>
  Columns<std::size_t> time_columns(Rows<Row> rows) const {
    return device_columns<std::size_t>([this, rows](std::size_t i, std::size_t device) {
      const Metrics& metrics = (profiles[device].*rows)()[i].metrics;
      const std::string bound = text_of(predicted_bound_cell(metrics));
      return predicted_text(metrics) + (metrics.predicted_time ? " " + bound.substr(0, 1) : "");
    });
  }

  Section types() const {
    const auto& rows = profiles.front().types();
    auto order = ranked<TypeRow>(&Profile::types);
    const std::size_t all = order.size();
    if (!options.verbose) order.resize(std::min(all, kTypesShown));
    Columns<std::size_t> columns{{words("Operations", 16), [&](std::size_t i) { return rows[i].type; }},
                                 {number("Ops"), [&](std::size_t i) { return rows[i].metrics.ops; }}};
    Section section{"Operations", table_of(columns += time_columns<TypeRow>(&Profile::types), order)};
    if (order.size() < all)
      section.remarks.push_back(plural(all - order.size(), "more type") + ": --verbose shows them");
    return section;
  }

  Section layers() const {
    const auto& rows = profiles.front().layers();
    auto order = ranked<LayerRow>(&Profile::layers);
    order.resize(shown_of(order.size(), options));
    Columns<std::size_t> columns{
        {words("", 24), [&](std::size_t i) { return rows[i].name; }},
        {words("Type", 10).or_not().quiet(), [&](std::size_t i) { return rows[i].type; }}};
    Section section =
        titled_section(fmt::format("Top {} of {} layers by predicted time", order.size(), rows.size()),
                       table_of(columns += time_columns<LayerRow>(&Profile::layers), order));
    section.remarks.push_back("c compute-bound   m memory-bound   h host-bound");
    return section;
  }
};

void write_comparison(JsonWriter& json, Profiles profiles, const AffinityComparison& found) {
  begin_report(json, *profiles.front().graph);
  json.field("best", profiles[found.best].roofline.device->id);
  json.list("findings", found.findings);
  const auto write_profile = [&](const Profile& profile) {
    Columns<Metrics> metrics = predicted_columns(profile);
    metrics += roofline_columns();
    Columns<TypeRow> types{{"type", &TypeRow::type},
                           {"ops", [](const TypeRow& row) { return row.metrics.ops; }}};
    types += through<TypeRow>(&TypeRow::metrics, metrics);
    Columns<LayerRow> layers{{"name", &LayerRow::name}, {"type", &LayerRow::type}};
    layers += through<LayerRow>(&LayerRow::metrics, metrics);
    write_hardware(json, profile);
    json.objects("types", types_by_roofline(profile),
                 [&](const TypeRow* row) { write_fields(json, types, *row); });
    write_rows(json, "layers", layers, profile.layers());
  };
  json.objects("devices", profiles, write_profile, JsonLayout::kLines);
}

// A row per layer, some columns per device.
Table layer_rows(Profiles profiles) {
  const Profile& first = profiles.front();
  Columns<LayerRow> columns{
      {"name", &LayerRow::name},
      {"type", &LayerRow::type},
      {"module", [&](const LayerRow& row) { return first.graph->path(first.graph->modules[row.module]); }},
      {"flops", [](const LayerRow& row) { return row.metrics.flops; }},
      {"memory_bytes", [](const LayerRow& row) { return row.metrics.memory_bytes(); }}};
  for (const Profile& profile : profiles) {
    const std::string before = profile.roofline.device->id + ".";
    Columns<Metrics> metrics = predicted_columns(profile, before);
    metrics += roofline_columns(before);
    columns += through<LayerRow>(
        [&](const LayerRow& row) -> const Metrics& {
          return profile.layers()[index_in(first.layers(), row)].metrics;
        },
        metrics);
  }
  return table_of(columns, first.layers(), In::kCsv);
}

}  // namespace

std::string compare_hardware(std::span<const Profile> profiles, Format format, const TextOptions& options) {
  const Comparison comparison{profiles, options};
  return to_format(Report{[&](JsonWriter& json) { write_comparison(json, profiles, comparison.found); },
                          [&] { return layer_rows(profiles); }, [&] { return comparison.document(); }},
                   format, options);
}

}  // namespace opscope
