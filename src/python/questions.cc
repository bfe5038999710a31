// opscope.compare, diff, check and reconcile: graphs and saved profiles, as Python hands them over.
#include <memory>
#include <tuple>

#include "app/request/edits.h"
#include "base/error.h"
#include "base/files.h"
#include "python/bindings.h"
#include "readers/results/budget_reader.h"
#include "readers/results/profile_reader.h"
#include "report/check/report.h"
#include "report/compare/report.h"
#include "report/diff/report.h"
#include "report/llm/llm.h"
#include "report/reconcile/reconcile.h"

namespace opscope::python {
namespace {

// The keyword arguments of a call, each taken by its name; those that nobody takes are a TypeError.
class Keywords {
 public:
  explicit Keywords(const py::kwargs& given) : given_(given) {}

  template <class T>
  Keywords& take(const char* name, T& value) {
    if (!given_.contains(name)) return *this;
    try {
      value = given_[name].cast<T>();
    } catch (const py::cast_error&) {
      throw py::type_error("not a value for '" + std::string(name) + "'");
    }
    ++taken_;
    return *this;
  }
  void end() const {
    if (taken_ != given_.size()) throw py::type_error("unexpected keyword argument");
  }

 private:
  const py::kwargs& given_;
  std::size_t taken_ = 0;
};

// What the user called it, "" for nothing; its graph, or the path of a profile's JSON.
using Handed = std::tuple<std::string, std::shared_ptr<Graph>, std::string>;

// Builds without the readers have none of what a file is read for.
[[maybe_unused, noreturn]] void fail_without_readers(const char* what, const std::string& path,
                                                     const char* hint) {
  throw Error("this build of opscope reads no " + std::string(what), path, hint);
}

Figures saved_figures(const std::string& path) {
#ifdef OPSCOPE_READERS
  return read_profile(read_file(path), path);
#else
  fail_without_readers("profiles", path, "profile the model instead");
#endif
}

// Labelled as the user called it, else by its own name.
LoadedModel loaded(const Handed& handed, const ProfileOptions& options) {
  const auto& [spec, graph, path] = handed;
  LoadedModel model =
      graph ? profiled(spec, graph, options) : LoadedModel{spec, "", nullptr, nullptr, saved_figures(path)};
  model.label = spec.empty() ? model.figures.model : spec;
  return model;
}

// `names`: what to call them, "" for their own.
ModelComparison compare_handed(const std::vector<std::string>& names, const std::vector<Handed>& handed,
                               const py::kwargs& costs) {
  const auto options = options_by_device(costs);
  std::vector<LoadedModel> models;
  for (std::size_t i = 0; i < handed.size(); ++i) {
    models.push_back(loaded(handed[i], options.front()));
    models.back().label = names[i];
  }
  return compare(std::move(models), options);
}

std::string format_comparison(const ModelComparison& self, const std::string& format, const std::string& by,
                              const std::string& metric, std::uint32_t depth, const py::kwargs& text) {
  std::optional<ComparedParts> parts;
  if (!by.empty())
    parts = compare_parts(self, compare_by_from_name(by, "by"), metric_named(metric, "metric", kModelNeeds),
                          depth);
  return to_format(self, parts, format_from_name(format), text_options(text, {.top = 15}));
}

void write_pareto(const ModelComparison& self, const std::string& path, const std::string& x,
                  const std::string& y) {
  write_picture(path, [&](PictureFormat format) {
    return svg_to(format, pareto_svg(self, {.x = &metric_named(x, "x", kModelNeeds),
                                            .y = &metric_named(y, "y", kModelNeeds)}));
  });
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
  fail_without_readers("budgets", budget, "give the limits as max={...}");
#endif
}

CheckReport check_handed(const Handed& model, const std::optional<Handed>& against, const std::string& budget,
                         const std::string& max, const std::string& min, const std::string& max_increase,
                         bool allow_unknown, const py::kwargs& costs) {
  auto limits = limits_of_file(budget);
  add_limits({max, min, max_increase, against.has_value()}, limits);
  const ProfileOptions options = profile_options(costs);
  const LoadedModel now = loaded(model, options);
  std::optional<LoadedModel> base;
  if (against) base = loaded(*against, options);
  return check(now, base ? &*base : nullptr, limits, allow_unknown);
}

// The answer to a question of app/cases/question.h, with what it is about.
struct HandedAnswer {
  std::shared_ptr<Graph> graph;
  Profile profile;
  TextOptions text;
  QuestionAnswer answer;
};

// `options`: by name, as text; "true" for a switch.
std::shared_ptr<HandedAnswer> ask(const std::string& name, const std::shared_ptr<Graph>& graph,
                                  const std::map<std::string, std::string>& options) {
  const auto question = std::ranges::find(questions(), name, &Question::name);
  if (question == questions().end()) throw Error("no question called '" + name + "'");
  const QuestionValues values{Voice::kArguments, {options.begin(), options.end()}};
  auto handed = std::make_shared<HandedAnswer>(HandedAnswer{graph, make_profile(*graph, {}), {}, {}});
  handed->answer = question->ask(handed->profile, values, handed->text);
  return handed;
}

void draw_answer(const HandedAnswer& self, const std::string& path) {
  if (!self.answer.svg) throw Error("there is no picture of it", path);
  write_picture(path, [&](PictureFormat format) { return svg_to(format, self.answer.svg()); });
}

// Of each the summary, and its options with what they are.
py::dict question_rows() {
  py::dict rows;
  for (const Question& question : questions()) {
    py::list options;
    for (const QuestionOption& option : question.options)
      options.append(py::make_tuple(std::string(option.name), option.type.empty(), std::string(option.help)));
    rows[py::str(std::string(question.name))] = py::make_tuple(std::string(question.summary), options);
  }
  return rows;
}

// `peers`: the other tools' answers, in JSON as the command line gets them.
Reconciliation reconcile_handed([[maybe_unused]] const std::shared_ptr<Graph>& graph,
                                [[maybe_unused]] const std::string& peers) {
#ifdef OPSCOPE_READERS
  return reconcile(make_profile(*graph), read_peer_counts(peers, "the tools").answers);
#else
  fail_without_readers("answers of other tools", "", "opscope.profile counts without them");
#endif
}

// Python's object that captures: called with what is special about a point, it gives a graph, or the
// exception that stands for it.
class PythonPoints : public PointSource {
 public:
  PythonPoints(const CaptureRequest& asked, py::object capture)
      : asked_(asked), capture_(std::move(capture)) {}

