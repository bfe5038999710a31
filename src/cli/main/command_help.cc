// Help as text for the terminal.
#include "cli/main/command_help.h"

#include <CLI/CLI.hpp>

#include "base/text.h"

namespace opscope {

Action set_up(CLI::App& app, const Command& command) {
  app.name("opscope " + std::string(command.name));
  app.description(std::string(command.summary));
  app.footer("Examples:\n" + std::string(command.examples));
  app.set_help_flag("-h,--help", "This help");
  app.get_formatter()->column_width(26);
  app.allow_extras();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // of a flag given twice
  Action action = command.define(app);
  // A positional is named by what it is; CLI11 would add "TEXT".
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    option->type_name("");
  return action;
}

std::string general_help() {
  std::string text =
      "opscope says what a PyTorch model costs: parameters, MACs, FLOPs, bytes moved and peak memory, for "
      "every op,\nlayer and module. It needs no weights, no data and no GPU. Only `measure` times real "
      "runs.\n\nUsage: opscope COMMAND ...\n\n";
  for (const Command& command : commands())
    text += "  " + pad_right(command.name, 12) + std::string(command.summary) + "\n";
  text += "  " + pad_right("help", 12) + "Help for a command, with examples\n";
  text += "  " + pad_right("version", 12) + "The version of opscope\n";
  return text +
         "\n"
         "  opscope profile resnet18              a torchvision model by name\n"
         "  opscope profile my_model.py:build     your own model: a function or class in a file\n"
         "  opscope profile capture.json          a saved capture; no Python needed\n\n"
         "Exit codes: 0 done; 1 a limit is exceeded, models differ, nothing fits (check, diff, fit, "
         "--strict); 2 error; 130 Ctrl-C.\n";
}

std::string command_help(const Command& command) {
  CLI::App app;
  set_up(app, command);
  return app.help();
}

}  // namespace opscope
