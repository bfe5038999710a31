// The recording's view of tensors: the model's own, its inputs and outputs, what is known of each, and which
// storages they share.
#include "torch/recording/recording.h"

namespace opscope::engine {

namespace {

const auto kModeOff = c10::DispatchKeySet(c10::DispatchKey::TESTING_ONLY_GenericMode);

bool holds_numbers(at::ScalarType type) { return c10::isIntegralType(type, /*includeBool=*/true); }

}  // namespace

ModuleId Recording::add_module(ModuleId parent, std::string_view name, std::string_view path,
                               std::string_view type) {
  graph.modules.push_back(
      {.parent = parent, .name = graph.intern(name), .path = graph.intern(path), .type = graph.intern(type)});
  calls_.push_back(0);
  if (graph.scopes.empty()) graph.scopes.push_back({});
  return static_cast<ModuleId>(graph.modules.size() - 1);
}

void Recording::add_owned(ModuleId module, std::string_view name, std::string_view path,
                          const at::Tensor& tensor, bool parameter) {
  if (!tensor.defined()) return;
  const auto kind = parameter ? ValueKind::kParameter : ValueKind::kBuffer;
  auto [slot, fresh] = real_values_.try_emplace(tensor.unsafeGetTensorImpl(), RealEntry(tensor));
  if (fresh) {
    Id storage = kNone;
    if (as_abstract(tensor)) {
      own(tensor, new_storage(tensor.storage().nbytes()), kind);
      storage = as_abstract(tensor)->identity.storage;
    } else if (tensor.has_storage()) {
      auto& known = entry(tensor);
      known.kind = kind;
      known.unknown = !eager && (parameter || tensor.is_meta() || tensor.numel() > kKnownElements ||
                                 (!tensor.is_cpu() && !holds_numbers(tensor.scalar_type())));
      storage = known.id;
    } else {
      storage = new_storage(static_cast<std::size_t>(tensor.numel()) * tensor.element_size());
    }
    slot->second.value = new_value(tensor, storage, kind, path);
    graph.values[slot->second.value].trainable = parameter && tensor.requires_grad();
    if (auto* impl = as_abstract(tensor)) impl->identity.value = slot->second.value;
  }
  graph.owned.push_back({.module = module, .value = slot->second.value, .name = graph.intern(name)});
}

ScopeId Recording::enter(ModuleId module) {
  if (autograd) autograd->note(scope);
  const auto call = calls_[module]++;
  if (module == 0 && call == 0) return scope = 0;
  graph.scopes.push_back({.parent = scope, .module = module, .call = call});
  return scope = static_cast<ScopeId>(graph.scopes.size() - 1);
}

void Recording::leave(ScopeId left) {
  if (autograd) autograd->note(scope);
  scope = graph.scopes[left].parent == kNone ? 0 : graph.scopes[left].parent;
}

std::string Recording::scope_path() const {
  return std::string(graph.path(graph.modules[graph.scopes[scope].module]));
}

at::Tensor Recording::add_input(const at::Tensor& tensor, std::string_view name) {
  TORCH_CHECK(eager || !tensor.is_nested(), kNestedMessage);
  const bool plain = tensor.layout() == c10::kStrided && !tensor.key_set().has(c10::DispatchKey::Python) &&
                     !tensor.is_nested();
  const bool keep = eager || !plain;
  const bool known = holds_numbers(tensor.scalar_type()) && !tensor.is_meta() && !as_abstract(tensor);
  at::Tensor result = tensor;
  if (!keep && known && !(tensor.is_cpu() && device.is_cpu())) {
    c10::impl::ExcludeDispatchKeyGuard off(kModeOff);
    result = wrap_known(tensor.cpu());
  } else if (!keep && !known) {
    result = make_abstract(tensor.sizes(), tensor.strides(), tensor.scalar_type(), device);
    if (tensor.requires_grad()) result.set_requires_grad(true);
    own(result, new_storage(result.storage().nbytes()), ValueKind::kInput);
  }
  if (plain && result.is_same(tensor)) {
    // Another handle on the caller's data: `unsqueeze_` and `requires_grad_` then do not reach the caller's
    // own.
    result = at::Tensor(tensor.getIntrusivePtr()->shallow_copy_and_detach(c10::VariableVersion(0), true));
    if (tensor.requires_grad()) result.set_requires_grad(true);
  }
  const auto value = new_value(result, storage_id(result), ValueKind::kInput, name);
  if (auto* impl = as_abstract(result))
    impl->identity.value = value;
  else
    real_values_.insert_or_assign(result.unsafeGetTensorImpl(), RealEntry(result, value));
  graph.inputs.push_back(value);
  return result;
}

void Recording::add_output(const at::Tensor& tensor, std::string_view name) {
  const auto id_of = value_of(tensor);
  auto& value = graph.values[id_of];
  if (value.kind == ValueKind::kActivation) value.kind = ValueKind::kOutput;
  if (value.name == 0) value.name = graph.intern(name);
  graph.outputs.push_back(id_of);
}

bool Recording::is_unknown(const at::Tensor& tensor) {
  if (eager) return false;
  if (auto* impl = as_abstract(tensor))
    return !impl->value.defined() ||
           (!tainted_.empty() && tainted_.contains(tensor.storage().unsafeGetStorageImpl()));
  if (tensor.is_meta()) return true;
  if (!tensor.has_storage()) return real_values_.contains(tensor.unsafeGetTensorImpl());
  const auto found = storages_.find(tensor.storage().unsafeGetStorageImpl());
  if (found != storages_.end()) return found->second.unknown;
  return !tensor.is_cpu() && !(holds_numbers(tensor.scalar_type()) && tensor.numel() <= kKnownElements);
}

void Recording::classify(const at::Tensor& tensor, Inputs& inputs) {
  if (!tensor.defined()) return;
  inputs.any_tensor = true;
  const auto keys = tensor.key_set();
  TORCH_CHECK(eager || !tensor.is_nested() || keys.has(c10::DispatchKey::Python), kNestedMessage);
  inputs.any_grad |= tensor.requires_grad();
  if (keys.has_backend(c10::BackendComponent::PrivateUse3Bit)) {
    inputs.any_abstract = true;
    if (!inputs.any_unknown) inputs.any_unknown = is_unknown(tensor);
    inputs.any_off_cpu = true;
  } else {
    inputs.any_subclass |= keys.has(c10::DispatchKey::Python);
    inputs.any_functorch |= keys.has_any(
        c10::DispatchKeySet({c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::FuncTorchGradWrapper,
                             c10::DispatchKey::Functionalize}));
    if (inputs.any_subclass || inputs.any_functorch) return;
    inputs.any_off_cpu |= !tensor.is_cpu();
    if (!inputs.any_unknown) inputs.any_unknown = is_unknown(tensor);
  }
  inputs.elements += tensor.numel();
}

at::Tensor Recording::known_value(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor)) return impl->value;
  if (tensor.is_cpu()) return tensor;
  c10::impl::ExcludeDispatchKeyGuard off(kModeOff);
  return tensor.cpu();
}

