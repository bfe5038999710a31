// Times of single ops, kept between runs in a small SQLite file, so that a model reuses what was measured for
// another. Several processes may use it at once. A file that is damaged or another program's is never
// touched: the Error says so, and the caller measures afresh.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/measurement.h"

namespace opscope {

class OpTimeStore {
 public:
  // Opens the file, and makes it where there is none. Throws Error.
  explicit OpTimeStore(const std::string& path);
  ~OpTimeStore();
  OpTimeStore(OpTimeStore&&) noexcept;

  struct Row {
    std::string signature;
    OpTime time;
  };

  // What the signature took in an environment, if it was ever measured there. Throws Error.
  std::optional<OpTime> find(const std::string& environment, const std::string& signature) const;
  // All of them or none; what was there for the same signature is replaced. Throws Error.
  void add(const std::string& environment, const std::vector<Row>& rows);
  std::uint64_t size() const;

  // Where it is by default: op_times.sqlite in cache_folder(); "" where there is no such folder.
  static std::string default_path();
  // False: built without SQLite, and the constructor throws.
  static bool available();

 private:
  struct Database;
  std::unique_ptr<Database> database_;
};

// What times depend on beside the op: device, processor, torch, runtime and driver, threads, precision, how
// the device was asked to choose its kernels (`settings`), and this version's way of measuring.
std::string environment_key(const Environment& environment, std::string_view settings = {});

}  // namespace opscope
