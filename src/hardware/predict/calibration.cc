// The file: every key has one place, and what has none is a mistake. Read with the plain TOML of device
// files.
#include "hardware/predict/calibration.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

struct HostKey {
  std::string_view name;
  double HostCosts::*member;
};
constexpr HostKey kHostKeys[] = {
    {"op", &HostCosts::op},
    {"module_call", &HostCosts::module_call},
    {"dispatch", &HostCosts::dispatch},
    {"view", &HostCosts::view},
    {"slice", &HostCosts::slice},
    {"gradient", &HostCosts::gradient},
    {"backward_op", &HostCosts::backward_op},
    {"backward_view", &HostCosts::backward_view},
    {"parameter", &HostCosts::parameter},
    {"launch", &HostCosts::launch},
    {"synchronise", &HostCosts::synchronise},
    {"step", &HostCosts::step},
    {"pace", &HostCosts::pace},
};

struct RateKey {
  std::string_view name;
  double FamilyRates::*member;
  Unit unit;
};
constexpr RateKey kRateKeys[] = {
    {"flop_rate", &FamilyRates::flop_rate, Unit::kFlopRate},
    {"byte_rate", &FamilyRates::byte_rate, Unit::kBandwidth},
    {"step_rate", &FamilyRates::step_rate, Unit::kPlain},
    {"seconds", &FamilyRates::seconds, Unit::kSeconds},
    {"spread", &FamilyRates::spread, Unit::kPlain},
    {"error_median", &FamilyRates::error_median, Unit::kPlain},
    {"error_p90", &FamilyRates::error_p90, Unit::kPlain},
};

struct LikenessKey {
  std::string_view name;
  double Likeness::*member;
};
constexpr LikenessKey kLikenessKeys[] = {
    {"op", &Likeness::op},         {"width", &Likeness::width}, {"dtype", &Likeness::dtype},
    {"spread", &Likeness::spread}, {"noise", &Likeness::noise}, {"trees", &Likeness::trees},
    {"both", &Likeness::both},
};

struct RunKey {
  std::string_view name;
  double RunErrors::*member;
};
constexpr RunKey kRunKeys[] = {
    {"spread", &RunErrors::spread},
    {"host_spread", &RunErrors::host_spread},
    {"error_median", &RunErrors::error_median},
    {"error_p90", &RunErrors::error_p90},
};

constexpr std::string_view kNoCalibration = "not a calibration";
constexpr std::string_view kMakeOne = "`opscope calibrate --on cuda -o FILE` makes one";

// The longest parts of a file, and so the last, and no business of the TOML reader's: a line for each
// family's trees; and one for each call, of family, dtype, seconds, their deviation, the host's; group, kind,
// FLOPs of products, other arithmetic, bytes, steps, sizes; the call.
constexpr std::string_view kForests = "\n[forests]\n", kMeasured = "\n[measured]\n";
constexpr std::string_view kBegin = "  \"", kEnd = "\",", kBetween = " | ";

class CalibrationReader {
 public:
  CalibrationReader(std::string_view text, const std::string& name)
      : name_(name),
        before_(text.substr(0, text.find(kMeasured))),
        rest_(text.substr(std::min(before_.size() + kMeasured.size(), text.size()))),
        head_(before_.substr(0, before_.find(kForests))),
        items_(read_plain_toml(head_, name)) {}

  Calibration read() {
    for (const TomlItem& item : items_) place(item);
    if (version_ == 0) throw Error(std::string(kNoCalibration), name_, std::string(kMakeOne));
    forests();
    calls();
    return std::move(calibration_);
  }

 private:
  [[noreturn]] void fail(const TomlItem& item, const std::string& what, const std::string& hint = "") const {
    throw Error(what, name_ + ":" + std::to_string(item.line), hint);
  }