at::Tensor Recording::wrap_known(const at::Tensor& value) {
  auto& held = entry_made_now(value);
  auto result = make_abstract_view(held.standin, value.sizes(), value.strides(), value.storage_offset(),
                                   value.scalar_type(), device);
  as_abstract(result)->value = value;
  own(result, held.id, ValueKind::kActivation);
  return result;
}

at::Tensor Recording::abstract_of(const at::Tensor& tensor) {
  auto result = make_abstract_view(standin(tensor), tensor.sizes(), tensor.strides(), tensor.storage_offset(),
                                   tensor.scalar_type(), device);
  own(result, storage_id(tensor), kind_of(tensor));
  as_abstract(result)->identity.value = value_of(tensor);
  return result;
}

void Recording::taint(const at::Tensor& tensor) {
  if (as_abstract(tensor))
    tainted_.insert(tensor.storage().unsafeGetStorageImpl());
  else if (tensor.has_storage())
    entry(tensor).unknown = true;
}

void Recording::journal(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta() || as_abstract(tensor) || !tensor.has_storage()) return;
  auto& held = entry(tensor);
  if (!held.preexisting || held.journalled) return;
  held.journalled = true;
  c10::impl::ExcludeDispatchKeyGuard off(kModeOff);
  at::NoGradGuard no_grad;
  auto bytes = at::empty({0}, at::TensorOptions().dtype(at::kByte).device(tensor.device()));
  bytes.set_(tensor.storage(), 0, {static_cast<std::int64_t>(tensor.storage().nbytes())}, {1});
  const auto version =
      tensor.is_inference() ? 0 : tensor.unsafeGetTensorImpl()->version_counter().current_version();
  journal_.push_back({tensor.storage(), bytes.clone(), tensor, version});
}

void Recording::become_unknown(const at::Tensor& real, const at::Tensor& like, const c10::Storage& storage,
                               Id id_of) {
  auto* impl = real.unsafeGetTensorImpl();
  replaced_.push_back({real, impl->shallow_copy_and_detach(c10::VariableVersion(0), true)});
  impl->set_storage_keep_dtype(storage);
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  auto& held = storages_[storage.unsafeGetStorageImpl()];
  held.real = storage.getWeakStorageImpl();
  held.standin = storage;
  held.id = id_of;
  held.unknown = true;
}

