// `opscope fit`: the largest batch, length or image that a memory holds.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/models/model_points.h"
#include "cli/flags/cost.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"

namespace opscope {
namespace {

struct FitFlags : ModelCommandFlags {
  CostRequest cost;
  std::string variable, memory, reserve, step;
};

int run_fit(const FitFlags& flags) {
  TextOptions text;
  FitRequest request{
      .model = {}, .variable = flags.variable, .memory = flags.memory, .reserve = flags.reserve};
  request.profile = profile_options(flags.cost);
  request.model = request_from(flags.model, &text.notes);
  if (!flags.step.empty()) request.step = parse_integer("--step", flags.step, 1);
  const Output output(flags.output);
  output.set_style(text);
  Talk talk(flags.talk);
  ModelPoints points(talk);
  const FitAnswer answer = fit(request, points);
  output.write(to_format(answer, output.format(), text));
  return answer.best ? kExitDone : kExitNo;
}

}  // namespace

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
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_fit(*flags); };
}

}  // namespace opscope