  void capture(const CaptureRequest&, std::span<const CaptureRequest> requests, const Give& give) override {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const py::object answer = capture_(changes(asked_, requests[i]));
      if (py::isinstance<Graph>(answer)) {
        Graph graph = *answer.cast<std::shared_ptr<Graph>>();
        try {
          apply_edits(graph, requests[i], Voice::kArguments);
        } catch (const Error& error) {
          if (requests.size() == 1) throw;
          give(i, nullptr, error.what());
          continue;
        }
        give(i, &graph, "");
        continue;
      }
      if (!first_problem_) first_problem_ = answer;
      give(i, nullptr, py::cast<std::string>(py::str(answer)));
    }
  }
  void throw_first_problem() const override {
    if (!first_problem_) return;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(first_problem_.ptr())), first_problem_.ptr());
    throw py::error_already_set();
  }

 private:
  const CaptureRequest& asked_;
  py::object capture_, first_problem_;
};

std::shared_ptr<SweepAnswer> sweep_model(const CaptureRequest& model, const std::string& spec,
                                         const std::vector<std::tuple<std::string, std::string, bool>>& axes,
                                         const py::object& capture, const std::string& metric,
                                         const std::string& memory, std::optional<bool> polynomial,
                                         const py::kwargs& costs) {
  SweepRequest request{.model = model, .axes = {}, .voice = Voice::kArguments};
  request.model.model = spec;
  for (const auto& [name, text, is_dim] : axes) request.axes.push_back({name, text, is_dim});
  request.devices = options_by_device(costs);
  request.polynomial = polynomial, request.metric = metric, request.memory = memory;
  PythonPoints points(request.model, capture);
  return std::make_shared<SweepAnswer>(sweep(request, points));
}

