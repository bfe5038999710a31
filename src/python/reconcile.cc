// opscope.reconcile: what other tools said, as Python hands it over, compared and written by C++.
#include "report/reconcile/reconcile.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "python/questions.h"

namespace opscope::python {

namespace py = pybind11;

namespace {

struct Reconciliations {
  std::vector<Reconciliation> models;

  std::string to_format(const std::string& format, bool why, double tolerance, int width, bool color,
                        bool verbose) const {
    TextOptions options;
    options.width = width;
    options.color = color;
    options.verbose = verbose;
    return opscope::to_format(models, {tolerance, why}, format_from_name(format), options);
  }
};

template <class T>
T item(const py::dict& row, const char* key, T otherwise) {
  if (!row.contains(key) || row[key].is_none()) return otherwise;
  return row[key].cast<T>();
}

PeerCount count_of(const py::dict& row) {
  PeerCount count{row["module"].cast<std::string>(), row["op"].cast<std::string>(), {}, 1};
  if (!row["count"].is_none()) count.count = row["count"].cast<std::uint64_t>();
  count.calls = item<std::uint64_t>(row, "calls", 1);
  return count;
}

PeerAnswer answer_of(const py::dict& row) {
  PeerAnswer answer;
  answer.tool = row["tool"].cast<std::string>();
  answer.version = item<std::string>(row, "version", "");
  answer.unit = row["unit"].cast<std::string>() == "macs" ? PeerUnit::kMacs : PeerUnit::kFlops;
  answer.notes = item<std::vector<std::string>>(row, "notes", {});
  if (row.contains("error")) {
    const auto error = row["error"].cast<py::dict>();
    answer.error = error["what"].cast<std::string>();
    answer.hint = item<std::string>(error, "hint", "");
    return answer;
  }
  answer.total = row["total"].cast<std::uint64_t>();
  if (row.contains("params")) answer.params = row["params"].cast<std::uint64_t>();
  answer.inclusive = item(row, "inclusive", false);
  answer.divided_by = item<std::uint64_t>(row, "divided_by", 1);
  answer.free_ops = item<std::vector<std::string>>(row, "free_ops", {});
  answer.not_called = item<std::vector<std::string>>(row, "not_called", {});
  for (const auto each : row["counts"].cast<py::list>())
    answer.counts.push_back(count_of(each.cast<py::dict>()));
  return answer;
}

Reconciliations reconcile_all(const std::vector<std::pair<std::shared_ptr<Graph>, py::list>>& models) {
  Reconciliations found;
  for (const auto& [graph, rows] : models) {
    std::vector<PeerAnswer> answers;
    for (const auto row : rows) answers.push_back(answer_of(row.cast<py::dict>()));
    found.models.push_back(reconcile(make_profile(*graph), answers));
  }
  return found;
}

}  // namespace

void bind_reconcile(py::module_& m) {
  py::class_<Reconciliations>(m, "Reconciliations")
      .def("to_format", &Reconciliations::to_format, py::arg("format"), py::kw_only(), py::arg("why") = true,
           py::arg("tolerance") = 0.1, py::arg("width") = 100, py::arg("color") = false,
           py::arg("verbose") = false);
  m.def("reconcile", &reconcile_all, py::arg("models"));
}

}  // namespace opscope::python
