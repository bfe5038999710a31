// `opscope profile`: what a model costs.
#include "analyse/profile/profile.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "app/models/models.h"
#include "app/worker/terminal.h"
#include "base/error.h"
#include "cli/commands/sweep_run.h"
#include "cli/flags/cost.h"
#include "cli/flags/graph_part.h"
#include "cli/flags/level.h"
#include "cli/flags/model.h"
#include "cli/flags/table.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "cli/output/picture_file.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

struct ProfileFlags : ModelCommandFlags {
  CostFlags cost;
  TableFlags table;
  bool strict = false, print_inputs = false;
  std::string graph_part, level, visualize, batch_sizes;
  std::string list;  // rewritten to the list command before parsing; here for the help
};

int strict_answer(const Profile& profile, const ProfileFlags& flags) {
  const Coverage& coverage = profile.coverage;
  if (!flags.strict || coverage.exact == coverage.ops) return kExitDone;
  if (!flags.talk.quiet)
    remark(std::to_string(coverage.ops - coverage.exact) + " of " + std::to_string(coverage.ops) +
           " ops are not exact (--strict)");
  return kExitNo;
}

// What the model would be called with; nothing is captured.
int print_inputs(const CaptureRequest& request, const Output& output, const TextOptions& text,
                 const TalkFlags& talk) {
  const PlannedInputs plan = plan_inputs(request, talk);
  const Columns<PlannedInput> columns{{listed("name"), &PlannedInput::name},
                                      {listed("shape"), &PlannedInput::shape},
                                      {listed("dtype"), &PlannedInput::dtype},
                                      {listed("value"), &PlannedInput::value},
                                      {listed("why"), &PlannedInput::why}};
  Table table = table_of(columns, plan.inputs);
  table.name = "inputs";
  output.write(to_format(table, output.format(), text));
  if (!talk.quiet)
    for (const std::string& note : plan.notes) remark(note);
  return kExitDone;
}

std::optional<PictureFile> picture_file(const ProfileFlags& flags) {
  if (flags.visualize.empty()) return std::nullopt;
  return PictureFile(flags.visualize, "");
}

// The table is the result; the picture is a file beside it.
void draw_picture(const PictureFile& picture, const Profile& profile, const TalkFlags& talk) {
  std::vector<std::string> notes;
  const std::string line = picture.write(profile, {}, notes);
  if (talk.quiet) return;
  remark(line);
  for (const std::string& note : notes) remark(note);
}

std::string side_by_side(const Graph& graph, const std::vector<ProfileOptions>& options, Format format,
                         const TextOptions& text) {
  std::vector<Profile> profiles;
  for (const ProfileOptions& on_device : options) profiles.push_back(make_profile(graph, on_device));
  return compare_hardware(profiles, format, text);
}

// The table of a sweep; --visualize then draws its lines.
int profile_batches(const ProfileFlags& flags) {
  if (!flags.model.batch.empty())
    throw Error("--batch and --batch-sizes exclude each other", "--batch-sizes", "leave one out");
  ModelCommandFlags each = flags;
  each.model.batch = flags.batch_sizes;
  return run_sweep(each, flags.cost, {.visualize = flags.visualize});
}

int run_profile(const ProfileFlags& flags) {
  if (!flags.batch_sizes.empty()) return profile_batches(flags);
  TextOptions text = text_options(flags.table, flags.talk);
  if (!flags.level.empty()) text.level = level_from_name(flags.level);
  const std::vector<ProfileOptions> options = profile_options_by_device(flags.cost);
  const CaptureRequest request = request_from(flags.model, &text.notes);
  check_graph_part(flags.graph_part);
  const Output output(flags.output);
  output.set_style(text);
  const std::optional<PictureFile> picture = picture_file(flags);
  if (flags.print_inputs) return print_inputs(request, output, text, flags.talk);
  const Graph graph = chosen_part(load_model(request, flags.talk), flags.graph_part, text.notes);
  if (options.size() > 1 && picture)
    throw Error("a picture is of one device", "--hardware", "name one, or leave out --visualize");
  const Profile profile = make_profile(graph, options.front());
  output.write(options.size() > 1 ? side_by_side(graph, options, output.format(), text)
                                  : to_format(profile, output.format(), text));
  if (picture) draw_picture(*picture, profile, flags.talk);
  return strict_answer(profile, flags);
}

}  // namespace

Action define_profile(CLI::App& app) {
  const auto flags = std::make_shared<ProfileFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  app.add_option("--batch-sizes", flags->batch_sizes,
                 "One row for each batch size, as `opscope sweep --batch`: 1,4,8,16")
      ->type_name("LIST");
  app.add_flag("--print-inputs", flags->print_inputs,
               "Only show the inputs that opscope would make for the model, and why");
  add_level_flag(app, flags->level);
  add_table_flags(app, flags->table, "flops", "Number of most expensive layers, default 10");
  add_cost_flags(app, flags->cost);
  app.add_option("--visualize", flags->visualize,
                 "Also draw the graph: .png, .pdf, .svg, .dot or .html; -v FILE does the same")
      ->type_name("FILE");
  app.add_flag("-v,--verbose", flags->talk.verbose,
               "All layers, op types and notes, and full error messages of tracers");
  app.add_flag("--strict", flags->strict, "Exit code 1 unless the cost of every op is exact");
  app.add_option("--list", flags->list, "List models, as `opscope list`")->type_name("[PATTERN]");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_profile(*flags); };
}

}  // namespace opscope
