// opscope.compare, diff and check: graphs and saved profiles, as Python hands them over.
#include "python/questions.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cases/question.h"
#include "base/error.h"
#include "base/files.h"
#include "readers/results/budget_reader.h"
#include "readers/results/profile_reader.h"
#include "report/check/report.h"
#include "report/compare/report.h"
#include "report/diff/report.h"
#include "report/reconcile/reconcile.h"

#ifdef OPSCOPE_READERS
#endif
#ifdef OPSCOPE_READERS
#endif

namespace opscope::python {
namespace {

namespace py = pybind11;

std::string format_comparison(const ModelComparison& self, const std::string& format, const std::string& by,
                              const std::string& metric, std::uint32_t depth, int top, int width, bool color,
                              bool verbose) {
  TextOptions options;
  options.width = width, options.color = color, options.top = top, options.verbose = verbose;
  std::optional<ComparedParts> parts;
  if (!by.empty())
    parts = compare_parts(self, compare_by_from_name(by, "by"), metric_named(metric, "metric", kModelNeeds),
                          depth);
  return to_format(self, parts, format_from_name(format), options);
}

void write_pareto(const ModelComparison& self, const std::string& path, const std::string& x,
                  const std::string& y) {
  const PictureFormat format = picture_format_from_extension(path);
  check_writable(path);
  const ParetoOptions options{.x = &metric_named(x, "x", kModelNeeds),
                              .y = &metric_named(y, "y", kModelNeeds)};
  write_file(path, svg_to(format, pareto_svg(self, options)));
}

// `names`: what to call them, "" for their own.
ModelComparison compare_handed(const std::vector<std::string>& names, const std::vector<Handed>& handed,
                               const std::string& convention, std::optional<double> ridge,
                               const std::string& hardware, const std::string& float32) {
  const auto options = options_by_device(convention, ridge, hardware, float32);
  std::vector<LoadedModel> models;
  for (std::size_t i = 0; i < handed.size(); ++i) {
    models.push_back(loaded(handed[i], options.front()));
    models.back().label = names[i];
  }
  return compare(std::move(models), options);
}

std::string format_diff(const DiffAnswer& self, const std::string& format, int width, bool color, int depth,
                        bool fold, bool verbose) {
  TextOptions options;
  options.width = width, options.color = color, options.depth = depth, options.fold = fold;
  options.verbose = verbose;
  return to_format(self.diff, format_from_name(format), options);
}

void draw_diff_to(const DiffAnswer& self, const std::string& path, std::size_t max_boxes) {
  const PictureFormat format = picture_format_from_extension(path);
  check_writable(path);
  write_file(path, draw(self, format, max_boxes));
}

std::vector<BudgetLimit> limits_of_file(const std::string& budget) {
  if (budget.empty()) return {};
#ifdef OPSCOPE_READERS
  auto models = read_budget(read_file(budget), budget);
  if (models.size() > 1 || !models.front().spec.empty())
    throw Error("the budget is of models that it names", budget,
                "opscope check --budget FILE checks them all");
  return std::move(models.front().limits);
#else
  throw Error("this build of opscope reads no budgets", budget, "give the limits as max={...}");
#endif
}

struct HandedCheck {
  std::vector<CheckReport> reports;
};

HandedCheck check_handed(const Handed& model, const std::optional<Handed>& against, const std::string& budget,
                         const std::string& max, const std::string& min, const std::string& max_increase,
                         bool allow_unknown, const std::string& convention, const std::string& hardware) {
  auto limits = limits_of_file(budget);
  add_limits({max, min, max_increase, against.has_value()}, limits);
  const ProfileOptions options = profile_options(convention, std::nullopt, hardware, "torch");
  const LoadedModel now = loaded(model, options);
  std::optional<LoadedModel> base;
  if (against) base = loaded(*against, options);
  return {{check(now, base ? &*base : nullptr, limits, allow_unknown)}};
}

std::string format_check(const HandedCheck& self, const std::string& format, int width, bool color) {
  if (format == "github") return check_annotations(self.reports);
  TextOptions options;
  options.width = width, options.color = color;
  return to_format(self.reports, format_from_name(format), options);
}

// The answer to a question of app/cases/question.h, with what it is about.
struct HandedAnswer {
  std::shared_ptr<Graph> graph;
  Profile profile;
  TextOptions text;
  QuestionAnswer answer;
};

const Question& question_called(const std::string& name) {
  const auto all = questions();
  const auto found = std::ranges::find(all, name, &Question::name);
  if (found == all.end()) throw Error("no question called '" + name + "'");
  return **found;
}

// `options`: by name, as text; "true" for a switch.
std::shared_ptr<HandedAnswer> ask(const std::string& name, const std::shared_ptr<Graph>& graph,
                                  const std::map<std::string, std::string>& options) {
  const Question& question = question_called(name);
  QuestionValues values(Voice::kArguments);
  for (const auto& [option, text] : options) values.set(option, text);
  auto handed = std::make_shared<HandedAnswer>(HandedAnswer{graph, make_profile(*graph, {}), {}, {}});
  handed->answer = question.ask(handed->profile, values, handed->text);
  return handed;
}

std::string format_answer(const HandedAnswer& self, const std::string& format, int width, bool color,
                          bool verbose) {
  TextOptions text = self.text;
  text.width = width, text.color = color, text.verbose = verbose;
  return self.answer.report(format_from_name(format), text);
}

void draw_answer(const HandedAnswer& self, const std::string& path) {
  if (!self.answer.svg) throw Error("there is no picture of it", path);
  const PictureFormat format = picture_format_from_extension(path);
  check_writable(path);
  write_file(path, svg_to(format, self.answer.svg()));
}

// Of each the summary, and its options with what they are.
py::dict question_rows() {
  py::dict rows;
  for (const Question* question : questions()) {
    py::list options;
    for (const QuestionOption& option : question->options)
      options.append(py::make_tuple(std::string(option.name), option.type.empty(), std::string(option.help)));
    rows[py::str(std::string(question->name))] = py::make_tuple(std::string(question->summary), options);
  }
  return rows;
}

}  // namespace

void bind_questions(py::module_& m) {
  py::class_<ModelComparison>(m, "Comparison")
      .def("to_format", format_comparison, py::arg("format"), py::kw_only(), py::arg("by") = "",
           py::arg("metric") = "flops", py::arg("depth") = 1, py::arg("top") = 15, py::arg("width") = 100,
           py::arg("color") = false, py::arg("verbose") = false)
      .def("pareto", write_pareto, py::arg("path"), py::arg("x") = "params", py::arg("y") = "flops");
  m.def("compare", compare_handed, py::arg("names"), py::arg("models"), py::kw_only(),
        py::arg("convention") = "opscope", py::arg("ridge") = py::none(), py::arg("hardware") = "",
        py::arg("float32") = "torch");
  py::class_<DiffAnswer, std::shared_ptr<DiffAnswer>>(m, "Diff")
      .def("to_format", format_diff, py::arg("format"), py::kw_only(), py::arg("width") = 100,
           py::arg("color") = false, py::arg("depth") = -1, py::arg("fold") = true,
           py::arg("verbose") = false)
      .def("draw", draw_diff_to, py::arg("path"), py::arg("max_boxes") = 60)
      .def_property_readonly("same", [](const DiffAnswer& self) { return self.diff.same(); });
  m.def(
      "diff",
      [](const Handed& base, const Handed& now, const std::string& convention, const std::string& hardware) {
        const auto options = profile_options(convention, std::nullopt, hardware, "torch");
        return std::make_shared<DiffAnswer>(diff(loaded(base, options), loaded(now, options)));
      },
      py::arg("base"), py::arg("new"), py::kw_only(), py::arg("convention") = "opscope",
      py::arg("hardware") = "");
  py::class_<HandedCheck>(m, "Check")
      .def("to_format", format_check, py::arg("format"), py::kw_only(), py::arg("width") = 100,
           py::arg("color") = false)
      .def_property_readonly("kept", [](const HandedCheck& self) { return self.reports.front().kept(); });
  py::class_<HandedAnswer, std::shared_ptr<HandedAnswer>>(m, "Answer")
      .def("to_format", format_answer, py::arg("format"), py::kw_only(), py::arg("width") = 100,
           py::arg("color") = false, py::arg("verbose") = false)
      .def("draw", draw_answer, py::arg("path"));
  m.def("ask", ask, py::arg("question"), py::arg("graph"), py::arg("options"));
  m.def("questions", question_rows);
  m.def("check", check_handed, py::arg("model"), py::kw_only(), py::arg("against") = py::none(),
        py::arg("budget") = "", py::arg("max") = "", py::arg("min") = "", py::arg("max_increase") = "",
        py::arg("allow_unknown") = false, py::arg("convention") = "opscope", py::arg("hardware") = "");
}

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

namespace {

Figures saved_figures(const std::string& path) {
#ifdef OPSCOPE_READERS
  return read_profile(read_file(path), path);
#else
  throw Error("this build of opscope reads no profiles", path, "profile the model instead");
#endif
}

}  // namespace

LoadedModel loaded(const Handed& handed, const ProfileOptions& options) {
  const auto& [spec, graph, path] = handed;
  LoadedModel model =
      graph ? profiled(spec, graph, options) : LoadedModel{spec, "", nullptr, nullptr, saved_figures(path)};
  model.label = spec.empty() ? model.figures.model : spec;
  return model;
}

std::vector<ProfileOptions> options_by_device(const std::string& convention, std::optional<double> ridge,
                                              const std::string& hardware, const std::string& float32) {
  std::vector<ProfileOptions> all = profile_options_by_device(
      {.convention = convention, .hardware = hardware, .float32 = float32}, Voice::kArguments);
  for (ProfileOptions& options : all)
    if (ridge) options.ridge = *ridge, options.ridge_is_given = true;
  return all;
}

ProfileOptions profile_options(const std::string& convention, std::optional<double> ridge,
                               const std::string& hardware, const std::string& float32) {
  std::vector<ProfileOptions> all = options_by_device(convention, ridge, hardware, float32);
  if (all.size() > 1)
    throw Error("only one device here", "hardware", "opscope.compare shows several side by side");
  return std::move(all.front());
}

}  // namespace opscope::python
