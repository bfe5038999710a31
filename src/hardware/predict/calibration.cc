// The file: every key has one place, and what has none is a mistake. Read with the plain TOML of device files.
#include "hardware/predict/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

struct HostKey {
  std::string_view name;
  double HostCosts::* member;
};
constexpr HostKey kHostKeys[] = {
    {"op", &HostCosts::op},
    {"module_call", &HostCosts::module_call},
    {"dispatch", &HostCosts::dispatch},
    {"view", &HostCosts::view},
    {"backward_op", &HostCosts::backward_op},
    {"launch", &HostCosts::launch},
    {"synchronise", &HostCosts::synchronise},
};

struct RateKey {
  std::string_view name;
  double FamilyRates::* member;
  Unit unit;
};
constexpr RateKey kRateKeys[] = {
    {"flop_rate", &FamilyRates::flop_rate, Unit::kFlopRate},
    {"byte_rate", &FamilyRates::byte_rate, Unit::kBandwidth},
    {"seconds", &FamilyRates::seconds, Unit::kSeconds},
    {"spread", &FamilyRates::spread, Unit::kPlain},
    {"reach", &FamilyRates::reach, Unit::kPlain},
    {"noise", &FamilyRates::noise, Unit::kPlain},
    {"error_median", &FamilyRates::error_median, Unit::kPlain},
    {"error_p90", &FamilyRates::error_p90, Unit::kPlain},
};

struct RunKey {
  std::string_view name;
  double RunErrors::* member;
};
constexpr RunKey kRunKeys[] = {
    {"spread", &RunErrors::spread},
    {"error_median", &RunErrors::error_median},
    {"error_p90", &RunErrors::error_p90},
};

constexpr std::string_view kNoCalibration = "not a calibration";
constexpr std::string_view kMakeOne = "`opscope calibrate --on cuda -o FILE` makes one";

class CalibrationReader {
 public:
  CalibrationReader(std::string_view text, const std::string& name)
      : name_(name), items_(read_plain_toml(text, name)) {}

  Calibration read() {
    for (const TomlItem& item : items_) place(item);
    if (version_ == 0) throw Error(std::string(kNoCalibration), name_, std::string(kMakeOne));
    if (!has_calls_)
      throw Error("the calibration is cut off: the list of measured ops is missing", name_,
                  "run `opscope calibrate` again; it goes on where it stopped");
    return std::move(calibration_);
  }

 private:
  [[noreturn]] void fail(const TomlItem& item, const std::string& what, const std::string& hint = "") const {
    throw Error(what, name_ + ":" + std::to_string(item.line), hint);
  }

  void place(const TomlItem& item) {
    const auto parts = split_by(item.path, '.');
    if (item.path == "measured.ops") return calls(item);
    if (item.is_list) fail(item, "'" + item.path + "' is no list");
    const std::string& text = item.values[0];
    if (item.path == "calibration") return version(item);
    if (item.path == "threads")
      return calibration_.threads = number_from<std::uint32_t>(text).value_or(0), void();
    if (item.path == "made") return made(item);
    for (const auto& [key, field] :
         {std::pair{"device", &Calibration::device}, std::pair{"device_name", &Calibration::device_name},
          std::pair{"kind", &Calibration::kind}})
      if (item.path == key) return calibration_.*field = text, void();
    if (parts.size() == 2 && parts[0] == "facts")
      return calibration_.facts.emplace_back(parts[1], text), void();
    if (parts.size() == 2 && parts[0] == "host") return host(item, parts[1]);
    if (parts.size() == 2 && parts[0] == "runs") return runs(item, parts[1]);
    if (parts.size() == 4 && parts[0] == "families") return family(item, parts[1], parts[2], parts[3]);
    fail(item, "no such key in a calibration: '" + item.path + "'");
  }

