// A private folder for one run's temporary files, gone with its contents at the end of the scope.
#pragma once

#include <string>

namespace opscope {

class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Error where none can be made
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace opscope
