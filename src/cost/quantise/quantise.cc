// Finds the weights that products take, chooses those that are to be quantised, and gives them and their
// views a stored form.
#include "cost/quantise/quantise.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, after = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*')
      star = p++, after = t;
    else if (p < pattern.size() && (pattern[p] == text[t] || pattern[p] == '?'))
      ++p, ++t;
    else if (star != std::string_view::npos)
      p = star + 1, t = ++after;
    else
      return false;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool is_quantisable(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBFloat16 ||
         dtype == DType::kFloat64;
}

// The side of a product's weight that is summed over; nullopt for an operand that is none.
std::optional<Count> input_features(const OpCall& call, const TensorView& weight) {
  const auto is = [&](std::string_view argument) { return call.tensor(argument) == &weight; };
  const bool is_linear = call.name() == "aten::linear" || call.name() == "aten::mkldnn_linear";
  if (is("weight")) return Count{weight.dim(is_linear ? -1 : -2)};
  if (is_linear) return std::nullopt;
  if (is("mat2") || is("other") || is("batch2")) return Count{weight.dim(-2)};
  if (is("mat1") || is("batch1")) return Count{weight.dim(-1)};
  const bool has_bias = call.has("mat1") || call.has("batch1");  // then self is it
  if (is("self") && !has_bias) return Count{weight.dim(-1)};
  return std::nullopt;
}

// What the modules of experts are called, where no grouped product tells.
constexpr std::array<std::string_view, 2> kExperts{"expert", "moe"};

// A parameter that products take.
struct Weight {
  ValueId value = kNone;
  WeightSize size{};
  std::vector<std::string> names{};  // "model.layers.0.mlp.experts.down_proj"; of a tied one, several
  bool is_tied = false, is_head = false, is_linear_layer = false;
  bool is_chosen = false;
};

// By one of our schemes, and not a weight that was quantised when it was captured.
bool is_edited(const Graph& graph, const Value& value) {
  const StoredForm* form = graph.stored_form(value);
  if (form == nullptr) return false;
  const std::string_view scheme = graph.text(form->scheme);
  return std::ranges::any_of(storage_schemes(), [name = scheme.substr(0, scheme.find(':'))](const auto& row) {
    return row.name == name;
  });
}

class Edit {
 public:
  Edit(Graph& graph, const Quantisation& asked) : graph_(graph), asked_(asked) {}

  void run() {
    find_owners();
    find_weights();
    mark_embeddings();
    choose();
    for (Weight& weight : weights_)
      if (weight.is_chosen) store(weight);
    note();
  }

 private:
  bool is_published() const { return !asked_.published_by.empty(); }

  void find_owners() {
    owner_.assign(graph_.values.size(), kNone);
    for (const Owned& owned : graph_.owned) {
      const Value& value = graph_.values[owned.value];
      if (value.kind != ValueKind::kParameter || !is_quantisable(value.dtype)) continue;
      if (value.sparse != kNone || value.stored != kNone) continue;
      owned_of_[owned.value].push_back(&owned);
      if (owner_[owned.value] != kNone) continue;  // a second name
      owner_[owned.value] = owned.value;
      if (value.storage != kNone) by_storage_[value.storage].push_back(owned.value);
    }
    for (ValueId id = 0; id < graph_.values.size(); ++id) {
      const Value& value = graph_.values[id];
      if (owner_[id] != kNone || value.storage == kNone || !is_quantisable(value.dtype)) continue;
      const auto found = by_storage_.find(value.storage);
      if (found == by_storage_.end()) continue;
      // Of several parameters in one storage, the last that begins before it.
      ValueId best = kNone;
      for (const ValueId owner : found->second)
        if (graph_.values[owner].offset <= value.offset &&
            (best == kNone || graph_.values[owner].offset >= graph_.values[best].offset))
          best = owner;
      if (best != kNone && numel(graph_.shape(value)) <= numel(graph_.shape(graph_.values[best])))
        owner_[id] = best;
    }
  }

