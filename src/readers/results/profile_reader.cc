// Lenient about what is missing, which older versions did not write, and strict about what is there.
#include "readers/results/profile_reader.h"

#include <cmath>

#include "base/choices.h"
#include "base/text.h"
#include "graph/graph.h"
#include "readers/json/dom.h"

namespace opscope {
namespace {

using dom::Item;

class ProfileReader {
 public:
  Figures read(Item profile) {
    check(profile);
    figures_.is_saved = true;
    figures_.model = profile.text_or("model");
    figures_.source = profile.text_or("source");
    figures_.convention = profile.text_or("convention");
    if (figures_.convention.empty()) figures_.convention = "opscope";
    read_inputs(profile);
    read_hardware(profile);  // before the metrics: their roofline times are known only with a device
    read_totals(profile.at("totals"));
    read_memory(profile);
    read_partition(profile);
    read_coverage(profile);
    read_bottlenecks(profile);
    read_rows(profile);
    return std::move(figures_);
  }

 private:
  static void check(Item profile) {
    const auto fail = [&](const std::string& what) { profile.source().fail(what); };
    const auto version = profile.find("schema_version");
    if (!version) fail("not a profile: it has no schema_version");
    if (!version->is_integer() || version->integer() != kSchemaVersion)
      fail("a profile of another version of the format");
    if (profile.find("totals")) return;
    if (profile.find("values") || !profile.find("opscope_version")) fail("this is a capture, not a profile");
    fail("a report of opscope, but not a profile: it has no totals");
  }

  // Picoseconds of seconds; what was written with all digits comes back as it was, up to hours.
  static Count time(Item item, std::string_view key) {
    const double seconds = item.real_or(key);
    if (!(seconds >= 0)) item.source().fail("'" + std::string(key) + "' is not a time");
    return picoseconds_of(std::round(seconds * 1e12));
  }
  static Count picoseconds_of(double number) {
    return number < 0x1p64 ? Count{static_cast<std::uint64_t>(number)} : Count{Count::kMax};
  }
  template <class Visit>
  static bool each(Item item, std::string_view key, const Visit& visit) {
    const auto found = item.find(key);
    if (!found) return false;
    for (const Item one : found->items()) visit(one);
    return true;
  }
  void miss(std::string_view field) { figures_.missing.emplace_back(field); }
  template <class Visit>
  void rows(Item profile, std::string_view key, const Visit& visit) {
    if (!each(profile, key, visit)) miss(key);
  }
  Count total(Item totals, std::string_view key) {
    if (!totals.find(key)) miss(key);
    return totals.natural_or(key);
  }

  template <class Kind>
  static Kind kind(Item item, std::string_view key, Kind last) {
    return named(item.text_or(key), last).value_or(last);
  }

  static std::string shape(Item item, std::string_view key) {
    const auto sizes = item.find(key);
    return sizes ? format_shape(sizes->all(&Item::integer)) : "";
  }

  static Parameters parameters(Item item) {
    return {.total = item.natural_or("params"),
            .trainable = item.natural_or("trainable_params"),
            .buffers = item.natural_or("buffers")};
  }

  static Metrics metrics(Item item) {
    Metrics found;
    found.work = {item.natural_or("macs"), item.natural_or("other_flops"), item.natural_or("specials")};
    found.flops = item.natural_or("flops");
    found.traffic = {item.natural_or("input_bytes"), item.natural_or("output_bytes"),
                     item.natural_or("weight_bytes")};
    found.ops = item.natural_or("ops");
    found.confidence = kind(item, "confidence", Confidence::kUnknown);
    found.time = time(item, "time_seconds");
    found.roofline_time = time(item, "roofline_seconds");
    found.predicted_time = time(item, "predicted_seconds");
    found.predicted_unknown = item.natural_or("predicted_unknown_ops");
    found.roofline_unknown = item.natural_or("roofline_unknown_ops");
    return found;
  }

  void read_inputs(Item profile) {
    std::vector<FigureInput> inputs;
    each(profile, "inputs", [&](Item input) {
      inputs.push_back({input.text_or("name"), shape(input, "shape"), input.text_or("dtype")});
    });
    figures_.inputs = inputs_text(inputs);
  }

  void read_hardware(Item profile) {
    const auto measured = profile.find("measurement");
    if (const auto at = measured ? measured->find("environment") : std::nullopt) {
      figures_.measured_on = at->text_or("device_name");
      if (figures_.measured_on.empty()) figures_.measured_on = at->text_or("device");
    }
    const auto hardware = profile.find("hardware");
    if (!hardware) return;
    figures_.device = hardware->text_or("name");
    figures_.device_id = hardware->text_or("id");
    figures_.fused_roofline_time = time(*hardware, "fused_roofline_seconds");
    compute_share_ = hardware->real_or("compute_bound_share");
    if (!(compute_share_ >= 0 && compute_share_ <= 1))
      hardware->source().fail("'compute_bound_share' is not a share");
  }

  void read_totals(Item totals) {
    for (const char* key : {"params", "flops", "macs", "memory_bytes", "ops"})
      if (!totals.find(key)) totals.source().fail("a profile without total " + std::string(key));
    figures_.totals = metrics(totals);
    if (figures_.has_device() && !totals.find("predicted_seconds")) miss("predicted_seconds");
    figures_.totals.compute_bound_time =
        picoseconds_of(std::round(compute_share_ * static_cast<double>(figures_.totals.roofline_time)));
    figures_.parameters = parameters(totals);
    figures_.parameters.bytes = total(totals, "param_bytes");
    figures_.parameters.buffer_bytes = total(totals, "buffer_bytes");
    figures_.subgraphs = total(totals, "subgraphs").value();
    figures_.peak_memory_bytes = total(totals, "peak_memory_bytes");
  }

