// The memory of a capture: which storage each tensor lies on, and whether its data is known. A storage has
// one id for as long as the capture lasts: real ones are held, weakly, so that no other gets their address.
#pragma once

#include <c10/util/flat_hash_map.h>

#include <memory>
#include <optional>
#include <unordered_set>

#include "torch/engine/abstract_tensor.h"
#include "torch/recording/lifetimes.h"

namespace opscope::engine {

// Elements up to which values are computed for real; above, a tensor is only a shape.
inline constexpr std::int64_t kKnownElements = std::int64_t{1} << 20;
// Results of known values are computed up to this many elements, and few picked out of so many.
inline constexpr std::int64_t kComputedElements = std::int64_t{1} << 24;

inline bool holds_numbers(at::ScalarType type) { return c10::isIntegralType(type, /*includeBool=*/true); }

class Storages {
 public:
  Storages(Graph& graph, c10::Device device, bool eager);

  bool is_real() const { return eager_; }

  const c10::Device device;     // what abstract tensors show
  const std::uint64_t capture;  // what its tensors' identities name
  const std::shared_ptr<LifetimeLog> lifetimes = std::make_shared<LifetimeLog>();

  struct Entry {
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> real;
    c10::Storage standin;  // that is guarded, for abstract views and meta kernels; made when it is needed
    Id id = kNone;
    ValueKind kind = ValueKind::kConstant;
    bool preexisting = true;
    bool unknown = false;
    bool journalled = false;
  };
  // Of a real tensor; valid until the next is asked for.
  Entry& entry(const at::Tensor& real);
  Entry& entry_made_now(const at::Tensor& real);
  bool has(const at::Tensor& real) const {
    return entries_.find(real.storage().unsafeGetStorageImpl()) != entries_.end();
  }
  // A real tensor's storage is now this guarded one.
  void replace(const c10::Storage& guarded, Id id);

  Id add(std::size_t bytes);
  void grow(Id storage, std::size_t bytes);  // it was resized; counted at its largest
  void own(const at::Tensor& abstract, Id storage, ValueKind kind = ValueKind::kActivation);
  void own_new(const at::Tensor& abstract, ValueKind kind = ValueKind::kActivation);  // memory made just now
  c10::Storage standin(const at::Tensor& tensor);
  Id id_of(const at::Tensor& tensor);
  ValueKind kind_of(const at::Tensor& tensor);

  // --- what is known of a tensor's data
  bool is_unknown(const at::Tensor& tensor) const;
  at::Tensor known_value(const at::Tensor& tensor) const;  // on the CPU; only where !is_unknown
  at::Tensor wrap_known(const at::Tensor& value);          // an abstract tensor of the capture's device
  at::Tensor as_known(const at::Tensor& value) { return device.is_cpu() ? value : wrap_known(value); }
  void taint(const at::Tensor& tensor);  // unknown data was written into it
  void forget_value(const c10::TensorImpl* without_storage) { without_storage_.insert(without_storage); }

 private:
  const c10::Storage& standin_of(Entry& entry);

  Graph& graph_;
  const bool eager_;
  ska::flat_hash_map<const c10::StorageImpl*, Entry> entries_;
  std::unordered_set<const c10::StorageImpl*> tainted_;  // abstract storages whose values are no longer known
  std::unordered_set<const c10::TensorImpl*> without_storage_;  // sparse and the like: unknown
};

}  // namespace opscope::engine
