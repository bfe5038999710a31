// `opscope capture`: a model's graph as a file that can be profiled anywhere, without Python.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "graph/writer.h"

namespace opscope {
namespace {

int run_capture(const ModelCommandFlags& flags) {
  std::vector<std::string> notes;
  const AskedGraph asked(flags, notes);
  const Output output(flags.output, Format::kJson);
  output.allow_only(Format::kJson, "captures are written as JSON only");
  Graph graph = asked.load();
  // They are this machine's files: of use to the cache, not to whoever gets the capture.
  graph.capture.dependencies.clear();
  output.write(write_json(graph));
  return kExitDone;
}

}  // namespace

Action define_capture(CLI::App& app) {
  const auto flags = std::make_shared<ModelCommandFlags>();
  add_model_flags(app, flags->model);
  add_result_flags(app, *flags);
  add_switch(app, "-v,--verbose", flags->talk.verbose, "Say if the cache cannot be used");
  return [flags] { return run_capture(*flags); };
}

}  // namespace opscope
