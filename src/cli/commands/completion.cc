// `opscope completion`: a script for the shell, made from the commands' own flags.
#include <algorithm>
#include <array>
#include <ranges>

#include "analyse/explore/view.h"
#include "app/request/training.h"
#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/flags/flags.h"
#include "cost/cost.h"
#include "hardware/device.h"
#include "hardware/roofline.h"
#include "metrics/metric.h"
#include "partition/partition.h"
#include "report/draw/draw.h"
#include "report/svg/pictures.h"

namespace opscope {
namespace {

template <auto last>
std::string names() {
  return join(names_up_to(last), " ");
}

// What a flag or an argument takes, where that is one of a few words. `command`: "" for every other one. "*":
// all formats of reports. `all`: the words, where they are an enum's names.
struct ValueWords {
  std::string_view name, command, words;
  std::string (*all)() = nullptr;
};
constexpr std::array kValueWords{
    ValueWords{"--autocast", "", "bfloat16 float16"},
    ValueWords{"--checkpoint", "", "layers selective"},
    ValueWords{"--color", "draw", "", names<ColorBy::kCost>},
    ValueWords{"--color", "", "auto always never"},
    ValueWords{"--convention", "", "", names<Convention::kFvcore>},
    ValueWords{"--device", "", "cpu cuda meta"},
    ValueWords{"--dtype", "", "float32 float16 bfloat16 float64"},
    ValueWords{"--float32", "", "", names<Float32::kIeee>},
    ValueWords{"--format", "capture", "json"},
    ValueWords{"--format", "check", "* github"},
    ValueWords{"--format", "compare", "* svg png pdf"},
    ValueWords{"--format", "diff", "* svg png pdf"},
    ValueWords{"--format", "draw", "", names<PictureFormat::kHtml>},
    ValueWords{"--format", "memory", "* svg png pdf"},
    ValueWords{"--format", "plot", "svg png pdf txt json csv"},
    ValueWords{"--format", "llm", "* svg png pdf"},
    ValueWords{"--format", "sweep", "* svg png pdf"},
    ValueWords{"--level", "", "", names<Level::kSubgraph>},
    ValueWords{"--partition", "", "", names<Strategy::kFused>},
    ValueWords{"--routing", "", "balanced worst"},
    ValueWords{"--against", "fuse", "inductor inductor-max"},
    ValueWords{"--by", "compare", "type module"},
    ValueWords{"KIND", "plot", "roofline types icicle flame memory"},
    ValueWords{"SHELL", "completion", "bash zsh fish"},
};
constexpr std::string_view kModels =
    "opscope list --only-cached --format csv 2>/dev/null | tail -n +2 | cut -d, -f1";

std::string command_names() {
  return join(std::views::transform(commands(), &Command::name), " ") + " help version";
}

// A script with its parts in the places of their names.
std::string filled(std::string script, std::vector<std::pair<std::string_view, std::string>> parts) {
  parts.insert(parts.end(), {{"@COMMANDS@", command_names()}, {"@MODELS@", std::string(kModels)}});
  for (const auto& [name, part] : parts)
    for (auto at = script.find(name); at != std::string::npos; at = script.find(name, at + part.size()))
      script.replace(at, name.size(), part);
  return script;
}

enum class Takes : std::uint8_t { kNothing, kWords, kModel, kFile, kText };

// How each shell completes such a value, in the order of Takes.
struct ShellValue {
  std::string_view bash, zsh, fish;
};
constexpr std::array kShellValues{
    ShellValue{"", " ", ""},
    ShellValue{"COMPREPLY=($(compgen -W \"@WORDS@\" -- \"$current\")); return ;;\n", "(@WORDS@)",
               " -x -a '@WORDS@'"},
    ShellValue{"_opscope_models; return ;;\n", "_opscope_models", " -r -a '(@MODELS@)'"},
    ShellValue{"COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", "_files", " -r"},
    ShellValue{"return ;;\n", " ", " -x"},
};

struct CompletedValue {
  std::string name, description, words;
  Takes takes = Takes::kNothing;

