// What a forward costs without the engine: every op returns what it returned in an earlier run, and nothing
// else is done. The benchmark of a capture measures itself against it.
#pragma once

#include <vector>

#include "torch/engine/torch_headers.h"

namespace opscope::engine {

class Echo {
 public:
  // The results kept so far are given from now on, from the first.
  void rewind() {
    answers_ = true;
    next_ = 0;
  }
  bool answers() const { return answers_; }

  void answer(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
    torch::jit::drop(stack, op.schema().arguments().size());
    for (const auto& value : results_.at(next_++)) stack.push_back(value);
  }
  // Calls run() and keeps the results of the outermost op.
  template <class Run>
  void keep(const c10::OperatorHandle& op, torch::jit::Stack& stack, Run&& run) {
    ++depth_;
    run();
    if (--depth_ == 0)
      results_.emplace_back(stack.end() - static_cast<std::ptrdiff_t>(op.schema().returns().size()),
                            stack.end());
  }

 private:
  std::vector<std::vector<c10::IValue>> results_;
  std::size_t next_ = 0;
  int depth_ = 0;
  bool answers_ = false;
};

}  // namespace opscope::engine
