// What a model holds in memory over time, and what would lower the peak.
#include "analyse/memory/memory.h"

#include <array>

#include "app/cases/question.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

constexpr std::array kOptions{
    QuestionOption{"top", "N", "Rows: storages allocated at the peak, and proposed changes. Default 10"},
    QuestionOption{"no_advice", "", "Without the proposed changes"},
};

QuestionAnswer ask_memory(const Profile& profile, const QuestionValues& values, TextOptions& text) {
  text.top = static_cast<int>(values.number("top", 0, text.top));
  const MemoryReport report = make_memory_report(profile, {.advice = !values.is_on("no_advice")});
  return {.report = [report](Format format,
                             const TextOptions& shown) { return to_format(report, format, shown); },
          .svg = [report] { return memory_svg(report); }};
}

}  // namespace

extern const Question kMemoryQuestion{
    .name = "memory",
    .summary = "Memory over time: the peak, what is allocated at the peak, and what would lower it",
    .examples =
        "  opscope memory resnet18\n"
        "  opscope memory bert-base-uncased --training --optimizer adam\n"
        "  opscope memory gpt2 --phase decode --output timeline.svg\n",
    .after = "fuse",
    .verbose = "All storages, modules and proposed changes",
    .options = kOptions,
    .draws = true,
    .ask = ask_memory};

}  // namespace opscope