  void find_weights() {
    OpCall call(graph_);
    std::vector<char> is_cast(graph_.values.size());  // of a parameter
    for (const Op& op : graph_.ops) {
      const OpRule* rule = find_rule(graph_.op_name(op));
      if (const auto name = graph_.op_name(op); name == "aten::to" || name == "aten::_to_copy") {
        call.reset(op);
        if (!call.inputs.empty() && !call.outputs.empty() && owner_[call.inputs[0].value] != kNone)
          is_cast[call.outputs[0].value] = 1;
        continue;
      }
      if (rule == nullptr || rule->category != Category::kMatmul || rule->fusion != Fusion::kAnchor) continue;
      call.reset(op);
      for (const TensorView& in : call.inputs) {
        takes_casts_ |= is_cast[in.value] != 0 && facts_of(*rule).is(Fact::kLinearLayer);
        if (in.repeated || in.rank() < 2 || in.rank() > 3 || owner_[in.value] == kNone) continue;
        if (const auto inner = input_features(call, in); inner && *inner)
          add(owner_[in.value], *inner, facts_of(*rule).is(Fact::kLinearLayer),
              call.name().find("grouped_mm") != std::string_view::npos);
      }
    }
  }

  void add(ValueId owner, Count in, bool is_linear_op, bool is_grouped) {
    const Value& value = graph_.values[owner];
    const auto shape = graph_.shape(value);
    if (shape.size() < 2 || shape.size() > 3 || index_.contains(owner)) return;
    const Count matrices = shape.size() == 3 ? Count{shape[0]} : Count{1};
    const Count all = numel(shape), out = all / (matrices * in);
    if (!out || matrices * in * out != all) return;  // a part of it, as one matrix: who knows of what
    const Owned& owned = *owned_of_.at(owner).front();
    const Module& module = graph_.modules[owned.module];
    const std::string_view type = graph_.text(module.type), path = graph_.path(module);
    // Libraries quantise the linear layers and stacks of experts; a product with a parameter of another
    // module (a router, attention's in_proj) they do not see. Files do not always tell classes.
    const bool is_untold = type.empty() || type == "Module" || type == "Gemm" || type == "MatMul";
    const bool is_layer = type.find("Linear") != std::string_view::npos || type == "Conv1D" || is_untold;
    const bool is_experts = shape.size() == 3 && matrices > Count{1} &&
                            (is_grouped || std::ranges::any_of(kExperts, [&](std::string_view word) {
                               return contains_text(type, word) || contains_text(path, word);
                             }));
    index_.emplace(owner, weights_.size());
    weights_.push_back(
        {.value = owner,
         .size = {.matrices = matrices, .in = in, .out = out},
         .names = names_of(owner),
         .is_linear_layer = is_experts || (shape.size() == 2 && is_layer && (is_linear_op || !is_untold))});
  }

  // What is read by rows is no linear's alone; what has as many rows gives the vocabulary's scores.
  void mark_embeddings() {
    std::vector<Count> vocabularies;
    OpCall call(graph_);
    for (const Op& op : graph_.ops) {
      const OpRule* rule = find_rule(graph_.op_name(op));
      if (rule == nullptr || rule->category != Category::kEmbedding) continue;
      call.reset(op);
      for (const TensorView& in : call.inputs) {
        if (in.rank() != 2 || owner_[in.value] == kNone) continue;
        vocabularies.emplace_back(in.dim(0));
        if (const auto found = index_.find(owner_[in.value]); found != index_.end())
          weights_[found->second].is_tied = true;
      }
    }
    for (Weight& weight : weights_)
      weight.is_head = weight.size.matrices == Count{1} &&
                       std::ranges::find(vocabularies, weight.size.out) != vocabularies.end();
  }

  std::vector<std::string> names_of(ValueId owner) const {
    std::vector<std::string> names;
    for (const Owned* owned : owned_of_.at(owner)) {
      std::string& name = names.emplace_back(graph_.path(graph_.modules[owned->module]));
      name.append(name.empty() ? "" : ".").append(graph_.text(owned->name));
    }
    return names;
  }