  void version(const TomlItem& item) {
    version_ = number_from<int>(item.values[0]).value_or(-1);
    if (version_ == kCalibrationVersion) return;
    fail(item, fmt::format("a calibration of format {}; this opscope reads format {}", item.values[0],
                           kCalibrationVersion),
         std::string(kMakeOne));
  }
  void made(const TomlItem& item) {
    calibration_.is_measured = item.values[0] == "measured";
    if (!calibration_.is_measured && item.values[0] != "published")
      fail(item, "a calibration is measured or published, not '" + item.values[0] + "'");
  }
  double figure(const TomlItem& item, Unit unit) const {
    const std::string& text = item.values[0];
    const auto plain = number_from<double>(text);
    if (plain && (unit == Unit::kPlain || *plain == 0)) return *plain;
    if (unit == Unit::kPlain) fail(item, "'" + text + "' is no number");
    return parse_figure(unit, text, name_ + ":" + std::to_string(item.line));
  }
  void host(const TomlItem& item, std::string_view key) {
    if (key == "source") return calibration_.host.source = item.values[0], void();
    for (const HostKey& each : kHostKeys)
      if (each.name == key) return calibration_.host.*each.member = figure(item, Unit::kSeconds), void();
    fail(item, "no such key in a calibration: '" + item.path + "'");
  }
  void runs(const TomlItem& item, std::string_view key) {
    RunErrors& runs = calibration_.runs;
    if (key == "source") return runs.source = item.values[0], void();
    if (key == "count") return runs.count = number_from<std::uint32_t>(item.values[0]).value_or(0), void();
    for (const RunKey& each : kRunKeys)
      if (each.name == key) return runs.*each.member = figure(item, Unit::kPlain), void();
    fail(item, "no such key in a calibration: '" + item.path + "'");
  }
  void family(const TomlItem& item, std::string_view family, std::string_view dtype, std::string_view key) {
    const auto named_family = family_named(family);
    const auto named_dtype = dtype_from_name(dtype);
    if (!named_family) fail(item, "no family of ops called '" + std::string(family) + "'");
    if (!named_dtype) fail(item, "no such type of number: '" + std::string(dtype) + "'");
    FamilyRates& rates = rates_of(*named_family, *named_dtype);
    if (key == "source") return rates.source = item.values[0], void();
    if (key == "points") return rates.points = number_from<std::uint32_t>(item.values[0]).value_or(0), void();
    for (const RateKey& each : kRateKeys)
      if (each.name == key) return rates.*each.member = figure(item, each.unit), void();
    fail(item, "no such key in a calibration: '" + item.path + "'");
  }
  FamilyRates& rates_of(Family family, DType dtype) {
    for (FamilyRates& rates : calibration_.families)
      if (rates.family == family && rates.dtype == dtype) return rates;
    return calibration_.families.emplace_back(FamilyRates{.family = family, .dtype = dtype});
  }

  // "2.31e-05 1.2e-07 4.1e-06 aten::relu(self: ...)"
  void calls(const TomlItem& item) {
    has_calls_ = true;
    calibration_.calls.reserve(item.values.size());
    for (const std::string& text : item.values) {
      MeasuredCall& call = calibration_.calls.emplace_back();
      std::string_view rest = text;
      for (double* number : {&call.seconds, &call.deviation, &call.host_seconds}) {
        const auto end = rest.find(' ');
        const auto value = number_from<double>(rest.substr(0, end));
        if (end == std::string_view::npos || !value || !(*value >= 0) || *value > 1e6)
          fail(item, "not a measured op: '" + text.substr(0, 60) + "'");
        *number = *value;
        rest.remove_prefix(end + 1);
      }
      if (!(call.seconds > 0) || rest.find('(') == std::string_view::npos)
        fail(item, "not a measured op: '" + text.substr(0, 60) + "'");
      call.text = rest;
    }
  }

  const std::string& name_;
  std::vector<TomlItem> items_;
  Calibration calibration_;
  int version_ = 0;
  bool has_calls_ = false;
};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
}

