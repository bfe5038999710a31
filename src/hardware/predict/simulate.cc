#include "hardware/predict/simulate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/choices.h"
#include "hardware/predict/predictor.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

constexpr auto kModeNames = choices<RunMode, RunMode::kCompiled>("eager", "graph", "compiled");
constexpr auto kRunLimitNames = choices<RunLimit, RunLimit::kUnknown>(
    "compute-bound", "memory-bound", "launch-bound", "host-bound", "unknown");
constexpr double kCompiledUnfused = 0.4;
constexpr double kCompiledConvolution =
    0.7;  // both on the timm models that docs/predict_published.md fits on
constexpr std::string_view kGpu = "cuda";
// Of a run whose ops were all measured: so that 9 of 10 published runs on the H200 are inside.
constexpr double kSameRun = 0.012;
constexpr double kDecile = 1.2815515655446004;  // standard deviations from the middle to p10 and p90

RunLimit run_limit(Limit limit) {
  switch (limit) {
    case Limit::kCompute:
      return RunLimit::kCompute;
    case Limit::kMemory:
      return RunLimit::kMemory;
    case Limit::kLaunch:
      return RunLimit::kLaunch;
    default:
      return RunLimit::kUnknown;
  }
}

// Ops that a compiler leaves to a library's kernel, with what it fuses around them in a kernel beside it.
bool is_library_kernel(const OpCost& cost) {
  return cost.rule != nullptr && cost.rule->fusion == Fusion::kAnchor;
}

class Simulation {
 public:
  Simulation(const Graph& graph, std::span<const OpCost> costs, const PredictorPointer& predictor,
             const RunOptions& options, PredictedRun& run)
      : graph_(graph), costs_(costs), predictor_(*predictor), options_(options), run_(run), call_(graph) {
    run_.predictor = predictor, run_.mode = options.mode;
    run_.ops.resize(graph.ops.size());
    for (const Value& value : graph.values)
      has_gpu_ |= !predictor_.is_host() && graph.text(value.device).starts_with(kGpu);
    predicted_.reserve(graph.ops.size());
    for (OpId i = 0; i < graph.ops.size(); ++i)
      if (is_in(i, "backward")) trained_.insert(graph.ops[i].scope);
    predict_ops();
  }

  void run(const Partition* partition) {
    if (options_.mode == RunMode::kCompiled && partition != nullptr)
      compile(*partition);
    else if (options_.mode == RunMode::kEager && !predictor_.is_host())
      issue();
    else
      in_a_row();
    for (const OpShare& share : run_.ops) run_.seconds += share.seconds;
    run_.run_spread = shared_spread();
  }

 private:
  // What all ops miss together: more where few were measured, and where the host decides.
  double shared_spread() const {
    double busy = 0;
    for (const double part : run_.by_source) busy += part;
    const double unmeasured = busy > 0 ? 1 - run_.of(TimeSource::kMeasured) / busy : 1;
    const double device = std::hypot(kSameRun, predictor_.run_spread() * unmeasured);
    if (options_.mode != RunMode::kEager || predictor_.is_host() || !(run_.seconds > 0)) return device;
    const double waiting = run_.of(RunLimit::kHost) / run_.seconds;
    const double host = predictor_.host() ? predictor_.host()->runs.host_spread : 0;
    return std::hypot(device * (1 - waiting), host * waiting);
  }

  // Equal calls are predicted once: most models repeat their blocks.
  void predict_ops() {
    std::unordered_map<std::uint64_t, PredictedOp> known;
    for (OpId i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      call_.reset(op);
      const bool copied = is_copied_first(i);
      const auto [found, fresh] = known.try_emplace(key_of(op) + copied);
      if (fresh) {
        found->second = predictor_.predict(call_, op, costs_[i], product_dtype(graph_, op), options_.float32);
        if (copied) copy_first(found->second);
        if (is_on_host())
          found->second = {.source = TimeSource::kMeasured, .is_idle = true, .is_on_host = true};
        if (options_.mode == RunMode::kGraph && !predictor_.is_host())
          found->second.seconds =
              std::max(found->second.seconds - found->second.gap, found->second.seconds / 3);
      }
      const PredictedOp& one = found->second;
      OpShare& share = run_.ops[i];
      const auto repeats = static_cast<double>(op.repeats);
      share.device_seconds = one.seconds * repeats, share.source = one.source, share.is_idle = one.is_idle;
      share.own_spread = share.device_seconds * one.deviation;
      run_.unknown_ops += !one.is_idle && one.source == TimeSource::kUnknown;
      predicted_.push_back(one);
    }
  }

