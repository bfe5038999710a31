// Graph::verify: what every later stage takes for granted, checked once. It throws at the first thing that
// does not hold and says which op, value or module that was.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "graph/graph.h"

namespace opscope {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  void run() {
    sizes();
    targets();
    modules();
    scopes();
    values();
    owned();
    boundary(graph_.inputs, "inputs");
    ops();
    boundary(graph_.outputs, "outputs");
    made_outputs();
    declared();
    nodes();
    breaks();
    lifetimes();
    phases();
    cuda_device();
    kv_cache();
    measurement();
  }

 private:
  template <class... Parts>
  [[noreturn]] static void fail(fmt::format_string<Parts...> text, Parts&&... parts) {
    throw Error("the graph is inconsistent: " + fmt::format(text, std::forward<Parts>(parts)...), {},
                "the capture is damaged; capture the model again");
  }

  template <class T>
  static bool inside(const std::vector<T>& pool, Range range) {
    return std::uint64_t{range.begin} + range.size <= pool.size();
  }
  // Calls check(item, index) for each.
  template <class Item, class Check>
  static void each(const std::vector<Item>& items, const Check& check) {
    for (std::size_t i = 0; i < items.size(); ++i) check(items[i], i);
  }
  bool is_string(std::uint64_t id) const { return id < graph_.string_count(); }
  template <class... Ids>
  void strings(const char* of, std::size_t i, Ids... ids) const {
    if (!(is_string(ids) && ...)) fail("{} {} has an unknown string", of, i);
  }
  // Parents come first, and the root has none.
  static void after_parent(const char* of, std::size_t i, Id parent) {
    if (i == 0 ? parent != kNone : parent >= i) fail("{} {} does not come after its parent", of, i);
  }
  bool is_value(std::uint64_t id) const { return id < graph_.values.size(); }

  // Ids are 32 bits wide and kNone is none of them.
  void sizes() const {
    const auto fit = [](const auto&... items) { return ((items.size() < kNone) && ...); };
    if (!fit(graph_.ops, graph_.values, graph_.storages, graph_.modules, graph_.scopes, graph_.targets,
             graph_.arguments, graph_.value_refs, graph_.dims, graph_.reals, graph_.nodes, graph_.parts,
             graph_.node_refs))
      fail("more than 2^32 - 2 items of one kind");
  }

  void targets() const {
    each(graph_.targets, [&](const Target& target, std::size_t i) {
      strings("target", i, target.name, target.overload);
      if (graph_.text(target.name).empty()) fail("target {} has no name", i);
    });
  }

  void modules() const {
    if (graph_.modules.empty()) fail("there is no root module");
    each(graph_.modules, [&](const Module& module, std::size_t i) {
      strings("module", i, module.name, module.path, module.type);
      after_parent("module", i, module.parent);
    });
  }

  void sparse_form(const Value& value, std::size_t i) const {
    if (value.sparse >= graph_.sparse_forms.size()) fail("value {} has no sparse form {}", i, value.sparse);
    const SparseForm& form = graph_.sparse_forms[value.sparse];
    strings("the sparse form of value", i, form.layout);
    if (graph_.text(form.layout).empty()) fail("value {} is sparse and has no layout", i);
    if (value.strides.size != 0) fail("value {} is sparse and has strides", i);
  }

  void stored_form(const Value& value, std::size_t i) const {
    if (value.stored >= graph_.stored_forms.size()) fail("value {} has no stored form {}", i, value.stored);
    const StoredForm& form = graph_.stored_forms[value.stored];
    strings("the stored form of value", i, form.scheme);
    if (graph_.text(form.scheme).empty()) fail("value {} is stored by no scheme", i);
    if (value.sparse != kNone) fail("value {} is sparse and quantised", i);
  }