std::string figure_text(Unit unit, double value) {
  if (value == 0) return "\"0\"";
  switch (unit) {
    case Unit::kFlopRate:
      return fmt::format("\"{:.5g} TFLOP/s\"", value * 1e-12);
    case Unit::kBandwidth:
      return fmt::format("\"{:.5g} GB/s\"", value * 1e-9);
    case Unit::kSeconds:
      return fmt::format("\"{:.5g} us\"", value * 1e6);
    default:
      return fmt::format("\"{:.4g}\"", value);
  }
}

std::vector<CalibrationPointer> read_known() {
  std::vector<CalibrationPointer> all;
  for (const EmbeddedFile& file : embedded_calibrations())
    all.push_back(std::make_shared<const Calibration>(read_calibration(file.text, std::string(file.name))));
  return all;
}

}  // namespace

std::string_view Calibration::fact(std::string_view name) const {
  for (const auto& [key, text] : facts)
    if (key == name) return text;
  return {};
}

const FamilyRates* Calibration::rates(Family family, DType dtype) const {
  for (const FamilyRates& each : families)
    if (each.family == family && each.dtype == dtype) return &each;
  return nullptr;
}

Calibration read_calibration(std::string_view text, const std::string& name) {
  return CalibrationReader(text, name).read();
}

bool looks_like_calibration(std::string_view text) {
  return text.substr(0, 4096).find("calibration = ") != std::string_view::npos;
}

std::string write_calibration(const Calibration& calibration) {
  std::string out = fmt::format("calibration = \"{}\"\n", kCalibrationVersion);
  const auto add = [&](std::string_view key, std::string_view text) {
    out.append(key).append(" = ").append(quoted(text)).append("\n");
  };
  add("device", calibration.device), add("device_name", calibration.device_name);
  add("kind", calibration.kind);
  if (calibration.threads != 0) out += fmt::format("threads = {}\n", calibration.threads);
  add("made", calibration.is_measured ? "measured" : "published");
  out += "\n[facts]\n";
  for (const auto& [key, text] : calibration.facts) add(key, text);
  out += "\n[host]\n";
  for (const HostKey& key : kHostKeys)
    out += fmt::format("{} = {}\n", key.name, figure_text(Unit::kSeconds, calibration.host.*key.member));
  if (!calibration.host.source.empty()) add("source", calibration.host.source);
  if (calibration.runs.count > 0) {
    out += fmt::format("\n[runs]\ncount = {}\n", calibration.runs.count);
    for (const RunKey& key : kRunKeys)
      out += fmt::format("{} = {}\n", key.name, figure_text(Unit::kPlain, calibration.runs.*key.member));
    if (!calibration.runs.source.empty()) add("source", calibration.runs.source);
  }
  for (const FamilyRates& rates : calibration.families) {
    out += fmt::format("\n[families.{}.{}]\n", name(rates.family), name(rates.dtype));
    for (const RateKey& key : kRateKeys)
      out += fmt::format("{} = {}\n", key.name, figure_text(key.unit, rates.*key.member));
    out += fmt::format("points = {}\n", rates.points);
    if (!rates.source.empty()) add("source", rates.source);
  }
  out += "\n[measured]\nops = [\n";
  for (const MeasuredCall& call : calibration.calls)
    out += fmt::format("  {},\n", quoted(fmt::format("{:.4g} {:.3g} {:.3g} {}", call.seconds, call.deviation,
                                                     call.host_seconds, call.text)));
  return out + "]\n";
}

std::span<const CalibrationPointer> known_calibrations() {
  static const std::vector<CalibrationPointer> all = read_known();
  return all;
}

CalibrationPointer known_calibration(std::string_view device) {
  for (const CalibrationPointer& each : known_calibrations())
    if (each->device == device) return each;
  return nullptr;
}

}  // namespace opscope
