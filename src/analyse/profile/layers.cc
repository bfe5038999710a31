// The layer graph: one layer per call of a leaf module, and one per op that a non-leaf module ran itself;
// what torch.fx.symbolic_trace would have drawn. Every op is in exactly one layer, every layer has its own
// name.
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>

#include "analyse/profile/rollup.h"
#include "base/groups.h"
#include "base/large_pages.h"
#include "base/text.h"

namespace opscope {
namespace {

// "add_12" -> {"add", 12}; "add" -> {"add", 0}. A leading zero is part of the name.
std::pair<std::string_view, std::uint32_t> split_number(std::string_view name) {
  const auto mark = name.rfind('_');
  if (mark == std::string_view::npos || mark + 1 == name.size() || name[mark + 1] == '0') return {name, 0};
  const auto number = number_from<std::uint32_t>(name.substr(mark + 1));
  return number ? std::pair(name.substr(0, mark), *number) : std::pair(name, 0u);
}

// Names for ops that are layers of their own: the op's type, numbered where a module call repeats it. A
// number that would give the name of a child module is passed over, and an op that is itself called "foo_2"
// always gets a number, so that no two layers share a name.
class OpNumbers {
 public:
  OpNumbers(const Graph& graph, const OpTypes& types) : graph_(graph), types_(types) {
    std::unordered_map<std::string_view, std::uint32_t> type_ids;
    std::array<bool, 256> is_initial{};  // spares most modules the look-up
    for (std::uint32_t t = 0; t < types.names.size(); ++t) {
      type_ids.emplace(types.names[t], t);
      is_initial[initial(types.names[t])] = true;
    }
    for (std::size_t m = 1; m < graph.modules.size(); ++m) {
      const std::string_view name = graph.text(graph.modules[m].name);
      if (!is_initial[initial(name)]) continue;
      const auto [base, number] = split_number(name);
      if (const auto found = type_ids.find(base); found != type_ids.end())
        taken_.emplace(graph.modules[m].parent, found->second, number);
    }
    for (const auto type : types.names) always_.push_back(split_number(type).second != 0);
    next_.resize(types.names.size());
    scope_of_.resize(types.names.size(), kNone);
  }

  // Called scope by scope, in op order within each.
  std::uint32_t next(const Op& op) {
    const std::uint32_t type = types_.of_target[op.target];
    if (scope_of_[type] != op.scope) {
      scope_of_[type] = op.scope;
      next_[type] = always_[type] ? 1 : 0;
    }
    if (!taken_.empty()) {
      const ModuleId module = graph_.scopes[op.scope].module;
      while (taken_.contains({module, type, next_[type]})) ++next_[type];
    }
    return next_[type]++;
  }

 private:
  static unsigned char initial(std::string_view text) {
    return text.empty() ? 0 : static_cast<unsigned char>(text.front());
  }

  const Graph& graph_;
  const OpTypes& types_;
  std::set<std::tuple<ModuleId, std::uint32_t, std::uint32_t>> taken_;
  std::vector<bool> always_;
  std::vector<std::uint32_t> next_;
  std::vector<ScopeId> scope_of_;
};

// Each layer's first op and the number its name needs, before the rows are made.
struct Seed {
  OpId op;
  std::uint32_t number;
};

std::vector<Seed> find_layers(const Graph& graph, const std::vector<bool>& has_children,
                              std::vector<std::uint32_t>& layer_of) {
  std::vector<std::uint32_t> layer_of_scope(graph.scopes.size(), kNone);
  std::vector<Seed> seeds;
  layer_of.resize(graph.ops.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const ScopeId scope = graph.ops[i].scope;
    std::uint32_t layer = has_children[scope] ? kNone : layer_of_scope[scope];
    if (layer == kNone) {
      layer = static_cast<std::uint32_t>(seeds.size());
      seeds.push_back({static_cast<OpId>(i), 0});
      layer_of_scope[scope] = layer;
    }
    layer_of[i] = layer;
  }
  return seeds;
}

// Scope by scope, so that numbering stays linear in a graph of many calls.
void number_free_ops(const Graph& graph, const OpTypes& types, const std::vector<bool>& has_children,
                     std::vector<Seed>& seeds) {
  std::vector<ScopeId> scope_of;
  for (const Seed& seed : seeds) scope_of.push_back(graph.ops[seed.op].scope);
  const IdGroups by_scope(graph.scopes.size(), scope_of);
  OpNumbers numbers(graph, types);
  for (const std::uint32_t i : by_scope.ids) {
    const Op& op = graph.ops[seeds[i].op];
    if (has_children[op.scope]) seeds[i].number = numbers.next(op);
  }
}

// The words of the layer graph. A module called once is named by its path, which the graph already holds;
// what has to be put together is written to the profile's own text.
class LayerNames {
 public:
  LayerNames(const Graph& graph, const OpTypes& types) : graph_(graph), types_(types) {}

