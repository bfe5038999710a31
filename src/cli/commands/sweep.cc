// `opscope sweep`: a model at many sizes, and where its behaviour turns; also where Ctrl-C ended it: then of
// what was done.
#include "cli/commands/sweep.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/models/trace.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"

namespace opscope {
namespace {

// The lists among the flags, dtypes outermost; what is left of `written` does not vary.
std::vector<AxisText> axes_of(WrittenRequest& written) {
  std::vector<AxisText> axes;
  for (const char* key : {"dtype", "batch", "seq_len", "past_len", "image_size"}) {
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

SweepRequest request_of(const SweepFlags& flags, std::vector<std::string>& notes) {
  if (flags.polynomial && flags.every_point)
    throw Error("--polynomial and --every-point exclude each other", "sweep", "leave one out");
  WrittenRequest written = flags.model;
  SweepRequest request{.model = {}, .axes = axes_of(written), .profile = profile_options(flags.cost)};
  request.model = request_from(written, &notes);
  if (flags.polynomial || flags.every_point) request.polynomial = flags.polynomial;
  request.metric = flags.metric, request.memory = flags.memory, request.turns = !flags.no_turns;
  return request;
}

struct FitFlags : ModelCommandFlags {
  std::string variable, memory, reserve, step;
};

int run_fit(const FitFlags& flags) {
  TextOptions text;
  FitRequest request{
      .model = {}, .variable = flags.variable, .memory = flags.memory, .reserve = flags.reserve};
  request.profile = profile_options(flags.cost);
  request.model = request_from(flags.model, &text.notes);
  read_number(request.step, "--step", flags.step, 1);
  const Output output(flags, text);
  Talk talk(flags.talk);
  ModelPoints points(talk);
  const FitAnswer answer = fit(request, points);
  output.write(to_format(answer, output.format(), text));
  return answer.best ? kExitDone : kExitNo;
}

}  // namespace

int run_sweep(const SweepFlags& flags) {
  TextOptions text;
  const SweepRequest request = request_of(flags, text.notes);
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
  add_value(app, "--reserve", flags->reserve, "BYTES",
            "Part of the memory to keep free: 1GiB or 10%. Default: 1GiB with --hardware, else nothing");
  add_value(app, "--variable", flags->variable, "NAME",
            "Size to maximise: batch (default), seq-len, image-size, past-len, or the name of a --dim");
  add_value(app, "--step", flags->step, "N", "Only try multiples of N. Default: 1, for images 32");
  add_cost_flags(app, flags->cost);
  add_result_flags(app, *flags);
  return [flags] { return run_fit(*flags); };
}

}  // namespace opscope
