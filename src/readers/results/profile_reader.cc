// Lenient about what is missing, which older versions did not write, and strict about what is there.
#include "readers/results/profile_reader.h"

#include <cmath>

#include "base/text.h"
#include "graph/graph.h"
#include "readers/capture/capture_reader.h"
#include "readers/json/dom.h"

namespace opscope {
namespace {

using dom::element;

class ProfileReader {
 public:
  explicit ProfileReader(const std::string& where) : where_(where) {}

  Figures read(element profile) {
    check(profile);
    figures_.is_saved = true;
    figures_.model = text(profile, "model");
    figures_.source = text(profile, "source");
    figures_.convention = text(profile, "convention");
    if (figures_.convention.empty()) figures_.convention = "opscope";
    read_inputs(profile);
    read_hardware(profile);  // before the metrics: their roofline times are known only with a device
    read_totals(dom::need(profile, "totals", where_));
    read_memory(profile);
    read_partition(profile);
    read_coverage(profile);
    read_bottlenecks(profile);
    read_rows(profile);
    return std::move(figures_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(what, where_, "save it again with `opscope profile MODEL --output FILE.json`");
  }

  void check(element profile) const {
    const auto version = dom::field(profile, "schema_version");
    if (!version) fail("not a profile: it has no schema_version");
    if (std::uint64_t number; version->get(number) || number != kSchemaVersion)
      throw Error("a profile of another version of the format", where_,
                  "save it again with this opscope: opscope profile MODEL --output FILE.json");
    if (dom::field(profile, "totals")) return;
    if (dom::field(profile, "values") || !dom::field(profile, "opscope_version"))
      fail("this is a capture, not a profile");
    fail("a report of opscope, but not a profile: it has no totals");
  }

  std::string text(element item, std::string_view key) const {
    const auto found = dom::field(item, key);
    if (!found) return "";
    std::string_view text;
    if (found->get(text)) fail("'" + std::string(key) + "' is not a text");
    return std::string(text);
  }
  std::optional<std::uint64_t> number(element item, std::string_view key) const {
    const auto found = dom::field(item, key);
    if (!found) return std::nullopt;
    std::uint64_t number;
    if (found->get(number)) fail("'" + std::string(key) + "' is not a whole number");
    return number;
  }
  std::uint64_t number_or_zero(element item, std::string_view key) const {
    return number(item, key).value_or(0);
  }
  std::optional<double> real(element item, std::string_view key) const {
    const auto found = dom::field(item, key);
    if (!found) return std::nullopt;
    double number;
    if (found->get(number)) fail("'" + std::string(key) + "' is not a number");
    return number;
  }
  // Picoseconds of seconds; what was written with all digits comes back as it was, up to hours.
  Count time(element item, std::string_view key) const {
    const double seconds = real(item, key).value_or(0);
    if (!(seconds >= 0)) fail("'" + std::string(key) + "' is not a time");
    return picoseconds_of(std::round(seconds * 1e12));
  }
  static Count picoseconds_of(double number) {
    return number < 0x1p64 ? Count{static_cast<std::uint64_t>(number)} : Count{Count::kMax};
  }
  template <class Visit>
  bool each(element item, std::string_view key, const Visit& visit) const {
    const auto found = dom::field(item, key);
    if (!found) return false;
    dom::array items;
    if (found->get(items)) fail("'" + std::string(key) + "' is not a list");
    for (const element each : items) visit(each);
    return true;
  }
  void miss(std::string_view field) { figures_.missing.emplace_back(field); }
  Count total(element totals, std::string_view key) {
    const auto found = number(totals, key);
    if (!found) miss(key);
    return found.value_or(0);
  }

  template <class Kind>
  Kind named(std::string_view word, Kind last) const {
    for (int i = 0; i <= static_cast<int>(last); ++i)
      if (name(static_cast<Kind>(i)) == word) return static_cast<Kind>(i);
    return last;
  }

  std::string shape(element item, std::string_view key) const {
    const auto found = dom::field(item, key);
    if (!found) return "";
    std::vector<std::int64_t> sizes;
    each(item, key, [&](element size) {
      std::int64_t number;
      if (size.get(number)) fail("a shape that is not of whole numbers");
      sizes.push_back(number);
    });
    return format_shape(sizes);
  }

  Parameters parameters(element item) const {
    Parameters found;
    found.total = number_or_zero(item, "params");
    found.trainable = number_or_zero(item, "trainable_params");
    found.buffers = number_or_zero(item, "buffers");
    return found;
  }

  Metrics metrics(element item) const {
    Metrics found;
    found.work = {number_or_zero(item, "macs"), number_or_zero(item, "other_flops"),
                  number_or_zero(item, "specials")};
    found.flops = number_or_zero(item, "flops");
    found.traffic = {number_or_zero(item, "input_bytes"), number_or_zero(item, "output_bytes"),
                     number_or_zero(item, "weight_bytes")};
    found.ops = number_or_zero(item, "ops");
    found.confidence = named(text(item, "confidence"), Confidence::kUnknown);
    found.time = time(item, "time_seconds");
    found.roofline_time = time(item, "roofline_seconds");
    found.roofline_unknown = number_or_zero(item, "roofline_unknown_ops");
    return found;
  }

  void read_inputs(element profile) {
    std::vector<FigureInput> inputs;
    each(profile, "inputs", [&](element input) {
      inputs.push_back({text(input, "name"), shape(input, "shape"), text(input, "dtype")});
    });
    figures_.inputs = inputs_text(inputs);
  }

  void read_hardware(element profile) {
    if (const auto measured = dom::field(profile, "measurement")) {
      if (const auto at = dom::field(*measured, "environment")) {
        figures_.measured_on = text(*at, "device_name");
        if (figures_.measured_on.empty()) figures_.measured_on = text(*at, "device");
      }
    }
    const auto hardware = dom::field(profile, "hardware");
    if (!hardware) return;
    figures_.device = text(*hardware, "name");
    figures_.device_id = text(*hardware, "id");
    figures_.fused_roofline_time = time(*hardware, "fused_roofline_seconds");
    compute_share_ = real(*hardware, "compute_bound_share").value_or(0);
    if (!(compute_share_ >= 0 && compute_share_ <= 1)) fail("'compute_bound_share' is not a share");
  }

  void read_totals(element totals) {
    for (const char* key : {"params", "flops", "macs", "memory_bytes", "ops"})
      if (!dom::field(totals, key)) fail("a profile without total " + std::string(key));
    figures_.totals = metrics(totals);
    figures_.totals.compute_bound_time =
        picoseconds_of(std::round(compute_share_ * static_cast<double>(figures_.totals.roofline_time)));
    figures_.parameters = parameters(totals);
    figures_.parameters.bytes = total(totals, "param_bytes");
    figures_.parameters.buffer_bytes = total(totals, "buffer_bytes");
    figures_.subgraphs = total(totals, "subgraphs").value();
    figures_.peak_memory_bytes = total(totals, "peak_memory_bytes");
  }

  void read_memory(element profile) {
    const auto memory = dom::field(profile, "memory");
    if (!memory) return miss("is_training");
    figures_.peak_at = text(*memory, "peak_layer");
    each(*memory, "phases", [&](element phase) {
      figures_.is_training = figures_.is_training || text(phase, "name") == "backward";
    });
  }

  void read_partition(element profile) {
    const auto partition = dom::field(profile, "partition");
    partition ? void(figures_.fused_bytes = total(*partition, "fused_bytes")) : miss("fused_bytes");
  }

  void read_coverage(element profile) {
    const auto found = dom::field(profile, "coverage");
    if (!found) return miss("coverage");
    Coverage& coverage = figures_.coverage;
    coverage.ops = number_or_zero(*found, "ops");
    coverage.exact = number_or_zero(*found, "exact");
    coverage.estimated = number_or_zero(*found, "estimated");
    coverage.upper_bound = number_or_zero(*found, "upper_bound");
    coverage.unknown = number_or_zero(*found, "unknown");
    each(*found, "unknown_ops", [&](element op) {
      coverage.unknown_ops.push_back({text(op, "op"), number_or_zero(op, "count")});
    });
  }

  void read_bottlenecks(element profile) {
    const auto found = dom::field(profile, "bottlenecks");
    if (!found) return miss("bottlenecks");
    BottleneckSummary& summary = figures_.bottlenecks;
    summary.ridge = real(*found, "ridge").value_or(summary.ridge);
    const std::pair<const char*, Band*> bands[] = {
        {"compute_bound", &summary.compute_bound}, {"memory_bound", &summary.memory_bound},
        {"over_100", &summary.over_100},           {"from_50_to_100", &summary.from_50_to_100},
        {"from_10_to_50", &summary.from_10_to_50}, {"under_10", &summary.under_10}};
    for (const auto& [key, band] : bands) {
      const auto item = dom::field(*found, key);
      if (!item) continue;
      band->ops = number_or_zero(*item, "ops");
      band->flops = number_or_zero(*item, "flops");
      band->memory_bytes = number_or_zero(*item, "memory_bytes");
    }
  }

  void read_rows(element profile) {
    const bool has_types = each(profile, "types", [&](element row) {
      figures_.types.push_back(
          {text(row, "type"), named(text(row, "category"), Category::kCustom), metrics(row)});
    });
    const bool has_modules = each(profile, "modules", [&](element row) {
      figures_.modules.push_back({text(row, "path"), text(row, "type"), shape(row, "output_shape"),
                                  static_cast<std::uint32_t>(number_or_zero(row, "depth")),
                                  static_cast<std::uint32_t>(number(row, "calls").value_or(1)),
                                  parameters(row), metrics(row)});
    });
    const bool has_layers = each(profile, "layers", [&](element row) {
      figures_.layers.push_back({text(row, "name"), text(row, "type"), shape(row, "output_shape"), 0, 1,
                                 parameters(row), metrics(row)});
    });
    if (!has_types) miss("types");
    if (!has_modules) miss("modules");
    if (!has_layers) miss("layers");
  }

  const std::string& where_;
  Figures figures_;
  double compute_share_ = 0;
};

}  // namespace

Figures read_profile(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  if (parser.allocate(json.size(), dom::kMostDepth)) throw Error("too large to read", where);
  element profile;
  if (parser.parse(json.data(), json.size()).get(profile) || !profile.is_object())
    throw Error("not a profile: this is not JSON, or not all of it", where,
                "save it again with `opscope profile MODEL --output FILE.json`");
  return ProfileReader(where).read(profile);
}

bool looks_like_profile(std::string_view text) {
  text = text.substr(0, 256);
  return looks_like_capture(text) && text.find("\"opscope_version\"") != std::string_view::npos;
}

}  // namespace opscope