  void scopes() const {
    if (graph_.scopes.empty()) fail("there is no root scope");
    each(graph_.scopes, [&](const Scope& scope, std::size_t i) {
      if (scope.module >= graph_.modules.size()) fail("scope {} has no module {}", i, scope.module);
      after_parent("scope", i, scope.parent);
      if (scope.tells_outputs() && !inside(graph_.value_refs, scope.outputs))
        fail("scope {} has outputs outside the pool", i);
      for (const auto id : graph_.outputs_of(scope))
        if (!is_value(id)) fail("scope {} returns value {}, which is not there", i, id);
    });
    if (graph_.scopes[0].module != 0) fail("scope 0 is not the root module's");
  }

  void values() const {
    each(graph_.values, [&](const Value& value, std::size_t i) {
      if (!inside(graph_.dims, value.shape) || !inside(graph_.dims, value.strides))
        fail("value {} has dimensions outside the pool", i);
      if (value.strides.size != 0 && value.strides.size != value.shape.size)
        fail("value {} has {} dimensions and {} strides", i, value.shape.size, value.strides.size);
      for (const auto dim : graph_.shape(value))
        if (dim < 0) fail("value {} has a dimension of {}", i, dim);
      if (value.offset < 0) fail("value {} begins at {}", i, value.offset);
      if (value.storage != kNone && value.storage >= graph_.storages.size())
        fail("value {} has no storage {}", i, value.storage);
      strings("value", i, value.name, value.device);
      if (value.sparse != kNone) sparse_form(value, i);
      if (value.stored != kNone) stored_form(value, i);
      if (static_cast<std::size_t>(value.dtype) >= kDTypes.size()) fail("value {} has an unknown dtype", i);
      if (static_cast<std::size_t>(value.kind) >= kValueKinds) fail("value {} has an unknown kind", i);
    });
  }

  void owned() const {
    each(graph_.owned, [&](const Owned& entry, std::size_t i) {
      if (entry.module >= graph_.modules.size() || !is_value(entry.value) || !is_string(entry.name))
        fail("owned {} names a module, value or string that is not there", i);
      if (!is_weight(graph_.values[entry.value].kind))
        fail("owned {} is value {}, which is neither parameter nor buffer", i, entry.value);
    });
  }

  void lifetimes() const {
    if (!graph_.lifetimes.empty() && graph_.lifetimes.size() != graph_.storages.size())
      fail("{} storages have {} lifetimes", graph_.storages.size(), graph_.lifetimes.size());
    const auto is_op = [&](OpId op) { return op == kNone || op < graph_.ops.size(); };
    each(graph_.lifetimes, [&](const Lifetime& life, std::size_t i) {
      const auto [made, freed] = life;
      if (!is_op(made) || !is_op(freed)) fail("storage {} lives during ops that are not there", i);
      if (made != kNone && freed < made) fail("storage {} is freed before it is made", i);
    });
  }

  void phases() const {
    OpId begin = 0;
    for (const auto& phase : graph_.phases) {
      if (phase.begin < begin || phase.begin > graph_.ops.size())
        fail("the phase {} begins at op {}", phase.name, phase.begin);
      begin = phase.begin;
    }
  }

  void cuda_device() const {
    if (!graph_.cuda) return;
    const CudaDevice& device = graph_.cuda->device;
    if (cuda_device_from(to_text(device)) != device) fail("there is no CUDA device {}", to_text(device));
  }

  void kv_cache() const {
    const auto& cache = graph_.kv_cache;
    if (cache.batch < 0 || cache.past_len < 0 || cache.capacity < 0 || cache.block < 1)
      fail("the KV cache has a negative size");
    each(cache.layers, [&](const KvLayer& layer, std::size_t i) {
      if (layer.heads < 0 || layer.key_width < 0 || layer.value_width < 0 || layer.window < 0)
        fail("layer {} of the KV cache has a negative size", i);
      if ((layer.kind == KvKind::kSliding) != (layer.window > 0))
        fail("layer {} of the KV cache is {} and has a window of {}", i, name(layer.kind), layer.window);
    });
    const auto& latent = cache.latent;
    if (std::min({latent.layers, latent.heads, latent.kv_lora_rank, latent.qk_rope_head_dim,
                  latent.qk_nope_head_dim, latent.v_head_dim}) < 0)
      fail("latent attention has a negative size");
  }

