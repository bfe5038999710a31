// A question about what fits, from words.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "analyse/sweep/fit.h"
#include "base/error.h"
#include "hardware/device.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

constexpr std::uint64_t kDeviceReserve = std::uint64_t{1} << 30;

Count parse_reserve(const std::string& text, Count whole) {
  if (!text.ends_with('%')) return parse_bytes("--reserve", text);
  double share = -1;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size() - 1, share);
  if (bad != std::errc{} || end != text.data() + text.size() - 1 || !(share >= 0 && share < 100))
    throw Error("'" + text + "' is not a part of the memory", "--reserve", "for example 1GiB or 10%");
  return Count{static_cast<std::uint64_t>(std::ceil(static_cast<double>(whole) * share / 100))};
}

}  // namespace

FitQuestion fit_question(std::string variable, const std::string& memory, const std::string& reserve,
                         std::optional<std::int64_t> step, const Device* device) {
  FitQuestion question;
  std::ranges::replace(variable, '-', '_');
  question.variable = variable.empty() ? "batch" : std::move(variable);
  question.step = step.value_or(question.variable == "image_size" ? kImageStep : 1);
  if (question.step < 1) throw Error("a step is 1 or more", "--step", "for example 8");
  question.first = question.step;
  if (!memory.empty())
    question.memory = parse_bytes("--memory", memory);
  else if (device != nullptr && device->memory_size)
    question.memory = Count{static_cast<std::uint64_t>(device->memory_size->value)};
  else
    throw Error("how much memory is there?", "--memory", "for example --memory 24GiB, or --hardware l4");
  if (!reserve.empty())
    question.reserve = parse_reserve(reserve, question.memory);
  else if (memory.empty())
    question.reserve = Count{kDeviceReserve};
  if (question.reserve >= question.memory)
    throw Error("the reserve is all of the memory", "--reserve", "for example 1GiB or 10%");
  return question;
}

}  // namespace opscope
