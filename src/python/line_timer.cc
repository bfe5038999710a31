#include "python/line_timer.h"

#include <algorithm>
#include <utility>

#include "torch/timing/timing.h"

namespace opscope::python {

namespace {

bool is_tracing() { return !py::object(py::module_::import("sys").attr("gettrace")()).is_none(); }

std::string folder(const char* name) {
  const py::object found = py::module_::import("sysconfig").attr("get_path")(name);
  return found.is_none() ? std::string() : py::cast<std::string>(found) + "/";
}

bool is_in(const std::string& file, const std::string& folder) {
  return !folder.empty() && file.starts_with(folder);
}

}  // namespace

LineTimer::LineTimer(std::vector<std::string> foreign_folders)
    : foreign_(std::move(foreign_folders)), standard_(folder("stdlib")), packages_(folder("purelib")) {}

bool LineTimer::start() {
  if (is_tracing()) return false;
  const py::capsule self(this);
  PyEval_SetTrace(on_event, self.ptr());
  is_on_ = true;
  step();
  return true;
}

void LineTimer::stop() {
  if (std::exchange(is_on_, false)) PyEval_SetTrace(nullptr, nullptr);
}

int LineTimer::on_event(PyObject* self, PyFrameObject* frame, int what, PyObject*) {
  if (auto* timer = static_cast<LineTimer*>(PyCapsule_GetPointer(self, nullptr))) timer->event(frame, what);
  return 0;
}

void LineTimer::event(PyFrameObject* frame, int what) {
  if (what != PyTrace_CALL && what != PyTrace_LINE && what != PyTrace_RETURN) return;
  const Code& code = code_of(frame);
  if (code.kind == Kind::kForeign) return;
  if (code.kind == Kind::kWaits) {
    if (what == PyTrace_LINE) return;
    waiting_ = std::max(0, waiting_ + (what == PyTrace_CALL ? 1 : -1));
    return step();
  }
  switch (what) {
    case PyTrace_CALL:
      frames_.push_back({code.file, PyFrame_GetLineNumber(frame)});
      break;
    case PyTrace_LINE:
      if (frames_.empty()) frames_.push_back({code.file, 0});  // one that ran before the timer did
      frames_.back() = {code.file, PyFrame_GetLineNumber(frame)};
      break;
    default:
      if (!frames_.empty()) frames_.pop_back();
  }
  step();
}

const LineTimer::Code& LineTimer::code_of(PyFrameObject* frame) {
  const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  const auto [found, added] = codes_.emplace(reinterpret_cast<PyCodeObject*>(code.ptr()), Code{});
  if (!added) return found->second;
  const auto file = py::cast<std::string>(code.attr("co_filename"));
  Code& made = found->second;
  made.object = code, made.kind = kind_of(file, py::cast<std::string>(code.attr("co_name")));
  const auto known = std::ranges::find(files_, file);
  made.file = static_cast<Id>(known - files_.begin());
  if (known == files_.end()) files_.push_back(file);
  return made;
}

// torch.cuda.synchronize(), and the method of a stream and of an event.
LineTimer::Kind LineTimer::kind_of(const std::string& file, const std::string& name) const {
  for (const auto& foreign : foreign_)
    if (is_in(file, foreign)) return name == "synchronize" ? Kind::kWaits : Kind::kForeign;
  const bool is_standard = is_in(file, standard_) && !is_in(file, packages_);
  return is_standard || file.starts_with('<') ? Kind::kForeign : Kind::kUser;
}

void LineTimer::step() {
  const Id line = frames_.empty() ? kNone : line_id(frames_.back());
  const auto at = engine::now();
  steps_.steps.push_back({at, line, waiting_ > 0});
}

Id LineTimer::line_id(const Frame& frame) {
  const auto key = (std::uint64_t{frame.file} << 32) | static_cast<std::uint32_t>(frame.line);
  const auto [found, added] = line_ids_.emplace(key, static_cast<Id>(steps_.lines.size()));
  if (added) steps_.lines.push_back(files_[frame.file] + ":" + std::to_string(frame.line));
  return found->second;
}

}  // namespace opscope::python
