// Keyword arguments into the fields' members and back, by the table of fields.
#include "app/request/edits.h"
#include "app/request/fields.h"
#include "base/error.h"
#include "cost/quantise/schemes.h"
#include "python/bindings.h"
#include "python/objects.h"

namespace opscope::python {
namespace {

using Shape = CaptureRequest::Shape;

std::string words_of(py::handle value) { return py::cast<std::string>(py::repr(value)); }

// One argument's value into its member; None is as by default.
struct Setter {
  const CaptureField& field;
  py::handle value;

  void operator()(bool& on) const { on = py::bool_(py::reinterpret_borrow<py::object>(value)); }
  void operator()(std::string& text) const { text = py::cast<std::string>(py::str(value)); }
  void operator()(std::optional<std::int64_t>& number) const { number = whole(value); }
  void operator()(Shape& sides) const {
    if (py::hasattr(value, "__index__")) return sides = {whole(value)}, void();
    sides = sizes(value);
  }
  void operator()(std::vector<Shape>& shapes) const { shapes = several(); }
  void operator()(std::vector<NamedInput>&) const {}  // objects that only Python can hold
  void operator()(CaptureRequest::Sizes& named) const {
    for (const auto& [name, size] : py::cast<py::dict>(py::module_::import("builtins").attr("dict")(value)))
      named[py::cast<std::string>(py::str(name))] = whole(size);
  }
  void operator()(CaptureRequest::Answers& answers) const {
    for (const auto& [where, answer] :
         py::cast<py::dict>(py::module_::import("builtins").attr("dict")(value))) {
      if (!PyBool_Check(answer.ptr()))
        throw Error(words_of(answer) + " is neither True nor False", std::string(field.key));
      answers[py::cast<std::string>(py::str(where))] = answer.ptr() == Py_True;
    }
  }

 private:
  [[noreturn]] void fail() const {
    if (field.is_list() || field.key == "image_size")
      throw Error(words_of(value) + " is not " + (field.is_list() ? "a shape" : "an image size"),
                  std::string(field.key),
                  field.is_list() ? "a shape is whole numbers: (1, 3, 224, 224)"
                                  : "a side, 224, or height and width, (480, 640)");
    throw Error(words_of(value) + " is not a whole number", std::string(field.key));
  }
  std::int64_t whole(py::handle number) const {
    PyObject* const index = PyNumber_Index(number.ptr());
    int overflow = 0;
    const long long size = index ? PyLong_AsLongLongAndOverflow(index, &overflow) : 0;
    Py_XDECREF(index);
    if (!index || PyErr_Occurred()) {
      PyErr_Clear();
      fail();
    }
    if (overflow > 0) throw Error(words_of(number) + " is too large", std::string(field.key));
    return overflow < 0 ? INT64_MIN : size;
  }
  py::list listed(py::handle given) const {
    try {
      return py::module_::import("builtins").attr("list")(given);
    } catch (const py::error_already_set&) {
      fail();
    }
  }
  Shape sizes(py::handle shape) const {
    Shape found;
    for (const py::handle size : listed(shape)) found.push_back(whole(size));
    return found;
  }
  // One shape, (1, 3, 224, 224), or several, [(1, 128), (1, 128)].
  std::vector<Shape> several() const {
    const py::list items = listed(value);
    if (items.empty() || py::hasattr(items[0], "__index__")) return {sizes(items)};
    std::vector<Shape> shapes;
    for (const py::handle shape : items) shapes.push_back(sizes(shape));
    return shapes;
  }
};

// As JSON has them: null is None.
py::object value_of(const CaptureField& field, const CaptureRequest& request) {
  const auto fields = dict_of([&](auto& object) { field.write(object, request); });
  return fields[py::str(field.key.data(), field.key.size())];
}

// Checked; unknown names are a TypeError, as of any function.
CaptureRequest request_of(const py::dict& given) {
  CaptureRequest request;
  std::size_t known = 0;
  for (const CaptureField& field : capture_fields()) {
    const py::str key(field.key.data(), field.key.size());
    if (field.key == "inputs" || !given.contains(key)) continue;
    ++known;
    const py::object value = given[key];
    if (value.is_none()) continue;
    std::visit([&](auto member) { Setter{field, value}(request.*member); }, field.member);
  }
  if (known < given.size())
    for (const auto& [name, value] : given)
      if (const auto key = py::cast<std::string>(name);
          key == "inputs" || !std::ranges::count(capture_fields(), key, &CaptureField::key))
        throw py::type_error("got an unexpected keyword argument '" + key + "'");
  return checked(std::move(request), Voice::kArguments);
}

// By key: the annotation, the default and the help of every option, for signatures and references.
py::list option_rows() {
  static constexpr const char* kAnnotations[] = {
      "str | None", "bool", "int | None", "Any", "Any", "Any", "Mapping[str, int]", "Mapping[str, bool]"};
  py::list rows;
  for (const CaptureField& field : capture_fields()) {
    if (field.key == "inputs") continue;
    const bool any = field.key == "dtype" || field.key == "device";
    const char* annotation = any ? "Any" : field.key == "tracer" ? "str" : kAnnotations[field.member.index()];
    rows.append(py::make_tuple(std::string(field.key), annotation, value_of(field, CaptureRequest()),
                               std::string(field.help)));
  }
  return rows;
}

}  // namespace

py::dict changes(const CaptureRequest& base, const CaptureRequest& request) {
  return dict_of([&](auto& object) { write_changes(object, base, request); });
}

void bind_request(py::module_& m) {
  py::class_<CaptureRequest>(m, "CaptureRequest", py::dynamic_attr())
      .def(py::init(&request_of), py::arg("given"))
      .def("given", [](const CaptureRequest& self) { return changes(CaptureRequest(), self); })
      .def("__getattr__", [](const CaptureRequest& self, const std::string& name) {
        for (const CaptureField& field : capture_fields())
          if (field.key == name) return value_of(field, self);
        throw py::attribute_error(name);
      });
  m.def("capture_options", option_rows);
  m.def("edits", [] {
    py::list keys;
    for (const CaptureField& field : capture_fields())
      if (field.rules.is_edit) keys.append(std::string(field.key));
    return keys;
  });
  // Of each scheme of quantisation: its name, what it stores, whose layout that is, flops to dequantise.
  m.def("storage_schemes", [] {
    py::list rows;
    for (const StorageScheme& scheme : storage_schemes()) {
      const StorageChoice choice = storage_choice(scheme.name, "quantize");
      rows.append(py::make_tuple(std::string(scheme.name), choice.words(), std::string(scheme.as_in),
                                 choice.flops()));
    }
    return rows;
  });
  m.def("apply_edits",
        [](Graph& graph, const CaptureRequest& request) { apply_edits(graph, request, Voice::kArguments); });
}

}  // namespace opscope::python
