// Finds attention by what it touches, the KV cache, or by its form, two products with a softmax between; the
// rest of a step is priced as the partition groups it.
#include "analyse/llm/served.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/choices.h"
#include "hardware/predict/predictor.h"
#include "hardware/predict/simulate.h"
#include "partition/partition.h"

namespace opscope {
namespace {

// Ops first..last, which run one after the other, and what a server runs in their place.
struct Region {
  OpId first = 0, last = 0;
  std::vector<ServedKernel> kernels{};
  Count result_bytes{};
  bool absorbed = false;
  bool keeps_attention = false;  // its last op is the attention that a server runs too

  bool has(OpId op) const { return first <= op && op <= last; }
};

class Finder {
 public:
  Finder(const Graph& graph, const std::vector<OpCost>& costs, LlmPhase phase)
      : graph_(graph), costs_(costs), phase_(phase) {}

  std::vector<Region> run() {
    std::vector<std::vector<OpId>> own(graph_.scopes.size());
    for (OpId op = 0; op < graph_.ops.size(); ++op) own[graph_.ops[op].scope].push_back(op);
    std::vector<Region> regions;
    for (ScopeId scope = 0; scope < own.size(); ++scope) {
      if (own[scope].size() < 2) continue;
      auto region = phase_ == LlmPhase::kDecode ? latent(scope, own[scope]) : std::nullopt;
      if (!region && phase_ == LlmPhase::kDecode) region = stored(own[scope]);
      if (!region) region = eager(own[scope]);
      if (region) regions.push_back(*std::move(region));
    }
    std::ranges::sort(regions, {}, &Region::first);
    return regions;
  }

 private:
  const Value& value(ValueId id) const { return graph_.values[id]; }
  std::span<const std::int64_t> shape(ValueId id) const { return graph_.shape(value(id)); }
  bool is_cache(ValueId id) const { return id != kNone && names_cache(graph_.text(value(id).name)); }
  Category category(OpId op) const {
    return costs_[op].rule != nullptr ? costs_[op].rule->category : Category::kCustom;
  }
  std::vector<ValueId> reads(OpId op) const {
    std::vector<ValueId> found;
    each_read(graph_, graph_.ops[op], [&](ValueId id) { found.push_back(id); });
    return found;
  }
  ValueId result(OpId op) const {
    const auto outputs = graph_.outputs_of(graph_.ops[op]);
    return outputs.empty() ? kNone : outputs.front();
  }
  bool writes_cache(OpId op) const {
    return std::ranges::any_of(graph_.outputs_of(graph_.ops[op]), [&](ValueId id) { return is_cache(id); });
  }
  // A product of two activations.
  bool is_inner_product(OpId op) const {
    return category(op) == Category::kMatmul && costs_[op].work.macs && !costs_[op].traffic.weight_bytes &&
           std::ranges::none_of(reads(op),
                                [&](ValueId id) { return value(id).kind == ValueKind::kParameter; });
  }
  bool is_attention(OpId op) const { return category(op) == Category::kAttention || is_inner_product(op); }

  // The layer's expansion of the latent, made for the whole cache.
  std::optional<OpId> expansion(ScopeId scope, OpId after) const {
    for (OpId op = after; op < graph_.ops.size(); ++op) {
      const Scope& where = graph_.scopes[graph_.ops[op].scope];
      if (where.parent != scope || !costs_[op].work.macs) continue;
      const std::string_view called = graph_.text(graph_.modules[where.module].name);
      if (called == "kv_b_proj") return op;
      if (called == "o_proj") break;
    }
    return std::nullopt;
  }

