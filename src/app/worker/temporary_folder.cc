// mkdtemp and its undoing.
#include "app/worker/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.h"

namespace opscope {

TemporaryFolder::TemporaryFolder() {
  const char* variable = std::getenv("TMPDIR");
  const std::string base = variable && *variable ? variable : "/tmp";
  path_ = base + "/opscope-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr)
    throw Error("cannot make a temporary folder: " + std::generic_category().message(errno), base,
                "set TMPDIR to a folder that you may write to");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace opscope
