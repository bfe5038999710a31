// Why a tracer of PyTorch could not follow a model, in one line of plain words, and what to do instead.
// PyTorch's own text runs over many lines and speaks of its internals; callers keep it whole for --verbose.
#pragma once

#include <string>
#include <string_view>

namespace opscope {

struct TracerFailure {
  std::string
      reason;  // one line, at most kReasonBytes, with the model's file and line where the message has it
  std::string hint;  // one line, what to do
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

}  // namespace opscope
