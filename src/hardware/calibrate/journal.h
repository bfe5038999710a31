// What a calibration has found so far, in a file beside the one that it makes: a line for each call, written
// as it comes, so that a calibration that was interrupted goes on where it stopped. It belongs to one device,
// one torch and one list of calls; whatever differs is refused by its name.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace opscope {

struct TimedCall {
  std::size_t call = 0;  // its place in the list
  double seconds = 0, deviation = 0, host_seconds = 0;
  std::string refused{};  // why it could not be run; no times then
};

// ("torch", "2.13.0"), ...: what has to be the same for times to stand in one file.
using CalibrationIdentity = std::vector<std::pair<std::string, std::string>>;

class CalibrationJournal {
 public:
  // Reads what is there. Throws Error where it is of something else, no such file, or cannot be written.
  CalibrationJournal(std::string path, const CalibrationIdentity& identity);

  const std::string& path() const { return path_; }
  const std::vector<TimedCall>& calls() const { return calls_; }
  // Of one op that does not change, in the order in which they were taken.
  const std::vector<double>& references() const { return references_; }
  double spent() const { return spent_; }  // seconds that all of this took
  std::size_t next() const { return calls_.empty() ? 0 : calls_.back().call + 1; }
  bool is_continued() const { return is_continued_; }

  // A call that ends the process twice is left out from then on.
  void begin(std::size_t call);
  // `took`: seconds, the preparation of the call with them.
  void add(const TimedCall& call, double took);
  void add_reference(double seconds, double took);
  void remove();  // the calibration is finished

 private:
  void read(const std::string& text, const CalibrationIdentity& identity);
  void write(const std::string& line);

  std::string path_;
  std::vector<TimedCall> calls_;
  std::vector<double> references_;
  double spent_ = 0;
  bool is_continued_ = false;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// "cpu.toml" -> "cpu.toml.partial"
std::string journal_path(const std::string& calibration);

// How far the reference op's times are apart: from their tenth to their ninetieth of a hundred, over the
// median; 0 where there are fewer than four.
double clock_drift(const std::vector<double>& references);

}  // namespace opscope
