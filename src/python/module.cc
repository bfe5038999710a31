// opscope._native: the capture engine, the profile and its reports, for Python.
#include "analyse/trace/failures.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "python/bindings.h"
#include "python/session.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"
#include "report/svg/pictures.h"
#include "torch/engine/execute.h"
#include "torch/timing/memory_meter.h"
#ifdef OPSCOPE_READERS
#include "readers/capture/capture_reader.h"
#include "readers/files/model_file.h"
#endif

namespace opscope::python {

namespace {

void bind_errors(py::module_& m) {
  static PyObject* error_type = PyErr_NewExceptionWithDoc(
      "opscope.Error", "Something the caller can mend: says what, where and what to do.", PyExc_RuntimeError,
      nullptr);
  m.attr("Error") = py::reinterpret_borrow<py::object>(error_type);
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const Error& error) {
      const auto value = py::reinterpret_borrow<py::object>(error_type)(error.what());
      value.attr("where") = error.where();
      value.attr("hint") = error.hint();
      PyErr_SetObject(error_type, value.ptr());
    }
  });
}

template <ValueKind kKind>
void mark(Session& self, const at::Tensor& tensor, const std::string& name) {
  self.recording().values.mark(tensor, kKind, name);
}

using Answers = std::map<std::string, bool>;

std::unique_ptr<Session> make_session(const std::string& device, bool eager,
                                      const std::vector<std::string>& declared_ops,
                                      const std::map<std::string, std::int64_t>& limits,
                                      const std::vector<std::uint32_t>& flipped, const Answers& assume,
                                      const Answers& tried, std::optional<std::uint64_t> max_ops,
                                      const std::string& cuda) {
  engine::Decisions decisions;
  decisions.flipped.insert(flipped.begin(), flipped.end());
  decisions.given = assume;
  decisions.tried = tried;
  return std::make_unique<Session>(device, eager, declared_ops, limits, decisions, max_ops, cuda);
}

// (where, answer, whether the user gave it, the op that follows) of each condition on data.
py::list sites_of(Session& session) {
  py::list sites;
  for (const auto& site : session.recording().decisions.sites())
    sites.append(py::make_tuple(site.where, site.answer, site.given, site.first_op));
  return sites;
}