FitAnswer fit_model(const CaptureRequest& model, const std::string& spec, const std::string& variable,
                    const std::string& memory, const std::string& reserve, std::optional<std::int64_t> step,
                    const py::object& capture, const std::string& max_time, const py::kwargs& costs) {
  FitRequest request{
      .model = model, .variable = variable, .memory = memory, .max_time = max_time, .reserve = reserve};
  request.model.model = spec, request.step = step, request.voice = Voice::kArguments;
  request.profile = profile_options(costs);
  PythonPoints points(request.model, capture);
  return fit(request, points);
}

std::shared_ptr<LlmAnswer> llm_of(const CaptureRequest& model, const std::string& spec,
                                  const py::object& capture, const std::string& prompt,
                                  const std::string& generate, const std::string& batches,
                                  const std::string& reserve, bool plot, const py::kwargs& costs) {
  LlmRequest request{
      .model = model, .prompt = prompt, .generate = generate, .batches = batches, .reserve = reserve};
  request.model.model = spec, request.plot = plot, request.voice = Voice::kArguments;
  if (costs.contains("routing")) request.routing = py::cast<std::string>(costs["routing"]);
  const std::vector<ProfileOptions> devices = options_by_device(costs);
  if (costs.contains("hardware")) request.devices = devices;
  request.mode_is_given = costs.contains("mode");
  PythonPoints points(request.model, capture);
  return std::make_shared<LlmAnswer>(ask_llm(request, points));
}

}  // namespace

TextOptions text_options(const py::kwargs& given, TextOptions options) {
  Keywords keywords(given);
  std::optional<std::string> sort;
  keywords.take("width", options.width).take("color", options.color).take("verbose", options.verbose);
  keywords.take("show_shapes", options.show_shapes).take("fold", options.fold).take("depth", options.depth);
  keywords.take("top", options.top).take("sections_000", options.sections_000).take("sort", sort).end();
  if (sort) options.sort = &metric_named(*sort, "sort", kLayerNeeds);
  return options;
}

std::vector<ProfileOptions> options_by_device(const py::kwargs& given) {
  Keywords keywords(given);
  CostRequest cost;
  std::optional<double> ridge;
  std::uint64_t fast_memory = 0;
  keywords.take("convention", cost.convention).take("hardware", cost.hardware).take("ridge", ridge);
  keywords.take("partition", cost.partition)
      .take("float32", cost.float32)
      .take("mode", cost.mode)
      .take("host", cost.host)
      .take("routing", cost.routing)
      .take("fast_memory", fast_memory)
      .end();
  std::vector<ProfileOptions> all = profile_options_by_device(cost, Voice::kArguments);
  for (ProfileOptions& options : all) {
    if (ridge) options.ridge = *ridge, options.ridge_is_given = true;
    options.partition.fast_memory = Count{fast_memory};
  }
  return all;
}

ProfileOptions profile_options(const py::kwargs& given) {
  std::vector<ProfileOptions> all = options_by_device(given);
  if (all.size() > 1)
    throw Error("only one device here", "hardware", "opscope.compare shows several side by side");
  return std::move(all.front());
}

void write_picture(const std::string& path, const std::function<std::string(PictureFormat format)>& draw) {
  const PictureFormat format = picture_format_from_extension(path);
  check_writable(path);
  write_file(path, draw(format));
}