  void read_memory(Item profile) {
    const auto memory = profile.find("memory");
    if (!memory) return miss("is_training");
    figures_.peak_at = memory->text_or("peak_layer");
    each(*memory, "phases", [&](Item phase) {
      figures_.is_training = figures_.is_training || phase.text_or("name") == "backward";
    });
  }

  void read_partition(Item profile) {
    if (const auto partition = profile.find("partition"))
      figures_.fused_bytes = total(*partition, "fused_bytes");
    else
      miss("fused_bytes");
  }

  void read_coverage(Item profile) {
    const auto found = profile.find("coverage");
    if (!found) return miss("coverage");
    Coverage& coverage = figures_.coverage;
    coverage.ops = found->natural_or("ops");
    coverage.exact = found->natural_or("exact");
    coverage.estimated = found->natural_or("estimated");
    coverage.upper_bound = found->natural_or("upper_bound");
    coverage.unknown = found->natural_or("unknown");
    each(*found, "unknown_ops", [&](Item op) {
      coverage.unknown_ops.push_back({op.text_or("op"), op.natural_or("count")});
    });
  }

  void read_bottlenecks(Item profile) {
    const auto found = profile.find("bottlenecks");
    if (!found) return miss("bottlenecks");
    BottleneckSummary& summary = figures_.bottlenecks;
    summary.ridge = found->real_or("ridge", summary.ridge);
    const std::pair<const char*, Band*> bands[] = {
        {"compute_bound", &summary.compute_bound}, {"memory_bound", &summary.memory_bound},
        {"over_100", &summary.over_100},           {"from_50_to_100", &summary.from_50_to_100},
        {"from_10_to_50", &summary.from_10_to_50}, {"under_10", &summary.under_10}};
    for (const auto& [key, band] : bands)
      if (const auto item = found->find(key))
        *band = {item->natural_or("ops"), item->natural_or("flops"), item->natural_or("memory_bytes")};
  }

  void read_rows(Item profile) {
    rows(profile, "types", [&](Item row) {
      figures_.types.push_back({row.text_or("type"), kind(row, "category", Category::kCustom), metrics(row)});
    });
    rows(profile, "modules", [&](Item row) {
      figures_.modules.push_back({row.text_or("path"), row.text_or("type"), shape(row, "output_shape"),
                                  static_cast<std::uint32_t>(row.natural_or("depth")),
                                  static_cast<std::uint32_t>(row.natural_or("calls", 1)), parameters(row),
                                  metrics(row)});
    });
    rows(profile, "layers", [&](Item row) {
      figures_.layers.push_back({row.text_or("name"), row.text_or("type"), shape(row, "output_shape"), 0, 1,
                                 parameters(row), metrics(row)});
    });
  }

  Figures figures_;
  double compute_share_ = 0;
};

// --- What other tools say

PeerUnit unit_of(Item item) {
  if (item.text() == "flops") return PeerUnit::kFlops;
  if (item.text() == "macs") return PeerUnit::kMacs;
  item.source().fail("expected flops or macs as a unit, not '" + std::string(item.text()) + "'");
}

// True where it is an error.
bool read_error(Item item, std::string& error, std::string& hint) {
  const auto found = item.find("error");
  if (!found) return false;
  error = found->text("what");
  hint = found->text_or("hint");
  return true;
}

PeerAnswer answer_of(Item item) {
  PeerAnswer answer;
  answer.tool = item.text("tool");
  answer.version = item.text_or("version");
  answer.unit = unit_of(item.at("unit"));
  answer.notes = item.texts("notes");
  if (read_error(item, answer.error, answer.hint)) return answer;
  answer.total = item.at("total").natural();
  if (const auto params = item.find("params")) answer.params = params->natural();
  answer.inclusive = item.boolean_or("inclusive", answer.inclusive);
  answer.divided_by = item.natural_or("divided_by", answer.divided_by);
  answer.free_ops = item.texts("free_ops");
  answer.not_called = item.texts("not_called");
  for (const Item row : item.items("counts")) {
    answer.counts.push_back(
        {std::string(row.text("module")), std::string(row.text("op")), {}, row.natural_or("calls", 1)});
    if (const auto count = row.find("count")) answer.counts.back().count = count->natural();
  }
  return answer;
}

}  // namespace

Figures read_profile(std::string_view json, const std::string& where) {
  const dom::Document document(json, {where, "save it again with `opscope profile MODEL --output FILE.json`"},
                               "a profile");
  if (!document.root().is_object()) document.root().source().fail("not a profile: this is not JSON of one");
  return ProfileReader().read(document.root());
}

PeerRun read_peer_counts(std::string_view json, const std::string& where) {
  const dom::Document document(json, {where}, "an answer of other tools");
  PeerRun run;
  if (read_error(document.root(), run.error, run.hint)) return run;
  if (const auto bytes = document.root().find("weight_bytes")) run.weight_bytes = bytes->natural();
  for (const Item item : document.root().items("peers")) run.answers.push_back(answer_of(item));
  return run;
}

}  // namespace opscope
