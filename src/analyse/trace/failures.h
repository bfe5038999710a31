// Why a tracer of PyTorch could not follow a model, in one line of plain words, and what to do instead.
// PyTorch's own text runs over many lines and speaks of its internals; callers keep it whole for --verbose.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace opscope {

struct TracerFailure {
  std::string reason;  // one line, at most kReasonBytes, with the model's file and line where it is known
  std::string hint;    // one line, what to do
};

inline constexpr std::size_t kReasonBytes = 160;

// `tracer` is fx, dynamo, dynamo_export, export, onnx or mlir; `exception_type` the class, with or without
// its module. `message` is what PyTorch says of a failure or of a graph break; a traceback behind it helps,
// for the last line of it that is not PyTorch's is named. A text that is not known gives PyTorch's own first
// line that says something, and a general hint.
TracerFailure explain_tracer_failure(std::string_view tracer, std::string_view exception_type,
                                     std::string_view message);

// "model.py:42" for the last frame, File "/x/model.py", line 42, of the user's code; of another library where
// there is none of the user's; "" where there are only PyTorch's and Python's.
std::string user_line(std::string_view message);

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
std::string_view hint_for(Cure cure, std::string_view tracer);

struct FailureRow {
  Cure cure = Cure::kUnknown;
  std::string_view find;  // in "ExceptionType: message"; of several rows the one with the longest text counts
  std::string_view reason;    // {begin|end} stands for what the message has between the two
  bool general = false;       // the text wraps others: counts only where no other row does
  std::string_view tracer{};  // "" for any
};
std::span<const FailureRow> failure_rows();

}  // namespace opscope
