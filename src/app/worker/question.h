// One kind of question that only Python can answer: from the cache where the answer is still true, else
// asked.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/models/cache.h"
#include "app/worker/python_child.h"
#include "app/worker/signals.h"
#include "app/worker/talk.h"
#include "app/worker/temporary_folder.h"
#include "base/error.h"
#include "base/files.h"

namespace opscope {

template <typename Answer>
struct Question {
  std::function<std::string(const std::string& output)> request_json;
  Answer (*read)(std::string_view bytes, const std::string& where);
  const std::vector<Dependency>& (*dependencies)(const Answer& answer);
  std::string registry, answer;  // `answer` names what comes back, for errors
};

template <typename Answer>
std::optional<Answer> cached_answer(const Cache& cache, const std::string& python,
                                    const Question<Answer>& question) {
  const auto bytes = cache.read(Cache::key(python, question.request_json(""), question.registry));
  if (!bytes) return std::nullopt;
  try {
    Answer answer = question.read(*bytes, "cache");
    if (unchanged(question.dependencies(answer))) return answer;
  } catch (const Error& error) {
    cache.complain(error.what());
  }
  return std::nullopt;
}

template <typename Answer>
Answer ask_python(const Cache& cache, const std::string& python, const Question<Answer>& question,
                  const TalkFlags& talk) {
  const SignalsNoted signals;
  const TemporaryFolder folder;
  const std::string output = folder.file("answer.json");
  const bool cacheable = run_python(python, question.request_json(output), talk);
  const std::string bytes = read_file(output);
  Answer answer = question.read(bytes, question.answer);
  if (cacheable) cache.write(Cache::key(python, question.request_json(""), question.registry), bytes);
  return answer;
}

template <typename Answer>
Answer ask(const Cache& cache, const Question<Answer>& question, const TalkFlags& talk) {
  const std::string python = find_python();
  if (auto answer = cached_answer(cache, python, question)) return *std::move(answer);
  return ask_python(cache, python, question, talk);
}

}  // namespace opscope
