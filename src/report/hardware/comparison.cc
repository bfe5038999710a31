// One model on several devices: a column each, for the whole, for the costliest layers and for op types; the
// best is marked, and said in words.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/seconds.h"
#include "base/text.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 10;

using Profiles = std::span<const Profile>;

class Comparison {
 public:
  Comparison(Profiles profiles, const TextOptions& options)
      : profiles_(profiles), options_(options), found_(compare_affinity(profiles)) {}

  Document document() const {
    const Profile& first = profiles_.front();
    TextOptions options = options_;
    Document document{model_cells(*first.graph), note_lines(first, options), {}};
    document.header.push_back({fmt::format("on {} devices", profiles_.size())});
    document.sections = {whole(), types(), layers()};
    return document;
  }

  const AffinityComparison& found() const { return found_; }

  // Layers that take the most on any of the devices, by their share of the whole there.
  std::vector<std::size_t> top_layers() const {
    return ranked(profiles_.front().layers.size(), [&](std::size_t i, const Profile& profile) {
      return share(profile.layers[i].metrics, profile);
    });
  }

 private:
  static double share(const Metrics& metrics, const Profile& profile) {
    const double whole = profile.totals.roofline_seconds();
    return whole > 0 ? metrics.roofline_seconds() / whole : 0;
  }

  template <class Share>
  std::vector<std::size_t> ranked(std::size_t count, const Share& share_of) const {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < count; ++i) {
      double most = 0;
      for (const Profile& profile : profiles_) most = std::max(most, share_of(i, profile));
      if (most > 0) order.push_back({-most, i});
    }
    std::ranges::sort(order);
    std::vector<std::size_t> indices;
    for (const auto& [unused, i] : order) indices.push_back(i);
    return indices;
  }

  void add_device_columns(Section& section) const {
    for (const Profile& profile : profiles_) section.table.columns.push_back({profile.roofline.device->id});
  }

  template <class Text>
  void add(Section& section, std::string label, const Text& text, Style style = Style::kPlain) const {
    std::vector<Cell> row{{std::move(label), style}};
    for (std::size_t i = 0; i < profiles_.size(); ++i)
      row.push_back({text(profiles_[i], found_.devices[i]), i == found_.best ? Style::kStrong : style});
    section.table.rows.push_back(std::move(row));
  }

  Section whole() const {
    Section section{"Devices", {{{"Devices", Align::kLeft, 16}}, {}}, {}};
    add_device_columns(section);
    using P = const Profile&;
    using A = const Affinity&;
    add(section, "Best", [&](P p, A) { return &p == &profiles_[found_.best] ? "*" : ""; });
    add(section, "Peak", [](P p, A) { return p.roofline.peak->rate.text; });
    add(
        section, "  of its products",
        [](P p, A) { return p.roofline.peak->dtype + " " + std::string(name(p.roofline.peak->units)); },
        Style::kQuiet);
    add(section, "Bandwidth", [](P p, A) { return p.roofline.device->memory_bandwidth.text; });
    add(section, "Ridge", [](P p, A) { return format_ratio(p.roofline.ridge); });
    add(section, "Roofline", [](P p, A) { return roofline_text(p.totals); });
    add(
        section, "  compute-bound", [](P, A a) { return format_percent(a.compute_share, 1.0); },
        Style::kQuiet);
    add(
        section, "  memory-bound", [](P, A a) { return format_percent(a.memory_share, 1.0); }, Style::kQuiet);
    add(section, "As subgraphs", [](P p, A) {
      return (p.roofline.fused_unknown ? "≥" : "") +
             format_time(static_cast<double>(p.roofline.fused_time) * kPicosecond);
    });
    add(section, "Against the best", [&](P p, A) { return ratio(p); });
    add(section, "Memory",
        [](P p, A) { return p.roofline.device->memory_size ? p.roofline.device->memory_size->text : "-"; });
    add(
        section, "  fits", [](P, A a) { return !a.fits   ? "-"
                                               : *a.fits ? "yes"
                                                         : "no"; }, Style::kQuiet);
    for (const std::string& finding : found_.findings) section.remarks.push_back("- " + finding);
    return section;
  }

  std::string ratio(const Profile& profile) const {
    const auto best = static_cast<double>(profiles_[found_.best].roofline.fused_time);
    if (!(best > 0)) return "-";
    return fmt::format("{:.2f}x", static_cast<double>(profile.roofline.fused_time) / best);
  }

  // "12.3 us m"
  static Cell time_cell(const Metrics& metrics) {
    std::string text = roofline_text(metrics);
    if (metrics.roofline_time) text += bound_cell(metrics).text == "compute" ? " c" : " m";
    return {std::move(text)};
  }

  Section types() const {
    Section section{"Operations", {{{"Operations", Align::kLeft, 16}, {"Ops"}}, {}}, {}};
    add_device_columns(section);
    const auto order = ranked(profiles_.front().types.size(), [&](std::size_t i, const Profile& profile) {
      return share(profile.types[i].metrics, profile);
    });
    const std::size_t shown = options_.verbose ? order.size() : std::min(order.size(), kTypesShown);
    for (std::size_t t = 0; t < shown; ++t) {
      const TypeRow& first = profiles_.front().types[order[t]];
      std::vector<Cell> row{{first.type}, {std::to_string(first.metrics.ops)}};
      for (const Profile& profile : profiles_) row.push_back(time_cell(profile.types[order[t]].metrics));
      section.table.rows.push_back(std::move(row));
    }
    if (shown < order.size())
      section.remarks.push_back(plural(order.size() - shown, "more type") + ": --verbose shows them");
    return section;
  }

  Section layers() const {
    const auto order = top_layers();
    const std::size_t shown =
        options_.verbose ? order.size()
                         : std::min(order.size(), static_cast<std::size_t>(std::max(options_.top, 0)));
    const std::string title =
        fmt::format("Top {} of {} layers by roofline", shown, profiles_.front().layers.size());
    Section section{title,
                    {{{title, Align::kLeft, 24},
                      {.title = "Type", .align = Align::kLeft, .min_width = 10, .optional = true}},
                     {}},
                    {}};
    add_device_columns(section);
    for (std::size_t l = 0; l < shown; ++l) {
      const LayerRow& first = profiles_.front().layers[order[l]];
      std::vector<Cell> row{{std::string(first.name)}, {std::string(first.type), Style::kQuiet}};
      for (const Profile& profile : profiles_) row.push_back(time_cell(profile.layers[order[l]].metrics));
      section.table.rows.push_back(std::move(row));
    }
    section.remarks.push_back("c compute-bound   m memory-bound");
    return section;
  }

  Profiles profiles_;
  const TextOptions& options_;
  AffinityComparison found_;
};

