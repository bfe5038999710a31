// Methods of torch.Tensor whose bindings read memory or a device, which abstract tensors do not have: during
// a capture functions in Python answer for them. A method's table entry gets another C function, once and for
// all. To set an attribute of torch.Tensor for each capture would have Python forget all that it has looked
// up on the class, which takes a tenth of a small capture's time.
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "python/bindings.h"
#include "torch/recording/recording.h"

namespace opscope::python {

namespace {

struct Replaced {
  PyCFunction plain = nullptr;
  PyObject* answer = nullptr;
};
std::array<Replaced, 3> replaced;  // by row of kMethods

// The capture that a method is called in, for an abstract tensor.
const engine::Recording* capture_of(PyObject* self) {
  const auto* recording = engine::Recording::current();
  return recording && engine::as_abstract(THPVariable_Unpack(self)) ? recording : nullptr;
}

template <std::size_t I>
PyObject* without_data(PyObject* self, PyObject* none) {
  const auto* recording = capture_of(self);
  if (!recording || !recording->storages.is_unknown(THPVariable_Unpack(self)))
    return replaced[I].plain(self, none);
  return PyObject_CallOneArg(replaced[I].answer, self);
}

template <std::size_t I>
PyObject* without_device(PyObject* self, PyObject* args, PyObject* kwargs) {
  const auto plain = reinterpret_cast<PyCFunctionWithKeywords>(reinterpret_cast<void*>(replaced[I].plain));
  if (!capture_of(self)) return plain(self, args, kwargs);
  const auto bound = py::reinterpret_steal<py::object>(PyMethod_New(replaced[I].answer, self));
  return bound ? PyObject_Call(bound.ptr(), args, kwargs) : nullptr;
}

struct Method {
  std::string_view name;
  int flags;
  void* ours;
};
const std::array<Method, 3> kMethods{{
    {"new", METH_VARARGS | METH_KEYWORDS, reinterpret_cast<void*>(&without_device<0>)},
    {"new_tensor", METH_VARARGS | METH_KEYWORDS, reinterpret_cast<void*>(&without_device<1>)},
    {"tolist", METH_NOARGS, reinterpret_cast<void*>(&without_data<2>)},
}};

void answer_abstract(const std::string& name, py::object function) {
  const auto found = std::ranges::find(kMethods, name, &Method::name);
  OPSCOPE_CHECK(found != kMethods.end());
  auto& [plain, answer] = replaced[static_cast<std::size_t>(found - kMethods.begin())];
  if (!plain) {
    const py::object method = py::handle(THPVariableClass).attr(name.c_str());
    OPSCOPE_CHECK(Py_IS_TYPE(method.ptr(), &PyMethodDescr_Type));
    auto* const entry = reinterpret_cast<PyMethodDescrObject*>(method.ptr())->d_method;
    OPSCOPE_CHECK(entry->ml_flags == found->flags);
    plain = std::exchange(entry->ml_meth, reinterpret_cast<PyCFunction>(found->ours));
  }
  Py_XSETREF(answer, function.release().ptr());
}

}  // namespace

void bind_tensor_methods(py::module_& m) { m.def("answer_abstract", &answer_abstract); }

}  // namespace opscope::python
