// What the engine needs to know of an operator, looked up once per capture: its schema, its row of the cost
// table and its shape rule.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/op_facts.h"
#include "torch/recording/values.h"
#include "torch/rules/cuda_scratch.h"
#include "torch/rules/shape_rule.h"

namespace opscope::engine {

struct Call;
// Carries a call out as a CUDA device does; false: this call of it is no other there.
using CudaRoute = bool (*)(const Call&);
CudaRoute find_cuda_route(std::string_view op);

struct OpInfo {
  TargetId target = 0;
  const OpRule* cost = nullptr;    // nullptr: not in the table
  const OpFacts* facts = nullptr;  // never nullptr: none of them where nothing is known
  ShapeRule shape = nullptr;
  CudaScratch scratch = nullptr;      // what its kernel on a CUDA device allocates for itself
  CudaRoute on_cuda = nullptr;        // how a CUDA device carries it out, where that is not as a CPU does
  bool composite = false;             // has a CompositeImplicitAutograd kernel
  bool ignored = false;               // bookkeeping that is no part of the model: profiler::*
  bool makes_sparse = false;          // of dense tensors: sparse_coo_tensor and its kin
  bool custom = false;                // not one of PyTorch's own
  bool known_sizes = false;           // takes its sizes from a tensor of known numbers: packed sequences
  bool declared = false;              // the user gave its cost
  std::optional<bool> autocast;       // has a kernel on the autocast key
  std::optional<bool> python_kernel;  // its meta kernel is written in Python
  std::uint32_t slow_runs = 0;
  std::uint32_t rule_hits = 0;
  std::size_t arguments = 0;
  std::size_t returns = 0;
  std::optional<std::size_t> device_argument;
  std::vector<StringId> names;
  std::vector<ArgumentForm> forms;
  std::vector<bool> written;     // by argument
  bool writes = false;           // any of them
  std::vector<bool> journalled;  // written, or by a kernel whose schema does not say so
  bool journals = false;

  bool is(Fact fact) const { return facts->is(fact); }
  // Its result, or its size, depends on its inputs' data.
  bool needs_values() const { return is(Fact::kSizedByData) || is(Fact::kGivesNumber); }
  // Its last result is an index that data decides. max(x) alone returns no index.
  bool picks_index() const {
    return (is(Fact::kSpreads) || is(Fact::kOrders)) && !writes &&
           (returns == 2 || !is(Fact::kKeepsElements));
  }
  bool creates() const { return cost && cost->category == Category::kCreate; }
};

class OpInfos {
 public:
  explicit OpInfos(Graph& graph) : graph_(graph) {}

  std::unordered_set<std::string> declared;  // custom ops whose cost the user gives: recorded whole

  OpInfo& of(const c10::OperatorHandle& op);
  // How often each op ran a Python meta kernel, and how often a shape rule answered.
  std::map<std::string, std::uint32_t> slow_runs() const { return runs(&OpInfo::slow_runs); }
  std::map<std::string, std::uint32_t> rule_hits() const { return runs(&OpInfo::rule_hits); }

 private:
  std::unique_ptr<OpInfo> make(const c10::OperatorHandle& op);
  std::map<std::string, std::uint32_t> runs(std::uint32_t OpInfo::*count) const;

  Graph& graph_;
  std::unordered_map<const void*, std::unique_ptr<OpInfo>> infos_;
};

}  // namespace opscope::engine
