// The rows of questions, and the use cases that take more than one model.
#include "app/cases/question.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "analyse/memory/memory.h"
#include "app/worker/child_process.h"
#include "base/error.h"
#include "base/text.h"
#include "hardware/device.h"
#include "hardware/predict/targets.h"
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

// "1.5x" or "1.5".
double host_speed(const std::string& text, const std::string& flag) {
  const std::string_view digits = std::string_view(text).substr(0, text.size() - text.ends_with('x'));
  const auto speed = number_from<double>(digits);
  if (speed && *speed > 0 && *speed <= 1000) return *speed;
  throw Error("'" + text + "' is no speed", flag, "1.5x is a host half as fast again as the calibrated one");
}

// How something runs is asked of a device.
void refuse_without_device(const std::string& text, const std::string& flag, Voice voice) {
  if (text.empty()) return;
  throw Error("how a model runs is asked of a device, and none is named", flag,
              voice == Voice::kFlags ? "add --hardware h200; `opscope devices` lists them"
                                     : "add hardware='h200'; opscope.devices() lists them");
}

DiffSide side_of(const LoadedModel& model) { return {model.label, &model.figures, model.profile.get()}; }

constexpr std::array<std::string_view, 4> kSizes{"batch", "seq_len", "image_size", "past_len"};

// Names in their one spelling, each once.
SweepAxis word_axis(const std::string& key, const std::string& text, Voice voice) {
  const CaptureField& field = capture_field(key);
  const auto member = std::get<std::string CaptureRequest::*>(field.member);
  std::vector<std::string> names;
  for (const std::string& each : axis_from_text(key, field.name_for(voice).c_str(), text).texts) {
    CaptureRequest one;
    one.training = key != "dtype" && key != "quantize";
    one.*member = each;
    std::string name = checked(one, voice).*member;
    if (name.empty()) name = each;  // "none"
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return worded_axis(key, std::move(names));
}

SweepAxis axis_of(const AxisText& axis, Voice voice) {
  if (axis.is_dim)
    return numeric_axis(axis.name, parse_value_list(voice == Voice::kFlags ? "--dim" : "dims", axis.text));
  if (is_worded(axis.name)) return word_axis(axis.name, axis.text, voice);
  return axis_from_text(axis.name, capture_field(axis.name).name_for(voice).c_str(), axis.text);
}

// The axes of a request, and the captures that its places are.
class Axes {
 public:
  Axes(CaptureRequest model, const std::vector<AxisText>& texts, Voice voice) : model_(std::move(model)) {
    for (const AxisText& text : texts) {
      axes_.push_back(axis_of(text, voice));
      is_dim_.push_back(text.is_dim);
      if (text.name == "past_len" && model_.phase.empty()) model_.phase = "decode";
    }
  }

  const std::vector<SweepAxis>& axes() const { return axes_; }

  SweepCapture captures(PointSource& source) const {
    return [this, &source](std::span<const SweepPlace> places, const SweepGiven& give) {
      std::vector<CaptureRequest> requests;
      for (const SweepPlace& place : places) requests.push_back(at(place));
      source.capture(model_, requests, give);
    };
  }

 private:
  CaptureRequest at(const SweepPlace& place) const {
    CaptureRequest request = model_;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (is_dim_[a])
        request.dims[axes_[a].name] = place[a];
      else
        set(request, axes_[a], place[a]);
    }
    return request;
  }

  static void set(CaptureRequest& request, const SweepAxis& axis, std::int64_t number) {
    const std::string text = axis.numeric ? "" : axis.texts[static_cast<std::size_t>(number)];
    const auto& member = capture_field(axis.name).member;
    if (const auto* count = std::get_if<std::optional<std::int64_t> CaptureRequest::*>(&member))
      request.** count = number;
    else if (const auto* word = std::get_if<std::string CaptureRequest::*>(&member))
      request.** word = text;
    else if (const auto* sides = std::get_if<CaptureRequest::Shape CaptureRequest::*>(&member))
      request.** sides = axis.numeric ? CaptureRequest::Shape{number} : sides_of(text);
  }

  CaptureRequest model_;
  std::vector<SweepAxis> axes_;
  std::vector<bool> is_dim_;
};

// The limit that was given, or the device's memory.
void set_memory(const SweepRequest& request, SweepReport& report) {
  const bool flags = request.voice == Voice::kFlags;
  if (!request.memory.empty()) {
    report.memory = parse_bytes(flags ? "--memory" : "memory", request.memory);
    report.memory_text = request.memory;
  } else if (const auto& device = request.devices.front().hardware; device && device->memory_size) {
    report.memory = Count{static_cast<std::uint64_t>(device->memory_size->value)};
    report.memory_text = device->id + "'s " + device->memory_size->text;
  }
}

