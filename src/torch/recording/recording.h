// One capture in progress: the graph being built and everything the engine must remember until it ends. Found
// through c10::ThreadLocalDebugInfo, so that two threads have two, and helper threads of PyTorch share one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "ops/op_rule.h"
#include "torch/engine/abstract_tensor.h"
#include "torch/recording/autograd_scopes.h"
#include "torch/recording/lifetimes.h"
#include "torch/rules/shape_rule.h"

namespace opscope::engine {

using Stack = torch::jit::Stack;

struct BoundRow;
class Timing;
enum class Choice : std::uint8_t;

enum class ArgumentForm : std::uint8_t { kPlain, kDType, kLayout, kMemoryFormat };

// What the engine needs to know of an operator, looked up once per capture.
struct OpInfo {
  TargetId target = 0;
  const OpRule* cost = nullptr;
  ShapeRule shape = nullptr;
  bool composite = false;             // has a CompositeImplicitAutograd kernel
  bool ignored = false;               // bookkeeping that is no part of the model: profiler::*
  bool needs_values = false;          // its result, or its size, depends on its inputs' data
  bool custom = false;                // not one of PyTorch's own
  bool known_sizes = false;           // takes its sizes from a tensor of known numbers: packed sequences
  bool keeps_size = false;            // its result is as large as its first argument: scatter, index_add
  bool picks = false;                 // a few elements of many: cheap to compute for real
  Choice choice{};                    // picks an index from data: argmax, topk
  const BoundRow* bound = nullptr;    // the largest size of its results
  bool declared = false;              // the user gave its cost
  std::optional<bool> autocast;       // has a kernel on the autocast key
  std::optional<bool> python_kernel;  // its meta kernel is written in Python
  std::uint32_t slow_runs = 0;
  std::uint32_t rule_hits = 0;
  std::size_t arguments = 0;
  std::size_t returns = 0;
  std::optional<std::size_t> device_argument;
  bool value_free = false;  // zeros_like and friends: the result's data does not depend on the input's
  std::vector<StringId> names;
  std::vector<ArgumentForm> forms;
  std::vector<bool> written;     // by argument
  bool writes = false;           // any of them
  std::vector<bool> journalled;  // written, or by a kernel whose schema does not say so
  bool journals = false;
};

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

// Why a static capture could not go on.
struct Failure {
  std::string op;      // "aten::nonzero"
  std::string module;  // path
  std::string limit;   // the limit that would let it go on, if any
};

// Calls of one op whose sizes depend on data.
struct BoundUse {
  std::string module;  // of the first
  std::uint32_t calls = 0;
  std::int64_t largest = 0;
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
  std::int64_t elements = 0;
};

// A real storage that existed before the capture, as it was before the first write to it.
struct JournalEntry {
  c10::Storage storage;
  at::Tensor copy;    // all its bytes
  at::Tensor tensor;  // that was written; it or its base counts the writes
  std::uint32_t version;
};

class Recording final : public c10::DebugInfoBase {
 public:
  Recording(c10::Device device, bool eager);

  static Recording* current() {
    return static_cast<Recording*>(c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::TEST_INFO));
  }

  Graph graph;
  const c10::Device device;  // what abstract tensors show
  const bool eager;
  int threads = 1;  // of a real run of this model: some kernels, and so layouts, depend on it
  const std::uint64_t id;
  ScopeId scope = 0;
  NodeId node = kNone;         // of a tracer's graph: what is recorded now belongs to it
  bool muted = false;          // the mode is on and passes everything by
  std::recursive_mutex mutex;  // jit.fork and autograd threads share the recording
  std::optional<Failure> failure;
  std::function<std::string()> source_line;      // where the running Python code is, if asked for
  std::unordered_set<std::string> declared_ops;  // custom ops whose cost the user gives: recorded whole
  std::map<std::string, std::int64_t, std::less<>> limits;  // by name: sizes the user set
  std::uint32_t decisions = 0;                              // conditions on data that were assumed
  std::unordered_set<std::uint32_t> flipped;                // those of them to be answered the other way
  const std::shared_ptr<LifetimeLog> lifetimes = std::make_shared<LifetimeLog>();
  std::shared_ptr<Timing> timing;          // where ops are under a clock
  bool lasting = false;                    // a real run whose effects are to stay: nothing is put back
  std::string failed_op;                   // that threw first, in a real run
  std::optional<AutogradScopes> autograd;  // in training: whose forward made a node of the backward graph

