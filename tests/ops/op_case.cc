// Builds the graph of one case.
#include "ops/op_case.h"

#include <type_traits>

namespace opscope {
namespace {

// nn.Module's own tensors by their usual argument names; the rest are activations.
bool is_parameter(std::string_view name) { return name == "weight" || name == "bias"; }

}  // namespace

Graph graph_of(const OpCase& op_case) {
  GraphBuilder builder;
  std::vector<NamedArgument> arguments;
  const auto tensor = [&](const CaseArgument& argument, const TensorSpec& spec) {
    return is_parameter(argument.name) ? builder.parameter(argument.name, spec) : builder.input(spec);
  };
  for (const CaseArgument& argument : op_case.arguments) {
    const auto add = [&](const auto& value) {
      using Item = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Item, T>) {
        arguments.emplace_back(argument.name, tensor(argument, value));
      } else if constexpr (std::is_same_v<Item, Shapes>) {
        tensors list;
        for (const TensorSpec& spec : value) list.push_back(builder.input(spec));
        arguments.emplace_back(argument.name, list);
      } else {
        arguments.emplace_back(argument.name, value);
      }
    };
    std::visit(add, argument.value);
  }
  const auto outputs = builder.op_outputs(op_case.op, arguments, op_case.outputs);
  return builder.finish({outputs.begin(), outputs.end()});
}

}  // namespace opscope
