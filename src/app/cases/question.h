// A question about one model, whole in one row: the command line and Python make a command and a function of
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analyse/profile/profile.h"
#include "app/request/request.h"
#include "report/core/report.h"

namespace opscope {

struct QuestionOption {
  std::string_view name;  // "max_nodes": the flag is the same with dashes
  std::string_view type;  // of the flag's value; "": a switch
  std::string_view help;
};

// What was said for a question's options.
class QuestionValues {
 public:
  explicit QuestionValues(Voice voice) : voice_(voice) {}

  void set(std::string_view name, std::string text) { texts_[std::string(name)] = std::move(text); }
  bool is_on(std::string_view name) const { return text(name) == "true"; }
  std::string text(std::string_view name) const;  // "": nothing was said
  // Throws Error for what is no whole number of `least` or more.
  std::int64_t number(std::string_view name, std::int64_t least, std::int64_t otherwise) const;

 private:
  Voice voice_;
  std::map<std::string, std::string, std::less<>> texts_;
};

// The answer as it is shown; it may hold on to the profile.
struct QuestionAnswer {
  std::function<std::string(Format format, const TextOptions& text)> report;
  std::function<std::string()> svg{};  // none: it is no picture
};

struct Question {
  std::string_view name, summary, examples;
  std::string_view after;    // the command that it stands behind in the help; "": at the end
  std::string_view verbose;  // what --verbose shows besides
  std::span<const QuestionOption> options;
  bool draws;  // it has a picture
  QuestionAnswer (*ask)(const Profile& profile, const QuestionValues& values, TextOptions& text);
};

std::span<const Question* const> questions();

}  // namespace opscope
