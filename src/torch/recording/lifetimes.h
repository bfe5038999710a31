// When the memory of a capture is made and let go, as it happens: abstract storages say so themselves, by the
// deleter of the data that they do not have; real ones are looked at between ops. Outlives the recording for
// as long as one of its storages does.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/graph.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

class LifetimeLog : public std::enable_shared_from_this<LifetimeLog> {
 public:
  // An op that is to become `op` of the graph begins, and ends; ops inside it are not told. Returns the bytes
  // that its temporaries held at most, beyond what it leaves behind.
  void begin(OpId op);
  std::uint64_t finish();

  // Memory that is made now. An abstract storage tells when it goes.
  void follow(const c10::Storage& guarded, Id storage);
  void follow_real(const c10::Storage& real, Id storage);

  // Bytes that the running op's real kernel would hold now, and not for long.
  void allocate(std::uint64_t bytes);

  // Whether an op made it; it is then no constant, whoever reads it.
  bool was_made(Id storage) const;
  // What is made while it is hidden is no part of the run, unless it stays.
  void hide(bool hidden);
  // What is let go from now on was held to the end.
  void close();

  struct Result {
    std::vector<Lifetime> lifetimes;
    std::vector<char> temporary;  // gone before the op that made it was over, or hidden
  };
  Result take(std::size_t ops, std::size_t storages);

 private:
  struct Entry {
    Lifetime life{};
    std::uint64_t bytes = 0;
    bool temporary = false;
  };
  struct Real {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    Id id;
  };
  struct Handle {
    std::shared_ptr<LifetimeLog> log;
    Id id;
  };
  static void on_release(void* handle);
  Entry& make(Id storage, std::uint64_t bytes);
  void release(Id storage);
  void look_at_real();

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // by storage
  std::vector<Real> real_;      // that may be alive
  std::size_t unlooked_ = 0;    // ops since the real ones were looked at
  OpId begun_ = 0;              // ops that have begun
  bool running_ = false;
  bool closed_ = false, hidden_ = false;
  std::int64_t inner_ = 0, inner_peak_ = 0;  // bytes made by the running op and alive
};

}  // namespace opscope::engine
