// Modules and layers put into one tree, with hashes of what is below each item.
#include "analyse/diff/items.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <map>
#include <unordered_map>

#include "base/choices.h"
#include "base/hash.h"
#include "base/text.h"
#include "graph/signature.h"

namespace opscope {
namespace {

std::int64_t add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}
std::int64_t negative(std::int64_t a) {
  return a == std::numeric_limits<std::int64_t>::min() ? std::numeric_limits<std::int64_t>::max() : -a;
}

// "layer1.0.relu" of "layer1.0.relu#2", "block.conv" of "block#2.conv".
std::string without_calls(std::string_view name) {
  std::string text;
  for (const std::string_view part : split_by(name, '.'))
    text.append(part.substr(0, part.rfind('#'))).append(".");
  text.pop_back();
  return text;
}

std::string joined(std::span<const std::int64_t> sizes) { return fmt::format("{}", fmt::join(sizes, "x")); }

class OpFacts {
 public:
  OpFacts(const Graph& graph, const Op& op, std::string prefix, std::vector<LayerDetail>& out)
      : graph_(graph), op_(op), type_(op_type(graph.op_name(op))), prefix_(std::move(prefix)), out_(out) {}

  void run() {
    for (const Argument& argument : graph_.arguments_of(op_)) add(argument);
    if (const auto outputs = graph_.outputs_of(op_); !outputs.empty())
      add_tensor("output", graph_.values[outputs.front()]);
  }

 private:
  void put(DetailKind kind, std::string_view what, std::string value) {
    out_.push_back({kind, prefix_ + std::string(what), std::move(value)});
  }

  void add(const Argument& argument) {
    const std::string_view what = graph_.text(argument.name);
    const auto attribute = [&](std::string value) { put(DetailKind::kAttribute, what, std::move(value)); };
    switch (argument.kind) {
      case ArgumentKind::kTensor:
        return add_tensor(what, graph_.values[static_cast<ValueId>(argument.integer)]);
      case ArgumentKind::kTensorList:
        return add_list(what, argument);
      case ArgumentKind::kNone:
        return attribute("none");
      case ArgumentKind::kInt:
        return attribute(std::to_string(argument.integer));
      case ArgumentKind::kBool:
        return attribute(argument.integer != 0 ? "true" : "false");
      case ArgumentKind::kFloat:
        return attribute(fmt::format("{}", argument.real));
      case ArgumentKind::kString:
        return attribute(std::string(graph_.text(static_cast<StringId>(argument.integer))));
      case ArgumentKind::kDType:
        return put(DetailKind::kDType, what, std::string(name(static_cast<DType>(argument.integer))));
      case ArgumentKind::kIntList:
      case ArgumentKind::kBoolList:
        return put(is_shape_argument(what) ? DetailKind::kShape : DetailKind::kAttribute, what,
                   joined(graph_.ints_in(argument)));
      case ArgumentKind::kFloatList:
        return attribute(fmt::format("{}", fmt::join(graph_.reals_in(argument), ",")));
    }
  }
  // Sizes that code computes from the shapes of what it has.
  static bool is_shape_argument(std::string_view what) {
    return what == "size" || what == "shape" || what == "normalized_shape" || what == "split_sizes";
  }

  void add_list(std::string_view what, const Argument& argument) {
    std::string shapes;
    for (const ValueId id : graph_.values_in(argument))
      shapes += (shapes.empty() ? "" : ", ") +
                (id == kNone ? std::string("none") : format_shape(graph_.shape(graph_.values[id])));
    put(DetailKind::kShape, what, shapes);
  }

  void add_tensor(std::string_view what, const Value& value) {
    const auto shape = graph_.shape(value);
    put(DetailKind::kDType, std::string(what) + " dtype", std::string(name(value.dtype)));
    if (!is_lasting(value.kind)) return put(DetailKind::kShape, what, format_shape(shape));
    if (what == "weight" && type_ == "linear" && shape.size() == 2) return linear(shape);
    if (what == "weight" && type_.starts_with("conv") && type_.size() == 6 && shape.size() > 2)
      return convolution(shape);
    const bool chosen = what == "weight" && type_ == "embedding";
    put(chosen ? DetailKind::kSize : DetailKind::kWeight, what, format_shape(shape));
  }

