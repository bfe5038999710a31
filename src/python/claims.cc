// Guarded by the GIL, which is held whenever the table is read or written.
#include "python/claims.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "python/model_state.h"

namespace opscope::python {
namespace {

struct Claimant {
  std::thread::id thread;
  int captures = 0;  // of that thread: one inside another, or one that begins before the last is gone
};

// Never destroyed: a capture may outlive the interpreter's modules.
auto& claimed() {
  static auto* table = new ska::flat_hash_map<PyObject*, Claimant>;
  return *table;
}

bool is_free(const py::object& module) {
  const auto found = claimed().find(module.ptr());
  return found == claimed().end() || found->second.thread == std::this_thread::get_id();
}

std::vector<py::object> modules_under(const py::object& root) {
  std::vector<py::object> found{root};
  ska::flat_hash_set<PyObject*> seen{root.ptr()};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const py::object table = found[next].attr(py::handle(module_tables().modules));
    if (!PyDict_Check(table.ptr())) continue;  // of a ScriptModule: nothing below it can be changed
    Py_ssize_t position = 0;
    PyObject* child = nullptr;
    while (PyDict_Next(table.ptr(), &position, nullptr, &child))
      if (is_module(child) && seen.insert(child).second)
        found.push_back(py::reinterpret_borrow<py::object>(child));
  }
  return found;
}

}  // namespace

void ModuleClaim::take(const py::object& root) {
  std::vector<py::object> modules = modules_under(root);
  while (!claimed().empty() && !std::ranges::all_of(modules, is_free)) {
    {
      const py::gil_scoped_release others;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  for (py::object& module : modules) {
    Claimant& claimant = claimed()[module.ptr()];
    claimant.thread = std::this_thread::get_id();
    ++claimant.captures;
    modules_.push_back(std::move(module));
  }
}

void ModuleClaim::release() {
  for (const py::object& module : modules_) {
    const auto found = claimed().find(module.ptr());
    if (--found->second.captures == 0) claimed().erase(found);
  }
  modules_.clear();
}

}  // namespace opscope::python
