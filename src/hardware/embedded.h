// The files of data/hardware, as they were when opscope was built. The build writes what is declared here.
#pragma once

#include <span>
#include <string_view>

namespace opscope {

struct EmbeddedFile {
  std::string_view name;  // "h200.toml"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_devices();

}  // namespace opscope
