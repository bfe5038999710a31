// Runs a sweep and writes its report, also where Ctrl-C ended it: then of what was done.
#include "cli/commands/sweep_run.h"

#include <csignal>

#include "app/worker/terminal.h"
#include "base/error.h"
#include "base/files.h"
#include "cli/flags/sweep.h"
#include "cli/main/cli.h"
#include "cli/output/picture_output.h"
#include "metrics/unit.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

SweepWay way_of(const SweepFlags& flags) {
  if (flags.polynomial && flags.every_point)
    throw Error("--polynomial and --every-point exclude each other", "sweep", "leave one out");
  if (flags.polynomial) return SweepWay::kPolynomial;
  return flags.every_point ? SweepWay::kCapture : SweepWay::kAuto;
}

// The limit that was given, or the device's memory.
void set_memory(const SweepFlags& flags, const ProfileOptions& options, SweepReport& report) {
  if (!flags.memory.empty()) {
    report.memory = parse_bytes("--memory", flags.memory), report.memory_text = flags.memory;
  } else if (options.hardware && options.hardware->memory_size) {
    report.memory = Count{static_cast<std::uint64_t>(options.hardware->memory_size->value)};
    report.memory_text = options.hardware->id + "'s " + options.hardware->memory_size->text;
  }
}

void check_done(const Sweep& sweep, const CaptureServer& server) {
  const SweepResult& result = sweep.result();
  if (result.count(SweepState::kCaptured) > 0 || !server.first_problem()) return;
  throw *server.first_problem();
}

void write_picture_file(const std::string& path, const SweepReport& report, const TalkFlags& talk) {
  const PictureFormat format = picture_format_from_extension(path);
  write_file(path, svg_to(format, sweep_svg(report)));
  if (!talk.quiet) remark("wrote " + path);
}

// Between two values: by a polynomial, else by a few more captures.
FiguresAt figures_at(Sweep& sweep, const SweepCapture& capture) {
  constexpr std::size_t kMoreCaptures = 64;
  return [&sweep, &capture,
          left = kMoreCaptures](const SweepPlace& place) mutable -> std::optional<SweepFigures> {
    if (auto known = sweep.result().at(place)) return known;
    if (left == 0) return std::nullopt;
    --left;
    return sweep.capture_one(place, capture);
  };
}

}  // namespace

int run_sweep(const ModelCommandFlags& flags, const CostFlags& cost, const SweepFlags& asked) {
  TextOptions text;
  text.verbose = flags.talk.verbose;
  const SweepOptions options{.profile = profile_options(cost), .way = way_of(asked)};
  const SweepRequest request = sweep_request(flags.model, &text.notes);
  if (request.axes.empty())
    throw Error("nothing varies", "sweep",
                "give --batch, --seq-len, --image-size, --dtype or --dim, as a list");
  SweepReport report;
  set_memory(asked, options.profile, report);
  if (!asked.metric.empty()) report.metrics = sweep_metrics_from("--metric", asked.metric);
  if (!asked.visualize.empty())
    picture_format_from_extension(asked.visualize), check_writable(asked.visualize);
  const PictureOutput output(flags.output,
                             {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  output.set_style(text);
  Sweep sweep(request.axes, options);
  CaptureServer server(request.model, flags.talk);
  if (!sweep.uses_polynomials()) server.expect(sweep.result().points.size());
  const SweepCapture capture = sweep_capture(request, server);
  int exit_code = kExitDone;
  try {
    sweep.run(capture);
    check_done(sweep, server);
    server.expect(0);
    if (!asked.no_turns) report.turns = find_turns(sweep.result(), report.memory, figures_at(sweep, capture));
  } catch (const Interrupted& interrupted) {
    if (sweep.result().count(SweepState::kCaptured) == 0) throw;
    report.interrupted = true;
    exit_code = 128 + interrupted.signal();
  }
  report.result = &sweep.result();
  if (report.metrics.empty()) report.metrics = usual_sweep_metrics(sweep.result());
  if (report.interrupted && !flags.talk.quiet)
    remark("interrupted: " + std::to_string(sweep.result().count(SweepState::kNotDone)) + " of " +
           std::to_string(sweep.result().points.size()) + " points are not done; these are the others");
  if (output.is_picture())
    output.write_picture(sweep_svg(report));
  else
    output.write(to_format(report, output.format(), text));
  if (!asked.visualize.empty()) write_picture_file(asked.visualize, report, flags.talk);
  return exit_code;
}

}  // namespace opscope
