#include "cli/output/side_files.h"

#include <filesystem>
#include <system_error>

#include "app/worker/signals.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/output/terminal.h"

namespace opscope {
namespace {

namespace fs = std::filesystem;

// One file by two names; pipes and devices take what they are given.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (fs::exists(a, none)) return fs::is_regular_file(a, none) && fs::equivalent(a, b, none);
  return fs::weakly_canonical(a, none) == fs::weakly_canonical(b, none);
}

}  // namespace

void check_side_files(const std::vector<std::string>& read, const std::vector<std::string>& written) {
  std::error_code none;
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i].empty()) continue;
    for (const std::string& path : read)
      if (fs::exists(path, none) && is_same_file(written[i], path))
        throw Error("this is the file that is read, and would be written over", written[i],
                    "choose another to write to");
    for (std::size_t other = 0; other < i; ++other)
      if (!written[other].empty() && is_same_file(written[i], written[other]))
        throw Error("two results would be written to one file", written[i], "choose a file for each");
    check_writable(written[i]);
  }
}

void write_beside(const std::string& path, const std::string& text, const TalkFlags& talk) {
  const SignalsNoted signals;
  write_file(path, text);
  if (!talk.quiet) remark("wrote " + path);
}

}  // namespace opscope
