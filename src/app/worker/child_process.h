// One child process with its stdout on a pipe, its stderr in a file, and a process group of its own.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace opscope {

class ChildProcess {
 public:
  // kNothing: its stdin is empty. kPipe: what write() sends.
  enum class Stdin : std::uint8_t { kNothing, kPipe };
  ChildProcess(const std::vector<std::string>& command, const std::string& stderr_path,
               Stdin stdin_is = Stdin::kNothing);
  ~ChildProcess();  // ends the child if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Calls on_line for each line of stdout and on_idle about ten times a second, until on_line says that it
  // has enough; false where stdout was closed before. Either may throw.
  bool read_until(const std::function<bool(std::string_view)>& on_line, const std::function<void()>& on_idle);
  void write(std::string_view text);  // to its stdin; nothing where it reads no more
  void close_stdin();
  int wait();  // waitpid's status

 private:
  void end();

  pid_t pid_ = -1;
  int stdout_ = -1, stdin_ = -1;
  std::string pending_;  // of its stdout, no whole line yet or not asked for
};

// Ctrl-C: while a child runs it sets a flag that the waiting loop sees; while a file is being written it
// waits; otherwise it ends the program at once. Unwinds to `run`, which returns 128 + signal.
struct Interrupted : std::exception {
  explicit Interrupted(int which) : signal(which) {}
  const char* what() const noexcept override { return "interrupted"; }

  int signal;
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

// A private folder for one run's temporary files, gone with its contents at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder();  // throws Error where none can be made
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace opscope
