#include "report/calibrate/calibrate.h"

#include <fmt/format.h>

#include "base/text.h"

namespace opscope {
namespace {

struct HostRow {
  std::string_view key, label, detail;
  double HostCosts::*member;
};
constexpr HostRow kHostRows[] = {
    {"op_seconds", "Op", "Python's call of an op, without the op itself", &HostCosts::op},
    {"view_seconds", "View", "an op that does no work", &HostCosts::view},
    {"slice_seconds", "Slice", "a view that indexing makes", &HostCosts::slice},
    {"module_call_seconds", "Module", "the call of a module, without what is in it", &HostCosts::module_call},
    {"gradient_seconds", "Gradient", "autograd's own part of an op that is trained", &HostCosts::gradient},
    {"backward_op_seconds", "Backward op", "autograd's own part", &HostCosts::backward_op},
    {"backward_view_seconds", "Backward view", "the same of a view", &HostCosts::backward_view},
    {"parameter_seconds", "Parameter", "an optimizer's own part for each", &HostCosts::parameter},
    {"dispatch_seconds", "Dispatch", "to launch an op that was not timed", &HostCosts::dispatch},
    {"launch_seconds", "Launch", "from the host's call to the start on the device", &HostCosts::launch},
    {"synchronise_seconds", "Synchronisation", "to wait for an idle device", &HostCosts::synchronise},
    {"step_seconds", "Step", "of a recurrent layer, to launch its kernels", &HostCosts::step},
    {"pace_seconds", "Pace", "a call of an op, a view and a module, alone", &HostCosts::pace},
};

std::string how_made(const Calibration& calibration) {
  return calibration.is_measured ? fmt::format("{} ops timed", calibration.measured_calls())
                                 : "from published measurements";
}

Columns<FamilyRates> family_columns() {
  using Row = const FamilyRates&;
  const auto rate = [](double FamilyRates::*member, Unit unit) {
    return [=](Row row) { return row.*member > 0 ? cell_of(row.*member, unit) : Cell(); };
  };
  const auto share = [](double FamilyRates::*member) {
    return [=](Row row) {
      return row.points > 0 || row.*member > 0 ? cell_of(row.*member, Unit::kShare) : Cell();
    };
  };
  return {
      {keyed("family", words("Family").strong()), [](Row row) { return name(row.family); }},
      {keyed("group", words("Group")), [](Row row) { return name(row.group); }},
      {keyed("dtype", words("dtype")), [](Row row) { return name(row.dtype); }},
      {keyed("points", number("Ops")), [](Row row) { return cell_of(row.points, Unit::kWhole); }},
      {keyed("flop_rate", number("FLOP/s", Unit::kFlopRate)), rate(&FamilyRates::flop_rate, Unit::kFlopRate)},
      {keyed("byte_rate", number("Bytes/s", Unit::kBandwidth)),
       rate(&FamilyRates::byte_rate, Unit::kBandwidth)},
      {keyed("least_seconds", number("Least", Unit::kSeconds)), rate(&FamilyRates::seconds, Unit::kSeconds)},
      {keyed("error_median", number("Error", Unit::kShare)), share(&FamilyRates::error_median)},
      {keyed("error_p90", number("p90", Unit::kShare)), share(&FamilyRates::error_p90)},
      {keyed("source", words("Source", 16).quiet()).or_not(),
       [](Row row) { return row.source.empty() ? Cell() : Cell(std::string_view(row.source)); }}};
}

Document document_of(const Calibration& calibration) {
  Document document{{{calibration.device, Style::kStrong},
                     calibration.device_name,
                     calibration.kind,
                     how_made(calibration)}};
  if (calibration.threads > 0) document.header.push_back(plural(calibration.threads, "thread"));
  Facts facts("Measured");
  for (const auto& [key, value] : calibration.facts) facts.add(key, Cell(), value);
  if (!calibration.file.empty()) facts.add("file", Cell(), calibration.file);
  document.add(std::move(facts));
  Facts host("Host");
  for (const HostRow& row : kHostRows)
    if (calibration.host.*row.member > 0)
      host.add(std::string(row.label), format_time(calibration.host.*row.member), std::string(row.detail));
  if (!calibration.host.source.empty()) host.remarks.push_back(calibration.host.source);
  document.add(std::move(host));
  if (const RunErrors& runs = calibration.runs; runs.count > 0) {
    Facts whole("Whole runs");
    whole.add(
        "Error", format_percent(runs.error_median, 1.0),
        fmt::format("median of {}; p90 {}", plural(runs.count, "run"), format_percent(runs.error_p90, 1.0)));
    if (!runs.source.empty()) whole.remarks.push_back(runs.source);
    document.add(std::move(whole));
  }
  Section families{"Families of ops", table_of(family_columns(), calibration.families)};
  families.remarks = {"Error: of ops that were left out in turn and predicted by the others, median and p90",
                      "FLOP/s, bytes/s and the least time are what most ops of a family reach"};
  document.add(std::move(families));
  return document;
}

void write_calibration_json(JsonWriter& json, const Calibration& calibration) {
  begin_report(json);
  json.fields("device", calibration.device, "device_name", calibration.device_name, "kind", calibration.kind);
  json.fields("made", calibration.is_measured ? "measured" : "published", "measured_ops",
              calibration.measured_calls());
  if (calibration.threads > 0) json.field("threads", calibration.threads);
  if (!calibration.file.empty()) json.field("file", calibration.file);
  json.object("facts", [&] {
    for (const auto& [key, value] : calibration.facts) json.field(key, value);
  });
  json.object("host", [&] {
    for (const HostRow& row : kHostRows) json.field(row.key, calibration.host.*row.member);
    json.field("source", calibration.host.source);
  });
  if (const RunErrors& runs = calibration.runs; runs.count > 0)
    json.object("runs", [&] {
      json.fields("count", runs.count, "error_median", runs.error_median, "error_p90", runs.error_p90);
      json.field("source", runs.source);
    });
  json.objects(
      "families", calibration.families,
      [&](const FamilyRates& rates) {
        json.fields("family", name(rates.family), "group", name(rates.group), "dtype", name(rates.dtype),
                    "points", rates.points);
        json.fields("flop_rate", rates.flop_rate, "byte_rate", rates.byte_rate, "least_seconds",
                    rates.seconds);
        json.fields("spread", rates.spread, "error_median", rates.error_median, "error_p90", rates.error_p90);
        json.field("source", rates.source);
      },
      JsonLayout::kLines);
}

}  // namespace

std::string to_format(const Calibration& calibration, Format format, const TextOptions& options) {
  return to_format(Report{[&](JsonWriter& json) { write_calibration_json(json, calibration); },
                          [&] { return table_of(family_columns(), calibration.families, In::kCsv); },
                          [&] { return document_of(calibration); }},
                   format, options);
}

}  // namespace opscope
