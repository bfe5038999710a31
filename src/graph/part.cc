// One pass over the ops finds out what each value is to the part; then everything that is needed is copied,
// in the order it had, with new ids.
#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/names.h"

namespace opscope {
namespace {

// What a value of the whole graph is to the part.
struct Use {
  bool is_needed = false;       // by an op or a node, or as the owner of what one reads
  bool is_made = false;         // by an op of the part
  bool is_read_before = false;  // it is made here, if at all
  bool is_read_elsewhere = false;
  bool is_model_output = false;
  bool is_listed = false;  // among the part's outputs
  ValueId id = kNone;      // in the part's graph
};

class PartGraph {
 public:
  PartGraph(const Graph& whole, PartId part) : whole_(whole), uses_(whole.values.size()) {
    const auto own = std::ranges::equal_range(whole.nodes, part, {}, &Node::part);
    begin_ = static_cast<NodeId>(own.begin() - whole.nodes.begin());
    end_ = static_cast<NodeId>(own.end() - whole.nodes.begin());
    part_.parts = {whole.parts[part]};
    for (const auto& broken : whole.breaks)
      if (broken.after == part) part_.breaks.push_back({broken.reason, broken.detail, broken.source, 0});
  }

  Graph run() {
    part_.capture = whole_.capture;
    find_uses();
    modules();
    values();
    owned();
    inputs();
    outputs();
    nodes();
    ops();
    diagnostics();
    measurement();
    part_.verify();
    return std::move(part_);
  }

 private:
  bool is_inside(const Op& op) const { return op.node >= begin_ && op.node < end_; }
  std::span<const Node> its_nodes() const { return {whole_.nodes.data() + begin_, end_ - begin_}; }
  bool is_activation(ValueId id) const { return whole_.values[id].kind >= ValueKind::kActivation; }
  // Also what only a node has: a tensor that the part takes and does nothing with.
  bool enters(ValueId id) const {
    const auto& use = uses_[id];
    return is_activation(id) ? use.is_read_before || !use.is_made
                             : whole_.values[id].kind == ValueKind::kInput;
  }
  StringId copied(StringId text) { return part_.intern(whole_.text(text)); }

  void find_uses() {
    for (const auto id : whole_.outputs) uses_[id].is_model_output = true;
    for (const auto& node : its_nodes())
      for (const auto id : whole_.outputs_of(node)) uses_[id].is_needed = true;
    for (OpId op = 0; op < whole_.ops.size(); ++op) {
      if (is_inside(whole_.ops[op]))
        take(op);
      else
        each_read(whole_, whole_.ops[op], [&](ValueId id) { uses_[id].is_read_elsewhere = true; });
    }
    need_owners();
  }

  void take(OpId op) {
    ops_.push_back(op);
    each_read(whole_, whole_.ops[op], [&](ValueId id) {
      auto& use = uses_[id];
      use.is_needed = true;
      use.is_read_before = use.is_read_before || !use.is_made;
    });
    for (const auto id : whole_.outputs_of(whole_.ops[op])) uses_[id].is_needed = uses_[id].is_made = true;
  }

  // A view of a parameter that was made elsewhere stands for the parameter.
  void need_owners() {
    std::vector<char> is_owned(uses_.size()), by_view(whole_.storages.size());
    for (const auto& entry : whole_.owned) is_owned[entry.value] = 1;
    for (ValueId id = 0; id < uses_.size(); ++id) {
      const auto& value = whole_.values[id];
      if (uses_[id].is_needed && is_weight(value.kind) && is_owned[id] == 0 && value.storage != kNone)
        by_view[value.storage] = 1;
    }
    for (const auto& entry : whole_.owned)
      if (const auto storage = whole_.values[entry.value].storage; storage != kNone && by_view[storage] != 0)
        uses_[entry.value].is_needed = true;
  }

  void modules() {
    part_.scopes = whole_.scopes;
    for (auto& scope : part_.scopes)
      scope.outputs = Scope().outputs;  // other parts' values may be among them
    for (auto module : whole_.modules) {
      for (StringId* text : {&module.name, &module.path, &module.type}) *text = copied(*text);
      part_.modules.push_back(module);
    }
  }

