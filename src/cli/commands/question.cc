// The commands that a row of app/cases/question.h describes.
#include "app/cases/question.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"

namespace opscope {
namespace {

struct QuestionFlags : ModelCommandFlags {
  QuestionValues values{Voice::kFlags};
};

int run_question(const Question& question, const QuestionFlags& flags) {
  TextOptions text;
  const AskedGraph asked(flags, text.notes);
  const PictureOutput output(flags, text);
  if (output.is_picture() && !question.draws)
    throw Error("there is no picture of it", "--format", "choose " + choices(all_formats(Format::kText)));
  const Graph graph = asked.load();
  const Profile profile = make_profile(graph, {});
  const QuestionAnswer answer = question.ask(profile, flags.values, text);
  output.is_picture() ? output.write_picture(answer.svg())
                      : output.write(answer.report(output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_question(CLI::App& app, const Question& question) {
  const auto flags = std::make_shared<QuestionFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  for (const QuestionOption& option : question.options) {
    std::string flag = "--" + std::string(option.name);
    std::ranges::replace(flag, '_', '-');
    const auto set = [values = &flags->values, name = option.name](const std::string& text) {
      values->texts[std::string(name)] = text;
    };
    add_setter(app, flag, set, std::string(option.type), std::string(option.help));
  }
  add_report_flags(app, *flags, std::string(question.verbose),
                   question.draws ? format_help(", svg, png or pdf") : "");
  return [flags, &question] { return run_question(question, *flags); };
}

}  // namespace opscope
