// What is said on stderr while opscope works: a spinner on a terminal, stages, and with --debug all that
// Python wrote.
#pragma once

#include <optional>

#include "app/worker/listener.h"
#include "cli/flags/flags.h"
#include "cli/output/terminal.h"

namespace opscope {

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
