#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <ranges>

#include "torch/engine/execute.h"

namespace opscope::engine {

namespace {

// --- the values that a condition was computed from

constexpr int kChainLength = 12;        // ops from the data to the condition
constexpr std::size_t kLookBack = 512;  // ops before the condition

// What is known of an unknown number.
struct Range {
  double low;
  double high;
  double likely;  // when all that can be kept is kept; for a condition, what it is assumed to be
};

Range constant(double number) { return {number, number, number}; }
Range truth(bool likely) { return {0, 1, likely ? 1.0 : 0.0}; }

// Reads back through the recorded ops what a number or condition is made of.
class Origin {
 public:
  Origin(const Graph& graph, ValueId value, int depth = 0) : graph_(graph), value_(value), depth_(depth) {
    for (const Op& op : graph.ops | std::views::reverse | std::views::take(kLookBack)) {
      if (std::ranges::count(graph.outputs_of(op), value) == 0) continue;
      op_ = &op;
      break;
    }
  }

  std::optional<Range> number() const {
    if (!op_ || depth_ > kChainLength) return std::nullopt;
    const auto op = base_name();
    if (is_same()) {
      const auto known = first().number();
      return known && is_bool() ? truth(known->likely != 0) : known;
    }
    if (op == "any") return truth(!first().is_defect());
    if (op == "all") return truth(first().is_sound());
    if (op == "count_nonzero" || (op == "sum" && first().is_condition())) return reduced();
    if (op == "logical_not" || op == "bitwise_not") {
      const auto known = is_bool() ? first().number() : std::nullopt;
      return known ? std::optional(truth(known->likely == 0)) : std::nullopt;
    }
    return arguments().size() >= 2 ? of_two(op) : std::nullopt;
  }

 private:
  // Views, casts and extremes of one tensor of counts: what is known of its elements is known of the
  // result's.
  bool is_same() const {
    const auto op = base_name();
    if (!is(graph_.op_name(*op_), Fact::kKeepsElements)) return false;
    if (op != "max" && op != "min") return true;
    const bool of_one = arguments().size() < 2 || arguments()[1].kind != ArgumentKind::kTensor;
    return of_one && graph_.outputs_of(*op_)[0] == value_;  // the second output is an index
  }
  std::string_view base_name() const {
    auto name = short_op_name(graph_.op_name(*op_));
    if (name == "__and__") return "bitwise_and";
    if (name == "__or__") return "bitwise_or";
    if (name.size() > 2 && name.ends_with('_')) name.remove_suffix(1);
    return name;
  }
  std::span<const Argument> arguments() const { return graph_.arguments_of(*op_); }
  const Value& value() const { return graph_.values[value_]; }
  bool is_bool() const { return value().dtype == DType::kBool; }

  Origin of(const Argument& argument) const {
    const auto id = argument.kind == ArgumentKind::kTensor ? static_cast<ValueId>(argument.integer) : kNone;
    return Origin(graph_, id, depth_ + 1);
  }
  Origin first() const { return of(arguments()[0]); }

  // A mask: bool, or made into a number from one.
  bool is_condition() const {
    if (value_ == kNone) return false;
    if (is_bool()) return true;
    return op_ && depth_ <= kChainLength && is_same() && first().is_condition();
  }

  // NaN, infinity: what checks look for and hope not to find.
  bool is_defect() const {
    if (!op_ || depth_ > kChainLength) return false;
    const auto op = base_name();
    if (op == "isnan" || op == "isinf") return true;
    if (op == "ne")
      return arguments()[1].kind == ArgumentKind::kTensor && arguments()[0].integer == arguments()[1].integer;
    if (op == "bitwise_not" || op == "logical_not") return first().is_sound();
    if (op == "bitwise_or" || op == "logical_or")
      return first().is_defect() && of(arguments()[1]).is_defect();
    return is_same() && first().is_defect();
  }
  bool is_sound() const {
    if (!op_ || depth_ > kChainLength) return false;
    const auto op = base_name();
    if (op == "bitwise_not" || op == "logical_not") return first().is_defect();
    return op == "isfinite" || (is_same() && first().is_sound());
  }

  // How many elements each element of the result stands for.
  std::optional<Range> reduced() const {
    const auto& from = arguments()[0];
    const auto all = numel(graph_.shape(graph_.values[static_cast<ValueId>(from.integer)]));
    const auto left = numel(graph_.shape(value()));
    if (!left || all.saturated()) return std::nullopt;
    const auto most = static_cast<double>(all.value()) / static_cast<double>(left.value());
    return Range{0, most, most};
  }

  std::optional<Range> operand(const Argument& argument) const {
    if (argument.kind == ArgumentKind::kInt || argument.kind == ArgumentKind::kBool)
      return constant(static_cast<double>(argument.integer));
    if (argument.kind == ArgumentKind::kFloat) return constant(argument.real);
    return of(argument).number();
  }

