// A model at many sizes, captured one after the other: read from its file, or by one Python process that
// builds the model once and is told what to capture next.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "app/models/request.h"
#include "app/worker/signals.h"
#include "app/worker/talk.h"
#include "app/worker/terminal.h"
#include "base/error.h"
#include "graph/graph.h"

namespace opscope {

class CaptureServer {
 public:
  // `model`: the request that those to come are variations of.
  CaptureServer(const CaptureRequest& model, const TalkFlags& talk);
  ~CaptureServer();
  CaptureServer(const CaptureServer&) = delete;
  CaptureServer& operator=(const CaptureServer&) = delete;

  // Tells of each as it is there: a graph, or nullptr and why. Throws Error where Python itself is at an
  // end, and Interrupted after Ctrl-C.
  using Give = std::function<void(std::size_t index, const Graph* graph, const std::string& problem)>;
  void capture(std::span<const CaptureRequest> requests, const Give& give);

  // What is said while it works: how many are done, of how many where that is known.
  void expect(std::size_t total) { total_ = total; }
  // The first that could not be captured, as an error to throw where none could.
  const std::optional<Error>& first_problem() const { return first_problem_; }

 private:
  struct Child;
  void read_files(std::span<const CaptureRequest> requests, const Give& give);
  void ask(std::span<const CaptureRequest> requests, const Give& give);
  void start();
  void tell();
  const std::string& note(const Error& problem);

  CaptureRequest model_;
  TalkFlags talk_;
  SignalsNoted signals_;
  Spinner spinner_;
  bool is_file_;
  std::unique_ptr<Child> child_;
  std::optional<Error> first_problem_;
  std::string last_problem_;
  std::size_t done_ = 0, total_ = 0;
};

}  // namespace opscope
