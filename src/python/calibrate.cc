// A calibration as it is made: ops of a list replayed one after the other until the time is over, Python's
// own programs timed beside their ops, and the file. What is known is in a journal at every moment.
#include "report/calibrate/calibrate.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/statistics.h"
#include "graph/signature.h"
#include "hardware/calibrate/call_list.h"
#include "hardware/calibrate/finish.h"
#include "hardware/predict/targets.h"
#include "python/bindings.h"
#include "torch/timing/replay.h"

namespace opscope::python {
namespace {

using CalibrationClock = std::chrono::steady_clock;
double passed_since(CalibrationClock::time_point begin) {
  return std::chrono::duration<double>(CalibrationClock::now() - begin).count();
}

constexpr double kReferenceSeconds = 1.5;  // between times of the op that is timed throughout
constexpr double kReplaySeconds = 0.005;   // of repetitions of one op
constexpr int kProgramBatches = 7, kSingles = 60;
constexpr double kProgramSeconds = 0.004;  // of a batch

std::string reference_call(const std::string& device) {
  const std::string square = device == "cpu" ? "float32[384,384]" : "bfloat16[2048,2048]";
  return fmt::format("aten::mm(self: {0}, mat2: {0}) on {1} -> {0}", square, device);
}

// "cpu-2.toml", "cuda-nvidia-h200.toml"
std::string default_path(const Calibration& about) {
  const std::string folder = calibrations_folder();
  if (folder.empty())
    throw Error("there is no folder for calibrations", "-o",
                "name a file: -o calibration.toml, or set OPSCOPE_CACHE_DIR");
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  std::string words =
      about.kind == "cpu" ? fmt::format("cpu-{}", about.threads) : "cuda-" + about.device_name;
  for (char& byte : words) {
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9');
    byte = plain ? byte : byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : '-';
  }
  return folder + "/" + words + ".toml";
}

class CalibrationRun {
 public:
  // `facts`: in the file's order. `output`: "" for where --hardware this looks. `calls`: a list of calls in a
  // file, or
  // "" for that of opscope.
  CalibrationRun(const std::string& device, const std::string& device_name, std::uint32_t threads,
                 std::vector<std::pair<std::string, std::string>> facts, const std::string& output,
                 const std::string& calls, std::size_t cache_bytes)
      : device_(device),
        list_(calls.empty() ? known_call_list(device) : read_call_list(read_file(calls), calls)),
        about_(about(device_name, threads, std::move(facts))),
        path_(output.empty() ? default_path(about_) : output),
        replayer_({.cache_bytes = cache_bytes, .min_seconds = kReplaySeconds, .as_in_model = true}) {
    check_writable(path_);
    journal_.emplace(journal_path(path_), identity());
  }

  const std::string& path() const { return path_; }
  std::size_t continued() const { return journal_->is_continued() ? journal_->calls().size() : 0; }

  // Until `seconds` are over, those before an interruption with them. progress(seconds, of them, ops timed).
  void time_ops(double seconds, const py::object& progress) {
    double since_reference = kReferenceSeconds;
    while ((journal_->calls().empty() || journal_->spent() < seconds) && journal_->next() < list_.size()) {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      const auto begin = CalibrationClock::now();
      if (since_reference >= kReferenceSeconds) {
        const TimedCall reference = timed(reference_call(device_), 0);
        if (reference.refused.empty()) journal_->add_reference(reference.seconds, passed_since(begin));
        since_reference = 0;
        continue;
      }
      journal_->begin(journal_->next());
      const TimedCall call = timed(list_[journal_->next()], journal_->next());
      const double took = passed_since(begin);
      journal_->add(call, took);
      since_reference += took;
      if (!progress.is_none())
        progress(std::min(journal_->spent(), seconds), seconds, journal_->calls().size());
    }
    if (!progress.is_none()) progress(seconds, seconds, journal_->calls().size());
  }

