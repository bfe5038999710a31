// `opscope trace`: which of PyTorch's tracers work on a model, and what their graphs are like; `opscope
// capture`: a model's graph as a file that can be profiled anywhere, without Python. `opscope measure`: a
// model really run, every op timed, beside what it should cost; `opscope read-trace`: the same of a trace.
#include "app/models/trace.h"

#include <algorithm>

#include "analyse/trace/joined.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/flags/flags.h"
#include "graph/graph.h"
#include "readers/kineto/reader.h"
#include "report/times/times.h"
#include "report/trace/report.h"

namespace opscope {
namespace {

struct TraceFlags : ModelCommandFlags {
  std::string top;
  TraceFiles files;
};

// Before anything runs: minutes may pass until the files are written.
void check_files(const TraceFlags& flags) {
  const bool code = flags.files.wants_code();
  if (!flags.files.save_graph.empty() && !code && !flags.files.wants_capture())
    throw Error("a graph is saved as Python or as JSON: '" + flags.files.save_graph + "'", "--save-graph",
                "end it in .py or .json");
  if (flags.files.weights && !code)
    throw Error("weights are saved beside a graph in Python", "--weights", "add --save-graph FILE.py");
  for (const std::string& path : flags.files.exports)
    if (const auto kind = file_extension(path); kind != "pt2" && kind != "onnx" && kind != "mlir")
      throw Error("cannot export to '" + path + "'", "--export", "end it in .pt2, .onnx or .mlir");
  if (code && !flags.graph_part.empty())
    throw Error("a .py file holds all graphs", "--save-graph", "--save-graph FILE.json keeps one");
  if (!flags.files.save_graph.empty()) check_writable(flags.files.save_graph);
  for (const std::string& path : flags.files.exports) check_writable(path);
}

std::string as_capture(Graph graph) {
  graph.capture.dependencies.clear();  // this machine's files: of use to the cache, not to whoever gets it
  return write_json(graph);
}

void save_capture(const std::string& path, const Graph& graph, std::vector<SavedFile>& files) {
  write_file(path, as_capture(graph));
  files.push_back({.path = path, .kind = "capture", .notes = {"the graph of " + graph.capture.tracer}});
}

[[noreturn]] void fail_all(const std::string& model, const std::vector<TracerRow>& rows, bool verbose) {
  std::string reasons;
  for (const TracerRow& row : rows)
    for (const std::string& line : failure_lines(row.failure, verbose))
      reasons += (reasons.empty() ? "" : "\n") + (line.starts_with(' ') ? line : row.tracer + ": " + line);
  throw Error("no tracer works on " + model, "", reasons);
}

// What was asked for and not written is an error, though the rest was done.
int exit_code(const std::vector<TracerRow>& exports, const std::vector<SavedFile>& files) {
  const bool failed =
      std::ranges::any_of(files, [](const auto& file) { return !file.failure.reason.empty(); }) ||
      !std::ranges::all_of(exports, &TracerRow::works);
  return failed ? kExitFailed : kExitDone;
}

int compare_all(const CaptureRequest& request, const TraceFlags& flags, const Output& output,
                const TextOptions& text) {
  Talk talk(flags.talk);
  Traces traces = trace(request, flags.files, talk);
  if (std::ranges::none_of(traces.rows, &TracerRow::works))
    fail_all(request.model, traces.rows, text.verbose);
  const Graph* graph = traces.first_graph();
  if (flags.files.wants_capture()) save_capture(flags.files.save_graph, *graph, traces.files);
  TraceComparison comparison{
      .graph = graph, .rows = std::move(traces.rows), .files = std::move(traces.files)};
  std::ranges::copy(traces.exports, std::back_inserter(comparison.rows));
  compare_to_engine(comparison.rows, comparison.rows);
  output.write(to_format(comparison, output.format(), text));
  return exit_code(traces.exports, comparison.files);
}

int show(TraceDetail detail, const Graph& whole, const AskedGraph& asked, const TraceFlags& flags,
         const Output& output, const TextOptions& text) {
  const Graph graph = asked.part_of(whole);
  const Profile profile = make_profile(graph);
  if (!flags.graph_part.empty()) detail.row = tracer_row(detail.row.tracer, profile);
  detail.profile = &profile;
  if (flags.files.wants_capture()) save_capture(flags.files.save_graph, graph, detail.files);
  output.write(to_format(detail, output.format(), text));
  return exit_code(detail.exports, detail.files);
}

// Before the error, whose line is then the last: what PyTorch says can be long.
void show_detail(std::string_view detail, int width) {
  const auto end = detail.find_last_not_of(" \n");
  if (end == std::string_view::npos) return;
  std::fputs((indented(detail.substr(0, end + 1), width, 2) + "\n\n").c_str(), stderr);
}

int show_one(const AskedGraph& asked, const TraceFlags& flags, const Output& output,
             const TextOptions& text) {
  const CaptureRequest& request = asked.request();
  Talk talk(flags.talk);
  Traces traces = trace(request, flags.files, talk);
  compare_to_engine(traces.rows, traces.rows);
  compare_to_engine(traces.rows, traces.exports);
  if (traces.rows.empty())
    throw Error("Python gave no answer about " + request.tracer, "trace of " + request.model);
  TracerRow& row = traces.rows.back();
  if (!row.works()) {
    if (flags.talk.debug || flags.talk.verbose) show_detail(row.failure.detail, text.width);
    throw Error(row.failure.reason, row.failure.where.empty() ? row.tracer : row.failure.where,
                row.failure.hint);
  }
  TraceDetail detail{.row = row, .exports = std::move(traces.exports), .files = std::move(traces.files)};
  return show(std::move(detail), *traces.graph_of.back(), asked, flags, output, text);
}

int show_file(const Graph& graph, const AskedGraph& asked, const TraceFlags& flags, const Output& output,
              const TextOptions& text) {
  if (flags.files.wants_code() || !flags.files.exports.empty())
    throw Error("this file has only the graph, not the model",
                flags.files.exports.empty() ? "--save-graph" : "--export", "give the model itself");
  TraceDetail detail{.row = tracer_row(graph.capture.tracer, make_profile(graph))};
  return show(std::move(detail), graph, asked, flags, output, text);
}

int run_trace(const TraceFlags& flags) {
  TextOptions text{.top = 40};
  read_number(text.top, "--top", flags.top, 0);
  const AskedGraph asked(flags, text.notes);
  const CaptureRequest& request = asked.request();
  check_files(flags);
  const Output output(flags, text);
  if (const auto graph = read_model(request)) return show_file(*graph, asked, flags, output, text);
  if (request.tracer != "auto") return show_one(asked, flags, output, text);
  if (!flags.graph_part.empty())
    throw Error("--graph-part needs a tracer", "--graph-part", "for example --tracer dynamo");
  return compare_all(request, flags, output, text);
}

int run_capture(const ModelCommandFlags& flags) {
  std::vector<std::string> notes;
  const AskedGraph asked(flags, notes);
  const Output output(flags.output, Format::kJson);
  if (const std::string& path = flags.output.output; output.format() != Format::kJson)
    throw Error("captures are written as JSON only", path.empty() || path == "-" ? "--format" : path,
                "say --format json");
  output.write(as_capture(asked.load()));
  return kExitDone;
}

struct MeasureFlags : ModelCommandFlags {
  TableFlags table;
  std::string on, warmup, runs, min_time, trace, save;
  bool repeat_ops = false;
};

// --device is --on for a model that is run: a model is built where it runs.
std::string device_of(const MeasureFlags& flags) {
  const std::string device = flags.model.text("device");
  if (!flags.on.empty() && !device.empty() && flags.on != device)
    throw Error("two devices: --on " + flags.on + " and --device " + device, "--on",
                "--on and --device both say where: give one of them");
  return flags.on.empty() ? device : flags.on;
}

MeasureRequest measure_request(MeasureFlags flags, std::vector<std::string>& notes) {
  MeasureRequest request;
  request.on = device_of(flags);
  if (!flags.warmup.empty()) request.warmup = parse_integer("--warmup", flags.warmup, 0);
  if (!flags.runs.empty()) request.runs = parse_integer("--runs", flags.runs, 1);
  if (!flags.min_time.empty()) request.min_time = parse_number("--min-time", flags.min_time);
  request.repeat_ops = flags.repeat_ops;
  flags.model.texts.erase("device");
  request.model = request_from(flags.model, &notes);
  return request;
}

int run_measure(const MeasureFlags& flags) {
  TextOptions text = text_options(flags.table);
  const ProfileOptions options = profile_options(flags.cost);
  const MeasureRequest request = measure_request(flags, text.notes);
  const Output output(flags, text);
  check_side_files({request.model.model}, {flags.save, flags.trace, flags.output.output});
  Talk talk(flags.talk);
  const Graph graph = measure(request, talk);
  const Profile profile = make_profile(graph, options);
  // First what cannot be had again.
  if (!flags.save.empty()) write_beside(flags.save, write_json(graph), flags.talk);
  if (!flags.trace.empty()) write_beside(flags.trace, chrome_trace(profile), flags.talk);
  output.write(measure_report(profile, output.format(), text));
  return kExitDone;
}

struct ReadTraceFlags : ModelCommandFlags {
  TableFlags table;
  std::string file, save, trace;
};

void check_files(const ReadTraceFlags& flags) {
  if (flags.file.empty())
    throw Error("no trace to read", "", "for example opscope read-trace trace.json.gz resnet50 --batch 32");
  const std::string model = flags.model.named();
  if (model.empty())
    throw Error("no model to match the trace with", "",
                "give it after the trace, with the inputs that it ran with: opscope read-trace " +
                    flags.file + " resnet50 --batch 32");
  check_side_files({flags.file, model}, {flags.save, flags.trace, flags.output.output});
}

// The graph does not know the trace's name.
JoinedTrace joined(const Graph& graph, RecordedTrace trace, const std::string& file) {
  try {
    return join_trace(graph, std::move(trace));
  } catch (const Error& error) {
    throw Error(error.what(), file, error.hint());
  }
}

int run_read_trace(const ReadTraceFlags& flags) {
  TextOptions text = text_options(flags.table);
  const ProfileOptions options = profile_options(flags.cost);
  check_files(flags);
  const AskedGraph asked(flags, text.notes);
  const Output output(flags, text);
  RecordedTrace recorded = read_kineto_trace(flags.file);
  Graph graph = asked.load();
  const JoinedTrace trace = joined(graph, std::move(recorded), flags.file);
  graph.measurement = trace.measurement;
  graph.verify();
  const Profile profile = make_profile(graph, options);
  output.write(joined_trace_report(profile, trace, flags.file, output.format(), text));
  if (!flags.save.empty()) write_beside(flags.save, write_json(graph), flags.talk);
  if (!flags.trace.empty()) write_beside(flags.trace, chrome_trace(profile), flags.talk);
  return kExitDone;
}

}  // namespace

Action define_trace(CLI::App& app) {
  const auto flags = std::make_shared<TraceFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  add_value(app, "--top", flags->top, "N", "Number of nodes to show with --tracer, default 40");
  const CLI::Option* save =
      add_value(app, "--save-graph", flags->files.save_graph, "FILE",
                "Write the graph as a Python file that can be run (.py), or as a capture (.json)");
  add_switch(app, "--weights", flags->files.weights, "Also write the weights, beside the .py file");
  add_values(app, "--export", flags->files.exports, "FILE",
             "Also write the model as .pt2, .onnx or .mlir. Repeatable");
  add_report_flags(app, *flags, "All nodes, and PyTorch's full messages about failures and graph breaks");
  return [flags, save] {
    if (save->count() > 1)
      throw Error("one file for the graph at a time", "--save-graph", "run it once for each");
    return run_trace(*flags);
  };
}

Action define_capture(CLI::App& app) {
  const auto flags = std::make_shared<ModelCommandFlags>();
  add_model_flags(app, flags->model);
  add_result_flags(app, *flags);
  add_switch(app, "-v,--verbose", flags->talk.verbose, "Say if the cache cannot be used");
  return [flags] { return run_capture(*flags); };
}

Action define_measure(CLI::App& app) {
  const auto flags = std::make_shared<MeasureFlags>();
  add_model_flags(app, flags->model);
  add_value(app, "--on", flags->on, "DEVICE",
            "Device to run on: cpu, cuda, cuda:1. Default: where the weights are, else cpu");
  add_value(app, "--warmup", flags->warmup, "N", "Warm-up runs, default 3");
  add_value(app, "--runs", flags->runs, "N",
            "Timed runs; each is paired with a run without op timers. Default: 10 to 200, until "
            "--min-time has passed");
  add_value(app, "--min-time", flags->min_time, "SECONDS",
            "Seconds to measure for, if --runs is not given. Default 1");
  add_switch(app, "--repeat-ops", flags->repeat_ops,
             "Also time each distinct op alone, repeatedly. Times are kept and reused for other models");
  add_table_flags(app, flags->table, "time", "Number of slowest layers, default 10");
  add_value(app, "--trace", flags->trace, "FILE.json",
            "Also write a trace of one run, for Perfetto and chrome://tracing");
  add_value(app, "--save", flags->save, "FILE.json",
            "Save the measurement; all commands read the file, without Python");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All layers, op types and notes");
  return [flags] { return run_measure(*flags); };
}

Action define_read_trace(CLI::App& app) {
  const auto flags = std::make_shared<ReadTraceFlags>();
  add_value(app, "file", flags->file, "FILE", "A trace of torch.profiler: .json or .json.gz");
  add_model_flags(app, flags->model);
  add_table_flags(app, flags->table, "time", "Number of slowest layers and kernels, default 10");
  add_value(app, "--save", flags->save, "FILE.json",
            "Save the model with the times of the trace; all commands read the file");
  add_value(app, "--trace", flags->trace, "FILE.json",
            "Write one run as a Chrome trace, with the modules of the model");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All layers and kernels, and what was not matched");
  return [flags] { return run_read_trace(*flags); };
}

}  // namespace opscope