namespace {

// Of a storage that is as large as it was.
void put_back_bytes(const JournalEntry& entry) {
  auto counter = entry.tensor.unsafeGetTensorImpl()->version_counter();  // shared with the tensor's own
  if (counter.enabled()) counter.set_version(entry.version);
  if (entry.storage.device_type() == c10::DeviceType::CPU) {
    std::memcpy(entry.storage.mutable_data(), entry.copy.const_data_ptr(), entry.storage.nbytes());
    return;
  }
  auto original = at::empty({0}, entry.copy.options());
  original.set_(entry.storage, 0, {entry.copy.numel()}, {1}).copy_(entry.copy);
}

}  // namespace

void Recording::restore_one(const at::Tensor& tensor) {
  if (!tensor.has_storage()) return;
  c10::impl::ExcludeDispatchKeyGuard off(kModeOff);
  at::NoGradGuard no_grad;
  for (const auto& entry : journal_)
    if (entry.storage.unsafeGetStorageImpl() == tensor.storage().unsafeGetStorageImpl() &&
        entry.storage.nbytes() == static_cast<std::size_t>(entry.copy.numel()))
      put_back_bytes(entry);
}

void Recording::restore_journal() {
  c10::impl::ExcludeDispatchKeyGuard off(kModeOff);
  at::NoGradGuard no_grad;
  for (auto replaced = replaced_.rbegin(); replaced != replaced_.rend(); ++replaced)
    replaced->tensor.unsafeGetTensorImpl()->shallow_copy_from(replaced->was);
  replaced_.clear();
  for (auto& entry : journal_) {
    const auto bytes = static_cast<std::size_t>(entry.copy.numel());
    if (entry.storage.nbytes() == bytes) {
      put_back_bytes(entry);
      continue;
    }
    // The model resized it: its own memory is gone.
    auto counter = entry.tensor.unsafeGetTensorImpl()->version_counter();
    if (counter.enabled()) counter.set_version(entry.version);
    entry.storage.set_data_ptr_noswap(
        std::move(entry.copy.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks()));
    entry.storage.set_nbytes(bytes);
  }
  journal_.clear();
}

Id Recording::new_storage(std::size_t bytes) {
  graph.storages.push_back({bytes});
  return static_cast<Id>(graph.storages.size() - 1);
}

void Recording::grow(Id storage, std::size_t bytes) {
  graph.storages[storage].bytes = std::max<std::uint64_t>(graph.storages[storage].bytes, bytes);
}

void Recording::own_new(const at::Tensor& abstract, ValueKind kind) {
  const auto storage = new_storage(abstract.storage().nbytes());
  lifetimes->follow(abstract.storage(), storage);
  own(abstract, storage, kind);
}

void Recording::own(const at::Tensor& abstract, Id storage, ValueKind kind) {
  as_abstract(abstract)->identity = {.recording = id, .value = kNone, .storage = storage, .kind = kind};
}

Recording::StorageEntry& Recording::entry(const at::Tensor& real) {
  const auto& storage = real.storage();
  auto [slot, fresh] = storages_.try_emplace(storage.unsafeGetStorageImpl());
  if (fresh) {
    slot->second.real = storage.getWeakStorageImpl();
    slot->second.id = new_storage(storage.nbytes());
    slot->second.unknown = real.is_meta();
    slot->second.standin = real.is_meta() ? storage : guarded_storage(storage.nbytes());
  }
  return slot->second;
}

Recording::StorageEntry& Recording::entry_made_now(const at::Tensor& real) {
  const auto before = storages_.size();
  auto& made = entry(real);
  if (storages_.size() != before) lifetimes->follow_real(real.storage(), made.id);
  return made;
}

c10::Storage Recording::standin(const at::Tensor& tensor) {
  if (as_abstract(tensor)) return tensor.storage();
  if (tensor.has_storage()) return entry(tensor).standin;
  return guarded_storage(static_cast<std::size_t>(tensor.numel()) * tensor.element_size());
}

Id Recording::storage_id(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor)) {
    if (impl->identity.recording != id)
      own(tensor, new_storage(tensor.storage().nbytes()), ValueKind::kConstant);
    return impl->identity.storage;
  }
  if (tensor.has_storage()) return entry(tensor).id;
  return new_storage(static_cast<std::size_t>(tensor.numel()) * tensor.element_size());
}

ValueKind Recording::kind_of(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor))
    return impl->identity.kind == ValueKind::kInput ? ValueKind::kActivation : impl->identity.kind;
  return tensor.has_storage() ? entry(tensor).kind : ValueKind::kConstant;
}

}  // namespace opscope::engine