  // From after the last write of the cache to the attention itself.
  std::optional<Region> latent(ScopeId scope, const std::vector<OpId>& own) const {
    const auto written = std::find_if(own.rbegin(), own.rend(), [&](OpId op) { return writes_cache(op); });
    const auto attends = std::find_if(own.rbegin(), own.rend(), [&](OpId op) { return is_attention(op); });
    if (written == own.rend() || attends == own.rend() || *attends < *written) return std::nullopt;
    const auto expands = expansion(scope, *written);
    if (!expands || *expands > *attends) return std::nullopt;
    const auto given = shape(result(*attends));  // [batch, H, queries, v]
    const auto expanded = shape(result(*expands));
    const auto inputs = reads(*expands);
    if (given.size() != 4 || expanded.size() < 2 || inputs.empty()) return std::nullopt;
    AbsorbedAttention a{.batch = given[0], .queries = given[2], .heads = given[1], .value = given[3]};
    a.latent = shape(inputs.front()).back();
    a.nope = Count{expanded.back()} / a.heads - a.value;
    for (const OpId op : own)
      for (const ValueId id : graph_.outputs_of(graph_.ops[op]))
        if (is_cache(id) && op <= *written && shape(id).size() > 2) {
          const Count width = shape(id).back();
          a.rope = width > a.latent ? width - a.latent : width == a.latent ? a.rope : width;
          a.context = shape(id)[shape(id).size() - 2], a.cache = value(id).dtype;
        }
    a.weight_bytes = costs_[*expands].traffic.weight_bytes;
    a.activations = value(result(*attends)).dtype;
    Region region{.first = *written + 1, .last = *attends, .kernels = absorbed_kernels(a), .absorbed = true};
    region.result_bytes = bytes_of(graph_, value(result(*attends)));
    return region;
  }

  // A cache that is converted before a fused attention reads it: a server's reads it as it is stored.
  std::optional<Region> stored(const std::vector<OpId>& own) const {
    const auto attends =
        std::ranges::find_if(own, [&](OpId op) { return category(op) == Category::kAttention; });
    if (attends == own.end()) return std::nullopt;
    const auto written = std::find_if(std::make_reverse_iterator(attends), own.rend(),
                                      [&](OpId op) { return writes_cache(op); });
    if (written == own.rend()) return std::nullopt;
    bool converts = false;
    for (OpId op = *written + 1; op < *attends; ++op)
      converts |= costs_[op].traffic.total() &&
                  std::ranges::any_of(reads(op), [&](ValueId id) { return is_cache(id); });
    if (!converts) return std::nullopt;
    const OpId op = *attends;
    Region region{.first = *written + 1, .last = op, .keeps_attention = true};
    ServedKernel kernel;
    kernel.add(Category::kAttention, product_dtype(graph_, graph_.ops[op]), costs_[op].work);
    kernel.flops = costs_[op].flops, kernel.confidence = costs_[op].confidence;
    const auto inputs = reads(op);
    if (!inputs.empty()) kernel.traffic.input_bytes = bytes_of(graph_, value(inputs.front()));
    for (const OpId each : own)
      for (const ValueId id : graph_.outputs_of(graph_.ops[each]))
        if (each <= *written && is_cache(id)) kernel.traffic.input_bytes += bytes_of(graph_, value(id));
    kernel.traffic.output_bytes = region.result_bytes = bytes_of(graph_, value(result(op)));
    region.kernels.push_back(std::move(kernel));
    return region;
  }

