// A file's bytes without reading them: pages come in when they are looked at, so that the header of a file
// with gigabytes of weights costs what the header costs.
#pragma once

#include <string>
#include <string_view>

namespace opscope {

class MappedFile {
 public:
  // Throws Error where it cannot be opened, or is a folder or a pipe.
  explicit MappedFile(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace opscope
