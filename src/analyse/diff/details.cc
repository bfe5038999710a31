// What there is to know of a layer beside its costs: arguments, sizes of weights, dtypes and shapes.
#include <fmt/format.h>

#include <map>

#include "analyse/diff/items.h"
#include "analyse/profile/rollup.h"
#include "base/text.h"
#include "graph/signature.h"

namespace opscope {
namespace {

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
    switch (argument.kind) {
      case ArgumentKind::kTensor:
        return add_tensor(what, graph_.values[static_cast<ValueId>(argument.integer)]);
      case ArgumentKind::kTensorList:
        return add_list(what, argument);
      case ArgumentKind::kNone:
        return put(DetailKind::kAttribute, what, "none");
      case ArgumentKind::kInt:
        return put(DetailKind::kAttribute, what, std::to_string(argument.integer));
      case ArgumentKind::kBool:
        return put(DetailKind::kAttribute, what, argument.integer != 0 ? "true" : "false");
      case ArgumentKind::kFloat:
        return put(DetailKind::kAttribute, what, fmt::format("{}", argument.real));
      case ArgumentKind::kString:
        return put(DetailKind::kAttribute, what,
                   std::string(graph_.text(static_cast<StringId>(argument.integer))));
      case ArgumentKind::kDType:
        return put(DetailKind::kDType, what, std::string(name(static_cast<DType>(argument.integer))));
      case ArgumentKind::kIntList:
      case ArgumentKind::kBoolList:
        return put(is_shape_argument(what) ? DetailKind::kShape : DetailKind::kAttribute, what,
                   joined(graph_.ints_in(argument)));
      case ArgumentKind::kFloatList:
        return put(DetailKind::kAttribute, what,
                   fmt::format("{}", fmt::join(graph_.reals_in(argument), ",")));
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
      if (graph_.text(argument.name) == "groups") groups = argument.integer;
    put(DetailKind::kWeight, "in_channels",
        (Count{shape[1]} * Count{groups}).saturated()
            ? "?"
            : std::to_string((Count{shape[1]} * Count{groups}).value()));
    put(DetailKind::kSize, "out_channels", std::to_string(shape[0]));
    put(DetailKind::kSize, "kernel_size", joined(shape.subspan(2)));
  }

  const Graph& graph_;
  const Op& op_;
  std::string_view type_;
  std::string prefix_;
  std::vector<LayerDetail>& out_;
};

// "conv2d, batch_norm, relu x3"
std::string ops_text(const std::vector<std::string_view>& types) {
  std::string text;
  for (std::size_t i = 0; i < types.size();) {
    std::size_t end = i;
    while (end < types.size() && types[end] == types[i]) ++end;
    text += (text.empty() ? "" : ", ") + std::string(types[i]);
    if (end - i > 1) text += " x" + std::to_string(end - i);
    i = end;
  }
  return text;
}

}  // namespace

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
    details[layer].insert(details[layer].begin(), {DetailKind::kOps, "ops", ops_text(types)});
  }
  return details;
}

}  // namespace opscope
