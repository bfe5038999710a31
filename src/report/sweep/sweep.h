// A sweep's reports: a table or a grid, the turning points in words, pictures; and what fits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/sweep/sweep.h"
#include "analyse/sweep/turns.h"
#include "report/core/document.h"

namespace opscope {

// "flops,peak-memory-bytes": throws Error naming the choices. A sweep measures nothing, so that "time" is
// what is predicted.
std::vector<const Metric*> sweep_metrics_from(const std::string& where, std::string_view text,
                                              bool has_device = true);
// What is shown where nothing is asked for.
std::vector<const Metric*> usual_sweep_metrics(const SweepResult& result);

struct SweepReport {
  const SweepResult* result = nullptr;
  std::vector<const Metric*> metrics;
  std::vector<Turn> turns;
  std::optional<Count> memory;  // the limit
  std::string memory_text;      // as it was given
  bool interrupted = false;
};

std::string to_format(const SweepReport& report, Format format, const TextOptions& options = {});
// The first metric over the first axis that varies most, a line for each value of the others.
std::string sweep_svg(const SweepReport& report);
std::vector<std::string> turn_lines(const SweepReport& report);  // a sentence each
std::optional<double> ridge_of(const SweepResult& result);       // of the first point that is known
std::string spoken(std::string axis);                            // "seq len" of "seq_len"
// "24GiB", as people say limits.
std::string binary_bytes(Count bytes);

std::string to_format(const FitAnswer& answer, Format format, const TextOptions& options = {});

}  // namespace opscope
