#include "torch/recording/journal.h"

#include <cstring>

namespace opscope::engine {

void Journal::keep(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta() || as_abstract(tensor) || !tensor.has_storage()) return;
  auto& held = storages_.entry(tensor);
  if (!held.preexisting || held.journalled) return;
  held.journalled = true;
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  at::NoGradGuard no_grad;
  auto bytes = at::empty({0}, at::TensorOptions().dtype(at::kByte).device(tensor.device()));
  bytes.set_(tensor.storage(), 0, {static_cast<std::int64_t>(tensor.storage().nbytes())}, {1});
  const auto version =
      tensor.is_inference() ? 0 : tensor.unsafeGetTensorImpl()->version_counter().current_version();
  entries_.push_back({tensor.storage(), bytes.clone(), tensor, version});
}

void Journal::become_unknown(const at::Tensor& real, const at::Tensor& like, const c10::Storage& storage,
                             Id id) {
  auto* impl = real.unsafeGetTensorImpl();
  replaced_.push_back({real, impl->shallow_copy_and_detach(c10::VariableVersion(0), true)});
  impl->set_storage_keep_dtype(storage);
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  storages_.replace(storage, id);
}

void Journal::Entry::put_back_version() const {
  auto counter = tensor.unsafeGetTensorImpl()->version_counter();  // shared with the tensor's own
  if (counter.enabled()) counter.set_version(version);
}

void Journal::Entry::put_back_bytes() const {
  if (storage.device_type() == c10::DeviceType::CPU) {
    std::memcpy(storage.mutable_data(), copy.const_data_ptr(), storage.nbytes());
    return;
  }
  auto original = at::empty({0}, copy.options());
  original.set_(storage, 0, {copy.numel()}, {1}).copy_(copy);
}

void Journal::restore(const at::Tensor& tensor) const {
  if (!tensor.has_storage()) return;
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  at::NoGradGuard no_grad;
  for (const auto& entry : entries_) {
    const bool same = entry.storage.unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl();
    if (!same || !entry.has_its_size()) continue;
    entry.put_back_version();
    entry.put_back_bytes();
  }
}

void Journal::restore_all() {
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  at::NoGradGuard no_grad;
  for (auto replaced = replaced_.rbegin(); replaced != replaced_.rend(); ++replaced)
    replaced->tensor.unsafeGetTensorImpl()->shallow_copy_from(replaced->was);
  replaced_.clear();
  for (auto& entry : entries_) {
    entry.put_back_version();
    if (entry.has_its_size()) {
      entry.put_back_bytes();
      continue;
    }
    // The model resized it: its own memory is gone.
    entry.storage.set_data_ptr_noswap(
        std::move(entry.copy.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks()));
    entry.storage.set_nbytes(static_cast<std::size_t>(entry.copy.numel()));
  }
  entries_.clear();
}

}  // namespace opscope::engine
