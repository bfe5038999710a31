// Text on its way to a terminal.
#include "base/terminal_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace opscope {
namespace {

TEST(TerminalText, PlainTextIsUntouched) {
  const std::string text = "name   FLOPs\n\nconv1  1.61G\n  end";
  EXPECT_EQ(terminal_text(text, {.width = 20}), text);
  EXPECT_EQ(terminal_text("├─ layer1 … ±3%\n", {.width = 20}), "├─ layer1 … ±3%\n");
}

TEST(TerminalText, NothingSteersTheTerminal) {
  EXPECT_EQ(terminal_text("a\x1b[2Jb\x07\rc\td", {}), "a\\x1b[2Jb\\x07\\x0dc\\td");
  EXPECT_EQ(terminal_text("\u009b31m", {}), "\\x9b31m");      // C1: a one-byte escape in Latin-1
  EXPECT_EQ(terminal_text("\u202eoops", {}), "\\u202eoops");  // reverses what follows
  EXPECT_EQ(terminal_text("\xff\xc3", {}), "\\xff\\xc3");     // no UTF-8
  EXPECT_EQ(terminal_text("\x1b[1mbold\x1b[0m", {}), "\\x1b[1mbold\\x1b[0m");
  EXPECT_EQ(terminal_text("\x1b[1mbold\x1b[0m\x1b]0;t\x07", {.color = true}),
            "\x1b[1mbold\x1b[0m\\x1b]0;t\\x07");
}

TEST(TerminalText, NoLineIsLongerThanAsked) {
  EXPECT_EQ(terminal_text("note  one two three four five", {.width = 20}),
            "note  one two three\n      four five");
  EXPECT_EQ(terminal_text("/a/path/that/has/no/space/in/it", {.width = 20}),
            "/a/path/that/has/no/\nspace/in/it");
  EXPECT_EQ(terminal_text("\x1b[2m12345678901234567890\x1b[0m", {.width = 20, .color = true}),
            "\x1b[2m12345678901234567890\x1b[0m");
  const std::string wide = terminal_text("模型模型模型模型模型模型 模型模型", {.width = 20});
  EXPECT_EQ(wide, "模型模型模型模型模型\n模型 模型模型");
}

TEST(TerminalText, AsciiKeepsColumns) {
  EXPECT_EQ(terminal_text("├─ layer1  █████▌", {.ascii = true}), "|- layer1  #####=");
  EXPECT_EQ(terminal_text("≤1.61G  ±3%   5\n 1.6G   +3%   5", {.ascii = true}),
            "<=1.61G +-3%  5\n 1.6G   +3%   5");
  EXPECT_EQ(terminal_text("é模", {.ascii = true}), "???");
}

TEST(TerminalText, TheFirstLocaleThatIsSetDecides) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) ::unsetenv(name);
  EXPECT_FALSE(locale_is_ascii());
  ::setenv("LANG", "C", 1);
  EXPECT_TRUE(locale_is_ascii());
  ::setenv("LC_CTYPE", "en_US.utf8", 1);
  EXPECT_FALSE(locale_is_ascii());
  ::setenv("LC_ALL", "POSIX", 1);
  EXPECT_TRUE(locale_is_ascii());
  ::setenv("LC_ALL", "", 1);
  EXPECT_FALSE(locale_is_ascii());
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) ::unsetenv(name);
}

}  // namespace
}  // namespace opscope