  // Phases of steps that accumulate gradients are numbered: "backward 2".
  bool is_in(OpId i, std::string_view phase) const {
    return !graph_.phases.empty() &&
           std::string_view(graph_.phases[phase_of(graph_, i)].name).starts_with(phase);
  }

  // In a training step: the backward pass of its module reads what it is about to overwrite.
  bool is_copied_first(OpId i) const {
    const std::string_view name = graph_.op_name(graph_.ops[i]);
    return name.ends_with('_') && is_in(i, "forward") && !call_.inputs.empty() &&
           trained_.contains(graph_.ops[i].scope) && facts_of(functional_name(name)).is(Fact::kCopiedInPlace);
  }
  void copy_first(PredictedOp& op) const {
    const TensorView& input = call_.inputs[0];
    op.seconds += predictor_.kernel(OpFamily::kCopy, input.dtype, 0, input.bytes() + input.bytes()).seconds;
    op.gap += op.gap, op.host_seconds += host().dispatch;
  }

  // Of a run on a GPU: a counter of steps that an optimizer keeps beside it.
  bool is_on_host() const {
    if (!has_gpu_ || (call_.inputs.empty() && call_.outputs.empty())) return false;
    for (const auto tensors : {call_.inputs, call_.outputs})
      for (const TensorView& tensor : tensors)
        if (graph_.text(graph_.values[tensor.value].device).starts_with(kGpu)) return false;
    return true;
  }

  // Of what a prediction goes by: the op, its arguments, how its tensors lie, and which of them are one.
  std::uint64_t key_of(const Op& op) const {
    std::uint64_t key = 0xcbf29ce484222325u;
    const auto add = [&](std::uint64_t number) { key = (key ^ number) * 0x100000001b3u, key ^= key >> 29; };
    add(op.target);
    Id first = kNone;
    for (const auto tensors : {call_.inputs, call_.outputs})
      for (const TensorView& tensor : tensors) {
        add(static_cast<std::uint64_t>(tensor.dtype) + (tensor.is_weight() ? 64u : 0u) +
            (tensor.repeated ? 128u : 0u));
        add(graph_.values[tensor.value].device);
        if (first == kNone) first = tensor.storage;
        add(tensor.storage == first);
        for (const std::int64_t size : tensor.shape) add(static_cast<std::uint64_t>(size));
        add(7);
        for (const std::int64_t stride : tensor.strides) add(static_cast<std::uint64_t>(stride));
      }
    for (const Argument& argument : call_.arguments()) {
      if (argument.kind == ArgumentKind::kInt || argument.kind == ArgumentKind::kBool)
        add(static_cast<std::uint64_t>(argument.integer) + 11);
      else if (argument.kind == ArgumentKind::kFloat)
        add(std::bit_cast<std::uint64_t>(argument.real));
      else
        add(static_cast<std::uint64_t>(argument.kind));
      if (argument.kind == ArgumentKind::kIntList || argument.kind == ArgumentKind::kBoolList)
        for (const std::int64_t item : graph_.ints_in(argument)) add(static_cast<std::uint64_t>(item));
    }
    return key;
  }

  const HostCosts& host() const {
    static const HostCosts kNoHost;
    return predictor_.host() ? predictor_.host()->host : kNoHost;
  }

  // Calls of modules that begin at the op.
  double entered(const Op& op) {
    double calls = 0;
    for (ScopeId s = op.scope; !entered_[s]; s = graph_.scopes[s].parent) {
      entered_[s] = 1, calls += 1;
      if (s == 0) break;
    }
    return calls;
  }

  // What Python and the dispatcher take to call the op.
  double host_seconds_of(OpId i) {
    const Op& op = graph_.ops[i];
    const PredictedOp& one = predicted_[i];
    const bool is_backward = is_in(i, "backward"), is_view = one.is_idle && !one.is_on_host;
    double around = is_backward                        ? (is_view ? host().backward_view : host().backward_op)
                    : !is_view                         ? host().op
                    : is_slice(op) && host().slice > 0 ? host().slice
                                                       : host().view;
    if (is_in(i, "forward")) around += host().gradient;  // of a training step
    if (!is_view) around += one.host_seconds;
    double seconds = around * static_cast<double>(op.repeats) + entered(op) * host().module_call;
    if (is_in(i, "optimizer")) seconds += optimizer_part();
    return seconds / options_.host_speed;
  }

