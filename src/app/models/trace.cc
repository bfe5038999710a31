// What Python has to run the model for; of a file that C++ reads, its times are only read. One child runs all
// tracers, so that the model is built once.
#include "app/models/trace.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <unordered_set>

#include "app/models/models.h"
#include "app/request/edits.h"
#include "base/error.h"
#include "base/files.h"
#include "readers/capture/capture_reader.h"
#include "readers/onnx/proto_wire.h"
#include "readers/results/profile_reader.h"

namespace opscope {
namespace {

std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

// The tracer asked for, and the engine to compare it with; without one all that are compared.
std::vector<std::string> tracers_for(const std::string& asked) {
  if (asked == "auto") return {kComparedTracers.begin(), kComparedTracers.end()};
  return is_engine(asked) ? std::vector{asked} : std::vector<std::string>{"static", asked};
}

void add_row(const TracedRow& answer, const PythonWorker& worker, Traces& traces) {
  TracerRow row;
  traces.graph_of.push_back(nullptr);
  if (answer.failure.reason.empty()) {
    const std::string where = "capture by " + answer.tracer;
    const Graph& graph =
        traces.graphs.emplace_back(read_capture(read_file(worker.file(answer.capture)), where));
    traces.graph_of.back() = &graph;
    row = tracer_row(answer.tracer, make_profile(graph));
    if (is_engine(answer.tracer) && !graph.capture.tracer.empty()) row.tracer = graph.capture.tracer;
  } else {
    row.tracer = answer.tracer;
    row.failure = answer.failure;
  }
  row.is_engine = is_engine(answer.tracer);
  row.seconds = answer.seconds;
  traces.rows.push_back(std::move(row));
}

// The child gets absolute paths; the user knows the file by what was typed.
std::string as_typed(const std::string& path, const TraceFiles& files) {
  if (absolute(files.save_graph) == path) return files.save_graph;
  const auto found =
      std::ranges::find_if(files.exports, [&](const std::string& each) { return absolute(each) == path; });
  return found == files.exports.end() ? path : *found;
}

// Python saves the first of PyTorch's tracers that works.
void say_whose_code(Traces& traces) {
  const Graph* graph = traces.first_graph();
  for (SavedFile& file : traces.files)
    if (graph && file.kind == "python" && file.failure.reason.empty())
      file.notes.insert(file.notes.begin(), "the graph of " + graph->capture.tracer);
}

// Every line is about the model, or beside the file's own name: that it is the place of an error says
// nothing.
void forget_places(const std::string& model, const TraceFiles& files, Traces& traces) {
  const auto forget = [&](TraceFailure& failure) {
    const bool known = failure.where == model || as_typed(failure.where, files) != failure.where ||
                       std::ranges::any_of(traces.graphs, [&](const Graph& graph) {
                         return graph.capture.model == failure.where;
                       });
    if (known) failure.where.clear();
  };
  for (TracerRow& row : traces.rows) forget(row.failure);
  for (TracerRow& row : traces.exports) forget(row.failure);
  for (SavedFile& file : traces.files) forget(file.failure);
}

constexpr std::array<std::string_view, 2> kAgainst{"inductor", "inductor-max"};
constexpr std::uint64_t kMuchMemory = 2'000'000'000;

const char* run_flag(const MeasureRequest& request) {
  return !request.on.empty()  ? "--on"
         : request.warmup     ? "--warmup"
         : request.runs       ? "--runs"
         : request.min_time   ? "--min-time"
         : request.repeat_ops ? "--repeat-ops"
                              : nullptr;
}

Graph with_times(Graph graph, const MeasureRequest& request) {
  if (graph.measurement.empty())
    throw Error("there are no times in it, and a graph without its model cannot be run", request.model.model,
                "give the model itself, and save what is measured with --save; opscope profile shows costs");
  if (const char* const flag = run_flag(request))
    throw Error("the times in this file are of runs that were made", flag,
                "give the model itself to run it again");
  return graph;
}

void check(const ReconcileRequest& request) {
  CaptureRequest capture = request.capture;
  if (capture.training) throw Error("the tools count a forward pass only", "--training", "leave it out");
  if (capture.is_traced()) throw Error("the tools run the model itself", "--tracer", "leave it out");
  if (!capture.device.empty()) throw Error("the tools run on the CPU", "--device", "leave it out");
  for (const std::string& model : request.models) {
    capture.model = model;
    if (read_model(capture))
      throw Error("a graph in a file cannot be run by other tools", model, "give the model itself");
  }
}

void check_inductor(CaptureRequest as_file, const std::string& against) {
  if (std::ranges::find(kAgainst, against) == kAgainst.end())
    throw Error(
        "nothing called '" + against + "' to compare with", "--against",
        did_you_mean(against, kAgainst, "inductor, or inductor-max with frozen weights and templates"));
  if (as_file.tracer != "auto" && as_file.tracer != "dynamo")
    throw Error("Inductor takes Dynamo's graphs", "--tracer", "leave it out, or --tracer dynamo");
  as_file.tracer = "auto";
  if (read_model(as_file))
    throw Error("Inductor needs the model, and this file has only its graph", as_file.model,
                "give the model itself");
}

// What an exported file holds, counted in the file itself: opscope's reader may split an operator into
// several.

// torch.export's graph has a placeholder for every parameter and buffer, and calls of functions only.
std::vector<KindRow> pt2_kinds(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::unordered_set<ValueId> owned;
  for (const Owned& each : graph.owned) owned.insert(each.value);
  return {{.kind = NodeKind::kPlaceholder, .count = owned.size() + graph.inputs.size()},
          {.kind = NodeKind::kCallFunction, .count = graph.ops.size(), .metrics = profile.totals},
          {.kind = NodeKind::kOutput, .count = 1}};
}

// ModelProto.graph is field 7, GraphProto.node field 1.
std::uint64_t count_onnx_nodes(std::string_view bytes) {
  std::uint64_t count = 0;
  for (ProtoReader model(bytes); model.next();) {
    if (model.field != 7 || model.wire != ProtoReader::kBytes) continue;
    for (ProtoReader graph(model.bytes); graph.next();)
      if (graph.field == 1 && graph.wire == ProtoReader::kBytes) ++count;
  }
  return count;
}

TracerRow graph_row(const std::string& path, std::string_view kind) {
  const Graph graph = read_model_file(path, {}, onnx_inference());
  const Profile profile = make_profile(graph);
  TracerRow row = tracer_row("", profile);
  row.kinds = kind == "pt2" ? pt2_kinds(profile) : std::vector<KindRow>{};
  row.nodes = kind == "pt2" ? 0 : count_onnx_nodes(read_file(path));
  for (const KindRow& each : row.kinds) *row.nodes += each.count;
  return row;
}

// "stablehlo.add" of "%1 = stablehlo.add %0, %0 : ...", quoted or not; "" where the line begins no operation.
std::string_view operation_of(std::string_view line) {
  const auto skip_spaces = [&line] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_spaces();
  if (line.starts_with('%')) {
    const auto equals = line.find(" = ");
    if (equals == std::string_view::npos) return "";
    line.remove_prefix(equals + 3);
    skip_spaces();
  }
  if (line.starts_with('"')) line.remove_prefix(1);
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  const auto end = std::ranges::find_if_not(line, is_name);
  const std::string_view name = line.substr(0, static_cast<std::size_t>(end - line.begin()));
  const auto dot = name.find('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name;
}

constexpr std::array<std::string_view, 5> kHolders{"builtin.module", "func.func", "func.return",
                                                   "stablehlo.return", "torch.initialize.global_slots"};

// Those that only hold others together left out.
std::uint64_t count_mlir_operations(std::string_view text) {
  const auto counts = [](std::string_view line) {
    const std::string_view name = operation_of(line);
    return !name.empty() && std::ranges::find(kHolders, name) == kHolders.end();
  };
  return static_cast<std::uint64_t>(std::ranges::count_if(split_by(text, '\n'), counts));
}

TracerRow mlir_row(const std::string& path) {
  TracerRow row;
  row.nodes = count_mlir_operations(read_file(path));
  row.graphs = 1;
  return row;
}

// Of a "pt2", "onnx" or "mlir". One that was not written, or cannot be read back, is a row that does not
// work.
TracerRow exported_row(const SavedFile& file) {
  TracerRow row;
  try {
    if (file.failure.reason.empty())
      row = file.kind == "mlir" ? mlir_row(file.path) : graph_row(file.path, file.kind);
    else
      row.failure = file.failure;
  } catch (const Error& error) {
    row = {};
    row.failure = {.reason = std::string("the file was written, but cannot be read back: ") + error.what(),
                   .where = {},
                   .hint = error.hint()};
  }
  row.tracer = std::filesystem::path(file.path).filename().string();
  row.seconds = file.seconds;
  return row;
}

}  // namespace

Traces trace(const CaptureRequest& request, const TraceFiles& files, Listener& listener) {
  refuse_edits(request, "a comparison of tracers");
  PythonWorker worker(listener);
  std::vector<std::string> exports;
  for (const std::string& path : files.exports) exports.push_back(absolute(path));
  const auto more = [&](JsonWriter& json) {
    json.list("tracers", tracers_for(request.tracer));
    json.field("save_graph", files.wants_code() ? absolute(files.save_graph) : "");
    json.field("weights", files.weights);
    json.list("exports", exports);
    json.field("strict_static", request.tracer == "static");  // one that needs data is an error, no real run
  };
  worker.run(request, "trace", more, PythonWorker::Leaves::kFiles);
  TraceAnswer answer = parse_trace_answer(read_file(worker.file("trace.json")), "trace of " + request.model);
  Traces traces;
  for (const TracedRow& row : answer.rows) add_row(row, worker, traces);
  for (SavedFile& file : answer.files) {
    if (file.kind != "python") traces.exports.push_back(exported_row(file));
    file.path = as_typed(file.path, files);
  }
  traces.files = std::move(answer.files);
  say_whose_code(traces);
  forget_places(request.model, files, traces);
  return traces;
}

const Graph* Traces::first_graph() const {
  const Graph* first = nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!graph_of[i]) continue;
    if (!rows[i].is_engine) return graph_of[i];
    if (!first) first = graph_of[i];
  }
  return first;
}

