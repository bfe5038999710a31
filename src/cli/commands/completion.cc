// `opscope completion`: a script for the shell, made from the commands' own flags.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "cli/flags/flags.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "metrics/metric.h"

namespace opscope {
namespace {

// What a flag takes, where that is one of a few words; other values are files or free.
struct FlagWords {
  std::string_view flag, words;
};
constexpr std::array kFlagWords{
    FlagWords{"--color", "auto always never"},
    FlagWords{"--convention", "opscope macs torch fvcore"},
    FlagWords{"--device", "cpu cuda meta"},
    FlagWords{"--dtype", "float32 float16 bfloat16 float64"},
    FlagWords{"--float32", "torch tf32 ieee"},
    FlagWords{"--format", "json csv md txt html"},
    FlagWords{"--tracer", "auto static eager fx dynamo export hybrid"},
};
constexpr std::string_view kModels =
    "opscope list --only-cached --format csv 2>/dev/null | tail -n +2 | cut -d, -f1";

// Those, and the metrics.
const std::vector<FlagWords>& flag_words() {
  static const std::string sort = metric_words(kLayerNeeds | kSubgraphNeeds, ' ') + " order",
                           shown = metric_words(kModelNeeds | kSweepNeeds, ' '),
                           axes = metric_words(kModelNeeds, ' ');
  static const std::vector<FlagWords> all = [] {
    std::vector<FlagWords> words(kFlagWords.begin(), kFlagWords.end());
    words.insert(words.end(), {{"--sort", sort}, {"--metric", shown}, {"--x", axes}, {"--y", axes}});
    return words;
  }();
  return all;
}

struct CompletedFlag {
  std::string name, description;
  std::string_view words;
  bool takes_value;
};

std::string_view words_for(std::string_view flag) {
  const auto found = std::ranges::find(flag_words(), flag, &FlagWords::flag);
  return found == flag_words().end() ? "" : found->words;
}

std::vector<CompletedFlag> flags_of(const Command& command) {
  CLI::App app;
  command.define(app);
  std::vector<CompletedFlag> flags;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      flags.push_back(
          {"--" + name, option->get_description(), words_for("--" + name), option->get_items_expected() > 0});
  std::ranges::sort(flags, {}, &CompletedFlag::name);
  return flags;
}

std::string command_names() {
  std::string names;
  for (const Command& command : commands()) names += std::string(command.name) + " ";
  return names + "help version";
}

bool takes_model(std::string_view command) {
  return command == "profile" || command == "trace" || command == "capture" || command == "explain";
}

// The words that may stand where a command's own argument does.
std::string argument_words(std::string_view command) {
  if (command == "completion") return "bash zsh fish";
  return command == "help" ? command_names() : "";
}

std::string bash_reply(const std::string& pattern, const std::string& options) {
  return "    " + pattern + ") COMPREPLY=($(compgen " + options + " -- \"$current\")); return ;;\n";
}

std::string bash_script() {
  std::string values, cases;
  for (const FlagWords& row : flag_words())
    values += bash_reply(std::string(row.flag), "-W \"" + std::string(row.words) + "\"");
  for (const Command& command : commands()) {
    std::string words = argument_words(command.name);
    for (const CompletedFlag& flag : flags_of(command)) words += (words.empty() ? "" : " ") + flag.name;
    cases += "    " + std::string(command.name) + ") words=\"" + words + "\" ;;\n";
  }
  return "# opscope completion for bash: source <(opscope completion bash)\n"
         "_opscope() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\"\n"
         "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         command_names() +
         "\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"$previous\" in\n" +
         bash_reply("-o|--output|--registry|--save-graph|--export", "-f") + values +
         "  esac\n"
         "  case \"${COMP_WORDS[1]}\" in\n" +
         cases + "    help) words=\"" + argument_words("help") +
         "\" ;;\n"
         "  esac\n"
         "  if [[ \"$current\" != -* && \"${COMP_WORDS[1]}\" =~ ^(profile|trace|capture|explain)$ ]]; then\n"
         "    words=\"$(" +
         std::string(kModels) +
         ")\"\n"
         "    COMPREPLY=($(compgen -f -W \"$words\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -F _opscope opscope\n";
}

// Within single quotes of a zsh or fish word, and within the brackets of zsh's descriptions.
std::string in_quotes(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'')
      result += "\u2019";
    else
      result += c == '[' ? '(' : c == ']' ? ')' : c;
  }
  return result;
}