void bind_session(py::module_& m) {
  py::class_<Session>(m, "Session")
      .def(py::init(&make_session), py::arg("device"), py::arg("eager"),
           py::arg("declared_ops") = std::vector<std::string>(),
           py::arg("limits") = std::map<std::string, std::int64_t>(), py::kw_only(),
           py::arg("flipped") = std::vector<std::uint32_t>(), py::arg("assume") = Answers(),
           py::arg("tried") = Answers(), py::arg("max_ops") = py::none(), py::arg("cuda") = std::string())
      .def("add_model", &Session::add_model)
      .def("add_input", &Session::add_input)
      .def("add_output", &Session::add_output)
      .def("start", &Session::start)
      .def("stop", &Session::stop)
      .def("before_run", &Session::before_run)
      .def("set_lasting", &Session::set_lasting)
      .def("begin_timed_run", &Session::begin_timed_run)
      .def("end_timed_run", &Session::end_timed_run)
      .def(
          "measure",
          [](Session& self, const py::object& prepare, const py::object& call, std::uint32_t warmup,
             std::uint32_t runs, std::uint32_t most_runs, double seconds, const py::object& progress) {
            self.measure(prepare, call, {warmup, runs, most_runs, seconds}, progress);
          },
          py::arg("prepare"), py::arg("call"), py::kw_only(), py::arg("warmup"), py::arg("runs"),
          py::arg("most_runs"), py::arg("seconds"), py::arg("progress") = py::none())
      .def_property_readonly("failed_op", [](Session& self) { return self.recording().failed_op; })
      .def("keep_changes", &Session::keep_changes)
      .def_property_readonly("grew", &Session::grew)
      .def_property_readonly("is_lazy", &Session::is_lazy)
      .def_property_readonly("is_eager", [](Session& self) { return self.recording().eager; })
      .def("take", &Session::take)
      .def("mute", [](Session& self, bool muted) { self.recording().muted = muted; })
      .def("find_lines", &Session::find_lines)
      // Training: which part of a step begins, whose memory is a gradient or an optimiser's state, and what
      // is run to get there and is no part of it.
      .def("follow_autograd",
           [](Session& self) {
             self.recording().scopes.follow_autograd();
             self.recording().threads_want_grad = true;
           })
      .def("begin_phase", [](Session& self, const std::string& name) { self.recording().begin_phase(name); })
      .def("mark_gradient", mark<ValueKind::kGradient>)
      .def("mark_optimizer_state", mark<ValueKind::kOptimizerState>)
      .def("hide",
           [](Session& self, bool hidden) {
             engine::depth += hidden ? 1 : -1;
             self.recording().storages.lifetimes->hide(hidden);
           })
      // What an unknown number is taken for: None, for nothing, as it is outside an optimiser's step.
      .def("assume_numbers",
           [](Session& self, std::optional<double> number) { self.recording().assumed_number = number; })
      .def_property_readonly("failure", &Session::failure)
      .def_property_readonly("slow_path", [](Session& self) { return self.recording().ops.slow_runs(); })
      .def_property_readonly("rule_hits", [](Session& self) { return self.recording().ops.rule_hits(); })
      .def_property_readonly("failed_module", &Session::failed_module)
      .def_property_readonly("decisions", [](Session& self) { return self.recording().decisions.made(); })
      .def_property_readonly("sites", sites_of)
      .def_property_readonly("failed_in_thread", &Session::failed_in_thread)
      .def_property_readonly("any_bound", [](Session& self) { return self.recording().bounds.any(); })
      // For tests of the shape rules: a twin without data, and which storage a tensor is on.
      .def("abstract",
           [](Session& self, const at::Tensor& tensor) {
             auto& recording = self.recording();
             auto twin = engine::make_abstract(tensor.sizes(), tensor.strides(), tensor.scalar_type(),
                                               recording.device);
             recording.storages.own(twin, recording.storages.add(twin.storage().nbytes()), ValueKind::kInput);
             return twin;
           })
      .def("storage_id",
           [](Session& self, const at::Tensor& tensor) { return self.recording().storages.id_of(tensor); });
  m.def("is_abstract", [](const at::Tensor& tensor) { return engine::as_abstract(tensor) != nullptr; });
  m.def("is_unknown", [](const at::Tensor& tensor) {
    auto* recording = engine::Recording::current();
    return recording && recording->storages.is_unknown(tensor);
  });
  m.def("abstract_like", [](const at::Tensor& tensor, const std::string& device) {
    return engine::make_abstract(tensor.sizes(), tensor.strides(), tensor.scalar_type(), c10::Device(device));
  });
  m.def("set_autograd_looks", [](bool looks) { return std::exchange(engine::autograd_looks, looks); });
  // Of the capture's CUDA device, for PyTorch's own Python code where it is not there.
  m.def("cuda_capability", [] {
    const auto* recording = engine::Recording::current();
    const engine::CudaDevice device = recording ? recording->cuda : engine::CudaDevice{};
    return py::make_tuple(device.major, device.minor);
  });
  m.def("capturing", [] {
    const auto* recording = engine::Recording::current();
    return recording && !recording->muted;
  });
  m.def("note", [](const std::string& kind, const std::string& op, const std::string& message) {
    auto* recording = engine::Recording::current();
    if (!recording) return;
    const engine::Lock lock(*recording);
    recording->graph.diagnostics.push_back({kind, op, recording->scopes.path(), message});
  });
  m.def("assume_ops", [](bool on) {
    auto* recording = engine::Recording::current();
    if (!recording) return;
    const engine::Lock lock(*recording);
    recording->scopes.place().assumed = on;
  });
  // How a condition on unknown data turns out.
  m.def("decide", [](const std::string& op, bool likely) {
    auto* recording = engine::Recording::current();
    if (!recording) return likely;
    const engine::Lock lock(*recording);
    return engine::decide(*recording, op, likely).value_or(likely);
  });
  m.def("bound", [](const std::string& op, const std::string& limit, std::int64_t largest) {
    auto* recording = engine::Recording::current();
    if (!recording) return largest;
    const engine::Lock lock(*recording);
    return recording->bounds.bound(op, limit, largest);
  });
  m.def("has_cost", [](const std::string& op_name) { return find_rule(op_name) != nullptr; });
  m.def("shape_rules", [] {
    std::vector<std::pair<std::string, std::string>> names;
    for (const auto& row : engine::all_shape_rules()) names.emplace_back(row.name, row.overload);
    return names;
  });
  m.def("peak_growth", [](const std::string& device, const py::object& run) {
    return engine::peak_growth(c10::Device(device), [&] { run(); });
  });
  m.def("held_bytes", [](const std::vector<at::Tensor>& tensors, const std::string& device) {
    return engine::held_bytes(tensors, c10::Device(device));
  });
  m.attr("NO_DATA") = engine::kNoDataMessage;
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  m.doc() = "opscope's C++ core and capture engine";
  m.attr("VERSION") = OPSCOPE_VERSION;
  m.attr("TORCH_VERSION") = OPSCOPE_TORCH_VERSION;
  bind_errors(m);
  bind_request(m);
  bind_graph(m);
  bind_profile(m);
  bind_session(m);
  bind_runs(m);
  bind_module_calls(m);
  bind_profiler(m);
  bind_replay(m);
  bind_predict(m);
  bind_calibrate(m);
  bind_sweep(m);
  bind_plan(m);
  bind_questions(m);
  engine::register_backend_kernels();
  m.def("explain_tracer_failure",
        [](const std::string& tracer, const std::string& type, const std::string& message) {
          const auto words = explain_tracer_failure(tracer, type, message);
          return py::make_tuple(words.reason, words.hint);
        });
  m.def("add_picture_folder", add_picture_folder);
  m.def("nearest", [](const std::string& typed, const std::vector<std::string>& names) {
    return nearest_names(typed, names);
  });
  m.def("devices", [] { return devices_report(known_devices(), Format::kJson, {}); });
  m.def("format_bytes", [](std::uint64_t bytes) { return format_bytes(Count{bytes}); });
  m.def("format_listing", [](const std::string& name, const std::vector<std::string>& keys,
                             const std::vector<std::vector<std::string>>& rows) {
    Table table;
    table.name = name;
    for (const std::string& key : keys) table.columns.push_back(listed(key));
    for (const auto& row : rows) table.rows.emplace_back(row.begin(), row.end());
    return to_format(table, Format::kText, {});
  });
#ifdef OPSCOPE_READERS
  m.def("read_capture", [](const std::string& path) {
    return std::make_shared<Graph>(read_padded_capture(read_file(path), path));
  });
  // "capture", "pt2", "onnx", "torchscript", "pickle" or "other", by content.
  m.def("file_kind", [](const std::string& path) { return std::string(name(classify_file(path))); });
  m.def(
      "read_model_file",
      [](const std::string& path, const std::map<std::string, std::int64_t>& dims) {
        return std::make_shared<Graph>(read_model_file(path, dims));
      },
      py::arg("path"), py::arg("dims") = std::map<std::string, std::int64_t>());
#endif
}

}  // namespace opscope::python
