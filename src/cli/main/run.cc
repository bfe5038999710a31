// From argv to an exit code: rewrites what the flag parser is not to see (shapes written as separate numbers,
// --list, pictures by -v), picks the command, parses its flags, and tells every error in the same voice.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>

#include "app/worker/child_process.h"
#include "base/error.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "cli/main/command.h"
#include "cli/output/output.h"

namespace opscope {
namespace {

using Arguments = std::vector<std::string>;

constexpr std::string_view kShapeFlag = "--input-shape";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Made of digits, signs, points and separators, and begins like a number.
bool looks_like_sizes(std::string_view text) {
  const std::string_view digits = text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
  return !digits.empty() && is_digit(digits[0]) &&
         text.find_first_not_of("0123456789+-.,xX*") == std::string_view::npos;
}

bool is_picture(const std::string& path) {
  static constexpr std::array<std::string_view, 5> kExtensions{"png", "pdf", "svg", "dot", "html"};
  return std::ranges::find(kExtensions, file_extension(path)) != kExtensions.end();
}

bool is_flag(std::string_view text) { return text.size() > 1 && text[0] == '-' && !is_digit(text[1]); }

// "--input-shape 1 3 -4 224" -> "--input-shape=1,3,-4,224": the numbers after the flag are its value, a minus
// sign included. Throws Error where nothing follows.
Arguments join_shapes(const Arguments& arguments) {
  Arguments result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool joined = arguments[i].starts_with(std::string(kShapeFlag) + "=");
    if (arguments[i] != kShapeFlag && !joined) {
      result.push_back(arguments[i]);
      continue;
    }
    std::string sizes = joined ? arguments[i].substr(kShapeFlag.size() + 1) : "";
    // Whatever comes first is meant as the shape, even if it is none: the error is then about the shape.
    if (!joined && i + 1 < arguments.size() && !is_flag(arguments[i + 1])) sizes = arguments[++i];
    if (sizes.empty())
      throw Error("no sizes given", std::string(kShapeFlag), "for example --input-shape 1 3 224 224");
    while (i + 1 < arguments.size() && looks_like_sizes(arguments[i + 1])) {
      if (!sizes.ends_with(',')) sizes += ',';
      sizes += arguments[++i];
    }
    result.push_back(std::string(kShapeFlag) + "=" + sizes);
  }
  return result;
}

// "profile --list [PATTERN] ..." -> "list [PATTERN] ...".
Arguments list_flag_to_command(const Arguments& arguments) {
  const auto flag = std::ranges::find_if(
      arguments, [](const std::string& text) { return text == "--list" || text.starts_with("--list="); });
  if (flag == arguments.end() || arguments.front() != "profile") return arguments;
  Arguments result{"list"};
  for (auto text = arguments.begin() + 1; text != arguments.end(); ++text) {
    if (text != flag)
      result.push_back(*text);
    else if (text->size() > 7)
      result.push_back(text->substr(7));
  }
  return result;
}

// "profile -v FILE.png" -> "profile --visualize FILE.png", told by the extension; any other -v is --verbose.
Arguments picture_flag(Arguments arguments) {
  if (arguments.front() != "profile") return arguments;
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i)
    if (arguments[i] == "-v" && is_picture(arguments[i + 1])) arguments[i] = "--visualize";
  return arguments;
}

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
  throw Error("no flag called '" + flag + "'", "",
              did_you_mean(flag, known, "opscope help " + std::string(command.name)));
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
    return 128 + interrupt.signal;
  } catch (const std::bad_alloc&) {
    return fail("not enough memory");
  } catch (const std::exception& error) {
    return fail(error.what(), "", "this is a bug in opscope: please report it with the command");
  }
}

}  // namespace opscope