  // Products with a softmax between, as one kernel: the scores stay on the chip.
  std::optional<Region> eager(const std::vector<OpId>& own) const {
    const auto first = std::ranges::find_if(own, [&](OpId op) { return is_inner_product(op); });
    if (first == own.end()) return std::nullopt;
    const auto last = std::find_if(own.rbegin(), own.rend(), [&](OpId op) { return is_inner_product(op); });
    const bool has_softmax = std::any_of(
        first, own.end(), [&](OpId op) { return op < *last && category(op) == Category::kSoftmax; });
    if (*first == *last || !has_softmax) return std::nullopt;
    // Keys and values that were repeated for their queries' heads before.
    auto begin = first;
    const auto only_moves = [&](OpId op) {
      const Category is = category(op);
      return (is == Category::kCopy || is == Category::kView || is == Category::kMetadata) &&
             !writes_cache(op);
    };
    while (begin != own.begin() && *(begin - 1) == *begin - 1 && only_moves(*(begin - 1))) --begin;
    Region region{.first = *begin, .last = *last};
    ServedKernel kernel;
    for (OpId op = *begin; op <= *last; ++op) {
      kernel.add(costs_[op].work.macs ? Category::kAttention : category(op),
                 product_dtype(graph_, graph_.ops[op]), costs_[op].work);
      kernel.flops += costs_[op].flops;
      if (costs_[op].work.macs) kernel.confidence = std::max(kernel.confidence, costs_[op].confidence);
    }
    const auto q = reads(*first), p = reads(*last);
    if (q.size() < 2 || p.size() < 2) return std::nullopt;
    region.result_bytes = bytes_of(graph_, value(result(*last)));
    kernel.traffic.input_bytes = bytes_of(graph_, value(q[0])) + own_heads(own, q[1]) + own_heads(own, p[1]);
    kernel.traffic.output_bytes = region.result_bytes;
    region.kernels.push_back(std::move(kernel));
    return region;
  }

  // Bytes of keys or values before they were repeated: as many heads as the cache has.
  Count own_heads(const std::vector<OpId>& own, ValueId repeated) const {
    const Count bytes = bytes_of(graph_, value(repeated));
    const auto wide = shape(repeated);
    for (const OpId op : own)
      for (const ValueId id : reads(op))
        if (is_cache(id) && shape(id).size() == 4 && wide.size() == 4 && wide[1] > 0 &&
            shape(id)[1] < wide[1])
          return bytes * Count{shape(id)[1]} / Count{wide[1]};
    for (const OpId op : own)
      for (const ValueId id : graph_.outputs_of(graph_.ops[op]))
        if (is_cache(id) && shape(id).size() == 4 && wide.size() == 4 && wide[1] > 0 &&
            shape(id)[1] < wide[1])
          return bytes * Count{shape(id)[1]} / Count{wide[1]};
    return bytes;
  }

  const Graph& graph_;
  const std::vector<OpCost>& costs_;
  LlmPhase phase_;
};

// What an op copies of a cache that it makes longer: a server writes the new tokens alone.
Count copied_cache(const Graph& graph, const Op& op) {
  const auto outputs = graph.outputs_of(op);
  const bool makes = std::ranges::any_of(
      outputs, [&](ValueId id) { return id != kNone && names_cache(graph.text(graph.values[id].name)); });
  if (!makes || op_type(graph.op_name(op)) != "cat") return {};
  Count copied{};
  each_read(graph, op, [&](ValueId id) {
    if (names_cache(graph.text(graph.values[id].name))) copied += bytes_of(graph, graph.values[id]);
  });
  return copied;
}

class Server {
 public:
  Server(const Graph& graph, LlmPhase phase, const Routing& routing)
      : graph_(graph),
        costs_(estimate(graph, Convention::kOpscope, Experts(graph, routing))),
        regions_(Finder(graph, costs_, phase).run()) {}

  void price(ServedStep& step) const {
    for (OpId op = 0; op < graph_.ops.size(); ++op) step.eager.add(kernel_of(std::span(&op, 1)));
    const Partition partition = make_partition(graph_, costs_);
    for (const Subgraph& subgraph : partition.subgraphs) {
      std::vector<OpId> left;
      for (const OpId op : partition.ops_of(subgraph))
        if (!region_of(op)) left.push_back(op);
      if (left.empty()) continue;
      ServedKernel kernel = kernel_of(left);
      if (left.size() == subgraph.ops.size) kernel.traffic = subgraph.traffic;
      for (const OpId op : left) {
        const Count copied = copied_cache(graph_, graph_.ops[op]);
        kernel.traffic.input_bytes = kernel.traffic.input_bytes - copied;
        kernel.traffic.output_bytes = kernel.traffic.output_bytes - copied;
      }
      step.served.add(std::move(kernel));
    }
    for (const Region& region : regions_) {
      for (const ServedKernel& kernel : region.kernels) step.served.add(kernel);
      (region.absorbed ? step.is_absorbed : step.is_fused) = true;
    }
  }

