// `opscope reconcile`: what other tools count for a model, and why it is not what opscope counts.
#include "report/reconcile/reconcile.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/models/peer_tools.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/flags/model.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/output.h"

namespace opscope {
namespace {

struct ReconcileFlags : ModelCommandFlags {
  std::string models, with = "fvcore", tolerance = "10%";
  bool why = false, strict = false;
};

// "a,b,c" without the spaces around them.
std::vector<std::string> split(const char* flag, const std::string& text, const std::string& example) {
  std::vector<std::string> items;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    std::string item = text.substr(from, comma - from);
    item.erase(0, item.find_first_not_of(" "));
    item.erase(item.find_last_not_of(" ") + 1);
    if (!item.empty()) items.push_back(std::move(item));
    from = comma + 1;
  }
  if (items.empty()) throw Error("nothing is named in '" + text + "'", flag, "for example " + example);
  return items;
}

// "10%" or "0.1"
double read_tolerance(std::string text) {
  const bool percent = text.ends_with('%');
  if (percent) text.pop_back();
  const double number = parse_number("--tolerance", text);
  if (number < 0) throw Error("a tolerance is not negative", "--tolerance", "for example 10%");
  return percent ? number / 100 : number;
}

std::vector<std::string> models_of(const ReconcileFlags& flags) {
  const std::string& model = flags.model.model;
  if (flags.models.empty()) return {model.empty() ? flags.model.positional : model};
  if (!flags.model.positional.empty() || !model.empty())
    throw Error("a model and --models too", "--models", "name them all with --models");
  return split("--models", flags.models, "--models resnet18,resnet50");
}

// How each of them is built and called. The first stands for all, so that none is chosen where none is named.
CaptureRequest request_for(const ReconcileFlags& flags, std::vector<std::string>& models,
                           std::vector<std::string>& notes) {
  ModelFlags of_first = flags.model;
  if (!flags.models.empty()) of_first.model = models.front();
  CaptureRequest request = request_from(of_first, &notes);
  models.front() = request.model;
  return request;
}

void check(const CaptureRequest& request) {
  if (request.training) throw Error("the tools count a forward pass only", "--training", "leave it out");
  if (request.tracer != "auto" && request.tracer != "static" && request.tracer != "eager")
    throw Error("the tools run the model itself", "--tracer", "leave it out");
  if (!request.device.empty()) throw Error("the tools run on the CPU", "--device", "leave it out");
}

int run_reconcile(const ReconcileFlags& flags) {
  TextOptions text;
  text.verbose = flags.talk.verbose;
  ReconcileOptions options{read_tolerance(flags.tolerance), flags.why};
  auto models = models_of(flags);
  const CaptureRequest request = request_for(flags, models, text.notes);
  check(request);
  const auto tools = split("--with", flags.with, "--with fvcore,torch");
  const Output output(flags.output);
  output.set_style(text);
  const auto found = run_peer_tools(models, tools, request, flags.talk, text.notes);
  output.write(to_format(found, options, output.format(), text));
  const bool off = std::ranges::any_of(found, [&](const Reconciliation& model) {
    return std::ranges::any_of(
        model.peers, [&](const PeerComparison& peer) { return is_flagged(model, peer, options.tolerance); });
  });
  return flags.strict && off ? kExitNo : kExitDone;
}

}  // namespace

Action define_reconcile(CLI::App& app) {
  const auto flags = std::make_shared<ReconcileFlags>();
  add_model_flags(app, flags->model);
  app.add_option("--models", flags->models, "Several models, separated by commas")->type_name("A,B,C");
  app.add_option("--with", flags->with,
                 "Tools to compare with: fvcore (default), torch (FlopCounterMode), ptflops, thop, "
                 "torchinfo, calflops, or all")
      ->type_name("TOOLS");
  app.add_flag("--why", flags->why, "Explain the whole difference: causes, ops, modules");
  app.add_option("--tolerance", flags->tolerance, "Difference above which a tool is marked, default 10%")
      ->type_name("PERCENT");
  app.add_flag("--strict", flags->strict, "Exit code 1 if a tool differs by more than --tolerance");
  app.add_flag("-v,--verbose", flags->talk.verbose, "With --why: every op type of every cause");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_reconcile(*flags); };
}

}  // namespace opscope
