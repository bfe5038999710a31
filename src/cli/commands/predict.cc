// `opscope predict`: how long a model takes on a device, and where the time goes.
#include "report/predict/predict.h"

#include "base/error.h"
#include "base/files.h"
#include "cli/flags/flags.h"

namespace opscope {
namespace {

struct PredictFlags : ModelCommandFlags {
  TableFlags table;
  std::string level, trace;
};

int run_predict(PredictFlags& flags) {
  TextOptions text = text_options(flags.table);
  if (!flags.level.empty()) text.level = level_from_name(flags.level);
  if (flags.cost.hardware.empty())
    throw Error("a time is of a device, and none is named", "--hardware",
                "for example --hardware h200, or --hardware this for this machine once `opscope calibrate` "
                "measured it");
  const std::vector<ProfileOptions> targets = profile_options_by_device(flags.cost);
  if (!flags.trace.empty()) {
    if (targets.size() > 1) throw Error("a trace is of one device", "--trace", "name one with --hardware");
    check_writable(flags.trace);
  }
  capture_as_on(targets, flags.model);
  const AskedGraph asked(flags, text.notes);
  const Output output(flags, text);
  const Graph graph = asked.load();
  std::vector<Profile> profiles;
  for (const ProfileOptions& target : targets) profiles.push_back(make_profile(graph, target));
  output.write(prediction_report(profiles, output.format(), text));
  if (!flags.trace.empty()) write_beside(flags.trace, predicted_trace(profiles.front()), flags.talk);
  return kExitDone;
}

}  // namespace

Action define_predict(CLI::App& app) {
  const auto flags = std::make_shared<PredictFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  add_level_flag(app, flags->level);
  add_table_flags(app, flags->table, "predicted-seconds", "Number of slowest layers, default 10");
  add_cost_flags(app, flags->cost);
  add_value(app, "--trace", flags->trace, "FILE",
            "Also write the predicted run as a trace for ui.perfetto.dev: .json");
  add_report_flags(app, *flags, "All layers, op types and notes");
  return [flags] { return run_predict(*flags); };
}

}  // namespace opscope
