// The modules that a capture changes for its time and then puts back: captures of other threads that share
// one wait for it, so that none sees, or keeps as the user's, what another has set.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <thread>

namespace opscope::python {

namespace py = pybind11;

class ModuleClaim {
 public:
  ModuleClaim() = default;
  ~ModuleClaim() { release(); }
  ModuleClaim(const ModuleClaim&) = delete;
  ModuleClaim& operator=(const ModuleClaim&) = delete;

  // A module and those below it at once, when no other thread has one of them. Waits without the GIL; throws
  // the user's Ctrl-C.
  void take(const py::object& root);
  void release();

 private:
  static bool is_free(const py::object& root);

  py::object root_;
  std::thread::id thread_;
};

}  // namespace opscope::python
