// What a capture writes for real to tensors that were there before it, and how it is undone: each storage is
// copied once, before the first write to it.
#pragma once

#include <vector>

#include "torch/recording/storages.h"

namespace opscope::engine {

class Journal {
 public:
  explicit Journal(Storages& storages) : storages_(storages) {}

  void keep(const at::Tensor& tensor);  // it is about to be written for real
  bool has(const at::Tensor& tensor) { return tensor.has_storage() && storages_.entry(tensor).journalled; }
  // A real tensor takes over the sizes of `like` and a storage without data, until the capture ends.
  void become_unknown(const at::Tensor& real, const at::Tensor& like, const c10::Storage& storage, Id id);
  // Undoes what runs so far wrote to a tensor, for the next to find it as the first did.
  void restore(const at::Tensor& tensor) const;
  // Undoes everything. Called once, when the capture ends, however it ends.
  void restore_all();

 private:
  struct Entry {
    c10::Storage storage;
    at::Tensor copy;    // all its bytes
    at::Tensor tensor;  // that was written; it or its base counts the writes
    std::uint32_t version;

    bool has_its_size() const { return storage.nbytes() == static_cast<std::size_t>(copy.numel()); }
    void put_back_version() const;
    void put_back_bytes() const;
  };
  struct Replaced {
    at::Tensor tensor;
    c10::intrusive_ptr<c10::TensorImpl> was;
  };

  Storages& storages_;
  std::vector<Entry> entries_;
  std::vector<Replaced> replaced_;
};

}  // namespace opscope::engine
