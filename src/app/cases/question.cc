// The list of questions.
#include "app/cases/question.h"

#include <algorithm>
#include <array>

#include "app/request/values.h"

namespace opscope {

extern const Question kMemoryQuestion;

std::span<const Question* const> questions() {
  static constexpr std::array kQuestions{&kMemoryQuestion};
  return kQuestions;
}

std::string QuestionValues::text(std::string_view name) const {
  const auto found = texts_.find(name);
  return found == texts_.end() ? "" : found->second;
}

std::int64_t QuestionValues::number(std::string_view name, std::int64_t least, std::int64_t otherwise) const {
  const std::string said = text(name);
  if (said.empty()) return otherwise;
  std::string flag = "--" + std::string(name);
  std::ranges::replace(flag, '_', '-');
  return parse_integer(voice_ == Voice::kFlags ? flag : std::string(name), said, least);
}

}  // namespace opscope
