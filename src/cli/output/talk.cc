#include "cli/output/talk.h"

#include <cstdio>

namespace opscope {
namespace {

// "[1/4] warming up": a stage of work that people want to follow, on a terminal or not.
bool is_stage(std::string_view status) {
  return status.size() > 1 && status[0] == '[' && status[1] >= '0' && status[1] <= '9' &&
         status.find("] ") != std::string_view::npos;
}

}  // namespace

void Talk::status(const std::string& text) {
  if (!is_stage(text)) return spinner().say(text);
  spinner().clear();
  if (!flags_.quiet) write_stderr(text + "\n");
  spinner().say(text.substr(text.find("] ") + 2));
}

void Talk::progress(std::uint64_t done, std::uint64_t total, const std::string& doing) {
  spinner().say(total > 0   ? progress_line(std::min(done, total), total, doing)
                : done == 0 ? doing
                            : doing + "  " + std::to_string(done));
}

void Talk::python_wrote(std::string_view text) {
  if (!flags_.debug || text.empty()) return;
  if (spinner_) spinner_->clear();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Talk::trouble(const std::string& text) {
  if (flags_.debug || flags_.verbose) remark(text);
}

}  // namespace opscope
