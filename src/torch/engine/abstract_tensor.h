// Tensors with a shape, dtype, strides, device and storage identity but no data: a backend of their own
// (PrivateUse3), so that nothing in PyTorch mistakes them for tensors it may read.
#pragma once

#include <utility>

#include "graph/graph.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

inline constexpr auto kBackendKey = c10::DispatchKey::PrivateUse3;
inline constexpr auto kModeKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

// What identifies an abstract tensor within its recording. A view shares its base's storage id.
struct Identity {
  std::uint64_t recording = 0;  // 0: none
  ValueId value = kNone;
  Id storage = kNone;
  ValueKind kind = ValueKind::kActivation;  // a view of a parameter is a parameter's bytes
};

// Autograd runs a device's gradients in a thread of that device, and there is none where the device is not
// there. While it looks, tensors of a device that is not there are on the CPU; Python, and the parts of
// composite ops, which pick their kernels by the device, see the device.
inline thread_local bool autograd_looks = false;

struct AutogradLooks {
  explicit AutogradLooks(bool looks) : before_(std::exchange(autograd_looks, looks)) {}
  ~AutogradLooks() { autograd_looks = before_; }
  AutogradLooks(const AutogradLooks&) = delete;
  AutogradLooks& operator=(const AutogradLooks&) = delete;

 private:
  bool before_;
};

class AbstractTensorImpl final : public c10::TensorImpl {
 public:
  AbstractTensorImpl(c10::Storage storage, caffe2::TypeMeta dtype, c10::Device device);

  Identity identity;
  at::Tensor value;  // a real CPU tensor with this tensor's data, where that is known

  c10::Device device_custom() const override { return autograd_looks ? c10::Device(c10::kCPU) : device_; }
  c10::Device shown_device() const { return device_; }
  const char* tensorimpl_type_name() const override { return "opscope::AbstractTensorImpl"; }
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(const c10::VariableVersion& version_counter,
                                                         bool allow_tensor_metadata_change) const override;
  c10::intrusive_ptr<TensorImpl> shallow_copy_and_detach(c10::VariableVersion&& version_counter,
                                                         bool allow_tensor_metadata_change) const override;
  void shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& impl) override;

 private:
  template <class Version>
  c10::intrusive_ptr<TensorImpl> copy_and_detach(Version&& version, bool allow_change) const;
  c10::Device device_;
};

// nullptr where the tensor is not abstract.
inline AbstractTensorImpl* as_abstract(const at::TensorBase& tensor) {
  auto* impl = tensor.unsafeGetTensorImpl();
  return impl->key_set().has_backend(c10::BackendComponent::PrivateUse3Bit)
             ? static_cast<AbstractTensorImpl*>(impl)
             : nullptr;
}

// As Python sees it.
inline c10::Device shown_device(const at::TensorBase& tensor) {
  const auto* const abstract = as_abstract(tensor);
  return abstract ? abstract->shown_device() : tensor.device();
}

// An empty storage that may be asked for its data, as some meta kernels do.
c10::Storage bare_storage(std::size_t bytes);
// A storage of `bytes` that holds nothing and raises a clear error when its data is asked for.
c10::Storage guarded_storage(std::size_t bytes);
// Puts the same guard on a storage that one of PyTorch's meta kernels made.
void guard_storage(const c10::Storage& storage);

at::Tensor make_abstract(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype,
                         c10::Device device);
at::Tensor make_abstract_view(const c10::Storage& storage, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                              std::int64_t offset, at::ScalarType dtype, c10::Device device);

// A plain meta tensor on the same storage, for PyTorch's own meta kernels.
at::Tensor meta_twin(const at::Tensor& tensor, const c10::Storage& storage);

DType dtype_of(at::ScalarType type);

extern const char* const kNoDataMessage;
inline constexpr const char* kNestedMessage =
    "opscope: a nested tensor of the strided layout has no shape that a static capture can follow; make it "
    "with layout=torch.jagged";

}  // namespace opscope::engine
