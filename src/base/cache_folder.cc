#include "base/cache_folder.h"

#include <cstdlib>

namespace opscope {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string cache_folder() {
  if (std::string folder = variable("OPSCOPE_CACHE_DIR"); !folder.empty()) return folder;
  if (const std::string folder = variable("XDG_CACHE_HOME"); !folder.empty()) return folder + "/opscope";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/opscope";
}

}  // namespace opscope