  // What each of (program, the call that it is; "" for one that does no work) takes on the host beside that
  // call: their mean. On a CPU with the caches as they are in a model, where Python's own code has to be read
  // again.
  double time_programs(const std::vector<std::pair<py::object, std::string>>& programs,
                       const py::object& wait) {
    double sum = 0;
    for (const auto& [program, text] : programs) {
      HostProgram found{.seconds = single_seconds(program, wait), .count = 1};
      if (!text.empty()) {
        const TimedCall call = timed(text, 0);
        if (!call.refused.empty())
          throw Error("an op of the host's programs cannot be run: " + call.refused, text);
        found.ops_seconds = host_part(call);
      }
      sum += found.each();
    }
    return programs.empty() ? 0 : sum / static_cast<double>(programs.size());
  }
  double time_call(const py::object& program, const py::object& wait) const {
    return program_seconds(program, wait);
  }
  // The same of a program whose `before` counts as what it would take anyway.
  double time_backward(const py::object& before, const py::object& program, const std::string& op,
                       double count, const py::object& wait) {
    HostProgram found{.seconds = program_seconds(program, wait), .count = count};
    found.ops_seconds = program_seconds(before, wait) + count * host_part(timed(op, 0));
    return found.each();
  }
  // `one`: `op` and waiting for it; `called`: the op alone, on the host.
  void time_device(const py::object& one, const py::object& called, const std::string& op,
                   const py::object& wait) {
    HostCosts& host = about_.host;
    host.synchronise = program_seconds(wait, wait);
    const double rest = program_seconds(one, wait) - program_seconds(called, wait) - host.synchronise;
    host.launch = std::max(rest - timed(op, 0).seconds, 0.0);
  }

  void set_host(const std::string& name, double seconds) {
    if (double* known = about_.host.find(name)) return *known = std::max(seconds, 0.0), void();
    about_.facts.emplace_back(name, format_time(seconds));
  }
  void add_fact(const std::string& name, const std::string& value) { about_.facts.emplace_back(name, value); }

  // Writes the file; what was kept until then is no longer needed.
  void finish() {
    std::string text;
    {
      const py::gil_scoped_release others_run;
      text = finished_calibration(std::move(about_), list_, *journal_);
    }
    write_file(path_, text);
    journal_->remove();
  }

 private:
  // "h200" where opscope knows the device, so that its peaks are known too.
  Calibration about(const std::string& device_name, std::uint32_t threads,
                    std::vector<std::pair<std::string, std::string>> facts) const {
    Calibration made;
    const DevicePointer known = find_device(device_name);
    made.device = known ? known->id : device_;
    made.device_name = device_name, made.kind = device_ == "cpu" ? "cpu" : "gpu";
    made.threads = device_ == "cpu" ? threads : 0;
    made.facts = std::move(facts);
    return made;
  }

  CalibrationIdentity identity() const {
    CalibrationIdentity made{{"device", about_.device_name}};
    if (about_.threads > 0) made.emplace_back("number of threads", std::to_string(about_.threads));
    for (const std::string_view key : {"torch", "cuda", "cudnn", "driver"})
      if (const std::string_view value = about_.fact(key); !value.empty()) made.emplace_back(key, value);
    Hasher hash;
    for (const std::string& call : list_) hash.add(call);
    made.emplace_back("list of calls", hash.hex());
    return made;
  }

  double host_part(const TimedCall& call) const {
    return device_ == "cpu" ? call.seconds : call.host_seconds;
  }

  TimedCall timed(const std::string& text, std::size_t place) {
    TimedCall call{.call = place};
    try {
      const Graph graph = graph_of_calls(std::span(&text, 1));
      OpTime time;
      {
        const py::gil_scoped_release others_run;
        time = replayer_.replay(graph, graph.ops.front());
      }
      call.seconds = std::max(time.median_ns, 0.1) * kNanosecond,
      call.deviation = time.deviation_ns * kNanosecond;
      call.host_seconds = time.host_ns * kNanosecond;
    } catch (const Error& reason) {
      call.refused = reason.what();
    }
    return call;
  }

