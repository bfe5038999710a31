// `opscope reconcile`: what other tools count for a model, and why it is not what opscope counts.
#include "report/reconcile/reconcile.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/models/measure.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/flags/model.h"
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
  for (std::string_view part : split_by(text, ',')) {
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    if (!part.empty()) items.emplace_back(part.substr(0, part.find_last_not_of(' ') + 1));
  }
  if (items.empty()) throw Error("nothing is named in '" + text + "'", flag, "for example " + example);
  return items;
}

// "10%" or "0.1"
double read_tolerance(std::string text) {
  const bool percent = text.ends_with('%');
  if (percent) text.pop_back();
  const double number = parse_number("--tolerance", text);
  return percent ? number / 100 : number;
}

// How each of them is built and called. The first stands for all, so that none is chosen where none is named.
ReconcileRequest request_for(const ReconcileFlags& flags, std::vector<std::string>& notes) {
  ReconcileRequest request;
  WrittenRequest first = flags.model;
  if (!flags.models.empty()) {
    if (first.positional || first.model)
      throw Error("a model and --models too", "--models", "name them all with --models");
    request.models = split("--models", flags.models, "--models resnet18,resnet50");
    first = first.for_model(request.models.front());
  }
  request.capture = request_from(first, &notes);
  request.models.resize(std::max<std::size_t>(request.models.size(), 1));
  request.models.front() = request.capture.model;
  request.tools = split("--with", flags.with, "--with fvcore,torch");
  return request;
}

int run_reconcile(const ReconcileFlags& flags) {
  TextOptions text;
  const ReconcileOptions options{read_tolerance(flags.tolerance), flags.why};
  const ReconcileRequest request = request_for(flags, text.notes);
  const Output output(flags, text);
  Talk talk(flags.talk);
  const auto found = reconcile(request, talk, text.notes);
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
  add_value(app, "--models", flags->models, "A,B,C", "Several models, separated by commas");
  add_value(app, "--with", flags->with, "TOOLS",
            "Tools to compare with: fvcore (default), torch (FlopCounterMode), ptflops, thop, "
            "torchinfo, calflops, or all");
  add_switch(app, "--why", flags->why, "Explain the whole difference: causes, ops, modules");
  add_value(app, "--tolerance", flags->tolerance, "PERCENT",
            "Difference above which a tool is marked, default 10%");
  add_switch(app, "--strict", flags->strict, "Exit code 1 if a tool differs by more than --tolerance");
  add_report_flags(app, *flags, "With --why: every op type of every cause");
  return [flags] { return run_reconcile(*flags); };
}

}  // namespace opscope
