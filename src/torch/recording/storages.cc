#include "torch/recording/storages.h"

#include <algorithm>
#include <atomic>

#include "torch/recording/sparse.h"

namespace opscope::engine {

namespace {

std::uint64_t next_capture() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

Storages::Storages(Graph& graph, c10::Device pretended, bool eager)
    : device(pretended), capture(next_capture()), graph_(graph), eager_(eager) {}

Id Storages::add(std::size_t bytes) {
  graph_.storages.push_back({bytes});
  return static_cast<Id>(graph_.storages.size() - 1);
}

void Storages::grow(Id storage, std::size_t bytes) {
  graph_.storages[storage].bytes = std::max<std::uint64_t>(graph_.storages[storage].bytes, bytes);
}

void Storages::own(const at::Tensor& abstract, Id storage, ValueKind kind) {
  as_abstract(abstract)->identity = {.recording = capture, .value = kNone, .storage = storage, .kind = kind};
}

void Storages::own_new(const at::Tensor& abstract, ValueKind kind) {
  const auto storage = add(abstract.storage().nbytes());
  lifetimes->follow(abstract.storage(), storage);
  own(abstract, storage, kind);
}

Storages::Entry& Storages::entry(const at::Tensor& real) {
  const auto& storage = real.storage();
  auto& made = entries_[storage.unsafeGetStorageImpl()];
  if (made.real) return made;
  made.real = storage.getWeakStorageImpl();
  made.id = add(storage.nbytes());
  made.unknown = real.is_meta();
  if (real.is_meta()) made.standin = storage;
  return made;
}

Storages::Entry& Storages::entry_made_now(const at::Tensor& real) {
  const auto before = entries_.size();
  auto& made = entry(real);
  if (entries_.size() != before) lifetimes->follow_real(real.storage(), made.id);
  return made;
}

void Storages::replace(const c10::Storage& guarded, Id id) {
  auto& held = entries_[guarded.unsafeGetStorageImpl()];
  held.real = guarded.getWeakStorageImpl();
  held.standin = guarded;
  held.id = id;
  held.unknown = true;
}

const c10::Storage& Storages::standin_of(Entry& entry) {
  if (!entry.standin) entry.standin = guarded_storage(graph_.storages[entry.id].bytes);
  return entry.standin;
}

c10::Storage Storages::standin(const at::Tensor& tensor) {
  if (as_abstract(tensor)) return tensor.storage();
  if (tensor.has_storage()) return standin_of(entry(tensor));
  return guarded_storage(static_cast<std::size_t>(tensor.numel()) * tensor.element_size());
}

Id Storages::id_of(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor)) {
    if (impl->identity.recording != capture)
      own(tensor, add(tensor.storage().nbytes()), ValueKind::kConstant);
    return impl->identity.storage;
  }
  if (tensor.has_storage()) return entry(tensor).id;
  return add(is_sparse(tensor) ? contents_of(tensor).bytes
                               : static_cast<std::size_t>(tensor.numel()) * tensor.element_size());
}

ValueKind Storages::kind_of(const at::Tensor& tensor) {
  if (auto* impl = as_abstract(tensor))
    return impl->identity.kind == ValueKind::kInput ? ValueKind::kActivation : impl->identity.kind;
  return tensor.has_storage() ? entry(tensor).kind : ValueKind::kConstant;
}

bool Storages::is_unknown(const at::Tensor& tensor) const {
  if (eager_) return false;
  if (auto* impl = as_abstract(tensor))
    return !impl->value.defined() ||
           (!tainted_.empty() && tainted_.contains(tensor.storage().unsafeGetStorageImpl()));
  if (tensor.is_meta()) return true;
  if (!tensor.has_storage()) return without_storage_.contains(tensor.unsafeGetTensorImpl());
  const auto found = entries_.find(tensor.storage().unsafeGetStorageImpl());
  if (found != entries_.end()) return found->second.unknown;
  return !tensor.is_cpu() && !(holds_numbers(tensor.scalar_type()) && tensor.numel() <= kKnownElements);
}

at::Tensor Storages::known_value(const at::Tensor& tensor) const {
  if (auto* impl = as_abstract(tensor)) return impl->value;
  if (tensor.is_cpu()) return tensor;
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  return tensor.cpu();
}

at::Tensor Storages::wrap_known(const at::Tensor& value) {
  auto& held = entry_made_now(value);
  auto result = make_abstract_view(standin_of(held), value.sizes(), value.strides(), value.storage_offset(),
                                   value.scalar_type(), device);
  as_abstract(result)->value = value;
  own(result, held.id, ValueKind::kActivation);
  return result;
}

void Storages::taint(const at::Tensor& tensor) {
  if (as_abstract(tensor))
    tainted_.insert(tensor.storage().unsafeGetStorageImpl());
  else if (tensor.has_storage())
    entry(tensor).unknown = true;
}

}  // namespace opscope::engine
