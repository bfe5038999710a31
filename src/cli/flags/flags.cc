// The shared flags.
#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>

#include "report/core/report.h"

namespace opscope {

void add_talk_flags(CLI::App& app, TalkFlags& flags) {
  app.add_flag("-q,--quiet", flags.quiet, "No progress and no remarks on stderr");
  app.add_flag("--debug", flags.debug, "Show Python's own output and tracebacks");
}

void add_output_flags(CLI::App& app, OutputFlags& flags) {
  app.add_option("-o,--output", flags.output, "Write to a file; the extension decides the format")
      ->type_name("FILE");
  app.add_option("--format", flags.format, "Output format: " + format_choices())->type_name("FORMAT");
  app.add_option("--color", flags.color, "Colored output: auto, always or never; auto respects NO_COLOR")
      ->type_name("WHEN");
  app.add_option("--width", flags.width,
                 "Width of text in columns. Default: $COLUMNS, the terminal's width, or 100")
      ->type_name("N");
}

void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache) {
  app.add_option("--registry", registry,
                 "Python file that calls opscope.register_model. Default: $OPSCOPE_REGISTRY")
      ->type_name("FILE");
  app.add_flag("--no-cache", no_cache, "Do not read or write the cache");
}

void add_convention_flag(CLI::App& app, std::string& convention) {
  app.add_option("--convention", convention, "How FLOPs are counted: opscope, macs, torch or fvcore")
      ->type_name("NAME");
}

CLI::Option* repeatable(CLI::Option* option) {
  return option->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace opscope