  std::string in(std::string_view ShellValue::*shell) const {
    return filled(std::string(kShellValues[static_cast<std::size_t>(takes)].*shell), {{"@WORDS@", words}});
  }
};

struct CompletedCommand {
  std::string name, summary;
  std::vector<CompletedValue> flags;
  CompletedValue argument;  // the first; its models are offered for the others too
};

std::string words_for(std::string_view name, std::string_view command) {
  for (const CaptureField& field : capture_fields())
    if (field.flag == name && !field.rules.words.empty()) return join(field.rules.words, " ");
  if (name == "--hardware" || (name == "NAME" && command == "devices"))
    return join(std::views::transform(known_devices(), [](const DevicePointer& d) { return d->id; }), " ");
  if (name == "--optimizer") return optimizer_words();
  if (name == "--sort" && command == "fuse") return metric_words(kSubgraphNeeds, ' ') + " order";
  if (name == "--metric" && command == "sweep") return metric_words(kSweepNeeds, ' ');
  if (name == "--metric" && command == "plot") return metric_words(kModuleNeeds, ' ');
  if (name == "--sort" || name == "--metric") return metric_words(kLayerNeeds, ' ');
  if (name == "--x" || name == "--y") return metric_words(kModelNeeds, ' ');
  for (const ValueWords& row : kValueWords)
    if (row.name == name && (row.command.empty() || row.command == command))
      return row.all != nullptr ? row.all()
             : row.words[0] == '*'
                 ? join(format_names(all_formats(Format::kText)), " ").append(row.words.substr(1))
                 : std::string(row.words);
  return name == "--format" ? join(format_names(all_formats()), " ") : "";
}

CompletedValue value_of(const CLI::Option& option, const std::string& name, std::string_view command) {
  CompletedValue value{name, option.get_description(), words_for(name, command)};
  const std::string type = option.get_type_name();
  if (option.get_items_expected() == 0) return value;
  value.takes = !value.words.empty()                                       ? Takes::kWords
                : name.starts_with("MODEL") || type.starts_with("MODEL")   ? Takes::kModel
                : type.find("FILE") != std::string::npos || name == "file" ? Takes::kFile
                                                                           : Takes::kText;
  return value;
}

CompletedCommand completed(const Command& command) {
  CLI::App app;
  command.define(app);
  CompletedCommand found{std::string(command.name), std::string(command.summary), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      found.flags.push_back(value_of(*option, "--" + name, command.name));
    const std::string& name = option->get_single_name();
    if (option->get_positional() && found.argument.takes != Takes::kModel) {
      const CompletedValue argument = value_of(*option, name, command.name);
      if (found.argument.takes == Takes::kNothing || argument.takes == Takes::kModel) {
        const std::string words = found.argument.words;
        found.argument = argument;
        found.argument.words = words.empty() ? argument.words : words;  // plot's kind, then a model
      }
    }
  }
  std::ranges::sort(found.flags, {}, &CompletedValue::name);
  return found;
}

std::vector<CompletedCommand> all_completed() {
  std::vector<CompletedCommand> all;
  for (const Command& command : commands()) all.push_back(completed(command));
  return all;
}

// In bash, the words of a flag's value are by command and flag.
std::string bash_values(const std::vector<CompletedCommand>& all) {
  std::string cases;
  for (const CompletedCommand& command : all)
    for (const CompletedValue& flag : command.flags)
      if (flag.takes != Takes::kNothing)
        cases += "    " + command.name + ":" + flag.name + ") " + flag.in(&ShellValue::bash);
  return cases + "    *:-o) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n";
}

std::string bash_script() {
  const auto all = all_completed();
  std::string cases, models;
  for (const CompletedCommand& command : all) {
    std::string words = command.argument.words;
    for (const CompletedValue& flag : command.flags) words += (words.empty() ? "" : " ") + flag.name;
    cases += "    " + command.name + ") words=\"" + words + "\" ;;\n";
    if (command.argument.takes == Takes::kModel) models += (models.empty() ? "" : "|") + command.name;
  }
  const std::string script = R"sh(# opscope completion for bash: source <(opscope completion bash)
_opscope_models() {
  COMPREPLY=($(compgen -f -W "$words $(@MODELS@)" -- "$current"))
}
_opscope() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words=""
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "@COMMANDS@" -- "$current"))
    return
  fi
  case "${COMP_WORDS[1]}:$previous" in
@VALUES@  esac
  case "${COMP_WORDS[1]}" in
@CASES@    help) words="@COMMANDS@" ;;
  esac
  if [[ "$current" != -* && "${COMP_WORDS[1]}" =~ ^(@WITH_MODEL@)$ ]]; then _opscope_models; return; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _opscope opscope
)sh";
  return filled(script, {{"@VALUES@", bash_values(all)}, {"@CASES@", cases}, {"@WITH_MODEL@", models}});
}