// Between two values: by a polynomial, else by a few more captures.
FiguresAt figures_at(Sweep& sweep, const SweepCapture& capture) {
  constexpr std::size_t kMoreCaptures = 64;
  return [&sweep, &capture,
          left = kMoreCaptures](const SweepPlace& place) mutable -> std::optional<SweepFigures> {
    if (auto known = sweep.result().at(place)) return known;
    if (left == 0) return std::nullopt;
    --left;
    return sweep.capture_one(place, capture);
  };
}

// A dimension of a file may have any name.
bool is_dimension(const std::string& name, const CaptureRequest& model) {
  if (model.model.ends_with(".pt2") || model.model.ends_with(".onnx")) return true;
  if (std::ranges::find(kSizes, name) != kSizes.end()) return false;
  throw Error("nothing called '" + name + "' varies", "--variable",
              did_you_mean(name, kSizes, "batch, seq-len, image-size or past-len"));
}

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
  if (!request.mode.empty()) options.mode = run_mode_from_name(request.mode, where("--mode", "mode", voice));
  if (!request.host.empty()) options.host_speed = host_speed(request.host, where("--host", "host", voice));
  options.routing = routing_from_text(request.routing, where("--routing", "routing", voice));
  options.partition.strategy = strategy_from_name(request.partition);
  if (!request.fast_memory.empty()) {
    options.partition.fast_memory =
        parse_bytes(where("--fast-memory", "fast_memory", voice), request.fast_memory);
    if (!options.partition.fast_memory)
      throw Error("the limit must be above 0", "--fast-memory", "for example 256KiB");
  }
  if (request.hardware.empty()) {
    refuse_without_device(request.mode, where("--mode", "mode", voice), voice);
    refuse_without_device(request.host, where("--host", "host", voice), voice);
    return {options};
  }
  std::vector<ProfileOptions> all;
  for (CalibratedDevice& target : load_targets(request.hardware, where("--hardware", "hardware", voice))) {
    options.hardware = std::move(target.device), options.calibration = std::move(target.calibration);
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

CaptureRequest on_hardware(CaptureRequest request, const ProfileOptions& options) {
  if (options.hardware && request.gpu.empty() && request.device.starts_with("cuda"))
    if (const auto cuda = options.hardware->cuda()) request.gpu = to_text(*cuda);
  return request;
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
  return draw_diff(answer.diff, *answer.base.profile, *answer.now.profile, format, max_boxes);
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

SweepAnswer sweep(const SweepRequest& request, PointSource& source) {
  const bool flags = request.voice == Voice::kFlags;
  const Axes axes(on_hardware(request.model, request.devices.front()), request.axes, request.voice);
  if (axes.axes().empty())
    throw Error("nothing varies", "sweep",
                flags ? "give --batch, --seq-len, --image-size, --dtype, --quantize or --dim, as a list"
                      : "give batch, seq_len, image_size, dtype, quantize or dims, as a list");
  SweepAnswer answer;
  SweepReport& report = answer.report;
  set_memory(request, report);
  if (!request.metric.empty())
    report.metrics = sweep_metrics_from(flags ? "--metric" : "metric", request.metric,
                                        request.devices.front().hardware != nullptr);
  const SweepWay way = !request.polynomial   ? SweepWay::kAuto
                       : *request.polynomial ? SweepWay::kPolynomial
                                             : SweepWay::kCapture;
  answer.sweep = std::make_unique<Sweep>(
      axes.axes(), SweepOptions{.profile = request.devices.front(),
                                .others = {request.devices.begin() + 1, request.devices.end()},
                                .way = way});
  Sweep& run = *answer.sweep;
  const SweepResult& result = run.result();
  if (!run.uses_polynomials()) source.expect(result.points.size());
  const SweepCapture capture = axes.captures(source);
  try {
    run.run(capture);
    if (result.count(SweepState::kCaptured) == 0) source.throw_first_problem();
    source.expect(0);
    if (request.turns) report.turns = find_turns(result, report.memory, figures_at(run, capture));
  } catch (const Interrupted& interrupted) {
    if (result.count(SweepState::kCaptured) == 0) throw;
    report.interrupted = true;
    answer.signal = interrupted.signal;
  }
  report.result = &result;
  if (report.metrics.empty()) report.metrics = usual_sweep_metrics(result);
  return answer;
}

FitAnswer fit(const FitRequest& request, PointSource& source) {
  const FitQuestion question =
      fit_question(request.variable, {request.memory, request.max_time, request.reserve}, request.step,
                   request.profile.hardware.get(), request.voice == Voice::kFlags);
  const bool is_dim = is_dimension(question.variable, request.model);
  const Axes axes(on_hardware(request.model, request.profile),
                  {{question.variable, std::to_string(question.first), is_dim}}, request.voice);
  const SweepCapture capture = axes.captures(source);
  const FitAnswer answer = find_fit(question, request.profile, [&](std::int64_t value, const auto& give) {
    const SweepPlace place{value};
    capture(std::span(&place, 1),
            [&](std::size_t, const Graph* graph, const std::string& why) { give(graph, why); });
  });
  if (answer.end == FitAnswer::End::kFails) source.throw_first_problem();
  return answer;
}

}  // namespace opscope
