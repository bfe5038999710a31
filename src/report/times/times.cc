#include "report/times/times.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace opscope {
namespace {

Count rounded(double number) {
  return Count{static_cast<std::uint64_t>(std::min(std::round(number), 1.8e19))};
}

}  // namespace

std::string spread_text(const Statistics& statistics) {
  if (statistics.samples < 2 || !(statistics.median > 0)) return "-";
  const double percent = 100 * statistics.spread();
  if (percent >= 999.5) return fmt::format("±{:.0f}x", statistics.spread());
  return percent >= 9.95 ? fmt::format("±{:.0f}%", percent) : fmt::format("±{:.1f}%", percent);
}

std::string flops_rate_text(double per_second) { return format_count(rounded(per_second), Zero::kDash); }
std::string bytes_rate_text(double per_second) { return format_bytes(rounded(per_second), Zero::kDash); }

std::string share_text(double share) {
  if (!std::isfinite(share) || share <= 0) return "-";
  return share > 1 ? fmt::format("{:.0f}%", 100 * share) : format_percent(share, 1.0);
}

std::string ratio_text(double ratio) {
  if (!std::isfinite(ratio) || ratio <= 0) return "-";
  if (ratio >= 9.995) return fmt::format("{:.{}f}x", ratio, ratio >= 99.95 ? 0 : 1);
  return fmt::format("{:.{}f}x", ratio, ratio < 1.9995 ? 3 : 2);
}

Column spread_column() { return number("±").or_not(); }
Cell spread_cell(const Statistics& statistics) { return {spread_text(statistics), Style::kQuiet}; }

}  // namespace opscope