  Id sparse_form(const Value& value) {
    auto form = whole_.sparse_forms[value.sparse];
    form.layout = copied(form.layout);
    part_.sparse_forms.push_back(form);
    return static_cast<Id>(part_.sparse_forms.size() - 1);
  }

  Id stored_form(const Value& value) {
    auto form = whole_.stored_forms[value.stored];
    form.scheme = copied(form.scheme);
    part_.stored_forms.push_back(form);
    return static_cast<Id>(part_.stored_forms.size() - 1);
  }

  void values() {
    std::vector<Id> storages(whole_.storages.size(), kNone);
    for (ValueId id = 0; id < uses_.size(); ++id) {
      if (!uses_[id].is_needed) continue;
      uses_[id].id = static_cast<ValueId>(part_.values.size());
      auto value = whole_.values[id];
      value.shape = part_.add_dims(whole_.shape(value));
      value.strides = part_.add_dims(whole_.strides(value));
      value.name = copied(value.name);
      value.device = copied(value.device);
      if (value.sparse != kNone) value.sparse = sparse_form(value);
      if (value.stored != kNone) value.stored = stored_form(value);
      if (enters(id)) value.kind = ValueKind::kInput;
      if (value.kind == ValueKind::kOutput) value.kind = ValueKind::kActivation;
      if (value.storage != kNone) {
        auto& storage = storages[value.storage];
        if (storage == kNone) {
          storage = static_cast<Id>(part_.storages.size());
          part_.storages.push_back(whole_.storages[value.storage]);
        }
        value.storage = storage;
      }
      part_.values.push_back(value);
    }
  }

  void owned() {
    for (const auto& entry : whole_.owned)
      if (uses_[entry.value].is_needed)
        part_.owned.push_back({entry.module, uses_[entry.value].id, copied(entry.name)});
  }

  // In the order of its placeholders; then what later runs were given, and what it takes from around it.
  void inputs() {
    std::vector<char> is_listed(part_.values.size());
    const auto add = [&](ValueId whole_id, StringId name) {
      if (!enters(whole_id)) return;
      const auto id = uses_[whole_id].id;
      if (std::exchange(is_listed[id], 1) != 0) return;
      part_.inputs.push_back(id);
      if (part_.values[id].name == 0) part_.values[id].name = part_.intern(readable_name(whole_.text(name)));
    };
    for (const auto& node : its_nodes())
      if (node.kind == NodeKind::kPlaceholder)
        for (const auto id : whole_.outputs_of(node)) add(id, node.name);
    for (const auto op : ops_) each_read(whole_, whole_.ops[op], [&](ValueId id) { add(id, 0); });
    for (const auto& node : its_nodes())
      for (const auto id : whole_.outputs_of(node)) add(id, 0);
  }

  void outputs() {
    for (const auto& node : its_nodes())
      if (node.kind == NodeKind::kOutput)
        for (const auto id : whole_.outputs_of(node))
          if (uses_[id].is_made && is_activation(id)) add_output(id);
    for (const auto op : ops_)
      for (const auto id : whole_.outputs_of(whole_.ops[op]))
        if (uses_[id].is_model_output || (uses_[id].is_read_elsewhere && is_activation(id))) add_output(id);
  }

  void add_output(ValueId whole_id) {
    auto& use = uses_[whole_id];
    if (std::exchange(use.is_listed, true)) return;
    part_.outputs.push_back(use.id);
    auto& value = part_.values[use.id];
    if (value.kind == ValueKind::kActivation) value.kind = ValueKind::kOutput;
  }

  Range copied_refs(std::span<const ValueId> ids) {
    std::vector<ValueId> mapped(ids.begin(), ids.end());
    for (auto& id : mapped)
      if (id != kNone) id = uses_[id].id;
    return part_.add_refs(mapped);
  }