Graph measure(const MeasureRequest& request, Listener& listener) {
  const CaptureRequest& model = request.model;
  refuse_edits(model, "a measurement");
  if (auto graph = read_model(model)) return with_times(*std::move(graph), request);
  if (model.tracer != "auto" && model.tracer != "eager")
    throw Error("a measurement is of real runs of the model itself", "--tracer", "leave it out");
  PythonWorker worker(listener);
  worker.run(model, "measure", [&](JsonWriter& json) {
    json.field("on", request.on.empty() ? std::nullopt : std::optional(request.on));
    json.field("warmup", request.warmup);
    json.field("runs", request.runs);
    json.field("min_time", request.min_time);
    json.field("repeat_ops", request.repeat_ops);
    json.field("keep_times", model.use_cache);
  });
  Graph graph = read_capture(worker.output(), "measurement of " + model.model);
  if (graph.measurement.empty()) throw Error("Python's answer came without times", model.model);
  return graph;
}

std::vector<Reconciliation> reconcile(const ReconcileRequest& request, Listener& listener,
                                      std::vector<std::string>& notes) {
  check(request);
  refuse_edits(request.capture, "a comparison with other tools");
  PythonWorker worker(listener);
  const auto more = [&](JsonWriter& json) {
    json.list("models", request.models);
    json.list("tools", request.tools);
  };
  worker.run(request.capture, "reconcile", more, PythonWorker::Leaves::kFiles);
  std::vector<Reconciliation> found;
  for (std::size_t i = 0; i < request.models.size(); ++i) {
    const std::string at = std::to_string(i), &model = request.models[i];
    const PeerRun run = read_peer_counts(read_file(worker.file(at + ".peers.json")), "tools on " + model);
    if (!run.error.empty()) {
      Reconciliation& failed = found.emplace_back();
      failed.model = model, failed.error = run.error, failed.hint = run.hint;
      continue;
    }
    const Graph graph = read_capture(read_file(worker.file(at + ".json")), "capture of " + model);
    found.push_back(reconcile(make_profile(graph), run.answers));
    if (run.weight_bytes > kMuchMemory)
      notes.push_back(model + ": the tools ran on the CPU, with " + format_bytes(Count{run.weight_bytes}) +
                      " of random weights");
  }
  return found;
}

InductorAnswer compare_with_inductor(const CaptureRequest& model, const std::string& against,
                                     const PartitionOptions& partition, Listener& listener) {
  check_inductor(model, against);
  refuse_edits(model, "a comparison with a compiler");
  PythonWorker worker(listener);
  const auto more = [&](JsonWriter& json) { json.field("against", against); };
  worker.run(model, "inductor", more, PythonWorker::Leaves::kFiles);
  const std::string where = against + " on " + model.model;
  InductorAnswer answer;
  answer.graph = read_capture(read_file(worker.file("capture.json")), where);
  answer.other = parse_kernels(read_file(worker.file("kernels.json")), where);
  answer.costs = estimate(answer.graph, Convention::kOpscope);
  answer.ours = make_partition(answer.graph, answer.costs, partition);
  // One graph is what people expect; several are compared each for itself.
  if (const std::size_t parts = answer.graph.parts.size(); parts > 1)
    answer.notes.push_back("Dynamo breaks it into " + std::to_string(parts) +
                           " graphs: no kernel crosses a graph break");
  return answer;
}

}  // namespace opscope
