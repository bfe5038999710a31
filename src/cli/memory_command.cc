// `opscope memory`: what a model holds in memory over time, and what would lower the peak.
#include <algorithm>
#include <array>
#include <memory>

#include "analyse/memory.h"
#include "base/files.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/graph_part.h"
#include "cli/model_flags.h"
#include "cli/models.h"
#include "cli/output.h"
#include "report/memory_report.h"
#include "report/pictures.h"

namespace opscope {
namespace {

struct Flags : ModelCommandFlags {
  std::string top, graph_part;
  bool no_advice = false;
};

// A picture where the format or the file's extension names one.
std::optional<PictureFormat> picture_asked(const OutputFlags& flags) {
  constexpr std::array kPictures{PictureFormat::kSvg, PictureFormat::kPng, PictureFormat::kPdf};
  const auto dot = flags.output.rfind('.');
  std::string asked = !flags.format.empty()      ? flags.format
                      : dot == std::string::npos ? ""
                                                 : flags.output.substr(dot + 1);
  std::ranges::transform(asked, asked.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  for (const auto picture : kPictures)
    if (asked == name(picture)) return picture;
  return std::nullopt;
}

// Pictures are written like text of any format.
OutputFlags output_flags(OutputFlags flags, bool is_picture) {
  if (is_picture) flags.format = "txt";
  return flags;
}

int run_memory(const Flags& flags) {
  TextOptions text;
  if (!flags.top.empty()) text.top = static_cast<int>(parse_integer("--top", flags.top, 0));
  text.verbose = flags.talk.verbose;
  const CaptureRequest request = request_from(flags.model, &text.notes);
  check_graph_part(flags.graph_part);
  const auto picture = picture_asked(flags.output);
  const Output output(output_flags(flags.output, picture.has_value()));
  output.set_style(text);
  const Graph graph = chosen_part(load_model(request, flags.talk), flags.graph_part, text.notes);
  const Profile profile = make_profile(graph, {});
  const MemoryReport report = make_memory_report(profile, {.advice = !flags.no_advice});
  output.write(picture ? svg_to(*picture, memory_svg(report)) : to_format(report, output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_memory(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  app.add_option("--top", flags->top, "How many of the storages held at the peak, and of the changes; 10")
      ->type_name("N");
  app.add_flag("--no-advice", flags->no_advice, "Leave out what would help");
  app.add_flag("-v,--verbose", flags->talk.verbose, "All storages, modules and changes");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_memory(*flags); };
}

}  // namespace opscope
