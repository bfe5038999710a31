// Sends sizes to the child line by line, and reads each capture from the file that it left.
#include "app/worker/capture_server.h"

#include <filesystem>

#include "app/models/models.h"
#include "app/worker/python_child.h"
#include "app/worker/temporary_folder.h"
#include "base/files.h"
#include "base/json_writer.h"
#include "readers/capture/capture_reader.h"

namespace opscope {

struct CaptureServer::Child {
  Child(std::string with, const CaptureRequest& model)
      : python(std::move(with)),
        process(start_python(python, model.to_json("sweep", folder.file("captures")), folder.file("stderr"),
                             ChildProcess::Stdin::kPipe)) {}

  TemporaryFolder folder;
  std::string python;
  ChildProcess process;
  ChildRun run;
};

namespace {

void write_sizes(JsonWriter& json, const CaptureRequest& request, std::size_t index) {
  json.begin_object(JsonLayout::kInline);
  json.field("index", index);
  if (request.batch) json.field("batch", *request.batch);
  if (request.seq_len) json.field("seq_len", *request.seq_len);
  if (request.past_len) json.field("past_len", *request.past_len);
  if (!request.image_size.empty()) json.list("image_size", request.image_size);
  if (!request.dtype.empty()) json.field("dtype", request.dtype);
  json.end_object();
}

std::string line_of(std::span<const CaptureRequest> requests) {
  std::string line;
  JsonWriter json(line);
  json.begin_array(JsonLayout::kInline);
  for (std::size_t i = 0; i < requests.size(); ++i) write_sizes(json, requests[i], i);
  json.end_array();
  return line + "\n";
}

}  // namespace

CaptureServer::CaptureServer(const CaptureRequest& model, const TalkFlags& talk)
    : model_(model),
      talk_(talk),
      spinner_(!talk.quiet),
      is_file_(is_read_here(model_file_kind(model.model))) {}

CaptureServer::~CaptureServer() = default;

void CaptureServer::capture(std::span<const CaptureRequest> requests, const Give& give) {
  is_file_ ? read_files(requests, give) : ask(requests, give);
}

const std::string& CaptureServer::note(const Error& problem) {
  if (!first_problem_) first_problem_ = problem;
  return last_problem_ = problem.what();
}

void CaptureServer::tell() {
  ++done_;
  const std::string doing = "capturing " + model_.model;
  spinner_.say(total_ > 0 ? progress_line(std::min(done_, total_), total_, doing)
                          : doing + "  " + std::to_string(done_));
}

void CaptureServer::read_files(std::span<const CaptureRequest> requests, const Give& give) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    signals_.check();
    spinner_.turn();
    std::optional<Graph> graph;
    std::string problem;
    try {
      graph = read_model(requests[i]);
    } catch (const Error& error) {
      problem = note(error);
    }
    tell();
    give(i, graph ? &*graph : nullptr, problem);
  }
  spinner_.clear();
}

void CaptureServer::start() {
  spinner_.say("starting Python");
  child_ = std::make_unique<Child>(find_python(), model_);
}

void CaptureServer::ask(std::span<const CaptureRequest> requests, const Give& give) {
  if (requests.empty()) return;
  if (!child_) start();
  child_->process.write(line_of(requests));
  std::size_t left = requests.size();
  const auto on_line = [&](std::string_view line) {
    Answer answer = parse_answer(line);
    if (answer.kind == Answer::Kind::kStatus) spinner_.say(child_->run.doing = answer.status);
    if (answer.kind == Answer::Kind::kError || answer.kind == Answer::Kind::kDone) child_->run.last = answer;
    if (answer.kind != Answer::Kind::kFinished || answer.index >= requests.size()) return false;
    tell();
    if (!answer.error.what.empty()) {
      if (talk_.debug) std::fputs(answer.error.traceback.c_str(), stderr);
      give(answer.index, nullptr, note(Error(answer.error.what, answer.error.where, answer.error.hint)));
      return --left == 0;
    }
    const std::string file = child_->folder.file("captures." + std::to_string(answer.index));
    const Graph graph = read_capture(read_file(file), "capture of " + model_.model);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    give(answer.index, &graph, "");
    return --left == 0;
  };
  const bool all = child_->process.read_until(on_line, [&] {
    signals_.check();
    spinner_.turn();
  });
  spinner_.clear();
  if (all) return;
  child_->run.status = child_->process.wait();
  signals_.check();
  child_->run.words = read_file(child_->folder.file("stderr"));
  if (talk_.debug) std::fputs(child_->run.words.c_str(), stderr);
  if (!child_->run.last) fail_died(child_->python, child_->run);
  fail_reported(child_->run.last->error);
}

}  // namespace opscope
