#include "hardware/predict/measured_line.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/hash.h"
#include "base/text.h"

namespace opscope {
namespace {

// As number_from<double>, in an eighth of its time for the numbers that files have: with a mantissa below
// 2^53 and a power of ten up to 22 one exactly rounded operation gives the nearest double.
std::optional<double> decimal(std::string_view text) {
  static constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  std::uint64_t mantissa = 0;
  int power = 0, digits = 0;
  bool in_fraction = false;
  std::size_t i = text.starts_with('-') ? 1 : 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !in_fraction) {
      in_fraction = true;
    } else if (c >= '0' && c <= '9') {
      mantissa = mantissa * 10 + static_cast<std::uint64_t>(c - '0'), ++digits, power -= in_fraction;
    } else {
      break;
    }
  }
  if (i + 1 < text.size() && text[i] == 'e') {
    if (const auto exponent = number_from<int>(text.substr(i + 1 + (text[i + 1] == '+'))))
      power += *exponent, i = text.size();
  }
  const auto ten = static_cast<std::size_t>(std::abs(power));
  if (i != text.size() || digits == 0 || digits > 15 || ten >= std::size(kTens))
    return number_from<double>(text);
  const auto whole = static_cast<double>(mantissa);
  const double value = power < 0 ? whole / kTens[ten] : whole * kTens[ten];
  return text.starts_with('-') ? -value : value;
}

}  // namespace

std::optional<MeasuredCall> read_call(std::string_view line) {
  MeasuredCall call;
  const auto word = [&] {
    const auto end = std::min(line.find(' '), line.size());
    const std::string_view found = line.substr(0, end);
    line.remove_prefix(std::min(end + 1, line.size()));
    return found;
  };
  const auto family = family_named(word());
  const auto dtype = dtype_from_name(word());
  if (!family || !dtype) return std::nullopt;
  call.features.family = *family, call.features.dtype = *dtype;
  for (double* number : {&call.seconds, &call.deviation, &call.host_seconds}) {
    const auto found = decimal(word());
    if (!found || !(*found >= 0)) return std::nullopt;
    *number = *found;
  }
  if (!(call.seconds > 0) || word() != "|") return std::nullopt;
  const auto group = group_named(word());
  if (!group) return std::nullopt;
  call.features.group = *group;
  call.features.kind = number_from<std::uint32_t>(word()).value_or(0);
  for (double* number :
       {&call.features.products, &call.features.others, &call.features.bytes, &call.features.steps})
    *number = decimal(word()).value_or(0);
  while (!line.empty()) {
    const std::string_view next = word();
    if (next == "|") break;
    if (call.features.size_count == OpFeatures::kSizes) return std::nullopt;
    call.features.sizes[call.features.size_count++] = static_cast<float>(decimal(next).value_or(0));
  }
  if (line.find('(') == std::string_view::npos) return std::nullopt;
  std::string_view name = line.substr(0, line.find('('));
  name = name.substr(0, name.find('.', name.find("::")));
  call.features.op = hash64(op_type(name));
  call.text = line;
  return call;
}

}  // namespace opscope