std::string zsh_flag(const CompletedFlag& flag) {
  const std::string values = flag.words.empty() ? "_files" : "(" + std::string(flag.words) + ")";
  return "'" + flag.name + "[" + in_quotes(flag.description) + "]" +
         (flag.takes_value ? ":value:" + values : "") + "'";
}

std::string zsh_argument(std::string_view command) {
  if (takes_model(command)) return " \\\n      '*:model:_opscope_models'";
  const std::string words = argument_words(command);
  return words.empty() ? "" : " \\\n      '1:argument:(" + words + ")'";
}

std::string zsh_script() {
  std::string names, cases;
  for (const Command& command : commands()) {
    names += "    '" + std::string(command.name) + ":" + in_quotes(command.summary) + "'\n";
    cases += "    " + std::string(command.name) + ") _arguments";
    for (const CompletedFlag& flag : flags_of(command)) cases += " \\\n      " + zsh_flag(flag);
    cases += zsh_argument(command.name) + " ;;\n";
  }
  return "#compdef opscope\n"
         "# opscope completion for zsh: opscope completion zsh > \"${fpath[1]}/_opscope\"\n"
         "_opscope_models() {\n"
         "  local -a models\n"
         "  models=(${(f)\"$(" +
         std::string(kModels) +
         ")\"})\n"
         "  compadd -a models; _files\n"
         "}\n"
         "_opscope() {\n"
         "  local -a names\n"
         "  names=(\n" +
         names +
         "    'help:Help on a command'\n"
         "    'version:The version of opscope'\n"
         "  )\n"
         "  if (( CURRENT == 2 )); then _describe command names; return; fi\n"
         "  shift words; (( CURRENT-- ))\n"
         "  case \"$words[1]\" in\n" +
         cases + "    help) _arguments" + zsh_argument("help") +
         " ;;\n"
         "  esac\n"
         "}\n"
         "if [[ \"${funcstack[1]}\" == _opscope ]]; then _opscope \"$@\"; else compdef _opscope opscope; "
         "fi\n";
}

std::string fish_flag(const std::string& seen, const CompletedFlag& flag) {
  const std::string values = flag.words.empty() ? " -r" : " -x -a '" + std::string(flag.words) + "'";
  return seen + " -l " + flag.name.substr(2) + (flag.takes_value ? values : "") + " -d '" +
         in_quotes(flag.description) + "'\n";
}

std::string fish_script() {
  const std::string first = "complete -c opscope -n __fish_use_subcommand -f -a ";
  const auto seen = [](std::string_view names) {
    return "complete -c opscope -n '__fish_seen_subcommand_from " + std::string(names) + "'";
  };
  std::string out = "# opscope completion for fish: opscope completion fish | source\n";
  for (const Command& command : commands()) {
    const std::string name(command.name);
    out += first + name + " -d '" + in_quotes(command.summary) + "'\n";
    for (const CompletedFlag& flag : flags_of(command)) out += fish_flag(seen(name), flag);
  }
  out += first + "help -d 'Help on a command'\n" + first + "version -d 'The version of opscope'\n";
  for (const char* name : {"completion", "help"})
    out += seen(name) + " -f -a '" + argument_words(name) + "'\n";
  return out + seen("profile trace capture explain") + " -a '(" + std::string(kModels) + ")'\n";
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
  app.add_option("SHELL", flags->shell, "bash, zsh or fish");
  app.add_option("-o,--output", flags->output.output, "Write to a file")->type_name("FILE");
  return [flags] {
    const std::string script = script_for(flags->shell);
    flags->output.format = "txt";  // whatever the file is called
    Output(flags->output).write_bytes(script);
    return kExitDone;
  };
}

}  // namespace opscope