  std::optional<Range> of_two(std::string_view op) const {
    constexpr std::array kKnown = std::to_array<std::string_view>(
        {"add", "bitwise_and", "bitwise_or", "eq", "ge", "gt", "le", "logical_and", "logical_or", "lt", "max",
         "maximum", "min", "minimum", "mul", "ne", "sub"});
    if (std::ranges::find(kKnown, op) == kKnown.end()) return std::nullopt;
    const auto a = operand(arguments()[0]), b = operand(arguments()[1]);
    if (!a || !b) return std::nullopt;
    return is_bool() ? compared(op, a->likely, b->likely) : computed(op, *a, *b);
  }

  static std::optional<Range> compared(std::string_view op, double a, double b) {
    if (op == "eq") return truth(a == b);
    if (op == "ne") return truth(a != b);
    if (op == "ge") return truth(a >= b);
    if (op == "gt") return truth(a > b);
    if (op == "le") return truth(a <= b);
    if (op == "lt") return truth(a < b);
    if (op == "sub") return std::nullopt;
    const bool both = op.ends_with("_and") || op == "mul" || op.starts_with("min");
    return truth(both ? a != 0 && b != 0 : a != 0 || b != 0);
  }

  std::optional<Range> computed(std::string_view op, const Range& a, const Range& b) const {
    if (op.starts_with("max"))
      return Range{std::max(a.low, b.low), std::max(a.high, b.high), std::max(a.likely, b.likely)};
    if (op.starts_with("min"))
      return Range{std::min(a.low, b.low), std::min(a.high, b.high), std::min(a.likely, b.likely)};
    if (op == "mul") {
      const auto [low, high] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
      return Range{low, high, a.likely * b.likely};
    }
    if ((op != "add" && op != "sub") || !is_plain_sum()) return std::nullopt;
    if (op == "add") return Range{a.low + b.low, a.high + b.high, a.likely + b.likely};
    return Range{a.low - b.high, a.high - b.low, a.likely - b.low};
  }

  // add(a, b, alpha=2) is a + 2 * b.
  bool is_plain_sum() const {
    if (arguments().size() < 3) return true;
    const auto alpha = operand(arguments()[2]);
    return alpha && alpha->low == 1 && alpha->high == 1;
  }

  const Graph& graph_;
  ValueId value_;
  int depth_;
  const Op* op_ = nullptr;
};

void give(const Call& call, c10::IValue result) {
  torch::jit::drop(call.stack, call.info.arguments);
  call.stack.push_back(std::move(result));
}

c10::IValue number_of(at::ScalarType dtype, double number) {
  if (dtype == at::kBool) return number != 0;
  if (c10::isIntegralType(dtype, false)) return static_cast<std::int64_t>(number);
  return number;
}

// --- whether a choice is one among experts

bool names_experts(std::string_view name) {
  std::string low(name);
  std::ranges::transform(low, low.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return low.find("expert") != low.npos || low.find("moe") != low.npos;
}

// The module that runs, or the one around it (the choice may be a router's), holds experts: by name, or as
// many modules in a list or matrices in a parameter as there are choices.
bool chooses_experts(const Graph& graph, ModuleId running, std::int64_t choices) {
  const auto around = graph.modules[running].parent;
  const auto is_near = [&](ModuleId module) {
    return module != kNone && (module == running || module == around);
  };
  std::vector<std::int64_t> children(graph.modules.size());
  for (ModuleId id = 1; id < graph.modules.size(); ++id) {
    const auto& module = graph.modules[id];
    if (is_near(module.parent) &&
        (names_experts(graph.text(module.name)) || names_experts(graph.text(module.type))))
      return true;
    if (module.parent != kNone && is_near(graph.modules[module.parent].parent)) ++children[module.parent];
  }
  for (ModuleId id = 0; id < children.size(); ++id)
    if (children[id] == choices && choices > 1 && graph.text(graph.modules[id].type) == "ModuleList")
      return true;
  return std::ranges::any_of(graph.owned, [&](const Owned& owned) {
    const auto shape = graph.shape(graph.values[owned.value]);
    return is_near(owned.module) && (names_experts(graph.text(owned.name)) ||
                                     (shape.size() == 3 && shape[0] == choices && choices > 1));
  });
}

}  // namespace

Picked::Picked(const Call& call) {
  const auto arguments = call.arguments();
  const at::Tensor& self = arguments[0].toTensor();
  std::optional<std::int64_t> dim;
  for (std::size_t i = 1; i < arguments.size(); ++i)
    if (arguments[i].isInt() && call.recording.graph.text(call.info.names[i]) == "dim")
      dim = arguments[i].toInt();
  if (call.op.schema().name() == "aten::multinomial") dim = -1;
  choices = std::max<std::int64_t>(self.numel(), 1);
  if (!dim || self.dim() == 0) return;  // one element of all
  const auto at = c10::maybe_wrap_dim(*dim, self.dim());
  choices = std::max<std::int64_t>(self.size(at), 1);
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    if (i < at) rows *= self.size(i);
    if (i > at) inner *= self.size(i);
  }
}

void Picked::make_known(const Call& call) const {
  auto& result = call.stack.back();  // the indices come last
  if (!result.isTensor() || !result.toTensor().defined()) return;
  const at::Tensor shape = result.toTensor();
  if (shape.scalar_type() != at::kLong || shape.numel() > kKnownElements || shape.numel() == 0) return;
  const auto length = shape.numel() / std::max<std::int64_t>(rows * inner, 1);
  const bool order = call.info.is(Fact::kOrders);
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  auto made = at::empty(shape.sizes(), at::kLong);
  auto* data = static_cast<std::int64_t*>(made.mutable_data_ptr());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t j = 0; j < length; ++j)
      for (std::int64_t i = 0; i < inner; ++i)
        *data++ = order ? j : ((row * inner + i) * length + j) % choices;
  if (shape.strides() != made.strides())
    made = at::empty_strided(shape.sizes(), shape.strides(), at::kLong).copy_(made);
  result = call.recording.storages.as_known(made);
  auto& recording = call.recording;
  if (order)
    return recording.note("assumption", &call.info,
                          "the order depends on data; it is assumed to be that of the input");
  const bool routes = chooses_experts(recording.graph, recording.scopes.module(), choices);
  recording.note("assumption", &call.info,
                 std::string("picks by value; its choices are assumed to be evenly spread") +
                     (routes ? " (balanced routing)" : ""));
}

