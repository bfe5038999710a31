// Text on its way to a terminal or a text file, made safe and fitting in one place: nothing in it can steer
// the terminal, no line is wider than asked, and where the locale has only ASCII, so has the text.
#pragma once

#include <string>
#include <string_view>

namespace opscope {

struct TerminalStyle {
  int width = 0;       // columns; 0: lines may be of any length
  bool color = false;  // colour sequences are ours and stay
  bool ascii = false;
};

// Control characters, line and paragraph separators, and what changes how the text around it is shown.
bool is_control(char32_t code);

// Control characters, bidirectional overrides and bytes that are not UTF-8 become "\x1b"; longer lines are
// broken between words, what follows indented under the line's second column; "├─ ≤" becomes "|- <=" in
// ASCII.
std::string terminal_text(std::string_view text, const TerminalStyle& style);

// Whether LC_ALL, LC_CTYPE or LANG, the first that is set, names a locale that is not UTF-8. None set is no
// answer, and then it is UTF-8, as in most containers.
bool locale_is_ascii();

// Text that a terminal or a spreadsheet takes for text.

// Control characters written out, "\n", "\x1b", "\u202e", bytes that are not UTF-8 as U+FFFD; the rest as it
// is. `kept`: those that may stay.
std::string printable(std::string_view text, std::string_view kept = {});

}  // namespace opscope
