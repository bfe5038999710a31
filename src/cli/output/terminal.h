// What the terminal is like, and the spinner that says what opscope waits for.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "app/worker/listener.h"
#include "cli/flags/flags.h"

namespace opscope {

// $COLUMNS, or the columns of the terminal on stdout; 100 where there is neither.
int terminal_width();
// "auto", "always" or "never"; throws Error for other words.
bool wants_color(const std::string& when, bool to_stdout);

// One line on stderr, redrawn in place; nothing at all unless stderr is a terminal.
class Spinner {
 public:
  explicit Spinner(bool enabled);
  ~Spinner();
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  void say(std::string text) { text_ = std::move(text); }
  void turn();
  void clear();

 private:
  bool enabled_;
  bool drawn_ = false;
  std::size_t frame_ = 0;
  std::string text_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// "██████░░░░  12 of 30  measuring resnet18", for a spinner.
std::string progress_line(std::uint64_t done, std::uint64_t all, const std::string& doing);

// Text to stderr, as the terminal and the locale can show it.
void write_stderr(std::string_view text);
// A line of it, which says whose it is.
void remark(const std::string& text);

// What is said on stderr while opscope works: a spinner on a terminal, stages, and with --debug all that
// Python wrote.
class Talk : public Listener {
 public:
  explicit Talk(const TalkFlags& flags) : flags_(flags) {}

  void status(const std::string& text) override;
  void progress(std::uint64_t done, std::uint64_t total, const std::string& doing) override;
  void waiting() override { spinner().turn(); }
  void resting() override { spinner_.reset(); }
  void python_wrote(std::string_view text) override;
  void trouble(const std::string& text) override;

 private:
  Spinner& spinner() { return spinner_ ? *spinner_ : spinner_.emplace(!flags_.quiet); }

  TalkFlags flags_;
  std::optional<Spinner> spinner_;
};

}  // namespace opscope
