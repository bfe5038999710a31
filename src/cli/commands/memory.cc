// `opscope memory`: what a model holds in memory over time, and what would lower the peak.
#include "analyse/memory/memory.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/models/models.h"
#include "cli/flags/graph_part.h"
#include "cli/flags/model.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/picture_output.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

struct MemoryFlags : ModelCommandFlags {
  std::string top, graph_part;
  bool no_advice = false;
};

int run_memory(const MemoryFlags& flags) {
  TextOptions text;
  if (!flags.top.empty()) text.top = static_cast<int>(parse_integer("--top", flags.top, 0));
  text.verbose = flags.talk.verbose;
  const CaptureRequest request = request_from(flags.model, &text.notes);
  check_graph_part(flags.graph_part);
  const PictureOutput output(flags.output,
                             {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  output.set_style(text);
  const Graph graph = chosen_part(load_model(request, flags.talk), flags.graph_part, text.notes);
  const Profile profile = make_profile(graph, {});
  const MemoryReport report = make_memory_report(profile, {.advice = !flags.no_advice});
  if (output.is_picture())
    output.write_picture(memory_svg(report));
  else
    output.write(to_format(report, output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_memory(CLI::App& app) {
  const auto flags = std::make_shared<MemoryFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  app.add_option("--top", flags->top,
                 "Rows: storages allocated at the peak, and proposed changes. Default 10")
      ->type_name("N");
  app.add_flag("--no-advice", flags->no_advice, "Without the proposed changes");
  app.add_flag("-v,--verbose", flags->talk.verbose, "All storages, modules and proposed changes");
  add_output_flags(app, flags->output);
  app.get_option("--format")->description("Output format: txt, json, csv, md, html, svg, png or pdf");
  add_talk_flags(app, flags->talk);
  return [flags] { return run_memory(*flags); };
}

}  // namespace opscope
