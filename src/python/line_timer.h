// Follows the lines of the user's Python code in the thread that asks, with a time for each: what Python
// spends outside of ops is then somebody's line. As a debugger does it, so not while one does.
#pragma once

#include <c10/util/flat_hash_map.h>

#include <string>
#include <vector>

#include "graph/outside.h"
#include "python/bindings.h"

namespace opscope::python {

class LineTimer {
 public:
  // What is in these folders, or in the standard library, is not the user's code.
  explicit LineTimer(std::vector<std::string> foreign_folders);
  ~LineTimer() { stop(); }
  LineTimer(const LineTimer&) = delete;
  LineTimer& operator=(const LineTimer&) = delete;

  bool start();  // false: somebody else follows the code already, and nothing happens
  void stop();
  LineSteps take() { return std::move(steps_); }

 private:
  enum class Kind : std::uint8_t { kUser, kWaits, kForeign };
  struct Code {
    py::object object;  // held so that addresses are not reused
    Kind kind = Kind::kForeign;
    Id file = 0;
  };
  struct Frame {
    Id file = 0;
    int line = 0;
  };
  static int on_event(PyObject* self, PyFrameObject* frame, int what, PyObject* argument);
  void event(PyFrameObject* frame, int what);
  const Code& code_of(PyFrameObject* frame);
  Kind kind_of(const std::string& file, const std::string& name) const;
  void step();
  Id line_id(const Frame& frame);

  std::vector<std::string> foreign_;
  std::string standard_, packages_;  // folders: the second are in the first and are not foreign
  ska::flat_hash_map<PyCodeObject*, Code> codes_;
  ska::flat_hash_map<std::uint64_t, Id> line_ids_;  // by file and line
  std::vector<std::string> files_;
  std::vector<Frame> frames_;  // the user's that run, the innermost last
  int waiting_ = 0;            // frames that wait for the device
  bool is_on_ = false;
  LineSteps steps_;
};

}  // namespace opscope::python
