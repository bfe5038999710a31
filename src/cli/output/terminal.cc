// Terminal queries and drawing, through POSIX.
#include "cli/output/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/terminal_text.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr int kDefaultWidth = 100;
constexpr int kNarrowest = 20, kWidest = 200;
// Shorter waits would only flicker.
constexpr std::chrono::milliseconds kQuietStart{150};
constexpr std::array<std::string_view, 10> kFrames{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"};
constexpr std::array<std::string_view, 4> kAsciiFrames{"|", "/", "-", "\\"};

// "[1/4] warming up": a stage of work that people want to follow, on a terminal or not.
bool is_stage(std::string_view status) {
  return status.size() > 1 && status[0] == '[' && status[1] >= '0' && status[1] <= '9' &&
         status.find("] ") != std::string_view::npos;
}

// "██████░░░░  12 of 30  measuring resnet18"
std::string progress_line(std::uint64_t done, std::uint64_t all, const std::string& doing) {
  constexpr std::uint64_t kColumns = 24;
  std::string bar;
  for (std::uint64_t i = 0; i < kColumns; ++i) bar += i < done * kColumns / all ? "█" : "░";
  return bar + "  " + std::to_string(done) + " of " + std::to_string(all) + "  " + doing;
}

}  // namespace

int terminal_width() {
  if (const char* columns = std::getenv("COLUMNS"))
    if (const long asked = std::strtol(columns, nullptr, 10); asked > 0)
      return static_cast<int>(std::clamp<long>(asked, kNarrowest, kWidest));
  winsize size{};
  if (!::isatty(STDOUT_FILENO) || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return kDefaultWidth;
  return std::min<int>(size.ws_col, kWidest);
}

bool wants_color(const std::string& when, bool to_stdout) {
  if (when == "always") return true;
  if (when == "never") return false;
  if (when != "auto")
    throw Error("no such choice: '" + when + "'", "--color", "choose auto, always or never");
  return to_stdout && ::isatty(STDOUT_FILENO) && environment_variable("NO_COLOR").empty() &&
         environment_variable("TERM") != "dumb";
}

void write_stderr(std::string_view text) {
  const std::string clean = terminal_text(text, {.ascii = locale_is_ascii()});
  std::fwrite(clean.data(), 1, clean.size(), stderr);
}

void remark(const std::string& text) { write_stderr("opscope: " + text + "\n"); }

void Talk::waiting() {
  auto& [text, turns, drawn, start] = spinner();
  const auto waited = std::chrono::steady_clock::now() - start;
  if (flags_.quiet || !::isatty(STDERR_FILENO) || waited < kQuietStart) return;
  const double seconds = std::chrono::duration<double>(waited).count();
  winsize size{};
  const int width = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
  const bool ascii = locale_is_ascii();
  const std::string_view frame =
      ascii ? kAsciiFrames[turns % kAsciiFrames.size()] : kFrames[turns % kFrames.size()];
  ++turns;
  const std::string line =
      truncate(terminal_text(text, {}) + "  " + format_seconds(seconds), std::max(10, width - 3));
  std::fprintf(stderr, "\r\x1b[?25l\x1b[2K%s %s", frame.data(),
               terminal_text(line, {.ascii = ascii}).c_str());
  std::fflush(stderr);
  drawn = true;
}

void Talk::clear() {
  if (!spinner_ || !std::exchange(spinner_->drawn, false)) return;
  std::fputs("\r\x1b[2K\x1b[?25h", stderr);
  std::fflush(stderr);
}

void Talk::resting() {
  clear();
  spinner_.reset();
}

void Talk::status(const std::string& text) {
  spinner().text = text;
  if (!is_stage(text)) return;
  clear();
  if (!flags_.quiet) write_stderr(text + "\n");
  spinner().text = text.substr(text.find("] ") + 2);
}

void Talk::progress(std::uint64_t done, std::uint64_t total, const std::string& doing) {
  spinner().text = total > 0   ? progress_line(std::min(done, total), total, doing)
                   : done == 0 ? doing
                               : doing + "  " + std::to_string(done);
}

void Talk::python_wrote(std::string_view text) {
  if (!flags_.debug || text.empty()) return;
  clear();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void Talk::trouble(const std::string& text) {
  if (flags_.debug || flags_.verbose) remark(text);
}

}  // namespace opscope
