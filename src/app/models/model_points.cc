// Sends sizes to the process line by line, and reads each capture from the file that it left.
#include "app/models/model_points.h"

#include <filesystem>

#include "app/models/models.h"
#include "app/request/fields.h"
#include "base/files.h"
#include "readers/capture/capture_reader.h"

namespace opscope {
namespace {

std::string line_of(const CaptureRequest& base, std::span<const CaptureRequest> requests) {
  std::string line;
  JsonWriter json(line);
  json.begin_array(kInline);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    json.begin_object(kInline);
    json.field("index", i);
    write_changes(json, base, requests[i]);
    json.end_object();
  }
  json.end_array();
  return line + "\n";
}

}  // namespace

void ModelPoints::capture(const CaptureRequest& base, std::span<const CaptureRequest> requests,
                          const Give& give) {
  is_read_here(model_file_kind(base.model)) ? read_files(requests, give) : ask(base, requests, give);
}

void ModelPoints::fail(std::size_t index, const Error& problem, const Give& give) {
  if (!first_problem_) first_problem_ = problem;
  give(index, nullptr, problem.what());
}

void ModelPoints::read_files(std::span<const CaptureRequest> requests, const Give& give) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    signals_.check();
    say(requests[i].model);
    listener_.waiting();
    std::optional<Graph> graph;
    try {
      graph = read_model(requests[i]);
    } catch (const Error& error) {
      fail(i, error, give);
    }
    if (graph) give(i, &*graph, "");
  }
  listener_.resting();
}

void ModelPoints::ask(const CaptureRequest& base, std::span<const CaptureRequest> requests,
                      const Give& give) {
  if (!worker_) worker_.emplace(listener_);
  const std::string output = worker_->file("captures");
  const std::string request = to_json(base, "sweep", [&](JsonWriter& json) { json.field("output", output); });
  worker_->ask(request, line_of(base, requests), requests.size(), [&](const Answer& answer) {
    say(base.model);
    const auto& [what, where, hint, traceback, candidates] = answer.error;
    if (!what.empty()) return fail(answer.index, Error(what, where, hint), give);
    const std::string file = output + "." + std::to_string(answer.index);
    const Graph graph = read_capture(read_file(file), "capture of " + base.model);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    give(answer.index, &graph, "");
  });
}

}  // namespace opscope
