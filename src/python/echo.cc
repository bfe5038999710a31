#include "python/echo.h"

#include <memory>
#include <optional>

#include "torch/engine/guard.h"

namespace opscope::python {

namespace py = pybind11;

namespace {

// The run from the first start to its stop is recorded, those after it only answer.
class EchoRuns {
 public:
  explicit EchoRuns(const std::string& device)
      : recording_(std::make_shared<engine::Recording>(c10::Device(device), false)) {
    recording_->scopes.add_module(kNone, "", "", "");
    recording_->echo = std::make_unique<engine::Echo>();
  }
  at::Tensor add_input(const at::Tensor& tensor) { return recording_->add_input(tensor, "x"); }
  void start() { guard_.emplace(recording_); }
  void stop() {
    guard_.reset();
    recording_->echo->rewind();
  }

 private:
  std::shared_ptr<engine::Recording> recording_;
  std::optional<engine::CaptureGuard> guard_;
};

}  // namespace

void bind_echo(py::module_& m) {
  py::class_<EchoRuns>(m, "Echo")
      .def(py::init<const std::string&>())
      .def("add_input", &EchoRuns::add_input)
      .def("start", &EchoRuns::start)
      .def("stop", &EchoRuns::stop);
}

}  // namespace opscope::python