  void linear(std::span<const std::int64_t> shape) {
    put(DetailKind::kWeight, "in_features", std::to_string(shape[1]));
    put(DetailKind::kSize, "out_features", std::to_string(shape[0]));
  }
  void convolution(std::span<const std::int64_t> shape) {
    std::int64_t groups = 1;
    for (const Argument& argument : graph_.arguments_of(op_))
      if (argument.kind == ArgumentKind::kInt && graph_.text(argument.name) == "groups")
        groups = argument.integer;
    const Count in = Count{shape[1]} * Count{groups};
    put(DetailKind::kWeight, "in_channels", in.saturated() ? "?" : std::to_string(in.value()));
    put(DetailKind::kSize, "out_channels", std::to_string(shape[0]));
    put(DetailKind::kSize, "kernel_size", joined(shape.subspan(2)));
  }

  const Graph& graph_;
  const Op& op_;
  std::string_view type_;
  std::string prefix_;
  std::vector<LayerDetail>& out_;
};

// By layer of the profile: the facts about its ops.
std::vector<std::vector<LayerDetail>> layer_details(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<std::vector<OpId>> ops(profile.layers().size());
  for (OpId op = 0; op < graph.ops.size(); ++op) ops[profile.layer_of()[op]].push_back(op);
  std::vector<std::vector<LayerDetail>> details(ops.size());
  for (std::size_t layer = 0; layer < ops.size(); ++layer) {
    std::map<std::string_view, int> seen;
    std::vector<std::string_view> types;
    for (const OpId id : ops[layer]) {
      const std::string_view type = op_type(graph.op_name(graph.ops[id]));
      types.push_back(type);
      std::string prefix;
      if (const int number = ++seen[type]; ops[layer].size() > 1)
        prefix = fmt::format("{}{} ", type, number > 1 ? "#" + std::to_string(number) : "");
      OpFacts(graph, graph.ops[id], prefix, details[layer]).run();
    }
    details[layer].insert(details[layer].begin(), {DetailKind::kOps, "ops", join_runs(types, ", ")});
  }
  return details;
}

class TreeBuilder {
 public:
  TreeBuilder(const Figures& figures, const Profile* profile) : figures_(figures) {
    if (profile) details_ = layer_details(*profile);
  }

  DiffTree run() {
    if (figures_.modules.empty()) add_item("", "", figures_.model, kNone);
    for (const FigureRow& row : figures_.modules) add_module(row);
    for (std::size_t i = 0; i < figures_.layers.size(); ++i) add_layer(i);
    roll_up();
    return std::move(tree_);
  }

 private:
  std::uint32_t add_item(std::string_view name, std::string_view path, std::string_view type,
                         std::uint32_t parent, bool is_module = true) {
    DiffItem item;
    item.name = name, item.path = path, item.type = type, item.is_module = is_module;
    calls_.push_back(0);
    return tree_.add(std::move(item), parent);
  }

  // What a module has beyond the modules below it. Less than nothing where two of them share a weight, which
  // counts once in the module that holds both.
  void add_module(const FigureRow& row) {
    const std::uint32_t parent = tree_.items.empty() ? kNone : find(parent_path(row.name));
    const std::uint32_t id = add_item(last_part(row.name), row.name, row.type, parent);
    const std::int64_t params = tree_[id].own.params = as_signed(row.parameters.total);
    if (parent != kNone) tree_[parent].own.params = add(tree_[parent].own.params, -params);
    by_path_.emplace(row.name, id);
  }

  std::uint32_t find(std::string_view path) const {
    for (;; path = parent_path(path)) {
      const auto found = by_path_.find(std::string(path));
      if (found != by_path_.end()) return found->second;
      if (path.empty()) return 0;
    }
  }

