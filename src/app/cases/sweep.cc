// Axes from their texts, requests from places on them, and what follows from the captures.
#include "app/cases/sweep.h"

#include <algorithm>
#include <array>

#include "analyse/sweep/sweep.h"
#include "analyse/sweep/turns.h"
#include "app/request/fields.h"
#include "app/worker/child_process.h"
#include "base/error.h"
#include "base/text.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 4> kSizes{"batch", "seq_len", "image_size", "past_len"};

// Names in their one spelling, each once.
SweepAxis dtype_axis(const std::string& text, Voice voice) {
  std::vector<std::string> names;
  for (const std::string& each :
       axis_from_text("dtype", capture_field("dtype").name_for(voice).c_str(), text).texts) {
    CaptureRequest one;
    one.dtype = each;
    const std::string name = checked(one, voice).dtype;
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return worded_axis("dtype", std::move(names));
}

SweepAxis axis_of(const AxisText& axis, Voice voice) {
  if (axis.is_dim)
    return numeric_axis(axis.name, parse_value_list(voice == Voice::kFlags ? "--dim" : "dims", axis.text));
  if (axis.name == "dtype") return dtype_axis(axis.text, voice);
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
  } else if (const auto& device = request.profile.hardware; device && device->memory_size) {
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

SweepAnswer sweep(const SweepRequest& request, PointSource& source) {
  const bool flags = request.voice == Voice::kFlags;
  const Axes axes(request.model, request.axes, request.voice);
  if (axes.axes().empty())
    throw Error("nothing varies", "sweep",
                flags ? "give --batch, --seq-len, --image-size, --dtype or --dim, as a list"
                      : "give batch, seq_len, image_size, dtype or dims, as a list");
  SweepAnswer answer;
  SweepReport& report = answer.report;
  set_memory(request, report);
  if (!request.metric.empty())
    report.metrics = sweep_metrics_from(flags ? "--metric" : "metric", request.metric);
  const SweepWay way = !request.polynomial   ? SweepWay::kAuto
                       : *request.polynomial ? SweepWay::kPolynomial
                                             : SweepWay::kCapture;
  answer.sweep = std::make_unique<Sweep>(axes.axes(), SweepOptions{.profile = request.profile, .way = way});
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
  const FitQuestion question = fit_question(request.variable, request.memory, request.reserve, request.step,
                                            request.profile.hardware.get());
  const bool is_dim = is_dimension(question.variable, request.model);
  const Axes axes(request.model, {{question.variable, std::to_string(question.first), is_dim}},
                  request.voice);
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
