// A model at many sizes, and the largest that fits a memory: asked by the command line and by Python, each of
// which captures points in its own way.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyse/sweep/fit.h"
#include "analyse/sweep/sweep.h"
#include "app/request/fields.h"
#include "report/sweep/sweep.h"

namespace opscope {

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
  ProfileOptions profile{};
  std::optional<bool> polynomial{};  // false: every point is captured
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
  std::string variable{}, memory{}, reserve{};  // "": batch, that of the device, as fit_question has it
  std::optional<std::int64_t> step{};
  ProfileOptions profile{};
  Voice voice = Voice::kFlags;
};

FitAnswer fit(const FitRequest& request, PointSource& source);

}  // namespace opscope
