// The shared flags.
#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>

#include "app/request/fields.h"
#include "report/core/report.h"

namespace opscope {

CLI::Option* add_value(CLI::App& app, const std::string& flag, std::string& value, const std::string& type,
                       const std::string& help) {
  CLI::Option* option = app.add_option(flag, value, help);
  return type.empty() ? option : option->type_name(type);
}

CLI::Option* add_values(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                        const std::string& type, const std::string& help) {
  return app.add_option(flag, values, help)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(type);
}

void add_switch(CLI::App& app, const std::string& flag, bool& on, const std::string& help) {
  app.add_flag(flag, on, help);
}

void add_talk_flags(CLI::App& app, TalkFlags& flags) {
  add_switch(app, "-q,--quiet", flags.quiet, "No progress and no remarks on stderr");
  add_switch(app, "--debug", flags.debug, "Show Python's own output and tracebacks");
}

void add_output_flags(CLI::App& app, OutputFlags& flags, const std::string& formats) {
  add_value(app, "-o,--output", flags.output, "FILE", "Write to a file; the extension decides the format");
  add_value(app, "--format", flags.format, "FORMAT",
            formats.empty() ? "Output format: " + format_choices() : formats);
  add_value(app, "--color", flags.color, "WHEN",
            "Colored output: auto, always or never; auto respects NO_COLOR");
  add_value(app, "--width", flags.width, "N",
            "Width of text in columns. Default: $COLUMNS, the terminal's width, or 100");
}

void add_report_flags(CLI::App& app, OutputFlags& output, TalkFlags& talk, const std::string& verbose,
                      const std::string& formats) {
  add_switch(app, "-v,--verbose", talk.verbose, verbose);
  add_output_flags(app, output, formats);
  add_talk_flags(app, talk);
}

void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache) {
  add_value(app, "--registry", registry, "FILE", std::string(capture_field("registry").help));
  add_switch(app, "--no-cache", no_cache, "Do not read or write the cache");
}

void add_convention_flag(CLI::App& app, std::string& convention) {
  add_value(app, "--convention", convention, "NAME", "How FLOPs are counted: opscope, macs, torch or fvcore");
}

}  // namespace opscope
