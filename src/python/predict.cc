// What predictions are made of, for the scripts that fit and judge them: the features of ops, and what one kernel of
// a compiler would move.
#include "graph/signature.h"
#include "hardware/predict/features.h"
#include "hardware/predict/fit.h"
#include "hardware/roofline.h"
#include "ops/replay_plan.h"
#include "partition/partition.h"
#include "python/bindings.h"

namespace opscope::python {
namespace {

py::dict row_of(const OpFeatures& features) {
  py::dict row;
  row["family"] = std::string(name(features.family)), row["dtype"] = std::string(name(features.dtype));
  row["kind"] = features.kind, row["products"] = features.products, row["others"] = features.others;
  row["bytes"] = features.bytes;
  row["sizes"] = std::vector<float>(features.sizes.begin(), features.sizes.begin() + features.size_count);
  return row;
}

// By op: its features, how often it runs, whether it does no work, the bytes it writes, and its subgraph (-1: none).
py::list op_features(const Graph& graph) {
  const std::vector<OpCost> costs = estimate(graph, Convention::kOpscope);
  const Partition partition = make_partition(graph, costs);
  OpCall call(graph);
  py::list rows;
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    call.reset(op);
    py::dict row = row_of(features_of(call, costs[i], product_dtype(graph, op)));
    row["op"] = std::string(op_type(graph.op_name(op)));
    row["repeats"] = op.repeats, row["idle"] = does_no_work(graph, op);
    row["written"] = costs[i].traffic.output_bytes.value();
    row["library"] = costs[i].rule != nullptr && costs[i].rule->fusion == Fusion::kAnchor;
    row["subgraph"] = partition.of_op[i] == kNone ? -1 : static_cast<std::int64_t>(partition.of_op[i]);
    rows.append(row);
  }
  return rows;
}

std::vector<std::uint64_t> subgraph_bytes(const Graph& graph) {
  const std::vector<OpCost> costs = estimate(graph, Convention::kOpscope);
  std::vector<std::uint64_t> bytes;
  for (const Subgraph& each : make_partition(graph, costs).subgraphs) bytes.push_back(each.memory_bytes().value());
  return bytes;
}

}  // namespace

void bind_predict(py::module_& m) {
  m.def("op_features", op_features);
  m.def("graph_of_calls", [](const std::vector<std::string>& texts) { return graph_of_calls(texts); });
  m.def("subgraph_bytes", subgraph_bytes);
  // A calibration's text with the rates of each family fitted on its measured ops.
  m.def("fitted_calibration", [](const std::string& text) {
    Calibration calibration = read_calibration(text, "the calibration");
    fit_families(calibration);
    return write_calibration(calibration);
  });
}

}  // namespace opscope::python
