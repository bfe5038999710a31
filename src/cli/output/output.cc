// Results to stdout or to a file, whole or not at all.
#include "cli/output/output.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "app/worker/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/terminal_text.h"
#include "cli/output/terminal.h"

namespace opscope {
namespace {

namespace fs = std::filesystem;

Format choose_format(const OutputFlags& flags, Format by_default) {
  if (!flags.format.empty()) return format_from_name(flags.format);
  return flags.output.empty() ? by_default : format_from_extension(flags.output);
}

void write_stdout(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw Error("cannot write the result: " + std::generic_category().message(errno), "stdout",
                  "--output FILE writes to a file instead");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

// One file by two names; pipes and devices take what they are given.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code none;
  if (fs::exists(a, none)) return fs::is_regular_file(a, none) && fs::equivalent(a, b, none);
  return fs::weakly_canonical(a, none) == fs::weakly_canonical(b, none);
}

}  // namespace

Output::Output(const OutputFlags& flags, Format by_default)
    : path_(flags.output == "-" ? "" : flags.output),
      format_(choose_format({path_, flags.format, {}, {}}, by_default)),
      width_(flags.width.empty() ? (path_.empty() ? terminal_width() : 100)
                                 : static_cast<int>(parse_integer("--width", flags.width, 40))),
      color_(wants_color(flags.color, path_.empty())) {
  if (!path_.empty()) check_writable(path_);
}

void Output::set_style(const CommandFlags& flags, TextOptions& options) const {
  options.width = width_;
  options.color = color_;
  options.verbose = flags.talk.verbose;
}

void Output::allow_only(Format format, const char* why) const {
  if (format_ == format) return;
  throw Error(why, path_.empty() ? "--format" : path_, "say --format " + std::string(name(format)));
}

void Output::write(std::string_view text) const {
  if (format_ != Format::kText) return write_bytes(text);
  write_bytes(terminal_text(text, {.width = width_, .color = color_, .ascii = locale_is_ascii()}));
}

void Output::write_bytes(std::string_view bytes) const {
  if (path_.empty()) return write_stdout(bytes);
  const SignalsNoted signals;
  write_file(path_, bytes);
}

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