  // An optimizer's own part, of each of its ops. One that works on its parameters one by one has it in those.
  double optimizer_part() {
    if (!optimizer_part_) {
      const OpId begin = graph_.phases.back().begin;
      const std::size_t ops = graph_.ops.size() - begin, count = parameters();
      const auto works = [](const OpShare& share) { return share.device_seconds > 0; };
      const auto working =
          static_cast<std::size_t>(std::ranges::count_if(run_.ops.begin() + begin, run_.ops.end(), works));
      const double all = working > 2 * count ? 0 : host().parameter * static_cast<double>(count);
      optimizer_part_ = all / static_cast<double>(ops);
    }
    return *optimizer_part_;
  }

  bool is_slice(const Op& op) const {
    const std::string_view type = op_type(graph_.op_name(op));
    return type == "slice" || type == "select" || type == "narrow" || type == "alias";
  }
  // Those that are trained; the values that a parameter has before and after a step share a storage.
  std::size_t parameters() const {
    std::unordered_set<Id> storages;
    for (const Value& value : graph_.values)
      if (value.kind == ValueKind::kParameter && value.trainable) storages.insert(value.storage);
    return storages.size();
  }

  void add(OpId i, double busy) {
    const PredictedOp& one = predicted_[i];
    run_.device_seconds += busy;
    run_.by_limit[static_cast<std::size_t>(run_limit(one.limit))] += busy;
    run_.by_source[static_cast<std::size_t>(one.source)] += busy;
  }

  // A CPU: the op, and before it what Python takes. A CUDA graph: the ops alone.
  void in_a_row() {
    const bool with_host = predictor_.is_host() && options_.mode == RunMode::kEager;
    entered_.assign(graph_.scopes.size(), 0);
    double now = 0;
    for (OpId i = 0; i < graph_.ops.size(); ++i) {
      OpShare& share = run_.ops[i];
      share.host_begin = now;
      share.host_seconds = with_host ? host_seconds_of(i) : 0;
      share.begin = now + share.host_seconds;
      share.seconds = share.host_seconds + share.device_seconds;
      run_.by_limit[static_cast<std::size_t>(RunLimit::kHost)] += share.host_seconds;
      run_.host_seconds += share.host_seconds;
      add(i, share.device_seconds);
      now += share.seconds;
    }
  }

  // Two timelines. What the device waits for belongs to the ops that the host was at.
  void issue() {
    entered_.assign(graph_.scopes.size(), 0);
    double now = 0, device = 0, shared_out = 0;
    std::vector<OpId> waiting;  // ops called since the device was last given something
    for (OpId i = 0; i < graph_.ops.size(); ++i) {
      OpShare& share = run_.ops[i];
      share.host_begin = now;
      share.host_seconds = host_seconds_of(i);
      now += share.host_seconds, run_.host_seconds += share.host_seconds;
      waiting.push_back(i);
      if (share.is_idle || !(share.device_seconds > 0)) {
        if (waits_for_device(i)) now = std::max(now, device) + host().synchronise / options_.host_speed;
        continue;
      }
      const double ready = now + host().launch;
      const double gap = std::max(ready - device, 0.0);
      share.begin = std::max(ready, device);
      share_out(waiting, gap), waiting.clear();
      share.seconds += share.device_seconds;
      add(i, share.device_seconds);
      device = shared_out = share.begin + share.device_seconds;
      if (waits_for_device(i)) now = device + host().synchronise / options_.host_speed;
    }
    const double end = std::max(device, now);
    if (!waiting.empty())
      share_out(waiting, end - shared_out);
    else if (!run_.ops.empty())
      run_.ops.back().seconds += end - shared_out;
  }

  void share_out(const std::vector<OpId>& ops, double gap) {
    double all = 0;
    for (const OpId i : ops) all += run_.ops[i].host_seconds;
    for (const OpId i : ops)
      run_.ops[i].seconds +=
          all > 0 ? gap * run_.ops[i].host_seconds / all : gap / static_cast<double>(ops.size());
    run_.by_limit[static_cast<std::size_t>(RunLimit::kHost)] += gap;
  }

