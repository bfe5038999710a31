#include "report/measure_report.h"

namespace opscope {

std::string measure_report(const Profile& profile, Format format, const TextOptions& options) {
  return to_format(profile, format, options);
}

}  // namespace opscope
