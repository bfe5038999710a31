// One capture in progress: the graph being built, and the parts that the engine must remember until it ends,
// each with its own rule. Found through c10::ThreadLocalDebugInfo, so that two threads have two, and helper
// threads of PyTorch share one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

#include "torch/engine/cuda_device.h"
#include "torch/engine/echo.h"
#include "torch/engine/op_info.h"
#include "torch/recording/decisions.h"
#include "torch/recording/journal.h"

namespace opscope::engine {

class Timing;

// Ops after which a capture is thought not to end, where the user does not say; and the bytes that the
// recording may take for each of them, of which there are at least so many.
inline constexpr std::uint64_t kMostOps = 1'000'000;
inline constexpr std::uint64_t kBytesPerOp = 2048, kLeastBytes = std::uint64_t{64} << 20;

// An op's arguments as they were before it ran; a row of the graph once it has returned.
struct Pending {
  struct Written {
    at::Tensor tensor;
    bool bounded;
  };
  c10::SmallVector<Argument, 10> arguments;
  c10::SmallVector<Written, 1> written;
  bool bounded = false;       // an argument's size is the largest possible
  bool self_bounded = false;  // that of the first
  std::uint32_t bounds = 0;   // made in this thread before it ran
};

// Why a capture could not go on.
struct Failure {
  std::string op;        // "aten::nonzero"
  std::string module;    // path
  std::string limit;     // the limit that would let it go on, if any
  std::string reason{};  // where that is not that data is missing
};

// The tensors among an op's arguments, sorted by what the engine may do with them.
struct Inputs {
  bool any_abstract = false;
  bool any_unknown = false;   // data not available: abstract without a value, parameters, meta tensors
  bool any_subclass = false;  // a __torch_dispatch__ subclass
  bool any_functorch = false;
  bool any_grad = false;
  bool any_off_cpu = false;  // a known value that has to be fetched from its abstract or device tensor
  bool any_tensor = false;
  bool any_sparse = false;
  std::int64_t elements = 0;
};

class Recording final : public c10::DebugInfoBase, public std::enable_shared_from_this<Recording> {
 public:
  Recording(c10::Device device, bool eager);

  static Recording* current() {
    auto* found = static_cast<Recording*>(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::TEST_INFO));
    return found && !found->closed.load(std::memory_order_relaxed) ? found : nullptr;
  }

  const c10::Device device;  // what abstract tensors show
  const bool eager;
  bool pretends = false;  // the device is not there
  CudaDevice cuda{};      // where it is one
  int threads = 1;        // of a real run of this model: some kernels, and so layouts, depend on it
  bool muted = false;     // the mode is on and passes everything by
  bool lasting = false;   // a real run whose effects are to stay: nothing is put back
  std::uint64_t max_ops = kMostOps;
  bool threads_want_grad = false;  // of those that the model starts, as PyTorch has it by itself: in training
  std::atomic<bool> closed = false;       // the capture is over; a thread of the model may still run
  std::atomic<int> threads_inside = 0;    // of the model's own that run now
  std::atomic<std::uint64_t> strays = 0;  // ops of threads that nobody has told of

  std::recursive_mutex mutex;  // of all below, which threads of the model and of PyTorch share: see Lock
  Graph graph;
  Scopes scopes;
  SizeBounds bounds;
  Storages storages;
  Values values;
  Journal journal;
  OpInfos ops;
  Decisions decisions;
  std::optional<double> assumed_number;      // what an unknown number is, where only a loop of ours reads it
  std::optional<Failure> failure;            // of a static capture
  std::string failed_op;                     // that threw first, in a real run
  std::function<std::string()> source_line;  // where the running Python code is
  bool notes_lines = false;                  // of each op
  std::shared_ptr<Timing> timing;            // where ops are under a clock
  std::unique_ptr<Echo> echo;                // where ops return what they returned before

  void add_owned(ModuleId module, std::string_view name, std::string_view path, const at::Tensor& tensor,
                 bool parameter);
  // What the model is called with instead of `tensor`: unknown data becomes abstract, ids and masks stay.
  at::Tensor add_input(const at::Tensor& tensor, std::string_view name);
  void set_cuda(const opscope::CudaDevice& device);  // one that was named
  void begin_phase(std::string_view name);
  void classify(const at::Tensor& tensor, Inputs& inputs) const;
  // A stand-in of the recording's device, sharing its storage.
  at::Tensor abstract_of(const at::Tensor& tensor);

  Pending begin(const OpInfo& info, at::ArrayRef<c10::IValue> arguments);
  void finish(const OpInfo& info, const Pending& pending, at::ArrayRef<c10::IValue> results);
  void note(std::string kind, std::string op, std::string message);
  void note(std::string kind, const OpInfo* info, std::string message);
  // The line of the model that runs now; "" where that is not known.
  std::string where() const;
  Graph take();

 private:
  void take_lifetimes();
  void add_offsets(const OpInfo& info, at::ArrayRef<c10::IValue> arguments, Pending& pending);
  void note_strays();
  void check_size(const OpInfo& info);
  std::uint64_t bytes() const;  // of the graph so far

  std::unordered_set<std::string> noted_;
};

// One thread at a time has the recording: for the whole of an op in a static capture, which takes no time,
// and before and after it in a real run. Who waits for it lets go of Python's own lock meanwhile, since who
// has it may need that.
class Lock {
 public:
  explicit Lock(Recording& recording) : mutex_(recording.mutex) {
    if (!mutex_.try_lock()) wait(mutex_);
  }
  ~Lock() { mutex_.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  static void block(std::recursive_mutex& mutex) { mutex.lock(); }
  static inline void (*wait)(std::recursive_mutex&) = block;

 private:
  std::recursive_mutex& mutex_;
};

// Per thread: above 0 under a mode of selective checkpointing, which answers some ops from what it kept. It
// comes below this engine's, so that an op is recorded where it runs, and not where it is asked for.
inline thread_local int below_caches = 0;

// Per thread: above 0 while inside an op that is already recorded, so that its parts are not.
inline thread_local int depth = 0;

struct DepthGuard {
  DepthGuard() { ++depth; }
  ~DepthGuard() { --depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

}  // namespace opscope::engine
