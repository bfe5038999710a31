// `opscope profile`: what a model costs; `opscope sweep`: at many sizes, and where its behaviour turns;
// `opscope fit`: the largest that fits a memory.
#include "base/error.h"
#include "base/files.h"
#include "cli/flags/flags.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

// Of `opscope sweep`, and of `opscope profile --batch-sizes`.
struct SweepFlags : ModelCommandFlags {
  std::string metric{}, memory{};
  bool polynomial = false, every_point = false, no_turns = false;
  std::string visualize{};  // a picture beside the report
};

// The lists among the flags, dtypes outermost; what is left of `written` does not vary.
std::vector<AxisText> axes_of(WrittenRequest& written) {
  std::vector<AxisText> axes;
  for (const char* key : {"optimizer", "autocast", "checkpoint"}) {
    const std::string text = written.text(key);
    if (text.find(',') == std::string::npos) continue;  // one does not vary
    axes.push_back({key, text});
    written.texts.erase(key);
  }
  for (const char* key : {"dtype", "quantize", "batch", "seq_len", "past_len", "image_size"}) {
    if (const std::string text = written.text(key); !text.empty()) axes.push_back({key, text});
    written.texts.erase(key);
  }
  for (const std::string& text : written.texts["dims"]) {
    const auto equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      throw Error("'" + text + "' is not NAME=VALUES", "--dim", "for example --dim batch=1,2,4");
    axes.push_back({text.substr(0, equals), text.substr(equals + 1), true});
  }
  written.texts.erase("dims");
  return axes;
}

SweepRequest sweep_request(const SweepFlags& flags, std::vector<std::string>& notes) {
  if (flags.polynomial && flags.every_point)
    throw Error("--polynomial and --every-point exclude each other", "sweep", "leave one out");
  WrittenRequest written = flags.model;
  SweepRequest request{
      .model = {}, .axes = axes_of(written), .devices = profile_options_by_device(flags.cost)};
  request.model = request_from(written, &notes);
  if (flags.polynomial || flags.every_point) request.polynomial = flags.polynomial;
  request.metric = flags.metric, request.memory = flags.memory, request.turns = !flags.no_turns;
  return request;
}

// Also where Ctrl-C ended it: then of what was done.
int run_sweep(const SweepFlags& flags) {
  TextOptions text;
  const SweepRequest request = sweep_request(flags, text.notes);
  if (!flags.visualize.empty())
    picture_format_from_extension(flags.visualize), check_writable(flags.visualize);
  const PictureOutput output(flags, text);
  Talk talk(flags.talk);
  ModelPoints points(talk);
  const SweepAnswer answer = sweep(request, points);
  const SweepResult& result = answer.sweep->result();
  if (answer.signal != 0 && !flags.talk.quiet)
    remark("interrupted: " + std::to_string(result.count(SweepState::kNotDone)) + " of " +
           std::to_string(result.points.size()) + " points are not done; these are the others");
  if (output.is_picture())
    output.write_picture(sweep_svg(answer.report));
  else
    output.write(to_format(answer.report, output.format(), text));
  if (!flags.visualize.empty()) {
    const PictureFormat format = picture_format_from_extension(flags.visualize);
    write_beside(flags.visualize, svg_to(format, sweep_svg(answer.report)), flags.talk);
  }
  return answer.signal != 0 ? 128 + answer.signal : kExitDone;
}

struct FitFlags : ModelCommandFlags {
  std::string variable, memory, max_time, reserve, step;
};

int run_fit(const FitFlags& flags) {
  TextOptions text;
  FitRequest request{.model = {},
                     .variable = flags.variable,
                     .memory = flags.memory,
                     .max_time = flags.max_time,
                     .reserve = flags.reserve};
  request.profile = profile_options(flags.cost);
  WrittenRequest written = flags.model;
  capture_as_on({request.profile}, written);
  request.model = request_from(written, &text.notes);
  read_number(request.step, "--step", flags.step, 1);
  const Output output(flags, text);
  Talk talk(flags.talk);
  ModelPoints points(talk);
  const FitAnswer answer = fit(request, points);
  output.write(to_format(answer, output.format(), text));
  return answer.best ? kExitDone : kExitNo;
}

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
  output.write(to_format(table_of(columns, plan.inputs).called("inputs"), output.format(), text));
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

Action define_sweep(CLI::App& app) {
  const auto flags = std::make_shared<SweepFlags>();
  add_model_flags(app, flags->model);
  for (const CaptureField& field : capture_fields())  // flags of one value elsewhere are lists here
    if (const auto& help = field.rules.list_help; !help.empty())
      app.get_option(std::string(field.flag))
          ->description(std::string(help))
          ->type_name(field.is_list() ? "NAME=LIST" : "LIST");
  add_value(app, "--metric", flags->metric, "LIST",
            "Metrics to show; pictures use the first: " + metric_choices(kSweepNeeds));
  add_value(app, "--memory", flags->memory, "BYTES",
            "Memory limit to compare with, for example 24GiB. Default: the memory of --hardware");
  add_switch(app, "--polynomial", flags->polynomial,
             "Compute most points from polynomials that are fitted to captures and checked against others. "
             "Default above 40 points");
  add_switch(app, "--every-point", flags->every_point, "Capture every point, however many there are");
  add_switch(app, "--no-crossovers,--no-turning-points", flags->no_turns, "Without the crossovers");
  add_value(app, "--visualize", flags->visualize, "FILE", "Also draw the curves: .svg, .png or .pdf");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All rows, however many there are", format_help(", svg, png or pdf"));
  return [flags] { return run_sweep(*flags); };
}

Action define_fit(CLI::App& app) {
  const auto flags = std::make_shared<FitFlags>();
  add_model_flags(app, flags->model);
  add_value(app, "--memory", flags->memory, "BYTES",
            "Memory to fit into, for example 24GiB. Default: the memory of --hardware");
  add_value(app, "--max-time", flags->max_time, "TIME",
            "Predicted time on --hardware to stay within, for example 20ms");
  add_value(
      app, "--reserve", flags->reserve, "BYTES",
      "Part of the memory to keep free: 1GiB, 10% or 0. Default: what the allocator, and with --hardware the "
      "driver, need");
  add_value(app, "--variable", flags->variable, "NAME",
            "Size to maximise: batch (default), seq-len, image-size, past-len, or the name of a --dim");
  add_value(app, "--step", flags->step, "N", "Only try multiples of N. Default: 1, for images 32");
  add_cost_flags(app, flags->cost);
  add_result_flags(app, *flags);
  return [flags] { return run_fit(*flags); };
}

}  // namespace opscope