  // By the parameter's path, or that of a module around it.
  static bool is_named(const std::vector<std::string>& patterns, const Weight& weight) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
      return std::ranges::any_of(weight.names,
                                 [&](const std::string& name) { return names_module(pattern, name); });
    });
  }

  void choose() {
    const bool trains = !graph_.phases.empty();
    bool is_any_trained = false, is_any_tied = false;
    for (Weight& weight : weights_) {
      const bool is_asked =
          !asked_.only.empty() ? is_named(asked_.only, weight) : weight.is_linear_layer && !weight.is_head;
      if (!is_asked || is_named(asked_.without, weight)) continue;
      const bool is_trained = trains && graph_.values[weight.value].trainable;
      is_any_trained |= is_trained, is_any_tied |= weight.is_tied;
      weight.is_chosen = !weight.is_tied && !is_trained;
      if (weight.is_chosen && !is_published() && !divides(asked_.choice, weight.size)) fail_group(weight);
    }
    for (const std::string& pattern : asked_.only)
      if (!is_published() &&
          std::ranges::none_of(weights_, [&](const Weight& weight) { return is_named({pattern}, weight); }))
        fail_pattern(pattern);
    if (is_published() || std::ranges::any_of(weights_, &Weight::is_chosen)) return;
    if (is_any_trained)
      throw Error("quantised weights are not trained", asked_.where,
                  "freeze them (requires_grad_(False)) and train adapters, or leave out training");
    if (is_any_tied)
      throw Error("its linears share their weights with an embedding, which is read row by row",
                  asked_.only.empty() ? asked_.where : asked_.only_where, "such a weight is not quantised");
    if (takes_casts_)
      throw Error("its linears multiply by casts of their weights, as under autocast", asked_.where,
                  "have the whole model in that dtype: --dtype bfloat16, dtype='bfloat16'");
    throw Error("there is no linear to quantise", asked_.where,
                "linears are products of float weights with 2 or 3 dimensions");
  }

  [[noreturn]] void fail_group(const Weight& weight) const {
    const std::int64_t group = asked_.choice.group;
    std::string other;
    for (std::int64_t smaller = group / 2; smaller >= 16 && other.empty(); smaller /= 2)
      if (weight.size.in.value() % static_cast<std::uint64_t>(smaller) == 0)
        other = fmt::format("{} {}:group={}, or ", asked_.where, asked_.choice.scheme->name, smaller);
    if (asked_.choice.scheme->has_fixed_group) other.clear();
    throw Error(fmt::format("groups of {} do not divide the {} input features of {}", group,
                            weight.size.in.value(), shown(weight)),
                asked_.where, fmt::format("{}name others with {}", other, asked_.only_where));
  }

  [[noreturn]] void fail_pattern(const std::string& pattern) const {
    std::vector<std::string> names;
    for (const Weight& weight : weights_)
      if (const std::string name = shown(weight); std::ranges::find(names, name) == names.end())
        names.push_back(name);
    const std::size_t count = names.size();
    std::string otherwise = count == 0
                                ? "the model has no linears"
                                : fmt::format("its linears are {}",
                                              join(std::span(names).first(std::min<std::size_t>(count, 4))));
    if (count > 4) otherwise += fmt::format(" and {} more", count - 4);
    throw Error("no linear is called '" + pattern + "'", asked_.only_where,
                did_you_mean(pattern, names, otherwise));
  }

  // As a person names it: the module of a linear, the parameter of experts.
  static std::string shown(const Weight& weight) {
    const std::string& name = weight.names.back();  // of a tied one not the embedding, which comes first
    return name.ends_with(".weight") ? name.substr(0, name.size() - 7) : name;
  }

  void store(const Weight& weight) {
    const Value& value = graph_.values[weight.value];
    const Count full = bytes_of(graph_, value);
    const Count bytes = stored_bytes(asked_.choice, weight.size);
    full_ += full, stored_ += bytes, ++chosen_, compute_dtype_ = value.dtype;
    const Count all = numel(graph_.shape(value));
    if (value.storage != kNone) {
      auto& held = graph_.storages[value.storage].bytes;
      held = (Count{held} - full + bytes).value();
    }
    const StringId scheme = graph_.intern(asked_.choice.text());
    const auto give_form = [&](ValueId id, Count own) {
      graph_.values[id].stored = static_cast<Id>(graph_.stored_forms.size());
      graph_.stored_forms.push_back({.scheme = scheme, .bytes = own.value(), .flops = asked_.choice.flops()});
    };
    give_form(weight.value, bytes);
    if (views_.empty()) find_views();
    const auto views = views_.find(weight.value);
    if (views == views_.end()) return;
    for (const ValueId id : views->second)
      give_form(id, share_of(bytes, numel(graph_.shape(graph_.values[id])), all));
  }

  void find_views() {
    for (ValueId id = 0; id < owner_.size(); ++id)
      if (owner_[id] != kNone && owner_[id] != id) views_[owner_[id]].push_back(id);
  }

  void note() {
    std::string text = is_published()
                           ? fmt::format("priced as published (quantised by {}): ", asked_.published_by)
                           : "priced as if quantised: ";
    if (chosen_ == 0) {
      graph_.diagnostics.push_back({std::string(kStorageNote), "", "", text + "no linear of this model is"});
      return;
    }
    text += fmt::format("{} {} stored as {} ({}), {} in place of {}.", chosen_,
                        chosen_ == 1 ? "weight is" : "weights are", asked_.choice.text(),
                        asked_.choice.words(), format_bytes(stored_), format_bytes(full_));
    text += fmt::format(
        " Assumed: each product dequantises what it reads ({} an element), keeps no copy of it and computes "
        "in {}.",
        asked_.choice.flops() == 1 ? "1 flop" : fmt::format("{} flops", asked_.choice.flops()),
        opscope::name(compute_dtype_));
    text += left_out();
    graph_.diagnostics.push_back({std::string(kStorageNote), "", "", std::move(text)});
  }

  std::string left_out() const {
    std::vector<std::string> named;
    std::size_t others = 0;
    for (const Weight& weight : weights_) {
      if (weight.is_chosen) continue;
      if (weight.is_tied)
        named.push_back(shown(weight) + " (tied to an embedding)");
      else if (weight.is_head && (asked_.only.empty() || is_published()))
        named.push_back(shown(weight) + " (the head onto the vocabulary)");
      else
        ++others;
    }
    if (named.size() > 3) others += named.size() - 3, named.resize(3);
    if (others != 0)
      named.push_back(fmt::format("{}{} {}", others, named.empty() ? "" : " other",
                                  others == 1 ? "weight of a product" : "weights of products"));
    return named.empty() ? "" : fmt::format(" As before: {}", join(named));
  }

  Graph& graph_;
  const Quantisation& asked_;
  std::vector<ValueId> owner_;  // by value: the parameter that it is, or is a view of
  std::map<ValueId, std::vector<const Owned*>> owned_of_;  // its names
  std::map<Id, std::vector<ValueId>> by_storage_;
  std::map<ValueId, std::vector<ValueId>> views_;
  std::map<ValueId, std::size_t> index_;  // in weights_
  std::vector<Weight> weights_;
  Count full_{}, stored_{};
  std::size_t chosen_ = 0;
  bool takes_casts_ = false;  // products do, of weights
  DType compute_dtype_ = DType::kUndefined;
};

}  // namespace