  // A call of a module that ran no other is the module's own; what a module ran between others is an item.
  void add_layer(std::size_t i) {
    const FigureRow& row = figures_.layers[i];
    const std::string path = without_calls(row.name);
    const auto module = by_path_.find(path);
    const bool is_call = module != by_path_.end() && !path.empty();
    const std::uint32_t id =
        is_call ? module->second : add_item(row.type, row.name, row.type, find(parent_path(path)), false);
    DiffItem& item = tree_.items[id];
    item.own += amounts_of(row.metrics, {});
    item.layers.push_back(static_cast<std::uint32_t>(i));
    item.confidence = std::max(item.confidence, row.metrics.confidence);
    add_details(item, i, ++calls_[id]);
  }

  void add_details(DiffItem& item, std::size_t layer, std::uint32_t call) {
    const std::string prefix = call > 1 ? "call " + std::to_string(call) + " " : "";
    if (details_.empty()) {
      if (const auto& shape = figures_.layers[layer].output_shape; !shape.empty())
        item.details.push_back({DetailKind::kShape, prefix + "output", shape});
      return;
    }
    for (LayerDetail& detail : details_[layer]) {
      detail.what = prefix + detail.what;
      item.details.push_back(std::move(detail));
    }
  }

  void roll_up() {
    for (std::size_t i = tree_.items.size(); i-- > 0;) {
      DiffItem& item = tree_.items[i];
      if (item.is_module && item.is_layer())
        item.details.push_back({DetailKind::kAttribute, "calls", std::to_string(calls_[i])});
      item.all += item.own;
      hash(item);
      if (item.parent != kNone) tree_.items[item.parent].all += item.all;
    }
  }

  void hash(DiffItem& item) const {
    Hasher exact, config, kind;
    for (Hasher* each : {&exact, &config, &kind}) each->add(item.type).add(item.is_module ? "m" : "o");
    for (const AmountField& field : count_fields())
      exact.add(static_cast<std::uint64_t>(item.own.*field.amount));
    config.add(static_cast<std::uint64_t>(item.own.params));
    for (const LayerDetail& detail : item.details) {
      exact.add(detail.what).add(detail.value);
      if (detail.kind < DetailKind::kDType) config.add(detail.what).add(detail.value);
    }
    for (const std::uint32_t c : item.children) {
      const DiffItem& child = tree_.items[c];
      for (Hasher* each : {&exact, &config, &kind}) each->add(child.name);
      exact.add(child.exact), config.add(child.config), kind.add(child.kind);
    }
    item.exact = hash64(exact.hex()), item.config = hash64(config.hex()), item.kind = hash64(kind.hex());
  }

  const Figures& figures_;
  std::vector<std::vector<LayerDetail>> details_;
  std::unordered_map<std::string, std::uint32_t> by_path_;
  std::vector<std::uint32_t> calls_;  // by item
  DiffTree tree_;
};

}  // namespace

std::string_view name(DetailKind kind) {
  return choices<DetailKind, DetailKind::kCost>("type", "ops", "attribute", "size", "weight", "dtype",
                                                "shape", "cost")[kind];
}

Amounts& Amounts::operator+=(const Amounts& other) {
  for (const auto& [key, amount] : kAmountFields) this->*amount = add(this->*amount, other.*amount);
  return *this;
}

Amounts& Amounts::operator-=(const Amounts& other) {
  for (const auto& [key, amount] : kAmountFields) this->*amount = add(this->*amount, negative(other.*amount));
  return *this;
}

Amounts amounts_of(const Metrics& metrics, const Parameters& parameters) {
  return {as_signed(parameters.total),       as_signed(metrics.work.macs),     as_signed(metrics.flops),
          as_signed(metrics.memory_bytes()), as_signed(Count{metrics.ops}),    as_signed(metrics.time),
          as_signed(metrics.roofline_time),  as_signed(metrics.predicted_time)};
}

DiffTree make_diff_tree(const Figures& figures, const Profile* profile) {
  return TreeBuilder(figures, profile).run();
}

}  // namespace opscope
