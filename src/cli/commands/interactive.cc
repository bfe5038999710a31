// The thin layer between the browser and the terminal, on ncurses: its keys in, its lines out. The terminal
// is given back as it was at the end, by an exception and by a signal.
#include "cli/commands/interactive.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>

#include "app/worker/child_process.h"
#include "base/error.h"
#include "cli/main/command.h"
#include "report/browser/browser.h"

#ifdef OPSCOPE_CURSES
#define NCURSES_WIDECHAR 1
#include <curses.h>
#endif

namespace opscope {

void check_interactive() {
#ifdef OPSCOPE_CURSES
  if (!::isatty(STDIN_FILENO) || !::isatty(STDOUT_FILENO))
    throw Error("there is no terminal to browse in", "--interactive",
                "leave it out for a summary, or list nodes: --start 1 --end 20");
#else
  throw Error("this opscope was built without ncurses", "--interactive",
              "install libncurses-dev and build it again; the lists need nothing: --start 1 --end 20");
#endif
}

#ifdef OPSCOPE_CURSES
namespace {

constexpr short kGoodPair = 1, kWarningPair = 2, kBarPair = 3;
constexpr int kWakeMs = 200;  // between looks at signals
constexpr int kEscapeMs = 25;

// The terminal in screen mode for as long as this lives.
class Terminal {
 public:
  Terminal() {
    std::setlocale(LC_CTYPE, "C.UTF-8");
    const char* type = std::getenv("TERM");
    screen_ = ::newterm(type, stdout, stdin);
    if (screen_ == nullptr)
      throw Error(std::string("the terminal '") + (type ? type : "") + "' is not one that ncurses knows",
                  "--interactive", "set TERM, for example TERM=xterm-256color");
    ::raw();  // Ctrl-C and Ctrl-Z come as keys
    ::noecho();
    ::nonl();
    ::keypad(stdscr, TRUE);
    ::set_escdelay(kEscapeMs);
    ::timeout(kWakeMs);
    ::curs_set(0);
    if (::has_colors() && !std::getenv("NO_COLOR")) {
      ::start_color();
      ::use_default_colors();
      ::init_pair(kGoodPair, COLOR_GREEN, -1);
      ::init_pair(kWarningPair, COLOR_YELLOW, -1);
      ::init_pair(kBarPair, COLOR_BLUE, -1);
    }
  }
  ~Terminal() {
    ::endwin();
    ::delscreen(screen_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

 private:
  SCREEN* screen_ = nullptr;
};

attr_t attribute(Ink ink) {
  static const std::array<attr_t, 7> kInOrder{// of Ink
                                              A_NORMAL,
                                              A_BOLD,
                                              A_DIM,
                                              COLOR_PAIR(kGoodPair),
                                              COLOR_PAIR(kWarningPair),
                                              A_REVERSE,
                                              COLOR_PAIR(kBarPair)};
  return kInOrder[static_cast<std::size_t>(ink)];
}

void show(const Screen& screen) {
  ::erase();
  for (int y = 0; y < static_cast<int>(screen.lines.size()); ++y) {
    ::move(y, 0);
    for (const Piece& piece : screen.lines[static_cast<std::size_t>(y)]) {
      ::attrset(static_cast<int>(attribute(piece.ink)));
      ::addnstr(piece.text.data(), static_cast<int>(piece.text.size()));
    }
  }
  ::attrset(A_NORMAL);
  ::curs_set(screen.cursor >= 0 ? 1 : 0);
  if (screen.cursor >= 0) ::move(static_cast<int>(screen.lines.size()) - 1, screen.cursor);
  ::refresh();
}

std::string utf8(wint_t c) {
  if (c < 0x80) return {static_cast<char>(c)};
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;  // bytes after the first
  std::string text{static_cast<char>(0xFF00 >> (more + 1) | c >> 6 * more)};
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (c >> 6 * i & 0x3F));
  return text;
}

constexpr wint_t kControlC = 3, kControlL = 12, kEscapeCode = 27, kDelete = 127;

struct SpecialKey {
  wint_t code;
  Key key;
};
constexpr std::array kSpecialKeys{
    SpecialKey{KEY_UP, Key::kUp},        SpecialKey{KEY_DOWN, Key::kDown},
    SpecialKey{KEY_LEFT, Key::kLeft},    SpecialKey{KEY_RIGHT, Key::kRight},
    SpecialKey{KEY_PPAGE, Key::kPageUp}, SpecialKey{KEY_NPAGE, Key::kPageDown},
    SpecialKey{KEY_HOME, Key::kHome},    SpecialKey{KEY_END, Key::kEnd},
    SpecialKey{KEY_ENTER, Key::kEnter},  SpecialKey{KEY_BACKSPACE, Key::kBackspace},
};

std::optional<KeyPress> special_key(wint_t code) {
  const auto found = std::ranges::find(kSpecialKeys, code, &SpecialKey::code);
  if (found == kSpecialKeys.end())
    return std::nullopt;  // a resize among them: the screen is drawn anew anyway
  return KeyPress{found->key};
}

std::optional<KeyPress> character_key(wint_t code) {
  if (code == '\r' || code == '\n') return KeyPress{Key::kEnter};
  if (code == kEscapeCode) return KeyPress{Key::kEscape};
  if (code == kDelete || code == '\b') return KeyPress{Key::kBackspace};
  if (code == kControlL) ::clearok(stdscr, TRUE);
  if (code < ' ') return std::nullopt;
  return KeyPress{Key::kText, utf8(code)};
}

}  // namespace

int browse(const Profile& profile) {
  Browser browser(profile);
  const SignalsNoted signals;  // thrown from check(), so that the terminal is restored on the way
  const Terminal terminal;
  for (bool drawn = false;;) {
    if (!drawn) show(browser.draw(COLS, LINES));
    drawn = true;
    wint_t code = 0;
    const int kind = ::get_wch(&code);
    signals.check();
    if (kind == ERR) {
      if (::isatty(STDIN_FILENO)) continue;
      return kExitDone;  // the terminal has gone
    }
    if (kind == OK && code == kControlC) return kExitDone;
    drawn = false;
    const auto key = kind == KEY_CODE_YES ? special_key(code) : character_key(code);
    if (key && !browser.press(*key)) return kExitDone;
  }
}

#else

int browse(const Profile&) {
  check_interactive();
  return kExitFailed;
}

#endif

}  // namespace opscope
