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

// Text to stderr, as the terminal and the locale can show it.
void write_stderr(std::string_view text);
// A line of it, which says whose it is.
void remark(const std::string& text);

// What is said on stderr while opscope works: on a terminal a spinner, one line that is redrawn in place;
// stages; and with --debug all that Python wrote.
class Talk : public Listener {
 public:
  explicit Talk(const TalkFlags& flags) : flags_(flags) {}
  ~Talk() override { clear(); }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  void status(const std::string& text) override;
  void progress(std::uint64_t done, std::uint64_t total, const std::string& doing) override;
  void waiting() override;
  void resting() override;
  void python_wrote(std::string_view text) override;
  void trouble(const std::string& text) override;

 private:
  void clear();

  struct Spinner {
    std::string text;
    std::size_t frame = 0;
    bool drawn = false;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  };
  Spinner& spinner() { return spinner_ ? *spinner_ : spinner_.emplace(); }

  TalkFlags flags_;
  std::optional<Spinner> spinner_;  // while something is waited for
};

}  // namespace opscope
