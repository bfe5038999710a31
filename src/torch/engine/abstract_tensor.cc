// How abstract tensors are made, copied and guarded against being read.
#include "torch/engine/abstract_tensor.h"

#include <array>

namespace opscope::engine {

const char* const kNoDataMessage =
    "this tensor was made by an opscope capture: it has a shape but no data, so it cannot be read, printed, "
    "saved or converted. Inside a capture, code that needs real values can be run with tracer=\"eager\"; "
    "after it, run the model again on real tensors";

AbstractTensorImpl::AbstractTensorImpl(c10::Storage storage, caffe2::TypeMeta dtype, c10::Device device)
    : TensorImpl(std::move(storage), c10::DispatchKeySet(kBackendKey), dtype), device_(device) {
  set_custom_device(true);
}

template <class Version>
c10::intrusive_ptr<c10::TensorImpl> AbstractTensorImpl::copy_and_detach(Version&& version,
                                                                        bool allow_change) const {
  auto copy = c10::make_intrusive<AbstractTensorImpl>(storage(), dtype(), device_);
  copy_tensor_metadata(this, copy.get(), std::forward<Version>(version), allow_change);
  copy->identity = identity;
  copy->value = value;
  return copy;
}

c10::intrusive_ptr<c10::TensorImpl> AbstractTensorImpl::shallow_copy_and_detach(
    const c10::VariableVersion& version_counter, bool allow_tensor_metadata_change) const {
  return copy_and_detach(version_counter, allow_tensor_metadata_change);
}

c10::intrusive_ptr<c10::TensorImpl> AbstractTensorImpl::shallow_copy_and_detach(
    c10::VariableVersion&& version_counter, bool allow_tensor_metadata_change) const {
  return copy_and_detach(std::move(version_counter), allow_tensor_metadata_change);
}

// `x.data = y`: only between abstract tensors.
void AbstractTensorImpl::shallow_copy_from(const c10::intrusive_ptr<TensorImpl>& impl) {
  TORCH_CHECK(impl->key_set().has_backend(c10::BackendComponent::PrivateUse3Bit),
              "opscope: the data of a captured tensor cannot be replaced by a real tensor's");
  auto* source = static_cast<AbstractTensorImpl*>(impl.get());
  copy_tensor_metadata(source, this, version_counter(), allow_tensor_metadata_change());
  identity = source->identity;
  value = source->value;
  device_ = source->device_;
}

c10::Storage bare_storage(std::size_t bytes) {
  return c10::Storage(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, c10::DataPtr(nullptr, c10::Device(c10::kMeta)),
      c10::GetAllocator(c10::kMeta), /*resizable=*/true));
}

c10::Storage guarded_storage(std::size_t bytes) {
  auto storage = bare_storage(bytes);
  guard_storage(storage);
  return storage;
}

void guard_storage(const c10::Storage& storage) {
  storage.unsafeGetStorageImpl()->release_data_and_set_meta_custom_data_ptr_error_msg_(kNoDataMessage);
}

namespace {

std::size_t storage_bytes(c10::IntArrayRef sizes, c10::IntArrayRef strides, std::size_t element) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return 0;
    last += static_cast<std::size_t>((sizes[i] - 1) * strides[i]);
  }
  return (last + 1) * element;
}

}  // namespace

at::Tensor make_abstract(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype,
                         c10::Device device) {
  const auto bytes = storage_bytes(sizes, strides, c10::elementSize(dtype));
  return make_abstract_view(guarded_storage(bytes), sizes, strides, 0, dtype, device);
}

at::Tensor make_abstract_view(const c10::Storage& storage, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                              std::int64_t offset, at::ScalarType dtype, c10::Device device) {
  auto impl = c10::make_intrusive<AbstractTensorImpl>(storage, c10::scalarTypeToTypeMeta(dtype), device);
  impl->set_sizes_and_strides(sizes, strides, offset);
  return at::Tensor(std::move(impl));
}

at::Tensor meta_twin(const at::Tensor& tensor, const c10::Storage& storage) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::Meta), tensor.dtype());
  if (tensor.layout() == c10::kStrided)
    impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  else
    impl->set_sizes_contiguous(tensor.sizes());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  at::Tensor twin(std::move(impl));
  if (tensor.is_conj()) twin._set_conj(true);
  if (tensor.is_neg()) twin._set_neg(true);
  return twin;
}

DType dtype_of(at::ScalarType type) {
  static constexpr auto kTypes = [] {
    std::array<DType, static_cast<std::size_t>(at::ScalarType::NumOptions)> types{};
    constexpr std::pair<at::ScalarType, DType> kPairs[] = {{at::kBool, DType::kBool},
                                                           {at::kByte, DType::kUInt8},
                                                           {at::kUInt16, DType::kUInt16},
                                                           {at::kUInt32, DType::kUInt32},
                                                           {at::kUInt64, DType::kUInt64},
                                                           {at::kChar, DType::kInt8},
                                                           {at::kShort, DType::kInt16},
                                                           {at::kInt, DType::kInt32},
                                                           {at::kLong, DType::kInt64},
                                                           {at::kHalf, DType::kFloat16},
                                                           {at::kBFloat16, DType::kBFloat16},
                                                           {at::kFloat, DType::kFloat32},
                                                           {at::kDouble, DType::kFloat64},
                                                           {at::kComplexHalf, DType::kComplex32},
                                                           {at::kComplexFloat, DType::kComplex64},
                                                           {at::kComplexDouble, DType::kComplex128},
                                                           {at::kFloat8_e4m3fn, DType::kFloat8E4M3FN},
                                                           {at::kFloat8_e4m3fnuz, DType::kFloat8E4M3FNUZ},
                                                           {at::kFloat8_e5m2, DType::kFloat8E5M2},
                                                           {at::kFloat8_e5m2fnuz, DType::kFloat8E5M2FNUZ},
                                                           {at::kFloat8_e8m0fnu, DType::kFloat8E8M0FNU},
                                                           {at::kFloat4_e2m1fn_x2, DType::kFloat4E2M1FNX2},
                                                           {at::kQInt8, DType::kQInt8},
                                                           {at::kQUInt8, DType::kQUInt8},
                                                           {at::kQInt32, DType::kQInt32},
                                                           {at::ScalarType::QUInt4x2, DType::kQUInt4X2},
                                                           {at::ScalarType::QUInt2x4, DType::kQUInt2X4},
                                                           {at::ScalarType::Bits8, DType::kBits8}};
    for (const auto& [torchs, ours] : kPairs) types[static_cast<std::size_t>(torchs)] = ours;
    return types;
  }();
  const auto index = static_cast<std::size_t>(type);
  return index < kTypes.size() ? kTypes[index] : DType::kUndefined;
}

}  // namespace opscope::engine