std::optional<bool> decide(Recording& recording, const std::string& op, std::optional<bool> likely) {
  auto& decisions = recording.decisions;
  const auto where = recording.where();
  if (!likely && !decisions.given_for(where)) return std::nullopt;
  if (decisions.is_endless(where)) {
    recording.failure = Failure{op, recording.scopes.path(), "",
                                "a loop whose condition depends on data does not end (" + where + ")"};
    TORCH_CHECK(false, recording.failure->reason);
  }
  const auto [holds, site] =
      decisions.answer(where, likely.value_or(false), static_cast<OpId>(recording.graph.ops.size()));
  const std::string at = where.empty() ? "" : " (" + where + ")";
  recording.note("assumption", op,
                 site.given ? std::string("a condition on data is ") + (holds ? "true" : "false") + at +
                                  ", as was said with --assume"
                 : holds ? "a condition on data is assumed to hold" + at
                         : "a condition on data is assumed not to hold" + at);
  return holds;
}

namespace {

// A check of PyTorch's own, `equal(condition, true)`, is the condition; where nothing is known of it, it
// passes.
bool assume_truth(const Call& call) {
  auto& recording = call.recording;
  const at::Tensor self = call.arguments()[0].toTensor(), truth = call.arguments()[1].toTensor();
  const auto is_one = [](const at::Tensor& tensor) {
    return tensor.numel() == 1 && tensor.scalar_type() == at::kBool;
  };
  if (!is_one(self) || !is_one(truth) || recording.storages.is_unknown(truth)) return false;
  const auto number = Origin(recording.graph, recording.values.of(self)).number();
  const auto value = recording.storages.known_value(truth);
  const bool sought = *static_cast<const bool*>(value.const_data_ptr());
  give(call, *decide(recording, call.name(), !number || (number->likely != 0) == sought));
  return true;
}

}  // namespace

bool assume_value(const Call& call) {
  const auto name = call.op.schema().name();
  if (name == "aten::equal") return assume_truth(call);
  const bool condition = name == "aten::is_nonzero";
  if (!condition && call.info.facts->limit != "item") return false;
  auto& recording = call.recording;
  const at::Tensor self = call.arguments()[0].toTensor();
  const auto dtype = self.scalar_type();
  const auto number = Origin(recording.graph, recording.values.of(self)).number();
  if (condition || dtype == at::kBool) {
    const auto likely = number ? std::optional(number->likely != 0) : std::nullopt;
    const auto answer = decide(recording, name, likely);
    if (answer) give(call, *answer);
    return answer.has_value();
  }
  if (recording.assumed_number && c10::isFloatingType(dtype)) {
    give(call, number_of(dtype, *recording.assumed_number));
    return true;
  }
  const auto limit = recording.bounds.limit("item");
  if (!limit && !number) return false;
  const auto largest = limit ? static_cast<double>(*limit) : number->high;
  recording.bounds.bound(name, "item", static_cast<std::int64_t>(largest));
  recording.bounds.add_number(static_cast<std::int64_t>(largest));
  give(call, number_of(dtype, largest));
  return true;
}

}  // namespace opscope::engine
