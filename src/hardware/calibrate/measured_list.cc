#include "hardware/calibrate/measured_list.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "hardware/calibrate/call_list.h"
#include "hardware/predict/fit.h"

namespace opscope {
namespace {

constexpr std::string_view kTimes = "times\n";

}  // namespace

std::vector<MeasuredCall> read_measured_list(std::string_view text, const std::string& name) {
  const auto at = text.find(kTimes);
  if (at == std::string_view::npos) throw Error("a list of calls without their times", name);
  std::vector<MeasuredCall> calls;
  for (std::string& call : read_call_list(text.substr(0, at), name))
    calls.push_back({.text = std::move(call)});
  std::size_t number = 0;
  for (const std::string_view line : split_by(text.substr(at + kTimes.size()), '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> words = split_by(line, ' ');
    const auto seconds = words.size() == 3 ? number_from<double>(words[0]) : std::nullopt;
    if (!seconds || number == calls.size())
      throw Error("not the times of a call: '" + std::string(line.substr(0, 60)) + "'", name);
    MeasuredCall& call = calls[number++];
    call.seconds = *seconds;
    call.deviation = number_from<double>(words[1]).value_or(0);
    call.host_seconds = number_from<double>(words[2]).value_or(0);
  }
  if (number != calls.size())
    throw Error(fmt::format("times of {} calls, and {} calls", number, calls.size()), name);
  return calls;
}

std::string write_measured_list(std::span<const MeasuredCall> calls) {
  std::vector<std::string> texts;
  std::string times(kTimes);
  for (const MeasuredCall& call : calls) {
    texts.push_back(call.text);
    times += fmt::format("{:.4g} {:.2g} {:.3g}\n", call.seconds, call.deviation, call.host_seconds);
  }
  return write_call_list(texts) + times;
}

Calibration read_with_list(const std::string& path) {
  Calibration calibration = read_calibration(read_file(path), path);
  const std::string list = path.substr(0, path.rfind('.')) + ".calls";
  if (!file_stamp(list)) return calibration;
  std::vector<MeasuredCall> calls = read_measured_list(read_file(list), list);
  add_features(calls);
  return read_calibration(write_calibration(calibration, calls), path);
}

}  // namespace opscope
