// opscope.compare: graphs and saved profiles, as Python hands them over, compared and written by C++.
#include "python/comparing.h"

#include "analyse/comparison.h"
#include "base/error.h"
#include "base/files.h"
#include "python/session.h"
#include "report/comparison_report.h"
#include "report/pictures.h"
#ifdef OPSCOPE_READERS
#include "readers/profile_reader.h"
#endif

namespace opscope::python {
namespace {

// What to compare: a graph, or the path of a profile's JSON. Names from the best to the surest; the first may
// be
// "": the model's own.
struct Entry {
  std::vector<std::string> names;
  std::shared_ptr<Graph> graph;
  std::string profile;
};

std::vector<ProfileOptions> options_of(const std::string& convention, std::optional<double> ridge,
                                       const std::string& hardware, const std::string& float32) {
  ProfileOptions options{.convention = convention_from_name(convention)};
  options.ridge = ridge.value_or(options.ridge), options.ridge_is_given = ridge.has_value();
  options.float32 = float32_from_name(float32);
  if (hardware.empty()) return {options};
  std::vector<ProfileOptions> all;
  for (const DevicePointer& device : load_devices(hardware, "hardware")) {
    options.hardware = device;
    all.push_back(options);
  }
  return all;
}

Figures saved_figures(const std::string& path) {
#ifdef OPSCOPE_READERS
  return read_profile(read_file(path), path);
#else
  throw Error("this build of opscope reads no profiles", path, "profile the model instead");
#endif
}

ComparedModel model_of(const Entry& entry, const std::vector<ProfileOptions>& options) {
  ComparedModel model;
  model.figures =
      entry.graph ? figures_of(make_profile(*entry.graph, options.front())) : saved_figures(entry.profile);
  if (const auto time = device_time(model.figures)) model.times.push_back(*time);
  for (std::size_t i = 1; entry.graph && i < options.size(); ++i)
    if (const auto time = device_time(figures_of(make_profile(*entry.graph, options[i]))))
      model.times.push_back(*time);
  return model;
}

ModelComparison compare_entries(const std::vector<Entry>& entries,
                                const std::vector<ProfileOptions>& options) {
  std::vector<ComparedModel> models;
  std::vector<std::vector<std::string>> names;
  for (const Entry& entry : entries) {
    models.push_back(model_of(entry, options));
    names.push_back(entry.names);
    if (names.back().front().empty()) names.back().front() = models.back().figures.model;
  }
  const std::vector<std::string> labels = labels_apart(names);
  for (std::size_t i = 0; i < models.size(); ++i) models[i].label = labels[i];
  return compare_models(std::move(models));
}

std::string format_comparison(const ModelComparison& self, const std::string& format, const std::string& by,
                              const std::string& metric, std::uint32_t depth, int top, int width, bool color,
                              bool verbose) {
  TextOptions options;
  options.width = width, options.color = color, options.top = top, options.verbose = verbose;
  std::optional<ComparedParts> parts;
  if (!by.empty())
    parts = compare_parts(self, compare_by_from_name(by, "by"), guarded_metric(metric, "metric"), depth);
  return to_format(self, parts, format_from_name(format), options);
}

void write_pareto(const ModelComparison& self, const std::string& path, const std::string& x,
                  const std::string& y) {
  const PictureFormat format = picture_format_from_extension(path);
  check_writable(path);
  const ParetoOptions options{.x = guarded_metric(x, "x"), .y = guarded_metric(y, "y")};
  write_file(path, svg_to(format, pareto_svg(self, options)));
}

}  // namespace

void bind_comparing(py::module_& m) {
  py::class_<ModelComparison>(m, "Comparison")
      .def("to_format", format_comparison, py::arg("format"), py::kw_only(), py::arg("by") = "",
           py::arg("metric") = "flops", py::arg("depth") = 1, py::arg("top") = 15, py::arg("width") = 100,
           py::arg("color") = false, py::arg("verbose") = false)
      .def("pareto", write_pareto, py::arg("path"), py::arg("x") = "params", py::arg("y") = "flops");
  m.def(
      "compare",
      [](const std::vector<std::tuple<std::vector<std::string>, std::shared_ptr<Graph>, std::string>>& models,
         const std::string& convention, std::optional<double> ridge, const std::string& hardware,
         const std::string& float32) {
        std::vector<Entry> entries;
        for (const auto& [names, graph, profile] : models) entries.push_back({names, graph, profile});
        return compare_entries(entries, options_of(convention, ridge, hardware, float32));
      },
      py::arg("models"), py::kw_only(), py::arg("convention") = "opscope", py::arg("ridge") = py::none(),
      py::arg("hardware") = "", py::arg("float32") = "torch");
}

}  // namespace opscope::python
