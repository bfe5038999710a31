// `opscope completion`: a script for the shell, made from the commands' own flags.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"

namespace opscope {
namespace {

struct CompletedFlag {
  std::string name, description;
  bool takes_value;
};

std::vector<CompletedFlag> flags_of(const Command& command) {
  CLI::App app;
  command.define(app);
  std::vector<CompletedFlag> flags;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      flags.push_back({"--" + name, option->get_description(), option->get_items_expected() > 0});
  std::ranges::sort(flags, {}, &CompletedFlag::name);
  return flags;
}

std::string joined_flags(const Command& command) {
  std::string text;
  for (const CompletedFlag& flag : flags_of(command)) text += (text.empty() ? "" : " ") + flag.name;
  return text;
}

std::string bash_script() {
  std::string names, cases;
  for (const Command& command : commands()) {
    names += std::string(command.name) + " ";
    cases += "    " + std::string(command.name) + ") words=\"" + joined_flags(command) + "\" ;;\n";
  }
  return "# opscope completion for bash: source <(opscope completion bash)\n"
         "_opscope() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" words=\"\"\n"
         "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
         "    COMPREPLY=($(compgen -W \"" +
         names +
         "help version\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"$previous\" in\n"
         "    -o|--output|--registry) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
         "    --format) COMPREPLY=($(compgen -W \"json csv md txt html\" -- \"$current\")); return ;;\n"
         "    --convention) COMPREPLY=($(compgen -W \"opscope macs torch fvcore\" -- \"$current\")); return "
         ";;\n"
         "    --tracer) COMPREPLY=($(compgen -W \"auto static eager\" -- \"$current\")); return ;;\n"
         "    --color) COMPREPLY=($(compgen -W \"auto always never\" -- \"$current\")); return ;;\n"
         "    --sort) COMPREPLY=($(compgen -W \"flops macs memory-bytes params arithmetic-intensity\" -- "
         "\"$current\")); return ;;\n"
         "  esac\n"
         "  case \"${COMP_WORDS[1]}\" in\n" +
         cases +
         "    completion) words=\"bash zsh fish\" ;;\n"
         "    help) words=\"" +
         names +
         "\" ;;\n"
         "  esac\n"
         "  if [[ \"$current\" != -* && \"${COMP_WORDS[1]}\" =~ ^(profile|capture|explain)$ ]]; then\n"
         "    words=\"$(opscope list --only-cached --format csv 2>/dev/null | tail -n +2 | cut -d, -f1)\"\n"
         "    COMPREPLY=($(compgen -f -W \"$words\" -- \"$current\"))\n"
         "    return\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -F _opscope opscope\n";
}

// Within single quotes of a zsh or fish word.
std::string quoted(std::string text) {
  for (char& c : text)
    if (c == '\'' || c == '[' || c == ']' || c == ':' || c == '`' || c == '\\') c = ' ';
  return text;
}

std::string zsh_script() {
  std::string names, cases;
  for (const Command& command : commands()) {
    names += "    '" + std::string(command.name) + ":" + quoted(std::string(command.summary)) + "'\n";
    cases += "    " + std::string(command.name) + ") _arguments";
    for (const CompletedFlag& flag : flags_of(command))
      cases += " \\\n      '" + flag.name + "[" + quoted(flag.description) + "]" +
               (flag.takes_value ? ":value:_files" : "") + "'";
    cases += " \\\n      '*:model:_opscope_models' ;;\n";
  }
  return "#compdef opscope\n"
         "# opscope completion for zsh: opscope completion zsh > \"${fpath[1]}/_opscope\"\n"
         "_opscope_models() {\n"
         "  local -a models\n"
         "  models=(${(f)\"$(opscope list --only-cached --format csv 2>/dev/null | tail -n +2 | cut -d, "
         "-f1)\"})\n"
         "  compadd -a models; _files\n"
         "}\n"
         "_opscope() {\n"
         "  local -a names\n"
         "  names=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then _describe command names; return; fi\n"
         "  shift words; (( CURRENT-- ))\n"
         "  case \"$words[1]\" in\n" +
         cases +
         "  esac\n"
         "}\n"
         "compdef _opscope opscope\n";
}

std::string fish_script() {
  std::string out = "# opscope completion for fish: opscope completion fish | source\n";
  for (const Command& command : commands()) {
    const std::string name(command.name);
    out += "complete -c opscope -n __fish_use_subcommand -a " + name + " -d '" +
           quoted(std::string(command.summary)) + "'\n";
    for (const CompletedFlag& flag : flags_of(command))
      out += "complete -c opscope -n '__fish_seen_subcommand_from " + name + "' -l " + flag.name.substr(2) +
             (flag.takes_value ? " -r" : "") + " -d '" + quoted(flag.description) + "'\n";
  }
  out +=
      "complete -c opscope -n '__fish_seen_subcommand_from profile capture explain' "
      "-a '(opscope list --only-cached --format csv 2>/dev/null | tail -n +2 | cut -d, -f1)'\n";
  return out;
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
  struct Flags {
    std::string shell;
    OutputFlags output;
  };
  const auto flags = std::make_shared<Flags>();
  app.add_option("SHELL", flags->shell, "bash, zsh or fish");
  app.add_option("-o,--output", flags->output.output, "Write to a file")->type_name("FILE");
  return [flags] {
    const std::string script = script_for(flags->shell);
    flags->output.format = "txt";  // whatever the file is called
    Output(flags->output).write(script);
    return kExitDone;
  };
}

}  // namespace opscope
