// One call of an op during a capture: its operator, what is known of it, and its arguments on the stack.
#pragma once

#include "torch/recording/recording.h"

namespace opscope::engine {

using Stack = torch::jit::Stack;

// Calls `visit` for each tensor among the arguments, lists included.
template <class Visit>
void for_each_tensor(at::ArrayRef<c10::IValue> arguments, Visit&& visit) {
  for (const auto& argument : arguments) {
    if (argument.isTensor()) {
      visit(argument.toTensor());
    } else if (argument.isTensorList()) {
      for (const at::Tensor& tensor : argument.toTensorList()) visit(tensor);
    } else if (argument.isOptionalTensorList()) {
      for (const std::optional<at::Tensor>& tensor : argument.toOptionalTensorList())
        if (tensor) visit(*tensor);
    }
  }
}

// The same value with each tensor in it replaced.
template <class Replace>
c10::IValue map_tensors(const c10::IValue& value, Replace&& replace) {
  if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(replace(value.toTensor())) : value;
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorList())
      list.push_back(tensor.defined() ? replace(tensor) : tensor);
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorList())
      list.push_back(tensor && tensor->defined() ? std::optional<at::Tensor>(replace(*tensor))
                                                 : std::nullopt);
    return list;
  }
  return value;
}

struct Call {
  Recording& recording;
  const c10::OperatorHandle& op;
  OpInfo& info;
  Stack& stack;

  at::ArrayRef<c10::IValue> arguments() const {
    return at::ArrayRef<c10::IValue>(stack.data() + (stack.size() - info.arguments), info.arguments);
  }
  at::ArrayRef<c10::IValue> results() const {
    return at::ArrayRef<c10::IValue>(stack.data() + (stack.size() - info.returns), info.returns);
  }
  const std::string& name() const { return op.schema().name(); }

  // Puts arguments that were kept back on the stack, in place of what there is now above `base`.
  std::size_t base() const { return stack.size() - info.arguments; }
  void put_back(std::size_t base, at::ArrayRef<c10::IValue> arguments) const {
    stack.resize(base);
    stack.insert(stack.end(), arguments.begin(), arguments.end());
  }
  // Replaces the tensors in the last `count` values of the stack: its arguments or results.
  template <class Replace>
  void map_last(std::size_t count, Replace&& replace) const {
    for (std::size_t i = stack.size() - count; i < stack.size(); ++i)
      stack[i] = map_tensors(stack[i], replace);
  }
  // Visits the tensors of the arguments that are marked.
  template <class Visit>
  void for_each_of(const std::vector<bool>& marked, Visit&& visit) const {
    for (std::size_t i = 0; i < info.arguments; ++i)
      if (marked[i]) for_each_tensor(arguments().slice(i, 1), visit);
  }
};

// A call's arguments, to be put back on the stack where what was run with them has taken them away.
struct KeptArguments {
  explicit KeptArguments(const Call& of)
      : call(of), base(of.base()), values(of.arguments().begin(), of.arguments().end()) {}
  void put_back() const { call.put_back(base, values); }

  const Call& call;
  std::size_t base;
  c10::SmallVector<c10::IValue, 8> values;
};

}  // namespace opscope::engine