  double single_seconds(const py::object& program, const py::object& wait) {
    if (device_ != "cpu") return program_seconds(program, wait);
    for (int i = 0; i < 3; ++i) program();
    std::vector<double> seconds;
    for (int i = 0; i < kSingles; ++i) {
      replayer_.disturb_caches();
      const auto begin = CalibrationClock::now();
      program();
      seconds.push_back(passed_since(begin));
    }
    return statistics(std::move(seconds)).median;
  }

  // The host's, at its best: what else runs on it only adds.
  static double program_seconds(const py::object& program, const py::object& wait) {
    const auto batch = [&](std::size_t times) {
      if (!wait.is_none()) wait();
      const auto begin = CalibrationClock::now();
      for (std::size_t i = 0; i < times; ++i) program();
      return passed_since(begin) / static_cast<double>(times);
    };
    for (int i = 0; i < 3; ++i) program();
    const double once = std::max(batch(1), 1e-7);
    const auto times = static_cast<std::size_t>(std::max(kProgramSeconds / once, 1.0));
    std::vector<double> seconds;
    for (int i = 0; i < kProgramBatches; ++i) {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      seconds.push_back(batch(times));
    }
    if (!wait.is_none()) wait();
    return statistics(std::move(seconds)).minimum;
  }

  std::string device_;
  std::vector<std::string> list_;
  Calibration about_;
  std::string path_;
  engine::Replayer replayer_;
  std::optional<CalibrationJournal> journal_;
};

CalibrationPointer read_calibration_file(const std::string& path) {
  const std::string text = read_file(path);
  auto read = std::make_shared<Calibration>(read_calibration(text, path));
  read->file = path;
  return read;
}

}  // namespace

void bind_calibrate(py::module_& m) {
  py::class_<CalibrationRun>(m, "CalibrationRun")
      .def(py::init<const std::string&, const std::string&, std::uint32_t,
                    std::vector<std::pair<std::string, std::string>>, const std::string&, const std::string&,
                    std::size_t>(),
           py::arg("device"), py::arg("device_name"), py::arg("threads"), py::arg("facts"),
           py::arg("output") = "", py::arg("calls") = "", py::arg("cache_bytes") = 0)
      .def_property_readonly("path", &CalibrationRun::path)
      .def_property_readonly("continued", &CalibrationRun::continued)
      .def("time_ops", &CalibrationRun::time_ops, py::arg("seconds"), py::arg("progress") = py::none())
      .def("time_programs", &CalibrationRun::time_programs, py::arg("programs"), py::arg("wait") = py::none())
      .def("time_call", &CalibrationRun::time_call, py::arg("program"), py::arg("wait") = py::none())
      .def("time_backward", &CalibrationRun::time_backward, py::arg("before"), py::arg("program"),
           py::arg("op"), py::arg("count"), py::arg("wait") = py::none())
      .def("time_device", &CalibrationRun::time_device)
      .def("set_host", &CalibrationRun::set_host)
      .def("add_fact", &CalibrationRun::add_fact)
      .def("finish", &CalibrationRun::finish);
  py::class_<Calibration, std::shared_ptr<Calibration>>(m, "Calibration")
      .def("to_format", [](const Calibration& self, const std::string& format, const py::kwargs& text) {
        return to_format(self, format_from_name(format), text_options(text));
      });
  m.def("read_calibration", [](const std::string& path) {
    return std::const_pointer_cast<Calibration>(read_calibration_file(path));
  });
  m.def("read_call_list", [](const std::string& path) { return read_call_list(read_file(path), path); });
  m.def("write_call_list", [](const std::vector<std::string>& calls) { return write_call_list(calls); });
  m.def("known_call_list", [](const std::string& device) { return known_call_list(device); });
}

}  // namespace opscope::python