std::string json_text(Profiles profiles, const Comparison& comparison) {
  std::string out;
  JsonWriter json(out);
  begin_report(json, *profiles.front().graph);
  json.field("best", profiles[comparison.found().best].roofline.device->id);
  json.list("findings", comparison.found().findings);
  json.key("devices");
  json.begin_array();
  for (const Profile& profile : profiles) {
    json.begin_object();
    write_hardware(json, profile);
    json.objects("types", types_by_roofline(profile), [&](const TypeRow* row) {
      json.field("type", row->type);
      json.field("ops", row->metrics.ops);
      write_roofline(json, row->metrics);
    });
    json.objects("layers", profile.layers, [&](const LayerRow& row) {
      json.field("name", row.name);
      json.field("type", row.type);
      write_roofline(json, row.metrics);
    });
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out + "\n";
}

// A row per layer, two columns per device.
std::string csv_text(Profiles profiles) {
  const Profile& first = profiles.front();
  std::string out = "name,type,module,flops,memory_bytes";
  for (const Profile& profile : profiles) {
    const std::string id = profile.roofline.device->id;
    out += "," + csv_field(id + ".roofline_seconds") + "," + csv_field(id + ".bound");
  }
  out += '\n';
  for (std::size_t l = 0; l < first.layers.size(); ++l) {
    const LayerRow& layer = first.layers[l];
    out += csv_field(layer.name) + "," + csv_field(layer.type) + "," +
           csv_field(first.graph->path(first.graph->modules[layer.module]));
    out += fmt::format(",{},{}", layer.metrics.flops.value(), layer.metrics.memory_bytes().value());
    for (const Profile& profile : profiles) out += csv_roofline(profile.layers[l].metrics);
    out += '\n';
  }
  return out;
}

}  // namespace

std::string csv_roofline(const Metrics& metrics) {
  const std::string bound = bound_cell(metrics).text;
  if (metrics.roofline_unknown && !metrics.roofline_time) return ",," + bound;
  return fmt::format(",{},{}", metrics.roofline_seconds(), bound);
}

std::string compare_hardware(std::span<const Profile> profiles, Format format, const TextOptions& options) {
  const Comparison comparison(profiles, options);
  return in_format(
      format, options, [&] { return json_text(profiles, comparison); }, [&] { return csv_text(profiles); },
      [&] { return comparison.document(); });
}

}  // namespace opscope
