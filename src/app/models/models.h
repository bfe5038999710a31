// A model's name, path or file -> its graph, or the inputs that it would be called with.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cases/question.h"
#include "app/models/cache.h"
#include "app/request/fields.h"
#include "readers/files/model_file.h"

namespace opscope {

// From a file that C++ reads, the cache or Python, in this order.
Graph load_model(const CaptureRequest& request, Listener& listener);

// Whether a model is a graph in a file, which no flag captures anew.
bool is_graph_file(const std::string& model);

// From a file that C++ reads, if the model is one.
std::optional<Graph> read_model(const CaptureRequest& request);

// From the cache alone.
std::optional<Graph> cached_model(const CaptureRequest& request, const Cache& cache);

// What the model would be called with, and why.
PlannedInputs plan_inputs(const CaptureRequest& request, Listener& listener);

// The models of a command that takes several: names and files of every kind, captures and saved profiles, in
// the order given; all that Python has to capture in one process of it. Flags of captures (--batch, ...)
// hold for every model that is captured; files among them are as they are, and where all are files such a
// flag is refused. Throws Error naming the model for the first that cannot be had; where `failed` is given,
// what cannot be captured is left out, and it says why.
std::vector<LoadedModel> load_models(const std::vector<std::string>& specs, const WrittenRequest& written,
                                     const ProfileOptions& options, Listener& listener,
                                     std::vector<std::string>* failed = nullptr);

// Where a model takes Python down: leave the rest, or take it as that model's failure and go on in a new
// process.
enum class AfterDeath : std::uint8_t { kStop, kGoOn };

// Of each model as it is done: its graph, or nullptr and why.
using GiveCapture =
    std::function<void(std::size_t index, std::shared_ptr<Graph> graph, const ChildError& why)>;

// In one process of Python. The requests differ in their models alone. What may be kept is in the cache
// before it is told of, so that an interrupt loses nothing. Returns how Python ended where it left models
// without a word: "" for in order.
std::string capture_many(const std::vector<CaptureRequest>& requests, const Cache& cache,
                         AfterDeath after_death, Listener& listener, const GiveCapture& give);

// A model at one size after the other: read from its file, or captured by one Python process that builds the
// model once and is told what to capture next.
class ModelPoints : public PointSource {
 public:
  // `cache`: of captures, for questions of few points that are asked again; nullptr: none.
  explicit ModelPoints(Listener& listener, const Cache* cache = nullptr)
      : listener_(listener), cache_(cache) {}

  // Throws Error where Python itself is at an end, and Interrupted after Ctrl-C.
  void capture(const CaptureRequest& base, std::span<const CaptureRequest> requests,
               const Give& give) override;
  void expect(std::size_t total) override { total_ = total; }
  void throw_first_problem() const override {
    if (first_problem_) throw Error(*first_problem_);
  }

 private:
  void read_files(std::span<const CaptureRequest> requests, const Give& give);
  // Those that are in the cache are told of; the others, by their places in `requests`, are left.
  std::vector<std::size_t> told_from_cache(std::span<const CaptureRequest> requests, const Give& give);
  void ask(const CaptureRequest& base, std::span<const CaptureRequest> requests, const Give& give);
  void give_edited(std::size_t index, Graph& graph, const CaptureRequest& request, const Give& give);
  void fail(std::size_t index, const Error& problem, const Give& give);
  void say(const std::string& model) { listener_.progress(++done_, total_, "capturing " + model); }

  Listener& listener_;
  const Cache* cache_;
  SignalsNoted signals_;
  std::optional<PythonWorker> worker_;
  std::optional<Error> first_problem_;
  std::size_t done_ = 0, total_ = 0;
};

// libonnx's shape inference, where opscope was built with it ("" elsewhere), for ONNX ops that the readers
// have no rule for; loaded only then. In the program alone: the Python module shares its process with torch,
// whose libraries carry a protobuf of their own.
OnnxInference onnx_inference();

}  // namespace opscope
