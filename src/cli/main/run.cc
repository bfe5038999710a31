// From argv to an exit code: picks the command, parses its flags, and tells every error in the same voice.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>

#include "app/worker/child_process.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "cli/main/arguments.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/main/command_help.h"
#include "cli/output/terminal.h"

namespace opscope {
namespace {

// Help and the like.
void print(const std::string& page) {
  const std::string text =
      terminal_text(page, {.width = terminal_width(), .color = false, .ascii = locale_is_ascii()});
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error("cannot write the result", "stdout");
}

const Command& command_called(const std::string& name) {
  if (const Command* command = find_command(name)) return *command;
  std::vector<std::string_view> names{"help", "version"};
  for (const Command& command : commands()) names.push_back(command.name);
  std::error_code ignored;
  std::string hint = did_you_mean(name, names);
  // A model where a command belongs is the commonest slip.
  if (hint.empty() || std::filesystem::exists(name, ignored) || name.find(':') != std::string::npos)
    hint = "opscope profile " + name + "?   opscope help shows the commands";
  throw Error("no command called '" + name + "'", "", hint);
}

[[noreturn]] void fail_extra(const CLI::App& app, const Command& command, const std::string& extra) {
  if (!extra.starts_with('-') || extra == "-")
    throw Error("one argument too many: '" + extra + "'", "", "opscope help " + std::string(command.name));
  const std::string flag = extra.substr(0, extra.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  const std::string near = did_you_mean(flag, known);
  throw Error("no flag called '" + flag + "'", "",
              near.empty() ? "opscope help " + std::string(command.name) : near);
}

int run_command(const Command& command, Arguments arguments) {
  CLI::App app;
  const Action action = set_up(app, command);
  // CLI11 takes the arguments from the back.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return kExitDone;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    throw Error("a value is missing", text.substr(0, text.find(':')),
                "opscope help " + std::string(command.name));
  } catch (const CLI::ParseError& error) {
    throw Error(error.what(), "", "opscope help " + std::string(command.name));
  }
  if (const auto extras = app.remaining(); !extras.empty()) fail_extra(app, command, extras.front());
  return action();
}

// `opscope help [COMMAND]`, or all of it as a page: `opscope help --format md`.
int help(const Arguments& arguments) {
  const std::string which = arguments.size() > 1 ? arguments[1] : "";
  if (which == "--format=md" || (which == "--format" && arguments.size() > 2 && arguments[2] == "md"))
    std::fputs(command_reference().c_str(), stdout);
  else
    print(which.empty() ? general_help() : command_help(command_called(which)));
  return kExitDone;
}

int dispatch(Arguments arguments) {
  if (arguments.empty()) return help({});
  const std::string first = arguments.front();
  if (first == "help" || first == "-h" || first == "--help") return help(arguments);
  if (first == "version" || first == "--version" || first == "-V") {
    print("opscope " OPSCOPE_VERSION "\n");
    return kExitDone;
  }
  // Flags without a command belong to the one that is wanted nearly always.
  if (first.starts_with('-')) arguments.insert(arguments.begin(), "profile");
  arguments = picture_flag(list_flag_to_command(join_shapes(arguments)));
  const Command& command = command_called(arguments.front());
  arguments.erase(arguments.begin());
  return run_command(command, std::move(arguments));
}

int fail(const std::string& what, const std::string& where = {}, const std::string& hint = {}) {
  std::string text = "opscope: " + (where.empty() ? "" : where + ": ") + what + "\n";
  if (!hint.empty())
    for (const std::string_view line : split_by(hint, '\n')) text.append("  ").append(line).append("\n");
  write_stderr(text);
  return kExitFailed;
}

}  // namespace

int run(int argc, char** argv) {
  install_signal_handlers();
  try {
    return dispatch(Arguments(argv + std::min(argc, 1), argv + argc));
  } catch (const Error& error) {
    return fail(error.what(), error.where(), error.hint());
  } catch (const Interrupted& interrupt) {
    return 128 + interrupt.signal();
  } catch (const std::bad_alloc&) {
    return fail("not enough memory");
  } catch (const std::exception& error) {
    return fail(error.what(), "", "this is a bug in opscope: please report it with the command");
  }
}

}  // namespace opscope