  void place(const TomlItem& item) {
    const auto parts = split_by(item.path, '.');
    if (item.is_list && parts[0] != "likeness") fail(item, "'" + item.path + "' is no list");
    const std::string& text = item.values[0];
    if (item.path == "calibration") return version(item);
    if (item.path == "threads")
      return calibration_.threads = number_from<std::uint32_t>(text).value_or(0), void();
    if (item.path == "made") return made(item);
    if (item.path == "features") return features_ = number_from<int>(text).value_or(0), void();
    for (const auto& [key, field] :
         {std::pair{"device", &Calibration::device}, std::pair{"device_name", &Calibration::device_name},
          std::pair{"kind", &Calibration::kind}})
      if (item.path == key) return calibration_.*field = text, void();
    if (parts.size() == 2 && parts[0] == "facts")
      return calibration_.facts.emplace_back(parts[1], text), void();
    if (parts.size() == 2 && parts[0] == "host") return host(item, parts[1]);
    if (parts.size() == 2 && parts[0] == "gaps") return gap(item, parts[1]);
    if (parts.size() == 2 && parts[0] == "host_ops")
      return calibration_.host_ops.emplace_back(parts[1], figure(item, Unit::kSeconds)), void();
    if (parts.size() == 3 && parts[0] == "likeness") return likeness(item, parts[1], parts[2]);
    if (parts.size() == 2 && parts[0] == "runs") return runs(item, parts[1]);
    if (parts.size() == 4 && parts[0] == "families")
      return family(item, parts[1], parts[2], name(OpGroup::kPlain), parts[3]);
    if (parts.size() == 5 && parts[0] == "families")
      return family(item, parts[1], parts[2], parts[3], parts[4]);
    fail(item, "no such key in a calibration: '" + item.path + "'");
  }