  // --- modules and their tensors
  ModuleId add_module(ModuleId parent, std::string_view name, std::string_view path, std::string_view type);
  void add_owned(ModuleId module, std::string_view name, std::string_view path, const at::Tensor& tensor,
                 bool parameter);
  ScopeId enter(ModuleId module);
  void leave(ScopeId left);
  std::string scope_path() const;
  // What the model is called with instead of `tensor`: unknown data becomes abstract, ids and masks stay.
  at::Tensor add_input(const at::Tensor& tensor, std::string_view name);
  void add_output(const at::Tensor& tensor, std::string_view name);

  // --- training
  void begin_phase(std::string_view name);
  // What is on this tensor's memory is a gradient, or an optimiser's state, by this name.
  void mark(const at::Tensor& tensor, ValueKind kind, std::string_view name);

  // --- ops
  OpInfo& info(const c10::OperatorHandle& op);
  Pending begin(const OpInfo& info, at::ArrayRef<c10::IValue> arguments);
  void finish(const OpInfo& info, const Pending& pending, at::ArrayRef<c10::IValue> results);
  void note(std::string kind, const OpInfo* info, std::string message);

  // --- sizes that depend on data
  std::optional<std::int64_t> limit(std::string_view name) const;
  // The size to take for one that is at most `largest`; what comes out is flagged.
  std::int64_t bound(const std::string& op, std::string_view limit, std::int64_t largest);
  std::int64_t bound(const OpInfo& info, std::string_view limit, std::int64_t largest) {
    return bound(std::string(graph.text(graph.targets[info.target].name)), limit, largest);
  }
  void add_bounded_number(std::int64_t number) { bounded_numbers_.insert(number); }
  bool any_bound() const { return !bound_uses_.empty(); }
  ValueId value_id(const at::Tensor& tensor) { return value_of(tensor); }

  // --- what is known of a tensor
  void classify(const at::Tensor& tensor, Inputs& inputs);
  bool is_unknown(const at::Tensor& tensor);
  at::Tensor known_value(const at::Tensor& tensor);  // on the CPU; only where !is_unknown
  at::Tensor wrap_known(const at::Tensor& value);    // an abstract tensor of the recording's device
  at::Tensor abstract_of(
      const at::Tensor& tensor);           // a stand-in of the recording's device, sharing its storage
  void taint(const at::Tensor& tensor);    // unknown data was written into it
  void journal(const at::Tensor& tensor);  // it is about to be written for real
  // A real tensor takes over the sizes of `like` and a storage without data, until the capture ends.
  void become_unknown(const at::Tensor& real, const at::Tensor& like, const c10::Storage& storage, Id id_of);

  // --- storages
  Id new_storage(std::size_t bytes);
  void grow(Id storage, std::size_t bytes);  // it was resized; counted at its largest
  void own(const at::Tensor& abstract, Id storage, ValueKind kind = ValueKind::kActivation);
  void own_new(const at::Tensor& abstract, ValueKind kind = ValueKind::kActivation);  // memory made just now
  // The guarded storage that stands for a real one in abstract views and meta kernels, and its id.
  struct StorageEntry {
    std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> real;  // held so that its address is not reused
    c10::Storage standin;
    Id id = kNone;
    ValueKind kind = ValueKind::kConstant;
    bool preexisting = true;
    bool unknown = false;
    bool journalled = false;
  };
  StorageEntry& entry(const at::Tensor& real);
  StorageEntry& entry_made_now(const at::Tensor& real);
  c10::Storage standin(const at::Tensor& tensor);
  Id storage_id(const at::Tensor& tensor);
  ValueKind kind_of(const at::Tensor& tensor);