  void nodes() {
    for (auto node : its_nodes()) {
      for (StringId* text : {&node.name, &node.target, &node.source}) *text = copied(*text);
      node.part = 0;
      const auto inputs = whole_.inputs_of(node);
      std::vector<NodeId> mapped(inputs.begin(), inputs.end());
      for (auto& id : mapped) id -= begin_;
      node.inputs = part_.add_node_refs(mapped);
      node.outputs = copied_refs(whole_.outputs_of(node));
      part_.nodes.push_back(node);
    }
  }

  void ops() {
    auto declared = whole_.declared.begin();
    for (const auto id : ops_) {
      auto op = whole_.ops[id];
      const auto& target = whole_.targets[op.target];
      op.target = part_.add_target(whole_.text(target.name), whole_.text(target.overload));
      op.arguments = copied_arguments(whole_.arguments_of(op));
      op.outputs = copied_refs(whole_.outputs_of(op));
      op.source = copied(op.source);
      op.node -= begin_;
      while (declared != whole_.declared.end() && declared->op < id) ++declared;
      if (declared != whole_.declared.end() && declared->op == id) {
        part_.declared.push_back(*declared);
        part_.declared.back().op = static_cast<OpId>(part_.ops.size());
      }
      part_.ops.push_back(op);
    }
  }

  Range copied_arguments(std::span<const Argument> arguments) {
    const Range range{static_cast<std::uint32_t>(part_.arguments.size()),
                      static_cast<std::uint32_t>(arguments.size())};
    for (const auto& argument : arguments) part_.arguments.push_back(copied_argument(argument));
    return range;
  }

  Argument copied_argument(Argument argument) {
    argument.name = copied(argument.name);
    switch (argument.kind) {
      case ArgumentKind::kTensor:
        argument.integer = uses_[static_cast<ValueId>(argument.integer)].id;
        break;
      case ArgumentKind::kString:
        argument.integer = copied(static_cast<StringId>(argument.integer));
        break;
      case ArgumentKind::kTensorList:
        argument.range = copied_refs(whole_.values_in(argument));
        break;
      case ArgumentKind::kIntList:
      case ArgumentKind::kBoolList:
        argument.range = part_.add_dims(whole_.ints_in(argument));
        break;
      case ArgumentKind::kFloatList:
        argument.range = part_.add_reals(whole_.reals_in(argument));
        break;
      default:
        break;
    }
    return argument;
  }

  // What was noted about an op that the part does not run is about another part.
  void diagnostics() {
    std::unordered_set<std::string_view> names;
    for (const auto& target : part_.targets) names.insert(part_.text(target.name));
    for (const auto& diagnostic : whole_.diagnostics)
      if (diagnostic.op.empty() || names.contains(diagnostic.op)) part_.diagnostics.push_back(diagnostic);
  }

  // The samples of its ops. Whole runs, module calls and memory are of the whole model and stay there.
  void measurement() {
    const auto& whole = whole_.measurement;
    if (whole.empty() || ops_.empty()) return;
    auto& part = part_.measurement;
    part.environment = whole.environment;
    part.warmup = whole.warmup, part.runs = whole.runs, part.typical = whole.typical;
    part.on_device = whole.on_device, part.empty_interval = whole.empty_interval;
    cut(whole.host, whole.runs, part.host), cut(whole.device, whole.runs, part.device);
    cut(whole.repeated, 1, part.repeated);
    cut(whole.host_begin, 1, part.host_begin), cut(whole.device_begin, 1, part.device_begin);
  }
  void cut(const std::vector<Nanoseconds>& whole, std::size_t runs, std::vector<Nanoseconds>& part) const {
    if (whole.empty()) return;
    part.reserve(ops_.size() * runs);
    for (const auto op : ops_) {
      const auto samples = Measurement::samples(whole, op, runs);
      part.insert(part.end(), samples.begin(), samples.end());
    }
  }

  const Graph& whole_;
  Graph part_;
  NodeId begin_ = 0, end_ = 0;  // its nodes in the whole graph
  std::vector<OpId> ops_;       // its ops in the whole graph
  std::vector<Use> uses_;       // by value of the whole graph
};

}  // namespace

Graph part_of(const Graph& graph, PartId part) {
  OPSCOPE_CHECK(part < graph.parts.size());
  return PartGraph(graph, part).run();
}

}  // namespace opscope
