// `opscope compare`: several models side by side; `opscope reconcile`: what other tools count for a model,
// and why it is not what opscope counts.
#include <algorithm>

#include "app/models/model_list.h"
#include "app/models/trace.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/flags/flags.h"
#include "report/compare/report.h"
#include "report/reconcile/reconcile.h"

namespace opscope {
namespace {

struct CompareFlags : ModelCommandFlags {
  std::vector<std::string> models;
  std::string by, metric, depth, top, pareto, x = "params", y = "flops";
};

// Everything that the flags say, read before any model is.
struct CompareRequest {
  std::vector<ProfileOptions> profile;
  std::optional<CompareBy> by;
  const Metric* metric = &metric_at("flops");
  std::uint32_t depth = 1;
  ParetoOptions pareto{};
  TextOptions text{.top = 15};
};

CompareRequest request_of(const CompareFlags& flags) {
  if (flags.models.empty() || (flags.models.size() < 2 && !is_model_pattern(flags.models.front())))
    throw Error(flags.models.empty() ? "which models?" : "compare needs two or more models", "",
                "opscope compare A B [C ...], for example opscope compare resnet50 efficientnet_b0");
  CompareRequest request;
  request.profile = profile_options_by_device(flags.cost);
  if (!flags.by.empty()) request.by = compare_by_from_name(flags.by, "--by");
  if (!flags.metric.empty()) request.metric = &metric_named(flags.metric, "--metric", kModelNeeds);
  if (!flags.metric.empty() && !request.by)
    throw Error("--metric needs --by: without --by all metrics are shown", "--metric",
                "add --by type or --by module");
  read_number(request.depth, "--depth", flags.depth, 1);
  request.pareto.x = &metric_named(flags.x, "--x", kModelNeeds);
  request.pareto.y = &metric_named(flags.y, "--y", kModelNeeds);
  read_number(request.text.top, "--top", flags.top, 1);
  return request;
}

std::vector<LoadedModel> loaded(const CompareFlags& flags, CompareRequest& request) {
  Talk talk(flags.talk);
  const std::vector<std::string> specs = expand_patterns(flags.models, flags.model, talk);
  const ProfileOptions& options = request.profile.front();
  if (specs == flags.models) return load_models(specs, flags.model, options, talk);
  std::vector<std::string> failed;
  auto models = load_models(specs, flags.model, options, talk, &failed);
  if (models.size() < 2)
    throw Error("fewer than two models to compare", flags.models.front(),
                failed.empty() ? "" : failed.front());
  for (const std::string& why : failed) request.text.notes.push_back("left out: " + why);
  return models;
}

PictureOutput pareto_file(const CompareFlags& flags) {
  OutputFlags output;
  output.output = flags.pareto;
  const PictureOutput file(output, {Format::kText});
  if (!file.is_picture())
    throw Error("a picture is svg, png or pdf", "--pareto", "for example --pareto models.svg");
  return file;
}

int run_compare(const CompareFlags& flags) {
  CompareRequest request = request_of(flags);
  const PictureOutput output(flags, request.text);
  std::optional<PictureOutput> pareto;
  if (!flags.pareto.empty()) pareto.emplace(pareto_file(flags));
  const ModelComparison comparison = compare(loaded(flags, request), request.profile);
  if (output.is_picture()) {
    output.write_picture(pareto_svg(comparison, request.pareto));
    return kExitDone;
  }
  std::optional<ComparedParts> parts;
  if (request.by) parts = compare_parts(comparison, *request.by, *request.metric, request.depth);
  output.write(to_format(comparison, parts, output.format(), request.text));
  if (!pareto) return kExitDone;
  pareto->write_picture(pareto_svg(comparison, request.pareto));
  if (!flags.talk.quiet) remark("the picture is in " + flags.pareto);
  return kExitDone;
}

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

Action define_compare(CLI::App& app) {
  const auto flags = std::make_shared<CompareFlags>();
  app.add_option("MODELS", flags->models,
                 "Two or more models: names or patterns ('resnet*'), files that profile takes, saved "
                 "captures, or profiles saved as JSON")
      ->type_name("MODEL ...");
  add_value(app, "--by", flags->by, "WHAT",
            "One metric by op type (type) or by module, matched by path (module)");
  add_value(app, "--metric,--sort", flags->metric, "KEY",
            "Metric that --by shows and sorts by, default flops: " + metric_choices(kLayerNeeds));
  add_value(app, "--depth", flags->depth, "N", "With --by module: levels of the module tree, default 1");
  add_value(app, "--top", flags->top, "N", "With --by type: number of op types, default 15");
  add_value(app, "--pareto", flags->pareto, "FILE",
            "Also draw all models and their Pareto front: .svg, .png or .pdf");
  add_value(app, "--x", flags->x, "KEY",
            "Metric of the picture's x axis, default params: " + metric_choices(kModelNeeds));
  add_value(app, "--y", flags->y, "KEY", "Metric of the picture's y axis, as --x; default flops");
  add_capture_flags(app, flags->model);
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All op types", format_help("; svg, png or pdf for the picture alone"));
  return [flags] { return run_compare(*flags); };
}

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
