// A question about one model, whole in one row: the command line and Python make a command and a function of
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyse/check/budget.h"
#include "analyse/compare/comparison.h"
#include "analyse/diff/diff.h"
#include "analyse/llm/llm.h"
#include "analyse/profile/figures.h"
#include "analyse/profile/profile.h"
#include "analyse/sweep/sweep.h"
#include "analyse/sweep/turns.h"
#include "app/request/fields.h"
#include "report/core/document.h"
#include "report/svg/pictures.h"
#include "report/sweep/sweep.h"

namespace opscope {

struct QuestionOption {
  std::string_view name;  // "max_nodes": the flag is the same with dashes
  std::string_view type;  // of the flag's value; "": a switch
  std::string_view help;
};

// What was said for a question's options.
struct QuestionValues {
  Voice voice;
  std::map<std::string, std::string, std::less<>> texts{};  // by option; "true" for a switch

  bool is_on(std::string_view name) const { return text(name) == "true"; }
  std::string text(std::string_view name) const;  // "": nothing was said
  // Throws Error for what is no whole number of `least` or more.
  std::int64_t number(std::string_view name, std::int64_t least, std::int64_t otherwise) const;
};

// The answer as it is shown; it may hold on to the profile.
struct QuestionAnswer {
  std::function<std::string(Format format, const TextOptions& text)> report;
  std::function<std::string()> svg{};  // none: it is no picture
};

struct Question {
  std::string_view name, summary, examples;
  std::string_view after;    // the command that it stands behind in the help; "": at the end
  std::string_view verbose;  // what --verbose shows besides
  std::span<const QuestionOption> options;
  bool draws;  // it has a picture
  QuestionAnswer (*ask)(const Profile& profile, const QuestionValues& values, TextOptions& text);
};

std::span<const Question> questions();

// A model that a use case works on, wherever it came from (a file, the cache, a Python process, or Python
// itself): a graph and its profile, or a saved profile's figures alone.
struct LoadedModel {
  std::string spec;              // as the user wrote it; "": an object of Python's
  std::string label;             // what to call it beside others
  std::shared_ptr<Graph> graph;  // nullptr: a saved profile
  std::shared_ptr<Profile> profile;
  Figures figures;

  bool has_graph() const { return graph != nullptr; }
};

LoadedModel profiled(std::string spec, std::shared_ptr<Graph> graph, const ProfileOptions& options);

// Gives each without a label one of its own, no two the same.
void name_apart(std::vector<LoadedModel>& models);

// Models side by side. `by_device`: what the models were profiled with, once for each device; the first is
// that of their figures.
ModelComparison compare(std::vector<LoadedModel> models, const std::vector<ProfileOptions>& by_device);

// What a profile depends on beside the model, as it was written: how FLOPs are counted, the device or its
// ridge, where tokens go in a mixture of experts, and how subgraphs are made.
struct CostRequest {
  std::string convention = "opscope", ridge{}, partition = "fused", fast_memory{};
  std::string hardware{}, float32 = "torch", routing = "balanced";
  std::string mode{},
      host{};  // how it runs there, "": eager; "1.5x": a host that much faster than the calibrated
};

// Throws Error for what is not known, or a number that is none; for several devices too.
ProfileOptions profile_options(const CostRequest& request, Voice voice = Voice::kFlags);
// The same once for each device; once where there is none.
std::vector<ProfileOptions> profile_options_by_device(const CostRequest& request,
                                                      Voice voice = Voice::kFlags);

// A capture for CUDA is of the device that is named for its costs, unless it names another.
CaptureRequest on_hardware(CaptureRequest request, const ProfileOptions& options);

// Two versions of a model, and whether the later one keeps its limits.
struct DiffAnswer {
  LoadedModel base, now;
  ModelDiff diff;

  bool has_graphs() const { return base.has_graph() && now.has_graph(); }
};

DiffAnswer diff(LoadedModel base, LoadedModel now);
// Throws Error where one of them is a saved profile.
std::string draw(const DiffAnswer& answer, PictureFormat format, std::size_t max_boxes);

// `base`: what increases are counted from; nullptr: none.
CheckReport check(const LoadedModel& model, const LoadedModel* base, std::span<const BudgetLimit> limits,
                  bool allow_unknown);

// A model at many sizes, and the largest that fits a memory: asked by the command line and by Python, each of
// which captures points in its own way.

// Where captures come from: one process or object that has the model, and builds it once.
class PointSource {
 public:
  virtual ~PointSource() = default;

  // Tells of each as it is there: a graph, or nullptr and why. `base` is what they are variations of.
  using Give = std::function<void(std::size_t index, const Graph* graph, const std::string& problem)>;
  virtual void capture(const CaptureRequest& base, std::span<const CaptureRequest> requests,
                       const Give& give) = 0;
  virtual void expect(std::size_t /*total*/) {}  // so many, where it is known; 0: it is not
  virtual void throw_first_problem() const = 0;  // for where no point could be captured
};

// What varies, as it was written: a field's key or a file's dimension, and its values.
struct AxisText {
  std::string name, text;
  bool is_dim = false;
};

struct SweepRequest {
  CaptureRequest model;  // what does not vary
  std::vector<AxisText> axes;
  std::vector<ProfileOptions> devices{1};  // once for each; the first is that of all but predicted times
  std::optional<bool> polynomial{};        // false: every point is captured
  std::string metric{}, memory{};
  bool turns = true;
  Voice voice = Voice::kFlags;
};

struct SweepAnswer {
  std::unique_ptr<Sweep> sweep;  // keeps its address
  SweepReport report;
  int signal = 0;  // that ended it early
};

// Throws Error for what cannot be swept, before anything is captured, and where nothing could be.
SweepAnswer sweep(const SweepRequest& request, PointSource& source);

struct FitRequest {
  CaptureRequest model;
  // "": batch, that of the device, no limit, as fit_question has it.
  std::string variable{}, memory{}, max_time{}, reserve{};
  std::optional<std::int64_t> step{};
  ProfileOptions profile{};
  Voice voice = Voice::kFlags;
};

FitAnswer fit(const FitRequest& request, PointSource& source);

// A language model as it is served; numbers as they were written.
struct LlmRequest {
  CaptureRequest model;
  std::string prompt{}, generate{}, batches{}, reserve{};  // "": 2048, 256, "1,8,32", the default
  std::string routing = "balanced";
  std::vector<ProfileOptions> devices{};
  bool mode_is_given = false;  // else the device alone, as servers replay their steps
  bool plot = false;
  Voice voice = Voice::kFlags;
};

LlmAnswer ask_llm(const LlmRequest& request, PointSource& source);

}  // namespace opscope
