// Ctrl-C: while a child runs it sets a flag that the waiting loop sees; while a file is being written it
// waits; otherwise it ends the program at once.
#pragma once

#include <csignal>
#include <exception>

namespace opscope {

// Unwinds to `run`, which returns 128 + signal.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  int signal() const { return signal_; }
  const char* what() const noexcept override { return "interrupted"; }

 private:
  int signal_;
};

void install_signal_handlers();

// While one lives, signals are noted instead of ending the program.
class SignalsNoted {
 public:
  SignalsNoted();
  ~SignalsNoted();
  SignalsNoted(const SignalsNoted&) = delete;
  SignalsNoted& operator=(const SignalsNoted&) = delete;
  // Throws Interrupted if one came.
  void check() const;
};

}  // namespace opscope
