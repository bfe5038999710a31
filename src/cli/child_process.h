// One child process with its stdout on a pipe, its stderr in a file, and a process group of its own.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace opscope {

class ChildProcess {
 public:
  ChildProcess(const std::vector<std::string>& command, const std::string& stderr_path);
  ~ChildProcess();  // ends the child if it still runs
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Calls on_line for each line of stdout and on_idle about ten times a second until stdout is closed. Either
  // may throw.
  void read_lines(const std::function<void(std::string_view)>& on_line, const std::function<void()>& on_idle);
  int wait();  // waitpid's status

 private:
  void end();

  pid_t pid_ = -1;
  int stdout_ = -1;
};

}  // namespace opscope
