#include "torch/recording/lifetimes.h"

#include <algorithm>

namespace opscope::engine {

void LifetimeLog::begin(OpId op) {
  std::lock_guard lock(mutex_);
  // A look at each takes about as long as a load; many that live long are looked at less often.
  if (!real_.empty() && ++unlooked_ * 64 >= real_.size()) look_at_real();
  begun_ = op + 1;
  running_ = true;
  inner_ = inner_peak_ = 0;
}

std::uint64_t LifetimeLog::finish() {
  std::lock_guard lock(mutex_);
  running_ = false;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(inner_peak_ - inner_, 0));
}

LifetimeLog::Entry& LifetimeLog::make(Id storage, std::uint64_t bytes) {
  if (storage >= entries_.size()) entries_.resize(storage + 1);
  auto& entry = entries_[storage];
  entry.life.made = begun_ == 0 ? kNone : begun_ - 1;
  entry.bytes = bytes;
  entry.temporary = hidden_;
  if (running_) inner_peak_ = std::max(inner_peak_, inner_ += static_cast<std::int64_t>(bytes));
  return entry;
}

void LifetimeLog::follow(const c10::Storage& guarded, Id storage) {
  {
    std::lock_guard lock(mutex_);
    make(storage, guarded.nbytes());
  }
  guarded.set_data_ptr_noswap(c10::DataPtr(nullptr, new Handle{shared_from_this(), storage},
                                           &LifetimeLog::on_release, c10::Device(c10::kMeta)));
}

void LifetimeLog::follow_real(const c10::Storage& real, Id storage) {
  std::lock_guard lock(mutex_);
  make(storage, real.nbytes());
  real_.push_back({real.getWeakStorageImpl(), storage});
}

void LifetimeLog::allocate(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (running_) inner_peak_ = std::max(inner_peak_, inner_ + static_cast<std::int64_t>(bytes));
}

bool LifetimeLog::was_made(Id storage) const {
  std::lock_guard lock(mutex_);
  return storage < entries_.size() && entries_[storage].life.made != kNone;
}

void LifetimeLog::on_release(void* handle) {
  const std::unique_ptr<Handle> held(static_cast<Handle*>(handle));
  std::lock_guard lock(held->log->mutex_);
  held->log->release(held->id);
}

void LifetimeLog::release(Id storage) {
  if (closed_) return;
  auto& [life, bytes, temporary] = entries_[storage];
  if (begun_ == 0) return;
  life.freed = begun_ - 1;
  if (!running_ || life.made != life.freed) return;
  temporary = true;
  inner_ -= static_cast<std::int64_t>(bytes);
}

void LifetimeLog::look_at_real() {
  unlooked_ = 0;
  std::erase_if(real_, [&](const Real& real) {
    if (real.storage.use_count() != 0) return false;
    release(real.id);
    return true;
  });
}

void LifetimeLog::hide(bool hidden) {
  std::lock_guard lock(mutex_);
  hidden_ = hidden;
}

void LifetimeLog::close() {
  std::lock_guard lock(mutex_);
  look_at_real();
  closed_ = true;
}

LifetimeLog::Result LifetimeLog::take(std::size_t ops, std::size_t storages) {
  std::lock_guard lock(mutex_);
  closed_ = true;
  entries_.resize(storages);
  Result result;
  const auto last = static_cast<OpId>(ops) - 1;  // an op that raised is none of the graph
  for (const auto& [life, bytes, temporary] : entries_) {
    auto [made, freed] = life;
    if (made != kNone) made = ops == 0 ? kNone : std::min(made, last);
    if (freed != kNone) freed = ops == 0 ? kNone : std::min(freed, last);
    result.lifetimes.push_back({made, freed});
    result.temporary.push_back(temporary ? 1 : 0);
  }
  return result;
}

}  // namespace opscope::engine
