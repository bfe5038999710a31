// Who hears how the work goes: a terminal, or nobody. Nothing in src/app prints.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace opscope {

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void status(const std::string&) {}  // what is done now; "[1/4] warming up" is a stage to follow
  virtual void progress(std::uint64_t /*done*/, std::uint64_t /*total*/, const std::string& /*doing*/) {}
  virtual void waiting() {}                       // about ten times a second
  virtual void resting() {}                       // nothing is waited for any more
  virtual void python_wrote(std::string_view) {}  // to its stderr, and tracebacks
  virtual void trouble(const std::string&) {}  // that the work goes on without: a cache that cannot be used
};

}  // namespace opscope
