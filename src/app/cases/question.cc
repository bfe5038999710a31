// The rows of questions, and the use cases that take more than one model.
#include "app/cases/question.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "analyse/memory/memory.h"
#include "app/request/fields.h"
#include "base/error.h"
#include "hardware/devices.h"
#include "metrics/unit.h"
#include "report/diff/report.h"
#include "report/memory/report.h"

namespace opscope {

namespace {

constexpr std::array kMemoryOptions{
    QuestionOption{"top", "N", "Rows: storages allocated at the peak, and proposed changes. Default 10"},
    QuestionOption{"no_advice", "", "Without the proposed changes"},
};

QuestionAnswer ask_memory(const Profile& profile, const QuestionValues& values, TextOptions& text) {
  text.top = static_cast<int>(values.number("top", 0, text.top));
  const MemoryReport report = make_memory_report(profile, {.advice = !values.is_on("no_advice")});
  return {.report = [report](Format format,
                             const TextOptions& shown) { return to_format(report, format, shown); },
          .svg = [report] { return memory_svg(report); }};
}

constexpr std::array kQuestions{
    Question{.name = "memory",
             .summary = "Memory over time: the peak, what is allocated at the peak, and what would lower it",
             .examples = "  opscope memory resnet18\n"
                         "  opscope memory bert-base-uncased --training --optimizer adam\n"
                         "  opscope memory gpt2 --phase decode --output timeline.svg\n",
             .after = "fuse",
             .verbose = "All storages, modules and proposed changes",
             .options = kMemoryOptions,
             .draws = true,
             .ask = ask_memory}};

// Of a graph on every device; a saved profile is as it was saved.
std::vector<DeviceTime> times_of(const LoadedModel& model, const std::vector<ProfileOptions>& by_device) {
  std::vector<DeviceTime> times;
  if (const auto first = device_time(model.figures)) times.push_back(*first);
  if (!model.has_graph()) return times;
  for (std::size_t i = 1; i < by_device.size(); ++i)
    if (const auto time = device_time(figures_of(make_profile(*model.graph, by_device[i]))))
      times.push_back(*time);
  return times;
}

std::string where(const char* flag, const char* argument, Voice voice) {
  return voice == Voice::kFlags ? flag : argument;
}

DiffSide side_of(const LoadedModel& model) { return {model.label, &model.figures, model.profile.get()}; }

}  // namespace

std::span<const Question> questions() { return kQuestions; }

std::string QuestionValues::text(std::string_view name) const {
  const auto found = texts.find(name);
  return found == texts.end() ? "" : found->second;
}

std::int64_t QuestionValues::number(std::string_view name, std::int64_t least, std::int64_t otherwise) const {
  const std::string said = text(name);
  if (said.empty()) return otherwise;
  std::string flag = "--" + std::string(name);
  std::ranges::replace(flag, '_', '-');
  return parse_integer(voice == Voice::kFlags ? flag : std::string(name), said, least);
}

ModelComparison compare(std::vector<LoadedModel> models, const std::vector<ProfileOptions>& by_device) {
  name_apart(models);
  std::vector<ComparedModel> compared;
  for (LoadedModel& model : models) {
    std::vector<DeviceTime> times = times_of(model, by_device);
    compared.push_back({std::move(model.label), std::move(model.figures), std::move(times)});
  }
  return compare_models(std::move(compared));
}

std::vector<ProfileOptions> profile_options_by_device(const CostRequest& request, Voice voice) {
  ProfileOptions options;
  options.convention = convention_from_name(request.convention);
  options.ridge_is_given = !request.ridge.empty();
  if (options.ridge_is_given) options.ridge = parse_number("--ridge", request.ridge);
  options.float32 = float32_from_name(request.float32);
  options.partition.strategy = strategy_from_name(request.partition);
  if (!request.fast_memory.empty()) {
    options.partition.fast_memory =
        parse_bytes(where("--fast-memory", "fast_memory", voice), request.fast_memory);
    if (!options.partition.fast_memory)
      throw Error("the limit must be above 0", "--fast-memory", "for example 256KiB");
  }
  if (request.hardware.empty()) return {options};
  std::vector<ProfileOptions> all;
  for (DevicePointer& device : load_devices(request.hardware, where("--hardware", "hardware", voice))) {
    options.hardware = std::move(device);
    all.push_back(options);
  }
  return all;
}

ProfileOptions profile_options(const CostRequest& request, Voice voice) {
  std::vector<ProfileOptions> all = profile_options_by_device(request, voice);
  if (all.size() > 1)
    throw Error("only one device here", where("--hardware", "hardware", voice),
                "`opscope profile` shows several side by side");
  return std::move(all.front());
}

DiffAnswer diff(LoadedModel base, LoadedModel now) {
  ModelDiff found = make_diff(side_of(base), side_of(now));
  return {std::move(base), std::move(now), std::move(found)};
}

std::string draw(const DiffAnswer& answer, PictureFormat format, std::size_t max_boxes) {
  if (!answer.has_graphs())
    throw Error("a saved profile has no graph to draw",
                (answer.base.has_graph() ? answer.now : answer.base).spec,
                "diff captures, or the models themselves");
  return draw_diff(answer.diff, *answer.base.profile, *answer.now.profile, format, max_boxes).bytes;
}

CheckReport check(const LoadedModel& model, const LoadedModel* base, std::span<const BudgetLimit> limits,
                  bool allow_unknown) {
  if (!base) return check_budget({model.label, &model.figures, nullptr}, limits, allow_unknown);
  DiffSide before = side_of(*base);
  if (base->label == model.label && !base->spec.empty()) before.label = base->spec;
  const ModelDiff change = make_diff(before, side_of(model));
  return check_budget({model.label, &model.figures, &change}, limits, allow_unknown);
}

LoadedModel profiled(std::string spec, std::shared_ptr<Graph> graph, const ProfileOptions& options) {
  LoadedModel model{std::move(spec), "", std::move(graph), nullptr, {}};
  model.profile = std::make_shared<Profile>(make_profile(*model.graph, options));
  model.figures = figures_of(*model.profile);
  return model;
}

void name_apart(std::vector<LoadedModel>& models) {
  std::vector<std::vector<std::string>> choices;
  for (const LoadedModel& model : models) {
    const std::filesystem::path path(model.spec);
    const std::string in_folder = (path.parent_path().filename() / path.filename()).string();
    auto& names = choices.emplace_back();
    for (const std::string& name : {model.label.empty() ? model.figures.model : model.label,
                                    path.stem().string(), in_folder, model.spec})
      if (!name.empty()) names.push_back(name);
  }
  const std::vector<std::string> labels = labels_apart(choices);
  for (std::size_t i = 0; i < models.size(); ++i) models[i].label = labels[i];
}

}  // namespace opscope