void bind_questions(py::module_& m) {
  py::class_<ModelComparison>(m, "Comparison")
      .def("to_format", format_comparison, py::arg("format"), py::kw_only(), py::arg("by") = "",
           py::arg("metric") = "flops", py::arg("depth") = 1)
      .def("pareto", write_pareto, py::arg("path"), py::arg("x") = "params", py::arg("y") = "flops");
  m.def("compare", compare_handed, py::arg("names"), py::arg("models"));
  py::class_<DiffAnswer, std::shared_ptr<DiffAnswer>>(m, "Diff")
      .def("to_format",
           [](const DiffAnswer& self, const std::string& format, const py::kwargs& text) {
             return to_format(self.diff, format_from_name(format), text_options(text));
           })
      .def("draw",
           [](const DiffAnswer& self, const std::string& path, std::size_t max_boxes) {
             write_picture(path, [&](PictureFormat format) { return draw(self, format, max_boxes); });
           })
      .def_property_readonly("same", [](const DiffAnswer& self) { return self.diff.same(); });
  m.def("diff", [](const Handed& base, const Handed& now, const py::kwargs& costs) {
    const ProfileOptions options = profile_options(costs);
    return std::make_shared<DiffAnswer>(diff(loaded(base, options), loaded(now, options)));
  });
  py::class_<CheckReport>(m, "Check")
      .def("to_format",
           [](const CheckReport& self, const std::string& format, const py::kwargs& text) {
             const std::span reports(&self, 1);
             if (format == "github") return check_annotations(reports);
             return to_format(reports, format_from_name(format), text_options(text));
           })
      .def_property_readonly("kept", &CheckReport::kept);
  m.def("check", check_handed, py::arg("model"), py::kw_only(), py::arg("against") = py::none(),
        py::arg("budget") = "", py::arg("max") = "", py::arg("min") = "", py::arg("max_increase") = "",
        py::arg("allow_unknown") = false);
  py::class_<HandedAnswer, std::shared_ptr<HandedAnswer>>(m, "Answer")
      .def("to_format",
           [](const HandedAnswer& self, const std::string& format, const py::kwargs& text) {
             return self.answer.report(format_from_name(format), text_options(text, self.text));
           })
      .def("draw", draw_answer);
  m.def("ask", ask);
  m.def("questions", question_rows);
  py::class_<Reconciliation>(m, "Reconciliation")
      .def(
          "to_format",
          [](const Reconciliation& self, const std::string& format, bool why, double tolerance,
             const py::kwargs& text) {
            return to_format(std::span(&self, 1), {tolerance, why}, format_from_name(format),
                             text_options(text));
          },
          py::arg("format"), py::kw_only(), py::arg("why") = true, py::arg("tolerance") = 0.1);
  m.def("reconcile", reconcile_handed);
}

void bind_sweep(py::module_& m) {
  py::class_<SweepAnswer, std::shared_ptr<SweepAnswer>>(m, "Sweep")
      .def("to_format", [](const SweepAnswer& self, const std::string& format, const py::kwargs& text) {
        return to_format(self.report, format_from_name(format), text_options(text));
      });
  m.def("sweep", sweep_model, py::arg("request"), py::arg("spec"), py::arg("axes"), py::arg("capture"),
        py::kw_only(), py::arg("metric") = "", py::arg("memory") = "", py::arg("polynomial") = py::none());
  py::class_<FitAnswer>(m, "Fit").def(
      "to_format", [](const FitAnswer& self, const std::string& format, const py::kwargs& text) {
        return to_format(self, format_from_name(format), text_options(text));
      });
  m.def("fit", fit_model);
  py::class_<LlmAnswer, std::shared_ptr<LlmAnswer>>(m, "Llm")
      .def("to_format",
           [](const LlmAnswer& self, const std::string& format, const py::kwargs& text) {
             return to_format(self, format_from_name(format), text_options(text));
           })
      .def("draw", [](const LlmAnswer& self, const std::string& path) {
        write_picture(path, [&](PictureFormat format) { return svg_to(format, llm_svg(self)); });
      });
  m.def("llm", llm_of, py::arg("request"), py::arg("spec"), py::arg("capture"), py::kw_only(),
        py::arg("prompt") = "", py::arg("generate") = "", py::arg("batches") = "", py::arg("reserve") = "",
        py::arg("plot") = false);
}

}  // namespace opscope::python
