// One call of an op and the work expected of it. The files called *_cases.cc hold tables of these; every row
// of the cost table needs at least one.
#pragma once

#include <optional>
#include <span>
#include <string>
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

// On `self`, [4, 3] to [4, 3]: flops and specials for each of the 12 elements.
struct ElementwiseCase {
  const char* op;
  unsigned flops, specials;
};

Graph graph_of(const OpCase& op_case);

std::span<const OpCase> contraction_cases();
std::span<const OpCase> attention_cases();
std::span<const OpCase> shaped_cases();
std::span<const OpCase> training_cases();
std::span<const OpCase> window_cases();
std::span<const ElementwiseCase> elementwise_cases();
std::span<const ElementwiseCase> moving_cases();

}  // namespace opscope
