// How one op is carried out during a capture. Every function replaces the op's arguments on the stack by its
// results.
#pragma once

#include "torch/recording/recording.h"

namespace opscope::engine {

inline constexpr auto kModeKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

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
  std::string name() const { return op.schema().name(); }
};

// Every input's data is known: really compute it, on small tensors, with writes to the model's own
// journalled.
void run_known(const Call& call, const Inputs& inputs, c10::DispatchKeySet below);
// zeros_like(unknown) and friends, and known.expand_as(unknown): known all the same. False: not such a call.
bool run_value_free(const Call& call, const Inputs& inputs);
bool run_like_other(const Call& call, const Inputs& inputs);
// Some input's data is unknown: a shape rule; else, for composites, their parts; else PyTorch's meta kernel.
void run_abstract(const Call& call, const Inputs& inputs, c10::DispatchKeySet below);
// PyTorch's meta kernel on plain meta tensors that share the abstract ones' storages.
void run_on_twins(const Call& call);
// The real kernel on known arguments and, for the others, zeros: for ops whose shape only their own code
// knows.
void run_on_zeros(const Call& call);

// Ends a static capture: the op looks at data that is not there.
[[noreturn]] void refuse(const Call& call);

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

// Fills the dispatch table of the abstract backend for ops registered since the last call.
void register_backend_kernels();

}  // namespace opscope::engine
