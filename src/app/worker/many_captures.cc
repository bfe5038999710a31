// Reads each capture from the file that the child left, and starts another child where one died.
#include "app/worker/many_captures.h"

#include <span>

#include "app/worker/python_child.h"
#include "app/worker/signals.h"
#include "app/worker/temporary_folder.h"
#include "base/files.h"
#include "readers/capture/capture_reader.h"

namespace opscope {
namespace {

class ManyCaptures {
 public:
  ManyCaptures(std::span<const CaptureRequest> requests, const Cache& cache, const std::string& python,
               const TalkFlags& talk, const GiveCapture& give)
      : requests_(requests),
        cache_(cache),
        python_(python),
        talk_(talk),
        give_(give),
        spinner_(!talk.quiet) {}

  std::string run(AfterDeath after_death) {
    const SignalsNoted signals;
    while (done_ < requests_.size()) {
      const std::string ended = run_once();
      if (done_ == requests_.size()) break;
      if (ended.empty() || after_death == AfterDeath::kStop) return ended;
      give_(done_++, nullptr, {.what = ended, .where = "", .hint = "", .traceback = "", .candidates = {}});
    }
    return "";
  }

 private:
  // One process for those that are left. Returns how it died, where it did.
  std::string run_once() {
    const TemporaryFolder folder;
    const std::size_t first = done_;
    std::vector<std::string> names;
    for (const CaptureRequest& request : requests_.subspan(first)) names.push_back(request.model);
    say();
    const auto finish = [&](const Answer& answer) {
      if (answer.index >= names.size()) return;
      add(first + answer.index, answer, folder.file(std::to_string(answer.index) + ".json"));
      say();
    };
    return run_python_for_many(python_, many_request_json(names, requests_[first], folder.file("")), finish,
                               spinner_, talk_);
  }

  void add(std::size_t index, const Answer& answer, const std::string& file) {
    done_ = index + 1;
    if (!answer.error.what.empty()) return give_(index, nullptr, answer.error);
    const CaptureRequest& request = requests_[index];
    const std::string bytes = read_file(file);
    auto graph = std::make_unique<Graph>(read_capture(bytes, "capture of " + request.model));
    if (answer.cacheable)
      cache_.write(Cache::key(python_, request.to_json("capture", ""), request.registry), bytes);
    give_(index, std::move(graph), {});
  }

  void say() {
    spinner_.say(
        progress_line(done_, requests_.size(), done_ < requests_.size() ? requests_[done_].model : ""));
  }

  std::span<const CaptureRequest> requests_;
  const Cache& cache_;
  const std::string& python_;
  const TalkFlags& talk_;
  const GiveCapture& give_;
  Spinner spinner_;
  std::size_t done_ = 0;
};

}  // namespace

std::string capture_many(const std::vector<CaptureRequest>& requests, const Cache& cache,
                         const std::string& python, AfterDeath after_death, const TalkFlags& talk,
                         const GiveCapture& give) {
  return ManyCaptures(requests, cache, python, talk, give).run(after_death);
}

}  // namespace opscope