  // On a device as it is served: libraries' kernels as they are, a region's in the place of its ops, and of a
  // cache only what is new. Eager runs are as they were captured.
  PredictedStep predicted(const ProfileOptions& options) const {
    const PredictorPointer predictor = predictor_for(options.hardware, options.calibration);
    std::optional<Partition> partition;
    if (options.mode == RunMode::kCompiled) partition = make_partition(graph_, costs_);
    const PredictedRun run =
        simulate(graph_, costs_, predictor,
                 {.mode = options.mode, .host_speed = options.host_speed, .float32 = options.float32},
                 partition ? &*partition : nullptr);
    PredictedStep step{.run_spread = run.run_spread, .mode = options.mode, .notes = prediction_notes(run)};
    step.host_seconds = run.host_seconds;
    double variance = 0;
    const auto add = [&](double seconds, double spread) {
      step.device_seconds += seconds, variance += spread * spread;
    };
    const auto add_kernel = [&](const PredictedOp& kernel) {
      add(kernel.seconds, kernel.seconds * kernel.deviation);
    };
    const bool as_captured = options.mode == RunMode::kEager;
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const OpShare& share = run.ops[op];
      const Region* region = as_captured ? nullptr : region_of(op);
      if (region != nullptr) {
        if (op == region->last && region->keeps_attention) add(share.device_seconds, share.own_spread);
        continue;
      }
      step.unknown_ops += !share.is_idle && share.source == TimeSource::kUnknown;
      const Count copied = as_captured ? Count{} : copied_cache(graph_, graph_.ops[op]);
      const Count moved = costs_[op].traffic.total();
      if (copied && copied + copied < moved)
        add_kernel(predictor->kernel(OpFamily::kCopy, product_dtype(graph_, graph_.ops[op]), 0,
                                     moved - copied - copied));
      else
        add(share.device_seconds, share.own_spread);
    }
    for (const Region& region : regions_) {
      if (as_captured || region.keeps_attention) continue;
      for (const ServedKernel& kernel : region.kernels) add_kernel(predicted(*predictor, kernel));
    }
    step.own_spread = std::sqrt(variance);
    step.seconds = as_captured ? run.seconds : step.device_seconds;
    return step;
  }

  void weigh(ServedStep& step) const {
    auto pieces = memory_pieces(graph_);
    const auto keep_most = [](MemorySplit& most, const MemorySplit& split) {
      if (split.total() > most.total()) most = split;
    };
    for (const MemorySplit& split : memory_splits(graph_, pieces)) keep_most(step.eager_peak, split);
    for (MemoryPiece& piece : pieces) end_in_region(piece);
    const auto splits = memory_splits(graph_, pieces);
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const Region* region = region_of(op);
      if ((region && op != region->last) || copied_cache(graph_, graph_.ops[op])) continue;
      MemorySplit split = splits[region ? (region->first == 0 ? 0 : region->first - 1) : op];
      if (region) split[MemoryKind::kActivations] += region->result_bytes;
      keep_most(step.at_peak, split);
      step.memory.push_back(split);
    }
  }

 private:
  const Region* region_of(OpId op) const {
    const auto after = std::ranges::upper_bound(regions_, op, {}, &Region::first);
    return after != regions_.begin() && (after - 1)->has(op) ? &*(after - 1) : nullptr;
  }