bool names_module(std::string_view pattern, std::string_view path) {
  const std::string text(pattern);
  return glob_matches(pattern, path) || glob_matches(text + ".*", path) || glob_matches("*." + text, path) ||
         glob_matches("*." + text + ".*", path);
}

void quantise(Graph& graph, const Quantisation& asked) {
  undo_quantise(graph);
  Edit(graph, asked).run();
}

bool is_quantised(const Graph& graph) {
  return std::ranges::any_of(graph.values, [&](const Value& value) { return is_edited(graph, value); });
}

void undo_quantise(Graph& graph) {
  std::erase_if(graph.diagnostics, [](const Diagnostic& found) { return found.kind == kStorageNote; });
  std::vector<char> is_done(graph.values.size());
  for (const Owned& owned : graph.owned) {
    const Value& value = graph.values[owned.value];
    if (!is_edited(graph, value) || std::exchange(is_done[owned.value], 1) != 0 || value.storage == kNone)
      continue;
    const Count full = bytes_of(value.dtype, numel(graph.shape(value)));
    auto& held = graph.storages[value.storage].bytes;
    held = (Count{held} + full - bytes_of(graph, value)).value();
  }
  for (Value& value : graph.values)
    if (is_edited(graph, value)) value.stored = kNone;
}

}  // namespace opscope
