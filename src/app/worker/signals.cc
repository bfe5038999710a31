// One handler for the signals that ask a program to stop.
#include "app/worker/signals.h"

#include <unistd.h>

#include <initializer_list>

namespace opscope {
namespace {

volatile std::sig_atomic_t noting = 0;
volatile std::sig_atomic_t noted = 0;

extern "C" void on_signal(int signal) {
  if (noting == 0) ::_exit(128 + signal);
  noted = signal;
}

}  // namespace

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

}  // namespace opscope
