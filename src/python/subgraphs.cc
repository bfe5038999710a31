#include "python/subgraphs.h"

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "graph/builder.h"

namespace opscope::python {

namespace {

// As Python has it: a tensor is (shape, dtype, name), an argument (name, value). Bools before ints: Python's
// bools are ints too.
using TensorRow = std::tuple<std::vector<std::int64_t>, std::string, std::string>;
using Attribute = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<bool>,
                               std::vector<std::int64_t>, std::vector<double>>;

// One op, or several that only the caller can price.
struct SubgraphRow {
  std::string name;
  std::string type;
  std::string op;
  std::vector<std::string> argument_names;  // of the inputs, then of the weights
  std::vector<TensorRow> inputs;
  std::vector<TensorRow> weights;
  std::vector<TensorRow> outputs;
  std::vector<std::pair<std::string, Attribute>> attributes;
  std::optional<std::uint64_t> macs, flops, bytes;
};

TensorSpec spec_of(const TensorRow& row) {
  const auto& [shape, dtype, name] = row;
  const auto type = dtype_from_name(dtype);
  if (!type) throw Error("opscope knows no dtype '" + dtype + "'", name);
  return {shape, *type};
}

NamedArgument argument_of(const std::string& name, const Attribute& value) {
  return std::visit(
      [&](const auto& item) {
        if constexpr (std::is_same_v<std::decay_t<decltype(item)>, std::monostate>)
          return NamedArgument(name, nullptr);
        else
          return NamedArgument(name, item);
      },
      value);
}

// Tensors of one name are one tensor, so that what a subgraph makes is what a later one reads.
class SubgraphBuilder {
 public:
  Graph run(const std::vector<SubgraphRow>& rows) {
    for (const auto& row : rows) add(row);
    tensors outputs;
    for (const auto& tensor : made_)
      if (!read_.contains(tensor.id)) outputs.push_back(tensor);
    builder_.graph().capture.tracer = "static";
    return builder_.finish(outputs);
  }

 private:
  void add(const SubgraphRow& row) {
    std::vector<Tensor> given;
    for (const auto& tensor : row.inputs)
      given.push_back(named(tensor, [&] { return builder_.input(spec_of(tensor), std::get<2>(tensor)); }));
    const auto call = builder_.call(row.name, row.type);
    for (std::size_t i = 0; i < row.weights.size(); ++i)
      given.push_back(named(row.weights[i], [&] {
        return builder_.parameter("weight_" + std::to_string(i), spec_of(row.weights[i]));
      }));
    std::vector<NamedArgument> arguments;
    for (std::size_t i = 0; i < given.size(); ++i) {
      arguments.emplace_back(row.argument_names.at(i), given[i]);
      read_.insert(given[i].id);
    }
    for (const auto& [name, value] : row.attributes) arguments.push_back(argument_of(name, value));
    std::vector<TensorSpec> specs;
    for (const auto& tensor : row.outputs) specs.push_back(spec_of(tensor));
    keep(row, builder_.op_outputs(row.op, arguments, specs));
    if (row.macs || row.flops || row.bytes) builder_.declare_cost(row.macs, row.flops, row.bytes);
  }

  template <class Make>
  Tensor named(const TensorRow& row, Make make) {
    const auto& name = std::get<2>(row);
    if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
    const Tensor tensor = make();
    if (!name.empty()) by_name_.emplace(name, tensor);
    return tensor;
  }

  void keep(const SubgraphRow& row, const std::vector<Tensor>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      made_.push_back(outputs[i]);
      if (const auto& name = std::get<2>(row.outputs[i]); !name.empty())
        by_name_.insert_or_assign(name, outputs[i]);
    }
  }

  GraphBuilder builder_{"subgraphs", "Subgraphs"};
  std::unordered_map<std::string, Tensor> by_name_;
  std::unordered_set<ValueId> read_;
  tensors made_;
};

}  // namespace

void bind_subgraphs(py::module_& m) {
  py::class_<SubgraphRow>(m, "SubgraphRow")
      .def(py::init<>())
      .def_readwrite("name", &SubgraphRow::name)
      .def_readwrite("type", &SubgraphRow::type)
      .def_readwrite("op", &SubgraphRow::op)
      .def_readwrite("argument_names", &SubgraphRow::argument_names)
      .def_readwrite("inputs", &SubgraphRow::inputs)
      .def_readwrite("weights", &SubgraphRow::weights)
      .def_readwrite("outputs", &SubgraphRow::outputs)
      .def_readwrite("attributes", &SubgraphRow::attributes)
      .def_readwrite("macs", &SubgraphRow::macs)
      .def_readwrite("flops", &SubgraphRow::flops)
      .def_readwrite("bytes", &SubgraphRow::bytes);
  m.def("graph_of_subgraphs", [](const std::vector<SubgraphRow>& rows) {
    return std::make_shared<Graph>(SubgraphBuilder().run(rows));
  });
}

}  // namespace opscope::python
