// `opscope profile`: what a model costs.
#include "analyse/profile/profile.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "base/error.h"
#include "cli/commands/sweep.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

struct ProfileFlags : ModelCommandFlags {
  TableFlags table;
  bool strict = false, print_inputs = false;
  std::string level, visualize, batch_sizes;
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
  Talk listener(talk);
  const PlannedInputs plan = plan_inputs(request, listener);
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
  if (!flags.model.text("batch").empty())
    throw Error("--batch and --batch-sizes exclude each other", "--batch-sizes", "leave one out");
  SweepFlags each{flags};
  each.model.set("batch", flags.batch_sizes);
  each.visualize = flags.visualize;
  return run_sweep(each);
}

int run_profile(const ProfileFlags& flags) {
  if (!flags.batch_sizes.empty()) return profile_batches(flags);
  TextOptions text = text_options(flags.table);
  if (!flags.level.empty()) text.level = level_from_name(flags.level);
  const std::vector<ProfileOptions> options = profile_options_by_device(flags.cost);
  const AskedGraph asked(flags, text.notes);
  const Output output(flags, text);
  std::optional<PictureFile> picture;
  if (!flags.visualize.empty()) picture.emplace(flags.visualize, "");
  if (flags.print_inputs) return print_inputs(asked.request(), output, text, flags.talk);
  const Graph graph = asked.load();
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
  add_value(app, "--batch-sizes", flags->batch_sizes, "LIST",
            "One row for each batch size, as `opscope sweep --batch`: 1,4,8,16");
  add_switch(app, "--print-inputs", flags->print_inputs,
             "Only show the inputs that opscope would make for the model, and why");
  add_level_flag(app, flags->level);
  add_table_flags(app, flags->table, "flops", "Number of most expensive layers, default 10");
  add_cost_flags(app, flags->cost);
  add_value(app, "--visualize", flags->visualize, "FILE",
            "Also draw the graph: .png, .pdf, .svg, .dot or .html; -v FILE does the same");
  add_switch(app, "-v,--verbose", flags->talk.verbose,
             "All layers, op types and notes, and full error messages of tracers");
  add_switch(app, "--strict", flags->strict, "Exit code 1 unless the cost of every op is exact");
  add_value(app, "--list", flags->list, "[PATTERN]", "List models, as `opscope list`");
  add_result_flags(app, *flags);
  return [flags] { return run_profile(*flags); };
}

}  // namespace opscope
