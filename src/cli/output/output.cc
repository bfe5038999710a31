// Results to stdout or to a file, whole or not at all.
#include "cli/output/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <system_error>
#include <utility>

#include "app/worker/child_process.h"
#include "base/choices.h"
#include "base/error.h"
#include "base/files.h"
#include "base/terminal_text.h"
#include "base/text.h"

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

constexpr std::array kPictures{PictureFormat::kSvg, PictureFormat::kPng, PictureFormat::kPdf};

std::string asked_for(const OutputFlags& flags) {
  if (!flags.format.empty()) return flags.format;
  return flags.output.empty() || flags.output == "-" ? "txt" : file_extension(flags.output);
}

std::string choices_of(const std::vector<Format>& formats, std::string_view dot) {
  std::vector<std::string> names = format_names(formats, dot);
  for (const PictureFormat picture : std::views::reverse(kPictures))
    names.insert(names.begin(), std::string(dot).append(name(picture)));
  return one_of(names);
}

std::optional<PictureFormat> picture_of(std::string_view format) {
  const auto found = std::ranges::find(kPictures, format, [](PictureFormat p) { return name(p); });
  return found == kPictures.end() ? std::nullopt : std::optional(*found);
}

[[noreturn]] void refuse(const OutputFlags& flags, const std::string& format,
                         const std::vector<Format>& formats) {
  if (!flags.format.empty())
    throw Error("no format called '" + format + "' here", "--format", "choose " + choices_of(formats, ""));
  const std::string what = format.empty() ? "the file name has no extension"
                                          : "no format for the extension '." + format + "' here";
  throw Error(what, flags.output, "end it in " + choices_of(formats, ".") + ", or say --format");
}

// Those of reports by any of their names ("text", "markdown").
bool is_one_of(const std::vector<Format>& formats, const std::string& text) {
  try {
    return std::ranges::count(formats, format_from_name(text)) > 0;
  } catch (const Error&) {
    return false;
  }
}

// What Output is to know: a picture is bytes that somebody else has made.
OutputFlags checked(OutputFlags flags, const std::vector<Format>& formats) {
  const std::string format = asked_for(flags);
  const auto picture = picture_of(format);
  if (!picture && !is_one_of(formats, format)) refuse(flags, format, formats);
  const bool to_stdout = flags.output.empty() || flags.output == "-";
  if (picture && *picture != PictureFormat::kSvg && to_stdout && ::isatty(STDOUT_FILENO))
    throw Error("a " + std::string(title(*picture)) + " is not for a terminal", "--format",
                "--output FILE." + format + " writes it to a file");
  if (picture) check_convertible(*picture);
  flags.format = picture ? "txt" : format;
  return flags;
}

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

PictureOutput::PictureOutput(const OutputFlags& flags, const std::vector<Format>& formats)
    : Output(checked(flags, formats)), picture_(picture_of(asked_for(flags))) {}

PictureFile::PictureFile(std::string path, const std::string& format)
    : path_(std::move(path)),
      format_(format.empty() ? picture_format_from_extension(path_) : picture_format_from_name(format)) {
  check_writable(path_);
}

std::string PictureFile::write(const Profile& profile, const DrawOptions& options,
                               std::vector<std::string>& notes) const {
  const Picture picture = draw(profile, format_, options);
  const SignalsNoted signals;
  write_file(path_, picture.bytes);
  notes.insert(notes.end(), picture.notes.begin(), picture.notes.end());
  return picture_line(path_, format_, picture);
}

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
  std::fprintf(stderr, "\r\x1b[?25l\x1b[2K%s %s", std::string(frame).c_str(),
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