// Within single quotes of a zsh or fish word, and within the brackets of zsh's descriptions.
std::string in_quotes(std::string_view text) {
  std::string result;
  for (const char c : text) c == '\'' ? result += "\u2019" : result += c == '[' ? '(' : c == ']' ? ')' : c;
  return result;
}

std::string zsh_flag(const CompletedValue& flag) {
  return "'" + flag.name + "[" + in_quotes(flag.description) + "]" +
         (flag.takes == Takes::kNothing ? "" : ":value:" + flag.in(&ShellValue::zsh)) + "'";
}

std::string zsh_argument(const CompletedCommand& command) {
  const CompletedValue& value = command.argument;
  if (value.takes == Takes::kNothing) return "";
  if (value.takes != Takes::kModel) return " \\\n      '1:argument:" + value.in(&ShellValue::zsh) + "'";
  const std::string first = value.words.empty() ? "" : " \\\n      '1:argument:(" + value.words + ")'";
  return first + " \\\n      '*:model:_opscope_models'";
}

std::string zsh_script() {
  std::string names, cases;
  for (const CompletedCommand& command : all_completed()) {
    names += "    '" + command.name + ":" + in_quotes(command.summary) + "'\n";
    cases += "    " + command.name + ") _arguments";
    for (const CompletedValue& flag : command.flags) cases += " \\\n      " + zsh_flag(flag);
    cases += zsh_argument(command) + " ;;\n";
  }
  const std::string script = R"sh(#compdef opscope
# opscope completion for zsh: opscope completion zsh > "${fpath[1]}/_opscope"
_opscope_models() {
  local -a models
  models=(${(f)"$(@MODELS@)"})
  compadd -a models; _files
}
_opscope() {
  local -a names
  names=(
@NAMES@    'help:Help on a command'
    'version:The version of opscope'
  )
  if (( CURRENT == 2 )); then _describe command names; return; fi
  shift words; (( CURRENT-- ))
  case "$words[1]" in
@CASES@    help) _arguments \
      '1:argument:(@COMMANDS@)' ;;
  esac
}
if [[ "${funcstack[1]}" == _opscope ]]; then _opscope "$@"; else compdef _opscope opscope; fi
)sh";
  return filled(script, {{"@NAMES@", names}, {"@CASES@", cases}});
}

std::string fish_script() {
  const std::string first = "complete -c opscope -n __fish_use_subcommand -f -a ";
  const auto seen = [](const std::string& name) {
    return "complete -c opscope -n '__fish_seen_subcommand_from " + name + "'";
  };
  std::string out = "# opscope completion for fish: opscope completion fish | source\n";
  for (const CompletedCommand& command : all_completed()) {
    out += first + command.name + " -d '" + in_quotes(command.summary) + "'\n";
    for (const CompletedValue& flag : command.flags)
      out += seen(command.name) + " -l " + flag.name.substr(2) + flag.in(&ShellValue::fish) + " -d '" +
             in_quotes(flag.description) + "'\n";
    if (const std::string& words = command.argument.words; !words.empty())
      out += seen(command.name) + " -f -a '" + words + "'\n";
    if (command.argument.takes == Takes::kModel)
      out += seen(command.name) + " -a '(" + std::string(kModels) + ")'\n";
  }
  out += first + "help -d 'Help on a command'\n" + first + "version -d 'The version of opscope'\n";
  return out + seen("help") + " -f -a '" + command_names() + "'\n";
}

std::string script_for(const std::string& shell) {
  if (shell == "bash") return bash_script();
  if (shell == "zsh") return zsh_script();
  if (shell == "fish") return fish_script();
  throw Error(shell.empty() ? "for which shell?" : "no completion for '" + shell + "'", "",
              "choose bash, zsh or fish");
}

}  // namespace

Action define_completion(CLI::App& app) {
  struct CompletionFlags {
    std::string shell;
    OutputFlags output;
  };
  const auto flags = std::make_shared<CompletionFlags>();
  add_value(app, "SHELL", flags->shell, "", "bash, zsh or fish");
  add_value(app, "-o,--output", flags->output.output, "FILE", "Write to a file");
  return [flags] {
    const std::string script = script_for(flags->shell);
    flags->output.format = "txt";  // whatever the file is called
    Output(flags->output).write_bytes(script);
    return kExitDone;
  };
}

}  // namespace opscope
