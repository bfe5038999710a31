// posix_spawn, poll and waitpid.
#include "app/worker/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/files.h"

extern char** environ;

namespace opscope {
namespace {

constexpr int kIdleMilliseconds = 90;
constexpr int kPatienceTicks = 50;  // of 10 ms, between asking a child to end and ending it

// What posix_spawn is told of a child: the process is in a group of its own, so that whatever it starts ends
// with it, and has its signals as a new program has them.
struct SpawnSettings {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  SpawnSettings() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    sigset_t signals;
    sigemptyset(&signals);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&signals, signal);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
};

volatile std::sig_atomic_t noting = 0;
volatile std::sig_atomic_t noted = 0;

extern "C" void on_signal(int signal) {
  if (noting == 0) ::_exit(128 + signal);
  noted = signal;
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::string& stderr_path,
                           Stdin stdin_is) {
  std::array<int, 2> pipe{}, input{-1, -1};
  const bool talks = stdin_is == Stdin::kPipe;
  // A pair of sockets and no pipe: writing to a child that is gone is then no signal.
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0 ||
      (talks && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input.data()) != 0))
    throw Error("cannot start a process: " + std::generic_category().message(errno), command[0]);
  SpawnSettings settings;
  if (talks)
    ::posix_spawn_file_actions_adddup2(&settings.files, input[1], STDIN_FILENO);
  else
    ::posix_spawn_file_actions_addopen(&settings.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&settings.files, pipe[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&settings.files, STDERR_FILENO, stderr_path.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
  std::vector<char*> arguments;
  for (const std::string& text : command) arguments.push_back(const_cast<char*>(text.c_str()));
  arguments.push_back(nullptr);
  const int failed = ::posix_spawn(&pid_, command[0].c_str(), &settings.files, &settings.attributes,
                                   arguments.data(), environ);
  ::close(pipe[1]);
  if (talks) ::close(input[1]);
  stdout_ = pipe[0], stdin_ = input[0];
  if (failed == 0) return;
  close_stdin();
  ::close(stdout_);
  throw Error("cannot start it: " + std::generic_category().message(failed), command[0]);
}

ChildProcess::~ChildProcess() {
  close_stdin();
  if (pid_ > 0) end();
  ::close(stdout_);
}

void ChildProcess::close_stdin() {
  if (stdin_ >= 0) ::close(stdin_);
  stdin_ = -1;
}

void ChildProcess::write(std::string_view text) {
  while (!text.empty() && stdin_ >= 0) {
    const auto size = ::send(stdin_, text.data(), text.size(), MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return close_stdin();
    text.remove_prefix(static_cast<std::size_t>(size));
  }
}

bool ChildProcess::read_until(const std::function<bool(std::string_view)>& on_line,
                              const std::function<void()>& on_idle) {
  std::array<char, 65536> buffer;
  for (;;) {
    std::size_t begin = 0;
    bool enough = false;
    for (auto end = pending_.find('\n'); end != std::string::npos && !enough;
         end = pending_.find('\n', begin)) {
      enough = on_line(std::string_view(pending_).substr(begin, end - begin));
      begin = end + 1;
    }
    pending_.erase(0, begin);
    if (enough) return true;
    pollfd ready{stdout_, POLLIN, 0};
    const int count = ::poll(&ready, 1, kIdleMilliseconds);
    on_idle();
    if (count <= 0) continue;
    const auto size = ::read(stdout_, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    pending_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  const std::string last = std::move(pending_);
  pending_.clear();
  return !last.empty() && on_line(last);
}

int ChildProcess::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return status;
}

void ChildProcess::end() {
  ::kill(-pid_, SIGTERM);
  int status = 0;
  for (int tick = 0; tick < kPatienceTicks; ++tick) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      ::kill(-pid_, SIGKILL);  // what it left behind
      pid_ = -1;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ::kill(-pid_, SIGKILL);
  wait();
}

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  // No SA_RESTART: a wait has to end when the user wants it to.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // A parent that ignores the signal (nohup) means it.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
  // A file that may not grow any more is an error of the write.
  action.sa_handler = SIG_IGN;
  ::sigaction(SIGXFSZ, &action, nullptr);
}

SignalsNoted::SignalsNoted() { noting = noting + 1; }
SignalsNoted::~SignalsNoted() {
  noting = noting - 1;
  // Came while it could not be acted upon, and nobody asked.
  if (noting == 0 && noted != 0 && !std::uncaught_exceptions()) ::_exit(128 + noted);
}

void SignalsNoted::check() const {
  if (noted != 0) throw Interrupted(noted);
}

TemporaryFolder::TemporaryFolder() {
  std::string base = environment_variable("TMPDIR");
  if (base.empty()) base = "/tmp";
  path_ = base + "/opscope-XXXXXX";
  if (::mkdtemp(path_.data()) == nullptr)
    throw Error("cannot make a temporary folder: " + std::generic_category().message(errno), base,
                "set TMPDIR to a folder that you may write to");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace opscope
