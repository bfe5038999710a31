// Python objects, made of the same calls that write JSON.
#include "python/objects.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace opscope::python {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// As JSON text would have it: U+FFFD for what is not UTF-8.
std::string repaired(std::string_view words) {
  std::string text;
  while (!words.empty()) {
    const auto character = decode_utf8(words);
    text.append(character.valid ? words.substr(0, character.bytes) : "\xef\xbf\xbd");
    words.remove_prefix(character.bytes);
  }
  return text;
}

PyObject* decoded(std::string_view words) {
  return PyUnicode_DecodeUTF8(words.data(), static_cast<Py_ssize_t>(words.size()), nullptr);
}

template <class To>
py::array as_array(const std::vector<std::uint64_t>& cells) {
  py::array_t<To> made(static_cast<py::ssize_t>(cells.size()));
  std::copy(cells.begin(), cells.end(), reinterpret_cast<std::uint64_t*>(made.mutable_data()));
  return made;
}

}  // namespace

py::object text_object(std::string_view words) {
  PyObject* made = decoded(words);
  if (made == nullptr) {
    PyErr_Clear();
    made = decoded(repaired(words));
  }
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

py::object name_object(std::string_view name) {
  struct Known {
    std::string name;
    py::object object;
  };
  // Found by address, since most are literals; never freed, since Python may be gone by then.
  static auto& known = *new std::array<Known, 256>;
  Known& found = known[reinterpret_cast<std::uintptr_t>(name.data()) / 4 % known.size()];
  if (!found.object || found.name != name) found = {std::string(name), text_object(name)};
  return found.object;
}

void ObjectWriter::begin(char open, JsonLayout) {
  py::object made = open == '{' ? py::object(py::dict()) : py::object(py::list());
  open_.push_back({std::move(made), std::move(key_)});
}

void ObjectWriter::end(char) {
  Level ended = std::move(open_.back());
  open_.pop_back();
  key_ = std::move(ended.key);
  put(std::move(ended.container));
}

void ObjectWriter::real(double number) { std::isfinite(number) ? put(py::float_(number)) : null(); }

void ObjectWriter::put(py::object item) {
  if (open_.empty()) {
    made_ = std::move(item);
    return;
  }
  PyObject* const container = open_.back().container.ptr();
  const int failed = PyDict_Check(container) ? PyDict_SetItem(container, key_.ptr(), item.ptr())
                                             : PyList_Append(container, item.ptr());
  if (failed != 0) throw py::error_already_set();
}

std::size_t ColumnWriter::Column::size() const {
  return std::visit([](const auto& list) { return static_cast<std::size_t>(list.size()); }, cells);
}

ColumnWriter::Reals* ColumnWriter::Column::as_reals() {
  if (const auto* counts = std::get_if<Counts>(&cells)) cells = Reals(counts->begin(), counts->end());
  return std::get_if<Reals>(&cells);
}

void ColumnWriter::Column::fill(std::size_t rows) {
  if (size() >= rows) return;
  if (size() == 0) cells = py::list();  // of numbers or not, is not known yet
  Reals* const reals = as_reals();
  while (size() < rows) reals ? reals->push_back(kMissing) : std::get<py::list>(cells).append(kMissing);
}

void ColumnWriter::Column::add(py::object item) {
  if (!std::holds_alternative<py::list>(cells)) {
    py::list list;
    std::visit(
        [&](const auto& all) {
          for (const auto& each : all) list.append(each);
        },
        cells);
    cells = std::move(list);
  }
  std::get<py::list>(cells).append(std::move(item));
}

// Rows have their keys in the same order, so the next column is most often the one.
void ColumnWriter::key(std::string_view name) {
  if (nested_.is_open()) return nested_.key(name);
  if (levels_ < 2) return;
  ++at_;
  if (at_ < columns_.size() && columns_[at_].name == name) return;
  const auto found = std::ranges::find(columns_, name, &Column::name);
  at_ = static_cast<std::size_t>(found - columns_.begin());
  if (found == columns_.end()) columns_.push_back({std::string(name), {}});
}

ColumnWriter::Column& ColumnWriter::column() {
  Column& found = columns_[at_];
  found.fill(rows_);
  return found;
}

void ColumnWriter::begin(char open, JsonLayout) {
  if (levels_ < 2) {
    at_ = std::string::npos;
    ++levels_;
    return;
  }
  open == '{' ? nested_.begin_object() : nested_.begin_array();
}

void ColumnWriter::end(char close) {
  if (!nested_.is_open()) {
    rows_ += --levels_ == 1;
    return;
  }
  close == '}' ? nested_.end_object() : nested_.end_array();
  if (!nested_.is_open()) column().add(nested_.take());
}

void ColumnWriter::null() {
  if (nested_.is_open()) return nested_.null();
  Column& cells = column();
  Reals* const reals = cells.size() == 0 ? nullptr : cells.as_reals();
  reals ? reals->push_back(kMissing) : cells.add(py::none());
}

void ColumnWriter::text(std::string_view words) {
  nested_.is_open() ? nested_.value(words) : column().add(text_object(words));
}

void ColumnWriter::boolean(bool truth) {
  nested_.is_open() ? nested_.value(truth) : column().add(py::bool_(truth));
}

void ColumnWriter::integer(std::int64_t number) {
  if (number >= 0) return natural(static_cast<std::uint64_t>(number));
  nested_.is_open() ? nested_.value(number) : column().add(py::int_(number));
}

void ColumnWriter::natural(std::uint64_t number) {
  if (nested_.is_open()) return nested_.value(number);
  Column& cells = column();
  if (auto* counts = std::get_if<Counts>(&cells.cells)) return counts->push_back(number);
  if (auto* reals = std::get_if<Reals>(&cells.cells)) return reals->push_back(static_cast<double>(number));
  cells.add(py::int_(number));
}

void ColumnWriter::real(double number) {
  if (!std::isfinite(number)) return null();
  if (nested_.is_open()) return nested_.value(number);
  Column& cells = column();
  Reals* const reals = cells.as_reals();
  reals ? reals->push_back(number) : cells.add(py::float_(number));
}

py::dict ColumnWriter::take() {
  constexpr auto kMostSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  py::dict made;
  for (Column& column : columns_) {
    column.fill(rows_);
    py::object cells;
    if (const auto* counts = std::get_if<Counts>(&column.cells)) {
      const bool fits = std::ranges::all_of(*counts, [](std::uint64_t n) { return n <= kMostSigned; });
      cells = fits ? as_array<std::int64_t>(*counts) : as_array<std::uint64_t>(*counts);
    } else if (const auto* reals = std::get_if<Reals>(&column.cells)) {
      cells = py::array_t<double>(static_cast<py::ssize_t>(reals->size()), reals->data());
    } else {
      cells = std::get<py::list>(column.cells);
    }
    made[text_object(column.name)] = std::move(cells);
  }
  return made;
}

}  // namespace opscope::python
