// Reads each capture from the file that the process left, and starts another one where it died.
#include "app/models/many_captures.h"

#include <span>

#include "app/models/models.h"
#include "app/worker/python_worker.h"
#include "base/files.h"
#include "readers/capture/capture_reader.h"

namespace opscope {

std::string capture_many(const std::vector<CaptureRequest>& requests, const Cache& cache,
                         const std::string& python, AfterDeath after_death, Listener& listener,
                         const GiveCapture& give) {
  PythonWorker worker(listener, python);
  std::size_t done = 0;
  const auto say = [&] {
    listener.progress(done, requests.size(), done < requests.size() ? requests[done].model : "");
  };
  // One process for those that are left. Returns how it died, where it did.
  const auto run_rest = [&] {
    const auto left = std::span(requests).subspan(done);
    const std::string asked = to_json(left.front(), "capture_many", [&](JsonWriter& json) {
      json.key("models");
      json.begin_array(kInline);
      for (const CaptureRequest& request : left) json.value(request.model);
      json.end_array();
      json.field("folder", worker.file(""));
    });
    say();
    return worker.run_parts(asked, [&](const Answer& answer) {
      if (answer.index >= left.size()) return;
      const CaptureRequest& request = left[answer.index];
      const auto index = static_cast<std::size_t>(&request - requests.data());
      done = index + 1;
      if (!answer.error.what.empty()) {
        give(index, nullptr, answer.error);
      } else {
        const std::string bytes = read_file(worker.file(std::to_string(answer.index) + ".json"));
        auto graph = std::make_shared<Graph>(read_capture(bytes, "capture of " + request.model));
        if (answer.cacheable) cache.write(capture_key(python, request), bytes);
        give(index, std::move(graph), {});
      }
      say();
    });
  };
  while (done < requests.size()) {
    const std::string ended = run_rest();
    if (done == requests.size()) break;
    if (ended.empty() || after_death == AfterDeath::kStop) return ended;
    give(done++, nullptr, {.what = ended, .where = "", .hint = "", .traceback = "", .candidates = {}});
  }
  return "";
}

}  // namespace opscope
