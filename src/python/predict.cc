// What predictions are made of, for the scripts that fit and judge them: the features of ops, and what one
// kernel of a compiler would move.
#include <algorithm>

#include "base/files.h"
#include "graph/signature.h"
#include "hardware/calibrate/measured_list.h"
#include "hardware/predict/features.h"
#include "hardware/predict/fit.h"
#include "hardware/predict/targets.h"
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
  row["bytes"] = features.bytes, row["steps"] = features.steps,
  row["group"] = std::string(name(features.group));
  row["sizes"] = std::vector<float>(features.sizes.begin(), features.sizes.begin() + features.size_count);
  return row;
}

// By op: its features, how often it runs, whether it does no work, the bytes it writes, and its subgraph (-1:
// none).
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
  for (const Subgraph& each : make_partition(graph, costs).subgraphs)
    bytes.push_back(each.memory_bytes().value());
  return bytes;
}

// The call, its seconds, their deviation, the host's.
using MeasuredRow = std::tuple<std::string, double, double, double>;

std::vector<MeasuredCall> measured_calls(const std::vector<MeasuredRow>& rows) {
  std::vector<MeasuredCall> calls;
  for (const auto& [call, seconds, deviation, host] : rows)
    calls.push_back({.text = call, .seconds = seconds, .deviation = deviation, .host_seconds = host});
  return calls;
}

}  // namespace

void bind_predict(py::module_& m) {
  m.def("op_features", op_features);
  m.def("is_gpu", [](const std::string& names) {
    return std::ranges::all_of(load_targets(names, "hardware"),
                               [](const CalibratedDevice& each) { return each.device->kind == "gpu"; });
  });
  // Of the first, as the option "gpu" has it; "" where it is no CUDA device that is known.
  m.def("cuda_of", [](const std::string& names) {
    const auto cuda = load_targets(names, "hardware").front().device->cuda();
    return cuda ? to_text(*cuda) : std::string();
  });
  m.def("graph_of_calls", [](const std::vector<std::string>& texts) { return graph_of_calls(texts); });
  m.def("subgraph_bytes", subgraph_bytes);
  // A calibration of what `text` says of the device, and of (call, seconds, their deviation, the host's
  // seconds).
  m.def(
      "fitted_calibration",
      [](const std::string& text, const std::vector<MeasuredRow>& rows, bool with_calls) {
        Calibration calibration = read_calibration(text, "the calibration");
        std::vector<MeasuredCall> calls = measured_calls(rows);
        add_features(calls);
        fit_families(calibration, calls);
        return write_calibration(calibration, with_calls ? calls : std::vector<MeasuredCall>());
      },
      py::arg("text"), py::arg("rows"), py::arg("with_calls") = true);
  m.def("write_measured_list",
        [](const std::vector<MeasuredRow>& rows) { return write_measured_list(measured_calls(rows)); });
  m.def("read_measured_list", [](const std::string& path) {
    std::vector<MeasuredRow> rows;
    for (const MeasuredCall& call : read_measured_list(read_file(path), path))
      rows.emplace_back(call.text, call.seconds, call.deviation, call.host_seconds);
    return rows;
  });
}

}  // namespace opscope::python
