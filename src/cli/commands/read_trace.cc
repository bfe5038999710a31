// `opscope read-trace`: the times of a torch.profiler trace on a model's own ops, layers and modules.
#include <CLI/CLI.hpp>
#include <memory>

#include "analyse/trace/joined.h"
#include "base/error.h"
#include "cli/flags/cost.h"
#include "cli/flags/model.h"
#include "cli/flags/table.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "cli/output/side_files.h"
#include "graph/writer.h"
#include "readers/kineto/reader.h"
#include "report/times/chrome_trace.h"
#include "report/trace/joined.h"

namespace opscope {
namespace {

struct ReadTraceFlags : ModelCommandFlags {
  CostRequest cost;
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
  TextOptions text = text_options(flags.table, flags.talk);
  const ProfileOptions options = profile_options(flags.cost);
  check_files(flags);
  const AskedGraph asked(flags, text.notes);
  const Output output(flags.output);
  output.set_style(text);
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
  add_report_flags(app, flags->output, flags->talk, "All layers and kernels, and what was not matched");
  return [flags] { return run_read_trace(*flags); };
}

}  // namespace opscope
