#include "hardware/calibrate/journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::string_view kHead = "unfinished calibration of opscope, format 1\n", kBegin = "---\n";
constexpr std::size_t kFewest = 4;

[[noreturn]] void fail_io(const std::string& path) {
  throw Error("cannot write: " + std::generic_category().message(errno), path, "-o FILE writes elsewhere");
}

std::string_view word_of(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const std::string_view found = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return found;
}

}  // namespace

std::string journal_path(const std::string& calibration) { return calibration + ".partial"; }

CalibrationJournal::CalibrationJournal(std::string path, const CalibrationIdentity& identity)
    : path_(std::move(path)), file_(nullptr, &std::fclose) {
  std::error_code ignored;
  is_continued_ = std::filesystem::exists(path_, ignored);
  std::string kept(kHead);
  for (const auto& [key, value] : identity) kept.append(key).append(" = ").append(value).append("\n");
  kept += kBegin;
  if (is_continued_) {
    const std::string text = read_file(path_);
    read(text, identity);
    // A line that was cut off in its middle would join the next.
    kept = text.substr(0, text.rfind('\n') + 1);
  }
  write_file(path_, kept);
  file_.reset(std::fopen(path_.c_str(), "ab"));
  if (!file_) fail_io(path_);
}

void CalibrationJournal::read(const std::string& text, const CalibrationIdentity& identity) {
  const auto begin = text.find(kBegin);
  if (!text.starts_with(kHead) || begin == std::string::npos)
    throw Error("not an interrupted calibration of this opscope", path_,
                "remove it, or choose another file with -o");
  const std::string_view head = std::string_view(text).substr(kHead.size(), begin - kHead.size());
  for (const auto& [key, value] : identity) {
    const std::string start = key + " = ";
    std::string before = "none";
    for (const std::string_view line : split_by(head, '\n'))
      if (line.starts_with(start)) before = line.substr(start.size());
    if (before != value)
      throw Error(fmt::format("the calibration that was interrupted here is of another {}: {}; now it is {}",
                              key, before, value),
                  path_, "remove it to begin again, or choose another file with -o");
  }
  std::optional<std::size_t> begun;
  bool again = false;  // it was begun twice: the first time may have been an interruption
  for (std::string_view rest = std::string_view(text).substr(begin + kBegin.size()); !rest.empty();) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) break;  // cut off
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const std::string_view kind = word_of(line);
    const auto number = [&] { return number_from<double>(word_of(line)).value_or(-1); };
    if (kind == "began") {
      const auto call = number_from<std::size_t>(line);
      again = begun == call, begun = call;
      continue;
    }
    spent_ += std::max(number(), 0.0);
    if (kind == "reference") {
      references_.push_back(number());
      continue;
    }
    begun.reset();
    TimedCall& call = calls_.emplace_back();
    call.call = number_from<std::size_t>(word_of(line)).value_or(0);
    if (kind == "refused")
      call.refused = line;
    else
      call.seconds = number(), call.deviation = number(), call.host_seconds = number();
    if (kind == "refused" || (kind == "timed" && call.seconds > 0)) continue;
    throw Error("not a line of an interrupted calibration: '" + std::string(kind.substr(0, 40)) + "'", path_,
                "remove it to begin again");
  }
  if (begun && again) calls_.push_back({.call = *begun, .refused = "it ended the process"});
}

void CalibrationJournal::write(const std::string& line) {
  if (std::fputs(line.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0) fail_io(path_);
}

void CalibrationJournal::begin(std::size_t call) { write(fmt::format("began {}\n", call)); }

void CalibrationJournal::add(const TimedCall& call, double took) {
  std::string reason = call.refused;
  std::ranges::replace(reason, '\n', ' ');
  write(call.refused.empty() ? fmt::format("timed {:.4g} {} {:.6g} {:.3g} {:.4g}\n", took, call.call,
                                           call.seconds, call.deviation, call.host_seconds)
                             : fmt::format("refused {:.4g} {} {}\n", took, call.call, reason));
  calls_.push_back(call), spent_ += took;
}

void CalibrationJournal::add_reference(double seconds, double took) {
  write(fmt::format("reference {:.4g} {:.6g}\n", took, seconds));
  references_.push_back(seconds), spent_ += took;
}

void CalibrationJournal::remove() {
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

double clock_drift(const std::vector<double>& references) {
  if (references.size() < kFewest) return 0;
  std::vector<double> sorted = references;
  std::ranges::sort(sorted);
  const auto at = [&](double share) {
    return sorted[static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
  };
  return at(0.5) > 0 ? (at(0.9) - at(0.1)) / at(0.5) : 0;
}

}  // namespace opscope
