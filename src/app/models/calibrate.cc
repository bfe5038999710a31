#include "app/models/calibrate.h"

#include <filesystem>

#include "app/request/fields.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace opscope {
namespace {

void check_request(const CalibrateRequest& request) {
  const std::string kind = request.on.substr(0, request.on.find(':'));
  if (request.on.empty())
    throw Error("a calibration is of a device, and none is named", "--on", "--on cuda, or --on cpu");
  if (kind != "cpu" && kind != "cuda")
    throw Error("no device called '" + request.on + "' to calibrate", "--on", "choose cpu or cuda");
  if (request.threads && kind == "cuda")
    throw Error("threads are of a CPU", "--threads", "leave it out, or --on cpu");
  if (!request.output.empty()) check_writable(request.output);
}

std::string whole_path(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

std::string calibrate(const CalibrateRequest& request, Listener& listener) {
  check_request(request);
  PythonWorker worker(listener);
  worker.run({}, "calibrate", [&](JsonWriter& json) {
    json.fields("on", request.on, "file", whole_path(request.output), "quick", request.quick);
    json.field("calls", whole_path(request.calls));
    if (request.threads) json.field("threads", *request.threads);
    if (request.seconds) json.field("seconds", *request.seconds);
  });
  return worker.output();
}

}  // namespace opscope
