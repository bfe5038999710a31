// `opscope fit`: the largest batch, length or image that a memory holds.
#include "analyse/sweep/fit.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "cli/flags/cost.h"
#include "cli/flags/sweep.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 4> kSizes{"batch", "seq_len", "image_size", "past_len"};

struct FitFlags : ModelCommandFlags {
  CostFlags cost;
  std::string variable, memory, reserve, step;
};

bool is_size(std::string_view name) { return std::ranges::find(kSizes, name) != kSizes.end(); }

// A dimension of a file may have any name.
void check_variable(const std::string& name, bool is_file) {
  if (is_file || is_size(name)) return;
  const std::string near = did_you_mean(name, kSizes);
  throw Error("nothing called '" + name + "' varies", "--variable",
              near.empty() ? "batch, seq-len, image-size or past-len" : near);
}

int run_fit(const FitFlags& flags) {
  TextOptions text;
  const ProfileOptions options = profile_options(flags.cost);
  SweepRequest request;
  request.model = request_from(flags.model, &text.notes);
  std::optional<std::int64_t> step;
  if (!flags.step.empty()) step = parse_integer("--step", flags.step, 1);
  const FitQuestion question =
      fit_question(flags.variable, flags.memory, flags.reserve, step, options.hardware.get());
  const bool is_file = request.model.model.ends_with(".pt2") || request.model.model.ends_with(".onnx");
  check_variable(question.variable, is_file);
  const Output output(flags.output);
  output.set_style(text);
  request.axes.push_back(numeric_axis(question.variable, {question.first}));
  request.is_dim.push_back(is_file);
  if (question.variable == "past_len" && request.model.phase.empty()) request.model.phase = "decode";
  CaptureServer server(request.model, flags.talk);
  const FitAnswer answer = find_fit(question, options, [&](std::int64_t value, const auto& give) {
    const CaptureRequest one = request.at({value});
    server.capture(std::span(&one, 1),
                   [&](std::size_t, const Graph* graph, const std::string& why) { give(graph, why); });
  });
  if (answer.end == FitAnswer::End::kFails && server.first_problem()) throw *server.first_problem();
  output.write(to_format(answer, output.format(), text));
  return answer.best ? kExitDone : kExitNo;
}

}  // namespace

Action define_fit(CLI::App& app) {
  const auto flags = std::make_shared<FitFlags>();
  add_model_flags(app, flags->model);
  app.add_option("--memory", flags->memory,
                 "Memory to fit into, for example 24GiB. Default: the memory of --hardware")
      ->type_name("BYTES");
  app.add_option("--reserve", flags->reserve,
                 "Part of the memory to keep free: 1GiB or 10%. Default: 1GiB with --hardware, else nothing")
      ->type_name("BYTES");
  app.add_option("--variable", flags->variable,
                 "Size to maximise: batch (default), seq-len, image-size, past-len, or the name of a --dim")
      ->type_name("NAME");
  app.add_option("--step", flags->step, "Only try multiples of N. Default: 1, for images 32")->type_name("N");
  add_cost_flags(app, flags->cost);
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_fit(*flags); };
}

}  // namespace opscope
