// Which Python to run.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "app/worker/python_worker.h"
#include "base/error.h"

namespace opscope {
namespace {

namespace fs = std::filesystem;

bool is_program(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string on_path(const std::string& name) {
  std::istringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string path = (folder.empty() ? "." : folder) + "/" + name; is_program(path)) return path;
  return "";
}

std::string beside_this_program() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return "";
  for (const char* name : {"python3", "python"})
    if (const std::string path = self.parent_path() / name; is_program(path)) return path;
  return "";
}

std::string chosen_python(const std::string& chosen) {
  const std::string path = chosen.find('/') == std::string::npos ? on_path(chosen) : chosen;
  if (!path.empty() && is_program(path)) return path;
  throw Error("no such program", chosen,
              "it is named by $OPSCOPE_PYTHON: set it to a Python that has torch and opscope");
}

}  // namespace

std::string find_python() {
  if (const std::string chosen = variable("OPSCOPE_PYTHON"); !chosen.empty()) return chosen_python(chosen);
  if (const std::string path = beside_this_program(); !path.empty()) return path;
  if (const std::string environment = variable("VIRTUAL_ENV"); !environment.empty())
    if (const std::string path = environment + "/bin/python"; is_program(path)) return path;
  if (const std::string path = on_path("python3"); !path.empty()) return path;
  throw Error("no Python found, and a Python model needs one", "",
              "set OPSCOPE_PYTHON, or profile a saved capture: that needs no Python");
}

}  // namespace opscope
