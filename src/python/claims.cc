// Guarded by the GIL, which is held whenever the list is read or written.
#include "python/claims.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "python/model_state.h"

namespace opscope::python {
namespace {

// Never destroyed: a capture may outlive the interpreter's modules.
auto& claims() {
  static auto* all = new std::vector<const ModuleClaim*>;
  return *all;
}

ska::flat_hash_set<PyObject*> modules_under(PyObject* root) {
  ska::flat_hash_set<PyObject*> seen{root};
  for (std::vector<PyObject*> next{root}; !next.empty();) {
    const auto table =
        py::reinterpret_steal<py::object>(PyObject_GetAttr(next.back(), module_tables().modules));
    next.pop_back();
    check(static_cast<bool>(table));
    if (!PyDict_Check(table.ptr())) continue;  // of a ScriptModule: nothing below it can be changed
    Py_ssize_t position = 0;
    PyObject* child = nullptr;
    while (PyDict_Next(table.ptr(), &position, nullptr, &child))
      if (is_module(child) && seen.insert(child).second) next.push_back(child);
  }
  return seen;
}

}  // namespace

// Modules are compared only where two threads capture at once: to list them takes as long as to capture
// twenty ops.
bool ModuleClaim::is_free(const py::object& root) {
  const auto others = [&](const ModuleClaim* claim) { return claim->thread_ != std::this_thread::get_id(); };
  if (std::ranges::none_of(claims(), others)) return true;
  const auto wanted = modules_under(root.ptr());
  return std::ranges::none_of(claims(), [&](const ModuleClaim* claim) {
    return others(claim) && std::ranges::any_of(modules_under(claim->root_.ptr()),
                                                [&](PyObject* held) { return wanted.count(held) > 0; });
  });
}

void ModuleClaim::take(const py::object& root) {
  while (!is_free(root)) {
    {
      const py::gil_scoped_release others;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
  root_ = root;
  thread_ = std::this_thread::get_id();
  claims().push_back(this);
}

void ModuleClaim::release() {
  if (!root_) return;
  std::erase(claims(), this);
  root_ = {};
}

}  // namespace opscope::python