  void version(const TomlItem& item) {
    version_ = number_from<int>(item.values[0]).value_or(-1);
    if (version_ == kCalibrationVersion) return;
    fail(item,
         fmt::format("a calibration of format {}; this opscope reads format {}", item.values[0],
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
    if (double* seconds = calibration_.host.find(key)) return *seconds = figure(item, Unit::kSeconds), void();
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
  void family(const TomlItem& item, std::string_view family, std::string_view dtype, std::string_view group,
              std::string_view key) {
    const auto named_family = family_named(family);
    const auto named_dtype = dtype_from_name(dtype);
    const auto named_group = group_named(group);
    if (!named_family) fail(item, "no family of ops called '" + std::string(family) + "'");
    if (!named_dtype) fail(item, "no such type of number: '" + std::string(dtype) + "'");
    if (!named_group) fail(item, "no group of ops called '" + std::string(group) + "'");
    FamilyRates& rates = rates_of(*named_family, *named_dtype, *named_group);
    if (key == "source") return rates.source = item.values[0], void();
    if (key == "points") return rates.points = number_from<std::uint32_t>(item.values[0]).value_or(0), void();
    for (const RateKey& each : kRateKeys)
      if (each.name == key) return rates.*each.member = figure(item, each.unit), void();
    fail(item, "no such key in a calibration: '" + item.path + "'");
  }
  FamilyRates& rates_of(OpFamily family, DType dtype, OpGroup group) {
    for (FamilyRates& rates : calibration_.families)
      if (rates.family == family && rates.dtype == dtype && rates.group == group) return rates;
    return calibration_.families.emplace_back(FamilyRates{.family = family, .dtype = dtype, .group = group});
  }

  void gap(const TomlItem& item, std::string_view family) {
    const auto named = family_named(family);
    if (!named) fail(item, "no family of ops called '" + std::string(family) + "'");
    calibration_.gaps[static_cast<std::size_t>(*named)] = figure(item, Unit::kSeconds);
  }
  void likeness(const TomlItem& item, std::string_view family, std::string_view key) {
    const auto named = family_named(family);
    if (!named) fail(item, "no family of ops called '" + std::string(family) + "'");
    auto& all = calibration_.likenesses;
    auto found = std::ranges::find(all, *named, &Likeness::family);
    if (found == all.end()) found = all.insert(found, Likeness{.family = *named});
    const auto list = [&](auto& numbers) {
      if (item.values.size() != numbers.size())
        fail(item, fmt::format("{} numbers belong here", numbers.size()));
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = plain(item, item.values[i]);
    };
    if (key == "sizes") return list(found->sizes);
    if (key == "kinds") return list(found->kinds);
    for (const LikenessKey& each : kLikenessKeys)
      if (each.name == key) return (*found).*each.member = plain(item, item.values[0]), void();
    fail(item, "no such key in a calibration: '" + item.path + "'");
  }
  double plain(const TomlItem& item, const std::string& text) const {
    const auto number = number_from<double>(text);
    if (!number || !(*number >= 0)) fail(item, "'" + text + "' is no number");
    return *number;
  }

  void forests() {
    std::string_view all = before_.substr(std::min(head_.size() + kForests.size(), before_.size()));
    for (std::size_t line = static_cast<std::size_t>(std::ranges::count(head_, '\n')) + 3; !all.empty();
         ++line) {
      const std::string_view text = all.substr(0, all.find('\n'));
      all.remove_prefix(std::min(text.size() + 1, all.size()));
      const auto begin = text.find(" = \"");
      const auto family = begin != std::string_view::npos && text.ends_with('"')
                              ? family_named(text.substr(0, begin))
                              : std::nullopt;
      if (!family)
        throw Error("not the trees of a family: '" + std::string(text.substr(0, 60)) + "'",
                    name_ + ":" + std::to_string(line), "run `opscope calibrate` again");
      calibration_.forests[static_cast<std::size_t>(*family)] =
          text.substr(begin + 4, text.size() - begin - 5);
    }
  }

  void calls() {
    std::size_t line =
        static_cast<std::size_t>(std::ranges::count(before_, '\n')) + 3;  // behind "[measured]"
    bool closed = false;
    for (std::string_view rest = rest_; !rest.empty() && !closed; ++line) {
      const auto end = std::min(rest.find('\n'), rest.size());
      const std::string_view text = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      closed = text == "]" || text == "ops = []";
      if (closed || text == "ops = [") continue;
      const auto family =
          text.size() > kBegin.size() + kEnd.size() && text.starts_with(kBegin) && text.ends_with(kEnd)
              ? family_named(text.substr(kBegin.size(), text.find(' ', kBegin.size()) - kBegin.size()))
              : std::nullopt;
      if (!family && rest.empty()) break;  // in the middle of a line
      if (!family)
        throw Error("not a measured op: '" + std::string(text.substr(0, 60)) + "'",
                    name_ + ":" + std::to_string(line), "run `opscope calibrate` again");
      calibration_.lines[static_cast<std::size_t>(*family)].push_back(
          text.substr(kBegin.size(), text.size() - kBegin.size() - kEnd.size()));
    }
    if (!closed)
      throw Error("the calibration is cut off: the list of measured ops has no end", name_,
                  "run `opscope calibrate` again; it goes on where it stopped");
    if (features_ != OpFeatures::kVersion && calibration_.measured_calls() > 0)
      throw Error("the calibration was made by another opscope: its features are of another version", name_,
                  "`opscope calibrate` makes one for this");
  }

  const std::string& name_;
  std::string_view before_, rest_, head_;  // of the text: before the calls, of them, before the trees
  std::vector<TomlItem> items_;
  Calibration calibration_;
  int version_ = 0, features_ = 0;
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

}  // namespace

double* HostCosts::find(std::string_view name) {
  const auto found = std::ranges::find(kHostKeys, name, &HostKey::name);
  return found == std::end(kHostKeys) ? nullptr : &(this->*found->member);
}

std::string_view Calibration::fact(std::string_view name) const {
  for (const auto& [key, value] : facts)
    if (key == name) return value;
  return {};
}

const FamilyRates* Calibration::rates(OpFamily family, DType dtype, OpGroup group) const {
  const FamilyRates* found = nullptr;
  for (const FamilyRates& each : families)
    if (each.family == family && each.dtype == dtype &&
        (each.group == group || each.group == OpGroup::kPlain))
      if (found = &each; each.group == group) break;
  return found;
}

const Likeness* Calibration::likeness(OpFamily family) const {
  const auto found = std::ranges::find(likenesses, family, &Likeness::family);
  return found == likenesses.end() ? nullptr : &*found;
}

std::size_t Calibration::measured_calls() const {
  std::size_t count = packed_calls;
  for (const auto& each : lines) count += each.size();
  return count;
}

std::vector<MeasuredCall> Calibration::calls(OpFamily family) const {
  OPSCOPE_CHECK(packed_calls == 0);  // their texts are not in the program
  const auto& own = lines[static_cast<std::size_t>(family)];
  std::vector<MeasuredCall> found;
  found.reserve(own.size());
  for (const std::string_view line : own)
    if (auto call = read_call(line))
      found.push_back(std::move(*call));
    else
      throw Error("not a measured op: '" + std::string(line.substr(0, 60)) + "'", file,
                  "run `opscope calibrate` again");
  return found;
}

Calibration read_calibration(std::string_view text, const std::string& name) {
  auto kept = std::make_unique<char[]>(text.size());
  std::ranges::copy(text, kept.get());
  Calibration calibration = CalibrationReader({kept.get(), text.size()}, name).read();
  calibration.text = std::move(kept);
  return calibration;
}

bool looks_like_calibration(std::string_view text) {
  return text.substr(0, 4096).find("calibration = ") != std::string_view::npos;
}

std::string host_op(std::string_view op, DType dtype, OpGroup group) {
  return fmt::format("{}-{}-{}", op, name(dtype), name(group));
}

std::string write_calibration(const Calibration& calibration, std::span<const MeasuredCall> calls) {
  std::string out = fmt::format("calibration = \"{}\"\n", kCalibrationVersion);
  const auto add = [&](std::string_view key, std::string_view text) {
    out.append(key).append(" = ").append(quoted(text)).append("\n");
  };
  add("device", calibration.device), add("device_name", calibration.device_name);
  add("kind", calibration.kind);
  if (calibration.threads != 0) out += fmt::format("threads = {}\n", calibration.threads);
  add("made", calibration.is_measured ? "measured" : "published");
  if (!calls.empty()) out += fmt::format("features = \"{}\"\n", OpFeatures::kVersion);
  out += "\n[facts]\n";
  for (const auto& [key, text] : calibration.facts) add(key, text);
  out += "\n[host]\n";
  for (const HostKey& key : kHostKeys)
    out += fmt::format("{} = {}\n", key.name, figure_text(Unit::kSeconds, calibration.host.*key.member));
  if (!calibration.host.source.empty()) add("source", calibration.host.source);
  if (calibration.runs.count > 0 || calibration.runs.host_spread > 0) {
    out += fmt::format("\n[runs]\ncount = {}\n", calibration.runs.count);
    for (const RunKey& key : kRunKeys)
      out += fmt::format("{} = {}\n", key.name, figure_text(Unit::kPlain, calibration.runs.*key.member));
    if (!calibration.runs.source.empty()) add("source", calibration.runs.source);
  }
  for (const FamilyRates& rates : calibration.families) {
    const bool is_plain = rates.group == OpGroup::kPlain;
    out += fmt::format("\n[families.{}.{}{}{}]\n", name(rates.family), name(rates.dtype), is_plain ? "" : ".",
                       is_plain ? "" : name(rates.group));
    for (const RateKey& key : kRateKeys)
      out += fmt::format("{} = {}\n", key.name, figure_text(key.unit, rates.*key.member));
    out += fmt::format("points = {}\n", rates.points);
    if (!rates.source.empty()) add("source", rates.source);
  }
  for (const Likeness& likeness : calibration.likenesses) {
    out += fmt::format("\n[likeness.{}]\n", name(likeness.family));
    for (const LikenessKey& key : kLikenessKeys)
      out += fmt::format("{} = \"{:.4g}\"\n", key.name, likeness.*key.member);
    const auto list = [&](std::string_view key, const auto& numbers) {
      out += fmt::format("{} = [", key);
      for (std::size_t i = 0; i < numbers.size(); ++i)
        out += fmt::format("{}\"{:.3g}\"", i == 0 ? "" : ", ", numbers[i]);
      out += "]\n";
    };
    list("sizes", likeness.sizes), list("kinds", likeness.kinds);
  }
  out += "\n[gaps]\n";
  for (std::size_t i = 0; i < kFamilies; ++i)
    if (calibration.gaps[i] > 0)
      out += fmt::format("{} = {}\n", name(static_cast<OpFamily>(i)),
                         figure_text(Unit::kSeconds, calibration.gaps[i]));
  if (!calibration.host_ops.empty()) out += "\n[host_ops]\n";
  for (const auto& [op, seconds] : calibration.host_ops)
    out += fmt::format("{} = {}\n", op, figure_text(Unit::kSeconds, seconds));
  if (std::ranges::any_of(calibration.forests, [](const std::string& each) { return !each.empty(); }))
    out += kForests;
  for (std::size_t i = 0; i < kFamilies; ++i)
    if (!calibration.forests[i].empty())
      out += fmt::format("{} = \"{}\"\n", name(static_cast<OpFamily>(i)), calibration.forests[i]);
  out += kMeasured;
  out += calls.empty() ? "ops = []\n" : "ops = [\n";
  for (const MeasuredCall& call : calls) {
    if (call.text.find_first_of("\"\\\n") != std::string::npos) continue;
    const OpFeatures& op = call.features;
    out += fmt::format("{}{} {} {:.4g} {:.2g} {:.3g}{}{} {} {:.5g} {:.4g} {:.5g} {:.4g}", kBegin,
                       name(op.family), name(op.dtype), call.seconds, call.deviation, call.host_seconds,
                       kBetween, name(op.group), op.kind, op.products, op.others, op.bytes, op.steps);
    for (std::size_t i = 0; i < op.size_count; ++i) out += fmt::format(" {:.4g}", op.sizes[i]);
    out.append(kBetween).append(call.text).append(kEnd).append("\n");
  }
  return calls.empty() ? out : out + "]\n";
}

}  // namespace opscope