  // What ops of a region make for each other is not there in a server, though Python may hold it for longer.
  void end_in_region(MemoryPiece& piece) const {
    if (piece.kind != MemoryKind::kActivations || piece.held.made == kNone || piece.returned) return;
    const Region* region = region_of(piece.held.made);
    if (region == nullptr || piece.value == kNone) return;
    const auto results = graph_.outputs_of(graph_.ops[region->last]);
    const Id storage = graph_.values[piece.value].storage;
    const bool is_result = std::ranges::any_of(results, [&](ValueId id) {
      return id != kNone && (id == piece.value || (storage != kNone && graph_.values[id].storage == storage));
    });
    if (!is_result && (piece.held.freed == kNone || piece.held.freed > region->last))
      piece.held.freed = region->last;
  }

  // Of the family of most of its work.
  static PredictedOp predicted(const Predictor& predictor, const ServedKernel& kernel) {
    const auto most =
        std::ranges::max_element(kernel.work, {}, [](const KernelWork& each) { return each.work.macs; });
    if (most == kernel.work.end())
      return predictor.kernel(OpFamily::kCopy, DType::kBFloat16, 0, kernel.traffic.total());
    const double flops = 2 * static_cast<double>(most->work.macs);
    return predictor.kernel(family_of(most->category), most->dtype, flops, kernel.traffic.total());
  }

  ServedKernel kernel_of(std::span<const OpId> ops) const {
    ServedKernel kernel;
    for (const OpId op : ops) {
      const OpCost& cost = costs_[op];
      kernel.add(cost.rule != nullptr ? cost.rule->category : Category::kCustom,
                 product_dtype(graph_, graph_.ops[op]), cost.work);
      kernel.traffic += cost.traffic, kernel.flops += cost.flops;
      kernel.confidence = std::max(kernel.confidence, cost.confidence);
    }
    return kernel;
  }

  const Graph& graph_;
  std::vector<OpCost> costs_;
  std::vector<Region> regions_;
};

Count cache_left(const Graph& graph) {
  Count bytes{};
  for (const ValueId id : graph.outputs)
    if (id != kNone && names_cache(graph.text(graph.values[id].name)))
      bytes += bytes_of(graph, graph.values[id]);
  return bytes;
}

}  // namespace

std::string_view name(LlmPhase phase) {
  return choices<LlmPhase, LlmPhase::kDecode>("prefill", "decode")[phase];
}

void ServedKernel::add(Category category, DType dtype, const Work& more) {
  if (!more.macs && !more.other_flops && !more.specials) return;
  const auto same = std::ranges::find_if(
      work, [&](const KernelWork& each) { return each.category == category && each.dtype == dtype; });
  if (same != work.end())
    same->work += more;
  else
    work.push_back({category, dtype, more});
}

RooflineTime roofline_time(const Device& device, const ServedKernel& kernel, Float32 float32) {
  RooflineTime time{.known = kernel.confidence != Confidence::kUnknown};
  for (const KernelWork& each : kernel.work) {
    OpRule rule;  // of which the roofline asks the category alone
    rule.category = each.category;
    OpCost cost{.work = each.work, .confidence = kernel.confidence};
    cost.rule = &rule;
    time += roofline_time(device, cost, each.dtype, float32);
  }
  time.memory_seconds = memory_seconds(device, kernel.traffic.total());
  return time;
}

void StepCosts::add(ServedKernel kernel) {
  for (const KernelWork& each : kernel.work) work += each.work;
  flops += kernel.flops, traffic += kernel.traffic, confidence = std::max(confidence, kernel.confidence);
  if (kernel.flops || kernel.traffic.total()) kernels.push_back(std::move(kernel));
}

ServedStep served_step(const Graph& graph, LlmPhase phase, std::int64_t batch, std::int64_t tokens,
                       const Routing& routing, std::span<const ProfileOptions> devices) {
  ServedStep step{.phase = phase, .batch = batch, .tokens = tokens};
  const Server server(graph, phase, routing);
  server.price(step);
  server.weigh(step);
  for (const ProfileOptions& each : devices) step.predicted.push_back(server.predicted(each));
  step.cache_bytes = cache_left(graph);
  return step;
}

}  // namespace opscope
