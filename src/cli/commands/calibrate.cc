// `opscope calibrate`: a device timed once, so that any model can be predicted on it; and what a calibration
// says.
#include "app/models/calibrate.h"

#include "base/error.h"
#include "base/files.h"
#include "cli/flags/flags.h"
#include "hardware/predict/calibration.h"
#include "hardware/predict/known_calibrations.h"
#include "hardware/predict/targets.h"
#include "report/calibrate/calibrate.h"

namespace opscope {
namespace {

struct CalibrateFlags : CommandFlags {
  CalibrateRequest request;
  std::string threads, seconds, show;
};

CalibrationPointer shown(const std::string& path) {
  const bool is_name = path.find('/') == std::string::npos && !path.ends_with(".toml");
  if (is_name && path != "this" && !file_stamp(path)) {
    if (CalibrationPointer known = known_calibration(path)) return known;
    throw Error("no calibration called '" + path + "'", "--show",
                "name a file that `opscope calibrate` wrote, a device that opscope has one of, or this");
  }
  const std::string file = path == "this" ? load_targets(path, "--show").front().calibration->file : path;
  const std::string text = read_file(file);
  if (!looks_like_calibration(text))
    throw Error("not a calibration", file, "`opscope calibrate --on cpu -o FILE` makes one");
  auto calibration = std::make_shared<Calibration>(read_calibration(text, file));
  calibration->file = file;
  return calibration;
}

// Ctrl-C loses nothing, which nobody would guess.
std::string calibrated(const CalibrateRequest& request, const TalkFlags& talk) {
  Talk listener(talk);
  try {
    return calibrate(request, listener);
  } catch (const Interrupted&) {
    listener.resting();
    remark("interrupted: what was timed is kept" +
           (request.output.empty() ? std::string() : " in " + request.output + ".partial") +
           "; the same command goes on from there");
    throw;
  }
}

int run_calibrate(CalibrateFlags& flags) {
  TextOptions text;
  const std::string file = flags.output.output;
  flags.output.output.clear();  // the calibration's; the report goes to stdout
  const Output output(flags, text);
  if (!flags.show.empty()) {
    if (!flags.request.on.empty() || !file.empty())
      throw Error("--show reads a calibration, and makes none", flags.request.on.empty() ? "-o" : "--on",
                  "leave one of them out");
    output.write(to_format(*shown(flags.show), output.format(), text));
    return kExitDone;
  }
  CalibrateRequest& request = flags.request;
  request.output = file == "-" ? "" : file;
  if (!flags.threads.empty()) request.threads = parse_integer("--threads", flags.threads, 1);
  if (!flags.seconds.empty()) request.seconds = parse_number("--time", flags.seconds);
  const std::string path = calibrated(request, flags.talk);
  if (!flags.talk.quiet) remark("wrote " + path);
  output.write(to_format(*shown(path), output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_calibrate(CLI::App& app) {
  const auto flags = std::make_shared<CalibrateFlags>();
  add_value(app, "--on", flags->request.on, "DEVICE", "Device to time: cpu, cuda, cuda:1");
  add_value(
      app, "-o,--output", flags->output.output, "FILE.toml",
      "Where the calibration goes. Default: where --hardware this looks, one file for each device and number "
      "of threads");
  add_switch(app, "--quick", flags->request.quick, "Fewer ops: a minute on a GPU, 20 seconds on a CPU");
  add_value(app, "--threads", flags->threads, "N", "Threads of a CPU, default all that PyTorch takes");
  add_value(app, "--time", flags->seconds, "SECONDS",
            "Seconds to time ops for. Default: 270 on a GPU, 50 on a CPU; with --quick 45 and 14");
  add_value(app, "--calls", flags->request.calls, "FILE",
            "A list of calls to time in place of opscope's (data/calls)");
  add_value(app, "--show", flags->show, "FILE",
            "Only show what a calibration says: a file, a device that opscope has one of, or this");
  add_value(app, "--format", flags->output.format, "FORMAT", format_help(""));
  add_value(app, "--color", flags->output.color, "WHEN", "auto, always or never");
  add_value(app, "--width", flags->output.width, "COLUMNS", "Width of the report");
  add_talk_flags(app, flags->talk);
  return [flags] { return run_calibrate(*flags); };
}

}  // namespace opscope
