// Tensors as values of the graph: a tensor is one value from the op that made it to the op that writes to it,
// and the model's own keep the value that has their name. Real tensors are held, weakly, so that no other
// gets their address.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/util/flat_hash_map.h>

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torch/recording/size_bounds.h"
#include "torch/recording/sparse.h"
#include "torch/recording/storages.h"

namespace opscope::engine {

enum class ArgumentForm : std::uint8_t { kPlain, kDType, kLayout, kMemoryFormat };

class Values {
 public:
  Values(Graph& graph, Storages& storages, SizeBounds& bounds);

  ValueId of(const at::Tensor& tensor);
  ValueId find(const at::Tensor& real) const;    // kNone: no op or module has had it
  ValueId made_by_op(const at::Tensor& tensor);  // a new one, of this op's result
  Argument argument(const c10::IValue& value, ArgumentForm form);

  void add_owned(ModuleId module, std::string_view name, std::string_view path, const at::Tensor& tensor,
                 bool parameter, bool unknown);
  // A parameter or buffer of another tensor type, which holds these tensors in place of its own elements.
  void add_parts(const at::Tensor& whole, at::ArrayRef<at::Tensor> parts, std::string_view type,
                 bool unknown);
  // Weights inside of objects that ops were given since the last call.
  std::vector<ValueId> take_packed() { return std::exchange(new_packed_, {}); }
  void add_input(const at::Tensor& tensor, std::string_view name);
  void add_output(const at::Tensor& tensor, std::string_view name);
  // What is on this tensor's memory is a gradient, or an optimiser's state, by this name.
  void mark(const at::Tensor& tensor, ValueKind kind, std::string_view name);
  // The kind that its memory was marked with, for what an op made.
  void take_mark(Value& value) const;

 private:
  struct Real {
    // Of the type that tensors hold: made of another, it would ask Python for a reference in passing.
    c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> impl{at::Tensor().getIntrusivePtr()};
    ValueId value = kNone;
  };

  void set(const at::Tensor& real, ValueId value);
  ValueId add(const at::Tensor& tensor, Id storage, ValueKind kind, std::string_view name = {});
  ValueId add_unmade(const at::Tensor& tensor, Id storage, ValueKind kind);
  ValueId made(Id storage, ValueId value);
  Argument tensor_argument(const at::Tensor& tensor);
  Argument tensors_argument(const c10::IValue& value);

  struct Packed {
    c10::intrusive_ptr<torch::CustomClassHolder> holder;
    ValueId value = kNone;
  };
  ValueId packed(const c10::IValue& value);  // kNone: it holds no weight

  Graph& graph_;
  Storages& storages_;
  SizeBounds& bounds_;
  StringId device_name_;
  ska::flat_hash_map<const c10::TensorImpl*, Real> real_;
  std::vector<ValueId> made_;                 // by storage: the last value an op put there
  std::unordered_map<Id, ValueKind> marked_;  // by storage
  std::vector<Packed> packed_;
  std::vector<ValueId> new_packed_;
};

}  // namespace opscope::engine
