// What PyTorch 2.13 says when its tracers give up, found by running them over models that make them: a row
// for each kind of failure, and what helps against it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace opscope {

// What helps; the words depend on the tracer that failed.
enum class Cure : std::uint8_t {
  kUnknown,
  kBranch,    // the way through the model depends on values
  kSize,      // a size depends on values
  kShape,     // depends on shapes, lengths or types, which other tracers know
  kPython,    // Python that has an effect outside the graph
  kRewrite,   // what can be written otherwise
  kOuter,     // code or modules outside what the tracer may enter
  kResult,    // an input or result that is no plain container of tensors
  kCustomOp,  // an operator without a rule for its shapes
  kInputs,    // the model does not take these inputs
  kModel,     // the model fails by itself
  kGradient,  // a backward pass within the model
  kFormat,    // no counterpart in the format exported to
  kInstall,   // something is not installed
  kMemory,
};

// Before and behind what a message tells, as in "{qualname: |, skip reason}".
struct Ends {
  std::string_view begin, end;
};

struct FailureRow {
  std::string_view find;  // in "ExceptionType: message"; of several rows the one with the longest text counts
  std::string_view reason;  // {begin|end} stands for what the message has between the two
  Cure cure = Cure::kUnknown;
  bool general = false;       // the text wraps others: counts only where no other row does
  std::string_view tracer{};  // "" for any

  constexpr std::size_t at() const { return reason.find('{'); }  // npos: it tells nothing of the message
  constexpr std::size_t size() const { return reason.find('}') + 1 - at(); }
  constexpr Ends ends() const {
    if (at() == std::string_view::npos) return {};
    const auto bar = reason.find('|');
    return {reason.substr(at() + 1, bar - at() - 1), reason.substr(bar + 1, reason.find('}') - bar - 1)};
  }
};
inline constexpr bool kGeneral = true;

std::span<const FailureRow> failures_of_code();
std::span<const FailureRow> failures_of_values();

// What to do, by the tracer that failed.
std::string_view hint_for(Cure cure, std::string_view tracer);

template <std::size_t N>
constexpr bool sorted_and_unique(const FailureRow (&rows)[N]) {
  for (std::size_t i = 1; i < N; ++i) {
    if (!(rows[i - 1].find < rows[i].find)) return false;
  }
  return true;
}

// A place to fill has both ends, and there is one at the most.
template <std::size_t N>
constexpr bool placeholders_fit(const FailureRow (&rows)[N]) {
  for (const auto& row : rows) {
    const bool has = row.at() != std::string_view::npos;
    if (has == (row.ends().begin.empty() || row.ends().end.empty())) return false;
    if (has && row.reason.find('{', row.at() + 1) != std::string_view::npos) return false;
  }
  return true;
}

}  // namespace opscope
