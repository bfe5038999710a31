// Python objects, made of the same calls that write JSON: no text is written and read again on the way.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json_writer.h"

namespace opscope::python {

namespace py = pybind11;

py::object text_object(std::string_view words);
// The same object for the same name: most names are keys of every row.
py::object name_object(std::string_view name);

// A document as dicts, lists and scalars.
class ObjectWriter : public JsonWriter {
 public:
  ObjectWriter() : JsonWriter(unused_) {}

  void key(std::string_view name) override { key_ = name_object(name); }
  void null() override { put(py::none()); }
  bool is_open() const { return !open_.empty(); }  // in the middle of a list or dict
  py::object take() { return std::move(made_); }

 protected:
  void begin(char open, JsonLayout layout) override;
  void end(char close) override;
  void text(std::string_view words) override { put(text_object(words)); }
  void real(double number) override;
  void boolean(bool truth) override { put(py::bool_(truth)); }
  void integer(std::int64_t number) override { put(py::int_(number)); }
  void natural(std::uint64_t number) override { put(py::int_(number)); }
  virtual void put(py::object item);

  py::object made_;

 private:
  struct Level {
    py::object container, key;  // the key is that of the container itself, in the one around it
  };
  std::string unused_;
  std::vector<Level> open_;  // the innermost last
  py::object key_;
};

// The fields that `write` writes, as a dict.
template <class Write>
py::dict dict_of(Write&& write) {
  ObjectWriter objects;
  objects.begin_object();
  write(objects);
  objects.end_object();
  return objects.take();
}

// One field of an object of scalars; those that are functions are not called for others.
class FieldReader : public ObjectWriter {
 public:
  explicit FieldReader(std::string_view wanted) : wanted_(wanted) {}
  void key(std::string_view name) override { is_wanted_ = name == wanted_; }

 protected:
  bool wants(std::string_view name) const override { return name == wanted_; }
  void begin(char, JsonLayout) override {}
  void end(char) override {}
  void put(py::object item) override {
    if (is_wanted_) made_ = std::move(item);
  }

 private:
  std::string_view wanted_;
  bool is_wanted_ = false;
};

// An array of objects as columns: numbers in NumPy arrays, all else in lists, NaN where a row has no such
// field.
class ColumnWriter : public JsonWriter {
 public:
  ColumnWriter() : JsonWriter(unused_) {}

  void key(std::string_view name) override;
  void null() override;
  py::dict take();

 protected:
  void begin(char open, JsonLayout layout) override;
  void end(char close) override;
  void text(std::string_view words) override;
  void real(double number) override;
  void boolean(bool truth) override;
  void integer(std::int64_t number) override;
  void natural(std::uint64_t number) override;

 private:
  using Counts = std::vector<std::uint64_t>;
  using Reals = std::vector<double>;
  struct Column {
    std::string name;
    std::variant<Counts, Reals, py::list> cells;
    std::size_t size() const;
    Reals* as_reals();  // nullptr where they are no numbers
    void fill(std::size_t rows);
    void add(py::object item);
  };
  Column& column();

  std::string unused_;
  std::vector<Column> columns_;
  std::size_t at_ = 0;      // the column whose cell comes next
  std::size_t rows_ = 0;    // before this one
  std::size_t levels_ = 0;  // 1: in the array, 2: in a row
  ObjectWriter nested_;     // a cell that is a list or an object
};

}  // namespace opscope::python
