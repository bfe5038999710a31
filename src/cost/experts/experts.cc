// One pass over the ops. A choice is a topk or argmax; the weights of experts are parameters of the module
// around it, with as many parts as there are choices: slices of one tensor, or modules of a list. They are
// read whole by a grouped product, row by row by a gather, part by part in a loop, or all at once.
#include "cost/experts/experts.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "ops/op_call.h"

namespace opscope {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

constexpr std::array<std::string_view, 3> kGroupedProducts{"aten::_grouped_mm", "aten::_scaled_grouped_mm",
                                                           "transformers::grouped_mm_fallback"};
constexpr std::array<std::string_view, 2> kGathers{"aten::index", "aten::index_select"};
constexpr std::array<std::string_view, 5> kCopies{"aten::to", "aten::_to_copy", "aten::type_as",
                                                  "aten::contiguous", "aten::clone"};

}  // namespace

class Experts::Finder {
 public:
  explicit Finder(const Graph& graph) : graph_(graph), call_(graph) {}

  void run(Experts& found) {
    std::vector<Chooses> chooses_of;
    std::vector<Takes> takes_of;
    bool any = false;
    for (const Target& target : graph_.targets) {
      const std::string_view name = graph_.text(target.name);
      chooses_of.push_back(chooses(name));
      takes_of.push_back(takes(name));
      any = any || chooses_of.back() != Chooses::kNothing || takes_of.back() == Takes::kGrouped;
    }
    if (!any) return;
    note_parameters();
    note_reads();
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const TargetId target = graph_.ops[op].target;
      if (chooses_of[target] != Chooses::kNothing) choose(op, chooses_of[target]);
      if (layers_.empty() && takes_of[target] != Takes::kGrouped) continue;
      use(op, takes_of[target]);
    }
    finish(found);
  }

 private:
  // How surely an op is a choice: where a router has several, the best tells how many it makes.
  enum class Chooses : std::uint8_t { kNothing, kByMax, kByArgmax, kByTopk };
  static Chooses chooses(std::string_view name) {
    if (name == "aten::topk") return Chooses::kByTopk;
    if (name == "aten::argmax") return Chooses::kByArgmax;
    return name == "aten::max" ? Chooses::kByMax : Chooses::kNothing;
  }

  enum class Takes : std::uint8_t { kOther, kGrouped, kGather, kProduct };
  static Takes takes(std::string_view name) {
    if (is_one_of(name, kGroupedProducts)) return Takes::kGrouped;
    if (is_one_of(name, kGathers)) return Takes::kGather;
    const OpRule* rule = find_rule(name);
    return rule != nullptr && rule->category == Category::kMatmul ? Takes::kProduct : Takes::kOther;
  }

  // Modules of one type beside each other: their parent and the type.
  using Kin = std::pair<ModuleId, StringId>;
  Kin kin_of(ModuleId module) const { return {graph_.modules[module].parent, graph_.modules[module].type}; }

  // One run of a layer's router.
  struct Run {
    ScopeId scope = 0;
    Chooses by{};
    Count chosen{}, tokens{};
    std::set<std::uint64_t> looped{};  // experts that a loop multiplied by
  };
  struct Layer {
    ModuleId module = 0, router = 0;
    Count experts{};
    std::vector<Run> runs{};
    std::vector<OpId> choices{};
    std::set<Id> storages{};  // of parameters that hold experts
    std::set<Kin> kin{};      // modules that are an expert each
    bool is_dense = false;

    Choice choice(const Run& run) const { return {experts, run.chosen, run.tokens}; }
  };
  // A parameter, by its storage.
  struct Owner {
    ValueId value = kNone;
    ModuleId module = 0;
  };
  struct Looped {
    std::size_t use, layer, run;
  };

  void note_parameters() {
    for (ModuleId id = 1; id < graph_.modules.size(); ++id) ++alike_[kin_of(id)];
    for (const Owned& owned : graph_.owned) {
      const Value& value = graph_.values[owned.value];
      if (value.kind == ValueKind::kParameter && value.storage != kNone)
        owners_.try_emplace(value.storage, Owner{owned.value, owned.module});
    }
  }

  void note_reads() {
    is_read_.resize(graph_.values.size());
    for (const Op& op : graph_.ops) each_read(graph_, op, [&](ValueId id) { is_read_[id] = true; });
    for (const ValueId id : graph_.outputs)
      if (id != kNone) is_read_[id] = true;
  }

  // --- choices

  void choose(OpId op, Chooses by) {
    call_.reset(graph_.ops[op]);
    const TensorView* from = call_.tensor("self");
    if (from == nullptr || from->rank() == 0) return;
    if (by != Chooses::kByTopk && !call_.has("dim")) return;
    // Who wants the largest values alone, as a softmax does, chooses nothing.
    if (call_.outputs.empty() || !is_read_[call_.outputs.back().value]) return;
    const std::int64_t experts = from->dim(call_.integer("dim").value_or(-1));
    const std::int64_t chosen = by == Chooses::kByTopk ? call_.integer("k").value_or(0) : 1;
    if (experts < 2 || chosen < 1) return;
    const ScopeId scope = graph_.ops[op].scope;
    Layer& layer = layer_of(graph_.scopes[scope].module, Count{experts});
    layer.choices.push_back(op);
    const Run run{scope, by, Count{chosen}, from->numel / Count{experts}};
    Run* last = layer.runs.empty() ? nullptr : &layer.runs.back();
    // Of one call of a router: two argmaxes are two choices, where the first was put out of reach.
    if (last == nullptr || last->scope != scope || !last->looped.empty() || last->tokens != run.tokens)
      layer.runs.push_back(run);
    else if (by == last->by && by != Chooses::kByTopk)
      last->chosen += 1;
    else if (by >= last->by)
      *last = run;
  }

  Layer& layer_of(ModuleId router, Count experts) {
    const auto found = std::ranges::find_if(layers_, [&](const Layer& layer) {
      return layer.router == router && layer.experts == experts && !layer.runs.empty();
    });
    if (found != layers_.end()) return *found;
    const ModuleId around = graph_.modules[router].parent;
    return layers_.emplace_back(
        Layer{.module = around == kNone ? router : around, .router = router, .experts = experts});
  }

  bool is_within(ModuleId module, ModuleId around) const {
    while (module != around && module != kNone) module = graph_.modules[module].parent;
    return module == around;
  }

  // The last layer that chooses among so many, whose module has the parameter.
  std::size_t layer_with(ModuleId owner, Count experts) const {
    for (std::size_t i = layers_.size(); i-- > 0;)
      if (layers_[i].experts == experts && is_within(owner, layers_[i].module)) return i;
    return layers_.size();
  }

  // --- what is read

  const Owner* owner_of(const Value& value) const {
    const auto alias = aliases_.find(value.storage);
    const auto found = owners_.find(alias != aliases_.end() ? alias->second : value.storage);
    return found == owners_.end() ? nullptr : &found->second;
  }

  void use(OpId op, Takes takes) {
    bool reads_parameters = false;
    each_read(graph_, graph_.ops[op], [&](ValueId id) {
      reads_parameters = reads_parameters || owner_of(graph_.values[id]) != nullptr;
    });
    if (!reads_parameters && takes != Takes::kGrouped) return;
    call_.reset(graph_.ops[op]);
    if (is_one_of(call_.name(), kCopies)) return note_copy();
    switch (takes) {
      case Takes::kGrouped:
        return use_grouped(op);
      case Takes::kGather:
        return use_gathered(op);
      case Takes::kProduct:
      case Takes::kOther:
        return use_parts(op, takes == Takes::kProduct);
    }
  }

  // Another dtype's copy of all experts is experts too; of one, what a loop has.
  void note_copy() {
    if (call_.inputs.empty() || call_.outputs.empty()) return;
    const TensorView &from = call_.inputs[0], &to = call_.outputs[0];
    if (from.numel != to.numel || from.storage == to.storage || to.storage == kNone) return;
    const Owner* owner = owner_of(graph_.values[from.value]);
    if (owner != nullptr && numel(graph_.shape(graph_.values[owner->value])) == from.numel)
      aliases_.emplace(to.storage, graph_.values[owner->value].storage);
  }

  // Rows sorted by expert, and a matrix for each: of the two operands the one with three dimensions.
  void use_grouped(OpId op) {
    const bool is_torchs = call_.tensor("self") != nullptr;
    const TensorView* a = call_.tensor(is_torchs ? "self" : "input");
    const TensorView* b = call_.tensor(is_torchs ? "mat2" : "weight");
    if (a == nullptr || b == nullptr || a->rank() + b->rank() != 5) return;
    const TensorView &weights = a->rank() == 3 ? *a : *b, &rows = a->rank() == 3 ? *b : *a;
    const Count experts = weights.dim(0);
    const Count count = rows.dim(&rows == a ? 0 : -1);
    const Owner* owner = owner_of(graph_.values[weights.value]);
    std::size_t layer = known_layer(owner);
    if (layer == layers_.size()) layer = layer_with(owner != nullptr ? owner->module : 0, experts);
    if (layer == layers_.size()) {  // nothing tells how its rows were chosen
      const ModuleId module = owner != nullptr ? owner->module : graph_.scopes[graph_.ops[op].scope].module;
      layers_.push_back({.module = module, .router = module, .experts = experts});
    }
    if (owner != nullptr) layers_[layer].storages.insert(graph_.values[owner->value].storage);
    uses_.push_back({.op = op,
                     .choice = choice_of(layers_[layer], count),
                     .bytes = weights.distinct_bytes(),
                     .over = count ? experts : Count{},
                     .is_weight = weights.is_weight()});
  }

  // A copy of an expert for each row.
  void use_gathered(OpId op) {
    const TensorView* from = call_.tensor(call_.tensor("self") != nullptr ? "self" : "weight");
    if (from == nullptr || from->rank() < 2 || call_.outputs.empty()) return;
    const Owner* owner = owner_of(graph_.values[from->value]);
    if (owner == nullptr || graph_.values[owner->value].shape.size != from->rank()) return;
    const auto given = call_.outputs[0].shape;  // rows of it as they are
    if (given.size() < from->rank() ||
        !std::ranges::equal(given.last(from->rank() - 1), from->shape.subspan(1)))
      return;
    const Count experts = from->dim(0);
    const std::size_t layer = layer_with(owner->module, experts);
    if (layer == layers_.size() || !experts) return;
    const Count of_one = from->numel / experts, rows = of_one ? call_.outputs[0].numel / of_one : Count{};
    layers_[layer].storages.insert(graph_.values[owner->value].storage);
    uses_.push_back({.op = op,
                     .choice = choice_of(layers_[layer], rows),
                     .bytes = from->bytes_of_part(call_.outputs[0].numel),
                     .over = rows,
                     .is_weight = from->is_weight()});
  }

  // In a loop over experts, or all of them in one batched product.
  void use_parts(OpId op, bool is_product) {
    Count bytes{};
    std::size_t layer = layers_.size();
    std::uint64_t expert = 0;
    bool is_weight = true;
    for (const TensorView& in : call_.inputs) {
      const Owner* owner = owner_of(graph_.values[in.value]);
      if (owner == nullptr || in.repeated) continue;
      const auto part = part_of_expert(in, *owner);
      if (part.layer == layers_.size()) continue;
      if (part.is_whole) {
        if (!is_product) continue;
        layers_[part.layer].is_dense = true;
        layers_[part.layer].storages.insert(graph_.values[owner->value].storage);
        continue;
      }
      layer = part.layer, expert = part.expert, bytes += in.distinct_bytes();
      is_weight = in.is_weight();
    }
    if (layer == layers_.size() || layers_[layer].runs.empty()) return;
    const bool does_nothing = call_.outputs.empty() || !call_.outputs[0].numel;
    Run& run = layers_[layer].runs.back();
    if (is_product && !does_nothing) run.looped.insert(expert);
    looped_.push_back({uses_.size(), layer, layers_[layer].runs.size() - 1});
    uses_.push_back(
        {.op = op, .bytes = bytes, .over = does_nothing ? Count{} : Count{1}, .is_weight = is_weight});
  }

  struct Part {
    std::size_t layer;
    std::uint64_t expert = 0;
    bool is_whole = false;
  };

  Part part_of_expert(const TensorView& in, const Owner& owner) {
    const Value& parameter = graph_.values[owner.value];
    const auto shape = graph_.shape(parameter);
    const Count all = numel(shape);
    for (std::size_t i = layers_.size(); i-- > 0;) {
      Layer& layer = layers_[i];
      if (!is_within(owner.module, layer.module)) continue;
      if (in.rank() == 3 && in.numel == all && Count{in.dim(0)} == layer.experts)
        return {.layer = i, .is_whole = true};
      const bool has_parts =
          shape.size() >= 2 && Count{shape[0]} / layer.experts * layer.experts == Count{shape[0]};
      if (has_parts && in.numel && in.numel * layer.experts == all) {
        layer.storages.insert(parameter.storage);
        const Count begin = Count{graph_.values[in.value].offset} - Count{parameter.offset};
        return {.layer = i, .expert = (begin / in.numel).value()};
      }
      for (ModuleId module = owner.module; module != layer.module && module != 0;
           module = graph_.modules[module].parent) {
        const Kin kin = kin_of(module);
        if (Count{alike_.at(kin)} != layer.experts) continue;
        layer.kin.insert(kin);
        return {.layer = i, .expert = module};
      }
    }
    return {.layer = layers_.size()};
  }

  // Of a parameter that was met before: the backward pass comes after other layers' choices.
  std::size_t known_layer(const Owner* owner) const {
    if (owner == nullptr) return layers_.size();
    const Id storage = graph_.values[owner->value].storage;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      if (layers_[i].storages.contains(storage)) return i;
    return layers_.size();
  }

  // `rows` that were sent to experts. Where they are not those that were chosen, each was sent on its own.
  static Choice choice_of(const Layer& layer, Count rows) {
    if (layer.runs.empty()) return {layer.experts, 1, rows};
    const Run& run = layer.runs.back();
    if (run.tokens * run.chosen == rows) return layer.choice(run);
    return {layer.experts, run.chosen, rows / run.chosen};
  }

  // --- all of it

  void finish(Experts& found) {
    // The capture sends tokens round, so that they reach as many experts as they can. A loop that went over
    // others goes by something else than the choice, and stays as it is.
    for (const Looped& each : looped_) {
      const Layer& layer = layers_[each.layer];
      const Run& run = layer.runs[each.run];
      Use& use = uses_[each.use];
      const Count count = std::max(run.looped.size(), std::size_t{1});
      use.choice = layer.choice(run);
      if (count != use.choice.most()) use.choice = {count, count, 1};
      if (use.over) use.over = count;
    }
    found.uses_ = std::move(uses_);
    for (const Layer& layer : layers_)
      if (!layer.storages.empty() || !layer.kin.empty()) add_facts(found, layer);
    std::ranges::sort(found.choices_);
    if (!found.facts_.layers.empty()) add_active(found.facts_);
  }

  void add_facts(Experts& found, const Layer& layer) const {
    ExpertLayer& made = found.facts_.layers.emplace_back();
    made.module = layer.module;
    made.is_dense = layer.is_dense;
    made.choice.experts = layer.experts;
    if (!layer.runs.empty()) made.choice = layer.choice(layer.runs.front());
    for (const auto& [storage, owner] : owners_) {
      bool holds = layer.storages.contains(storage);
      for (ModuleId module = owner.module; !layer.kin.empty() && module != 0;
           module = graph_.modules[module].parent)
        holds = holds || layer.kin.contains(kin_of(module));
      if (!holds) continue;
      const Value& value = graph_.values[owner.value];
      made.parameters += numel(graph_.shape(value));
      made.bytes += bytes_of(graph_, value);
    }
    found.choices_.insert(found.choices_.end(), layer.choices.begin(), layer.choices.end());
    found.facts_.parameters += made.parameters;
    found.facts_.bytes += made.bytes;
  }

  void add_active(ExpertFacts& facts) const {
    Count all{}, idle{};
    std::set<ValueId> seen;
    for (const Owned& owned : graph_.owned) {
      const Value& value = graph_.values[owned.value];
      if (value.kind == ValueKind::kParameter && seen.insert(owned.value).second)
        all += numel(graph_.shape(value));
    }
    for (const ExpertLayer& layer : facts.layers) {
      if (!layer.choice.chosen) return;
      const Count chosen = std::min(layer.choice.chosen, layer.choice.experts);
      idle += layer.parameters / layer.choice.experts * (layer.choice.experts - chosen);
    }
    facts.active_parameters = all - idle;
    facts.active_without_embedding = all - idle - looked_up();
  }

  // Elements of parameters that the forward pass only looks rows up in.
  Count looked_up() const {
    std::set<Id> tables, others;
    const OpId end = graph_.phases.empty() ? static_cast<OpId>(graph_.ops.size()) : phase_end(graph_, 0);
    for (OpId op = 0; op < end; ++op) {
      const std::string_view name = graph_.op_name(graph_.ops[op]);
      const OpRule* rule = find_rule(name);
      if (rule != nullptr && (rule->category == Category::kView || rule->category == Category::kMetadata))
        continue;
      const bool looks_up = name == "aten::embedding" || name == "aten::embedding_bag";
      each_read(graph_, graph_.ops[op],
                [&](ValueId id) { (looks_up ? tables : others).insert(graph_.values[id].storage); });
    }
    Count count{};
    for (const Id storage : tables) {
      const auto owner = owners_.find(storage);
      if (owner != owners_.end() && !others.contains(storage))
        count += numel(graph_.shape(graph_.values[owner->second.value]));
    }
    return count;
  }

  const Graph& graph_;
  OpCall call_;
  std::map<Kin, std::size_t> alike_;
  std::vector<bool> is_read_;             // by value
  std::unordered_map<Id, Owner> owners_;  // by storage
  std::unordered_map<Id, Id> aliases_;    // storages of copies, and of what
  std::vector<Layer> layers_;
  std::vector<Use> uses_;
  std::vector<Looped> looped_;
};

Experts::Experts(const Graph& graph, const Routing& routing) : routing_(routing) { Finder(graph).run(*this); }

}  // namespace opscope
