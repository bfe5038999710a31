// One call of an op and the work expected of it. The files called *_cases.cc hold tables of these; every row
// of the cost table needs at least one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/builder.h"
#include "ops/op_rule.h"

namespace opscope {

using Shapes = std::vector<TensorSpec>;

// A tensor argument is written as its shape: {"self", T{2, 3}}.
struct T : TensorSpec {
  using TensorSpec::TensorSpec;
};

struct CaseArgument {
  std::string name;
  std::variant<T, Shapes, std::int64_t, double, bool, std::string, ints> value;

  CaseArgument(const char* n, T tensor) : name(n), value(std::move(tensor)) {}
  CaseArgument(const char* n, Shapes list) : name(n), value(std::move(list)) {}
  CaseArgument(const char* n, int integer) : name(n), value(std::int64_t{integer}) {}
  CaseArgument(const char* n, double real) : name(n), value(real) {}
  CaseArgument(const char* n, bool flag) : name(n), value(flag) {}
  CaseArgument(const char* n, const char* text) : name(n), value(std::string(text)) {}
  CaseArgument(const char* n, ints items) : name(n), value(std::move(items)) {}
};

struct OpCase {
  std::string op;  // with its overload: "aten::add.Tensor"
  std::vector<CaseArgument> arguments;
  Shapes outputs;
  std::optional<Work> work;  // nullopt: refused
};

// Ops with so many flops and specials for each element. Without a namespace, "aten::".
struct ElementwiseGroup {
  unsigned flops, specials;
  std::vector<std::string_view> ops;
};

enum class Moves {
  kNothing,
  kWrites,            // its output
  kCopies,            // reads its input, writes its output
  kCopiesUnlessView,  // or nothing, where it returns its input
  kSelects,           // reads and writes as much as comes out
};

// Ops without arithmetic, by what they move.
struct MovingGroup {
  Moves moves;
  std::vector<std::string_view> ops;
};

Graph graph_of(const OpCase& op_case);

std::span<const OpCase> contraction_cases();
std::span<const OpCase> attention_cases();
std::span<const OpCase> distance_cases();
std::span<const OpCase> linalg_cases();
std::span<const OpCase> onnx_cases();
std::span<const OpCase> selecting_cases();
std::span<const OpCase> sparse_cases();
std::span<const OpCase> shaped_cases();
std::span<const OpCase> training_cases();
std::span<const OpCase> window_cases();
std::span<const ElementwiseGroup> elementwise_groups();
std::span<const MovingGroup> moving_groups();

// "add" -> "aten::add"
inline std::string full_name(std::string_view op) {
  return op.find("::") == std::string_view::npos ? "aten::" + std::string(op) : std::string(op);
}

}  // namespace opscope