  // Every op has a sample of every run, on the clock that its time is taken from; the rest is whole or
  // absent.
  void measurement() const {
    const auto& measured = graph_.measurement;
    if (measured.empty()) return;
    const std::size_t runs = measured.runs, ops = graph_.ops.size(), scopes = graph_.scopes.size();
    if (measured.typical >= runs) fail("run {} of {} is the typical one", measured.typical, runs);
    if (measured.op_samples().size() != ops * runs || (ops == 0 && measured.timed.size() != runs))
      fail("{} ops were measured in {} runs and have {} samples", ops, runs, measured.op_samples().size());
    const auto whole = [](const std::vector<Nanoseconds>& samples, std::size_t size, const char* of) {
      if (!samples.empty() && samples.size() != size)
        fail("{} samples of {}, not {}", samples.size(), of, size);
    };
    whole(measured.plain, runs, "plain runs"), whole(measured.timed, runs, "timed runs");
    whole(measured.plain_device, runs, "plain runs on the device");
    whole(measured.timed_device, runs, "timed runs on the device");
    whole(measured.host, ops * runs, "ops on the host"),
        whole(measured.device, ops * runs, "ops on the device");
    whole(measured.scopes, scopes * runs, "module calls"), whole(measured.repeated, ops, "repeated ops");
    whole(measured.outside, scopes * runs, "time outside ops");
    for (const OutsideLine& line : measured.lines)
      if (line.scope >= scopes || (line.after != kNone && line.after >= ops) ||
          (line.before != kNone && line.before >= ops) || measured.outside.empty())
        fail("a line outside ops ({}) names a scope or an op that is not there", line.source);
    whole(measured.host_begin, ops, "beginnings"),
        whole(measured.device_begin, ops, "beginnings on the device");
    whole(measured.scope_begin, scopes, "beginnings of module calls");
  }

  void boundary(const std::vector<ValueId>& ids, const char* which) const {
    each(ids, [&](ValueId id, std::size_t i) {
      if (!is_value(id)) fail("{}[{}] is not a value", which, i);
    });
  }

  // Gradients and an optimiser's state may be those of the step before.
  static bool is_there_before(ValueKind kind) {
    return kind != ValueKind::kActivation && kind != ValueKind::kOutput;
  }
  // An op may read what was there from the start and what an earlier op made: the graph has no cycle.
  void ops() {
    is_made_.resize(graph_.values.size());
    std::ranges::transform(graph_.values, is_made_.begin(), is_there_before, &Value::kind);
    each(graph_.ops, [&](const Op& op, std::size_t i) {
      if (op.target >= graph_.targets.size()) fail("op {} has no target {}", i, op.target);
      if (op.scope >= graph_.scopes.size()) fail("op {} has no scope {}", i, op.scope);
      if (!inside(graph_.arguments, op.arguments)) fail("op {} has arguments outside the pool", i);
      if (!inside(graph_.value_refs, op.outputs)) fail("op {} has outputs outside the pool", i);
      strings("op", i, op.source);
      if (op.node != kNone && op.node >= graph_.nodes.size()) fail("op {} has no node {}", i, op.node);
      for (const auto& argument : graph_.arguments_of(op)) check(argument, i);
      for (const auto id : graph_.outputs_of(op)) {
        if (!is_value(id)) fail("op {} makes value {}, which is not there", i, id);
        is_made_[id] = 1;
      }
    });
  }