  std::string_view of_scope(ScopeId id) {
    const Scope& scope = graph_.scopes[id];
    const std::string_view path = graph_.path(graph_.modules[scope.module]);
    if (path.empty() && scope.call == 0)
      return type_of_module(0).empty() ? texts_.add(graph_.capture.model) : type_of_module(0);
    return is_numbered(scope, path) ? texts_.add(scope_name(scope)) : path;
  }
  // "layer1.0.add_2"; the scope's name is shared by all free-standing ops in it.
  std::string_view of_op(const Op& op, std::uint32_t number) {
    if (op.scope != scope_) {
      scope_ = op.scope;
      name_ = scope_name(graph_.scopes[op.scope]);
      if (!name_.empty()) name_ += '.';
      prefix_size_ = name_.size();
    }
    name_.resize(prefix_size_);
    name_ += type_of_op(op);
    if (number) name_ += "_" + std::to_string(number);
    return texts_.add(name_);
  }
  std::string_view type_of_op(const Op& op) const { return types_.names[types_.of_target[op.target]]; }
  std::string_view type_of_module(ModuleId id) {
    const StringId type = graph_.modules[id].type;
    const auto [found, is_new] = lower_.try_emplace(type);
    if (is_new) found->second = texts_.add(lower_case(graph_.text(type)));
    return found->second;
  }
  std::vector<TextBlock> take_texts() && { return std::move(texts_).take(); }

 private:
  // The second call is "layer1.0#2". A path with a '#' of its own is always numbered.
  static bool is_numbered(const Scope& scope, std::string_view path) {
    return scope.call > 0 || path.find('#') != std::string_view::npos;
  }
  std::string scope_name(const Scope& scope) const {
    std::string result(graph_.path(graph_.modules[scope.module]));
    if (is_numbered(scope, result)) result += "#" + std::to_string(scope.call + 1);
    return result;
  }

  const Graph& graph_;
  const OpTypes& types_;
  TextBlocks texts_;
  std::unordered_map<StringId, std::string_view> lower_;
  std::string name_;
  std::size_t prefix_size_ = 0;
  ScopeId scope_ = kNone;
};

}  // namespace

LayerGraph make_layers(const Profile& profile) {
  const Graph& graph = *profile.graph;
  const OpTypes types(graph);
  LayerGraph layers;
  std::vector<bool> has_children(graph.scopes.size(), false);
  for (std::size_t s = 1; s < graph.scopes.size(); ++s) has_children[graph.scopes[s].parent] = true;
  std::vector<Seed> seeds = find_layers(graph, has_children, layers.of_op);
  number_free_ops(graph, types, has_children, seeds);
  const std::vector<std::uint32_t> row_of_module = rows_of_modules(profile.modules());

  LayerNames names(graph, types);
  const auto add_row = [&](const Seed& seed) {
    const Op& op = graph.ops[seed.op];
    const ModuleId module = graph.scopes[op.scope].module;
    const bool is_module = !has_children[op.scope];
    layers.rows.push_back({.name = is_module ? names.of_scope(op.scope) : names.of_op(op, seed.number),
                           .type = is_module ? names.type_of_module(module) : names.type_of_op(op),
                           .module = module,
                           .scope = op.scope,
                           .is_module = is_module,
                           .parameters = is_module ? profile.modules()[row_of_module[module]].parameters
                                                   : parameters_read(graph, {&seed.op, 1})});
  };
  reserve_large(layers.rows, seeds.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const std::uint32_t l = layers.of_op[i];
    if (l == layers.rows.size()) add_row(seeds[l]);  // layers are numbered by their first op
    LayerRow& layer = layers.rows[l];
    layer.metrics += profile.costs[i];
    layer.bottleneck = bottleneck_of(layer.metrics, profile.options.ridge);
    if (graph.ops[i].outputs.size) layer.output = graph.outputs_of(graph.ops[i]).front();
  }
  for (LayerRow& layer : layers.rows)
    if (const Scope& scope = graph.scopes[layer.scope]; layer.is_module && scope.tells_outputs())
      layer.output = scope.outputs.size ? graph.outputs_of(scope).front() : kNone;
  layers.texts = std::move(names).take_texts();
  return layers;
}

}  // namespace opscope