  // The host reads a value of the device's. What an optimizer reads are counters of steps, on the host.
  bool waits_for_device(OpId i) const {
    if (predicted_[i].is_on_host || is_in(i, "optimizer")) return false;
    const std::string_view type = op_type(graph_.op_name(graph_.ops[i]));
    return type == "item" || type == "_local_scalar_dense" || type == "is_nonzero" || type == "nonzero" ||
           type == "equal" || type == "masked_select";
  }

  // Libraries' kernels as they are; all else of a subgraph is one generated kernel, as fast as pointwise ops.
  void compile(const Partition& partition) {
    for (const Subgraph& subgraph : partition.subgraphs) {
      const auto members = partition.ops_of(subgraph);
      Count left = subgraph.memory_bytes();
      double others = 0;
      bool has_library = false, has_others = false;
      for (const OpId i : members) {
        if (!is_library_kernel(costs_[i])) {
          has_others |= !run_.ops[i].is_idle;
          others += run_.ops[i].device_seconds;
          continue;
        }
        has_library = true;
        const Traffic& own = costs_[i].traffic;
        left = left + own.output_bytes + own.output_bytes;
        left = left > own.total() ? left - own.total() : Count{};
        take(i, run_.ops[i].device_seconds * compiled_part(i));
      }
      if (!has_others) continue;
      const double kernel =
          predictor_.generated_kernel_seconds(has_library ? left : subgraph.memory_bytes(), others);
      for (const OpId i : members)
        if (!is_library_kernel(costs_[i]))
          take(i, others > 0 ? kernel * run_.ops[i].device_seconds / others : 0);
    }
    for (OpId i = 0; i < graph_.ops.size(); ++i)
      if (partition.of_op[i] == kNone) take(i, run_.ops[i].device_seconds * compiled_part(i));
    double now = 0;
    for (OpShare& share : run_.ops) share.begin = now, now += share.seconds;
  }
  // A compiler keeps channels last, so that cuDNN need not turn the tensors of a dense convolution of halves
  // round, and fuses what goes over the scores of attention that has no kernel of its own.
  double compiled_part(OpId i) {
    if (predicted_[i].group == OpGroup::kUnfused) return kCompiledUnfused;
    if (predictor_.is_host() || costs_[i].rule == nullptr || costs_[i].rule->category != Category::kConv)
      return 1;
    call_.reset(graph_.ops[i]);
    const DType dtype = product_dtype(graph_, graph_.ops[i]);
    const bool half = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
    return half && call_.integer("groups").value_or(1) == 1 ? kCompiledConvolution : 1;
  }
  void take(OpId i, double seconds) {
    OpShare& share = run_.ops[i];
    if (share.device_seconds > 0) share.own_spread *= seconds / share.device_seconds;
    share.device_seconds = share.seconds = seconds;
    add(i, seconds);
  }

  const Graph& graph_;
  std::span<const OpCost> costs_;
  const Predictor& predictor_;
  const RunOptions& options_;
  PredictedRun& run_;
  OpCall call_;
  std::vector<PredictedOp> predicted_;
  std::vector<char> entered_;
  bool has_gpu_ = false;                 // the graph's tensors are on one
  std::unordered_set<ScopeId> trained_;  // modules with ops in the backward pass
  std::optional<double> optimizer_part_;
};

}  // namespace

std::string_view name(RunMode mode) { return kModeNames[mode]; }
RunMode run_mode_from_name(std::string_view text, std::string_view where) {
  return kModeNames.parse(text, "no way to run called", where);
}
std::string_view name(RunLimit limit) { return kRunLimitNames[limit]; }

PredictedRun simulate(const Graph& graph, std::span<const OpCost> costs, const PredictorPointer& predictor,
                      const RunOptions& options, const Partition* partition) {
  PredictedRun run;
  Simulation(graph, costs, predictor, options, run).run(partition);
  return run;
}

TimeRange range_of(double seconds, double own_spread, double shared_spread) {
  if (!(seconds > 0)) return {};
  const double deviation = std::hypot(own_spread / seconds, shared_spread);
  return {seconds * std::exp(-kDecile * deviation), seconds * std::exp(kDecile * deviation)};
}

}  // namespace opscope