  // How often each op ran a Python meta kernel, and how often a shape rule answered.
  std::map<std::string, std::uint32_t> slow_runs() const { return runs(&OpInfo::slow_runs); }
  std::map<std::string, std::uint32_t> rule_hits() const { return runs(&OpInfo::rule_hits); }

  bool is_journalled(const at::Tensor& tensor) { return tensor.has_storage() && entry(tensor).journalled; }
  // Undoes what runs so far wrote to a journalled tensor, for the next to find it as the first did.
  void restore_one(const at::Tensor& tensor);
  // Undoes every journalled write. Called once, when the capture ends, however it ends.
  void restore_journal();
  Graph take();

 private:
  struct RealEntry {
    explicit RealEntry(const at::Tensor& tensor, ValueId id = kNone)
        : impl(tensor.getIntrusivePtr()), value(id) {}
    c10::weak_intrusive_ptr<c10::TensorImpl> impl;  // held so that its address is not reused
    ValueId value;
  };

  std::map<std::string, std::uint32_t> runs(std::uint32_t OpInfo::*count) const;
  ValueId value_of(const at::Tensor& tensor);
  ValueId unmade_value(const at::Tensor& tensor, Id storage, ValueKind kind);
  ValueId new_value(const at::Tensor& tensor, Id storage, ValueKind kind, std::string_view name = {});
  ValueId output_value(const at::Tensor& tensor);
  ValueId made(Id storage, ValueId value);
  Argument argument(const c10::IValue& value, ArgumentForm form);
  bool is_bounded(ValueId value) const { return value < bounded_.size() && bounded_[value]; }
  bool is_bounded(const Argument& argument, bool creates) const;
  bool has_bounded_size(const Pending& pending) const;
  void set_bounded(ValueId value);
  void note_bounds();
  Argument tensor_argument(const at::Tensor& tensor);
  std::unique_ptr<OpInfo> make_info(const c10::OperatorHandle& op);
  ScopeId scope_now() const;
  ScopeId first_scope(ModuleId module) const;
  void take_lifetimes();

  std::unordered_map<const void*, std::unique_ptr<OpInfo>> infos_;
  std::unordered_map<const c10::TensorImpl*, RealEntry> real_values_;
  std::unordered_map<const c10::StorageImpl*, StorageEntry> storages_;
  std::unordered_set<const c10::StorageImpl*> tainted_;  // abstract storages whose values are no longer known
  std::vector<ValueId> made_;                            // by storage: the last value an op put there
  std::unordered_map<Id, ValueKind> marked_;             // by storage
  std::vector<std::uint32_t> calls_;                     // by module
  std::vector<JournalEntry> journal_;
  struct Replaced {
    at::Tensor tensor;
    c10::intrusive_ptr<c10::TensorImpl> was;
  };
  std::vector<Replaced> replaced_;
  std::unordered_set<std::string> noted_;
  std::vector<bool> bounded_;                         // by value: its size is the largest possible
  std::unordered_set<std::int64_t> bounded_numbers_;  // read by Python code
  std::unordered_set<std::int64_t> bounded_sizes_;    // first dimensions, of which Python makes new tensors
  std::map<std::pair<std::string, std::string>, BoundUse> bound_uses_;  // by op and limit
  StringId device_name_ = 0;
};

// Per thread: above 0 while inside an op that is already recorded, so that its parts are not.
inline thread_local int depth = 0;

// Per thread: sizes taken at their largest so far.
inline thread_local std::uint32_t bounds_made = 0;

struct DepthGuard {
  DepthGuard() { ++depth; }
  ~DepthGuard() { --depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

// Elements up to which values are computed for real; above, a tensor is only a shape.
inline constexpr std::int64_t kKnownElements = std::int64_t{1} << 20;
// Results of known values are computed up to this many elements, and few picked out of so many.
inline constexpr std::int64_t kComputedElements = std::int64_t{1} << 24;

}  // namespace opscope::engine