  void check(const Argument& argument, std::size_t op) const {
    if (!is_string(argument.name)) fail("op {} has an argument with an unknown name", op);
    if (!is_good(argument)) fail("op {} has a bad argument '{}'", op, graph_.text(argument.name));
    if (argument.kind == ArgumentKind::kTensor) read(static_cast<std::uint64_t>(argument.integer), op);
    if (argument.kind != ArgumentKind::kTensorList) return;
    for (const auto id : graph_.values_in(argument))
      if (id != kNone) read(id, op);
  }

  bool is_good(const Argument& argument) const {
    const auto integer = [&] { return static_cast<std::uint64_t>(argument.integer); };
    const auto is_bool = [](std::int64_t item) { return item == 0 || item == 1; };
    switch (argument.kind) {
      case ArgumentKind::kNone:
      case ArgumentKind::kInt:
      case ArgumentKind::kFloat:
      case ArgumentKind::kTensor:  // see read
        return true;
      case ArgumentKind::kString:
        return is_string(integer());
      case ArgumentKind::kDType:
        return integer() < kDTypes.size();
      case ArgumentKind::kBool:
        return integer() <= 1;
      case ArgumentKind::kTensorList:
        return inside(graph_.value_refs, argument.range);
      case ArgumentKind::kIntList:
        return inside(graph_.dims, argument.range);
      case ArgumentKind::kBoolList:
        return inside(graph_.dims, argument.range) && std::ranges::all_of(graph_.ints_in(argument), is_bool);
      case ArgumentKind::kFloatList:
        return inside(graph_.reals, argument.range);
    }
    return false;
  }

  void read(std::uint64_t id, std::size_t op) const {
    if (!is_value(id)) fail("op {} reads value {}, which is not there", op, id);
    if (is_made_[id] == 0) fail("op {} reads value {} before anything makes it", op, id);
  }

  void made_outputs() const {
    for (const auto id : graph_.outputs)
      if (is_made_[id] == 0) fail("output value {} is never made", id);
  }

  void declared() const {
    std::size_t next = 0;
    for (const auto& cost : graph_.declared) {
      if (cost.op >= graph_.ops.size()) fail("a cost is declared for op {}, which is not there", cost.op);
      if (cost.op < next) fail("the cost declared for op {} is out of order", cost.op);
      next = std::size_t{cost.op} + 1;
    }
  }

  // Part by part, and within one, a node takes what came before it.
  void nodes() const {
    PartId part = 0;
    each(graph_.nodes, [&](const Node& node, std::size_t i) {
      if (node.kind > NodeKind::kOutput) fail("node {} has an unknown kind", i);
      strings("node", i, node.name, node.target, node.source);
      if (node.part >= graph_.parts.size()) fail("node {} has no part {}", i, node.part);
      if (node.part < part) fail("node {} of part {} comes after part {}", i, node.part, part);
      part = node.part;
      if (node.module >= graph_.modules.size()) fail("node {} has no module {}", i, node.module);
      node_ends(node, i);
    });
  }

  void node_ends(const Node& node, std::size_t i) const {
    if (!inside(graph_.node_refs, node.inputs)) fail("node {} has inputs outside the pool", i);
    if (!inside(graph_.value_refs, node.outputs)) fail("node {} has outputs outside the pool", i);
    for (const auto id : graph_.inputs_of(node)) {
      if (id >= i) fail("node {} takes node {}, which does not come before it", i, id);
      if (graph_.nodes[id].part != node.part) fail("node {} takes node {} of another part", i, id);
    }
    for (const auto id : graph_.outputs_of(node))
      if (!is_value(id)) fail("node {} gives value {}, which is not there", i, id);
  }

  void breaks() const {
    each(graph_.breaks, [&](const Break& broken, std::size_t i) {
      if (broken.after != kNone && broken.after >= graph_.parts.size())
        fail("break {} comes after part {}, which is not there", i, broken.after);
    });
  }

  const Graph& graph_;
  std::vector<char> is_made_;  // by value
};

}  // namespace

void Graph::verify() const { Verifier(*this).run(); }

}  // namespace opscope
