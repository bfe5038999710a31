// opscope.compare: graphs and saved profiles, as Python hands them over, compared and written by C++.
#include "python/comparing.h"

#include "analyse/compare/comparison.h"
#include "base/files.h"
#include "hardware/devices.h"
#include "python/handed.h"
#include "report/compare/report.h"
#include "report/svg/pictures.h"

namespace opscope::python {
namespace {

namespace py = pybind11;

// One for each device: the first is what the models are profiled for.
std::vector<ProfileOptions> options_by_device(const std::string& convention, std::optional<double> ridge,
                                              const std::string& hardware, const std::string& float32) {
  ProfileOptions options = profile_options(convention, ridge, "", float32);
  if (hardware.empty()) return {options};
  std::vector<ProfileOptions> all;
  for (const DevicePointer& device : load_devices(hardware, "hardware")) {
    options.hardware = device;
    all.push_back(options);
  }
  return all;
}

ComparedModel compared(const HandedModel& handed, const std::vector<ProfileOptions>& options) {
  ComparedModel model{.label = "", .figures = handed.figures, .times = {}};
  if (const auto time = device_time(model.figures)) model.times.push_back(*time);
  for (std::size_t i = 1; handed.graph && i < options.size(); ++i)
    if (const auto time = device_time(figures_of(make_profile(*handed.graph, options[i]))))
      model.times.push_back(*time);
  return model;
}

// `names`: what to call them, "" for their own; where two are the same, what the user wrote tells them apart.
ModelComparison compare_handed(const std::vector<std::string>& names, const std::vector<Handed>& handed,
                               const std::vector<ProfileOptions>& options) {
  std::vector<ComparedModel> models;
  std::vector<std::vector<std::string>> choices;
  for (std::size_t i = 0; i < handed.size(); ++i) {
    const HandedModel model(handed[i], options.front());
    models.push_back(compared(model, options));
    choices.push_back({names[i].empty() ? model.figures.model : names[i]});
    if (!model.spec.empty()) choices.back().push_back(model.spec);
  }
  const std::vector<std::string> labels = labels_apart(choices);
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

}  // namespace

void bind_comparing(py::module_& m) {
  py::class_<ModelComparison>(m, "Comparison")
      .def("to_format", format_comparison, py::arg("format"), py::kw_only(), py::arg("by") = "",
           py::arg("metric") = "flops", py::arg("depth") = 1, py::arg("top") = 15, py::arg("width") = 100,
           py::arg("color") = false, py::arg("verbose") = false)
      .def("pareto", write_pareto, py::arg("path"), py::arg("x") = "params", py::arg("y") = "flops");
  m.def(
      "compare",
      [](const std::vector<std::string>& names, const std::vector<Handed>& models,
         const std::string& convention, std::optional<double> ridge, const std::string& hardware,
         const std::string& float32) {
        return compare_handed(names, models, options_by_device(convention, ridge, hardware, float32));
      },
      py::arg("names"), py::arg("models"), py::kw_only(), py::arg("convention") = "opscope",
      py::arg("ridge") = py::none(), py::arg("hardware") = "", py::arg("float32") = "torch");
}

}  // namespace opscope::python
