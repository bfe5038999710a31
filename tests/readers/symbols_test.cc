// Expressions over dynamic dimensions, in both spellings, and the errors that ask for what is missing.
#include "readers/pt2/symbols.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace opscope {
namespace {

struct Case {
  const char* text;
  std::int64_t value;
};
const Case kCases[] = {
    {"s0", 7},
    {"2*s0 + 1", 15},
    {"-s0 + 10", 3},
    {"(s0 + s1)*2", 20},
    {"s0//2", 3},
    {"(-s0)//2", -4},
    {"s0**2 - s1", 46},
    {"14/s0", 2},
    {"s0 % 4", 3},
    {"Max(1, s0, s1)", 7},
    {"Min(s0, s1)", 3},
    {"Mod(s0, 4)", 3},
    {"Symbol('s0', positive=True, integer=True)", 7},
    {"Mul(Integer(2), Symbol('s0', integer=True))", 14},
    {"Add(Mul(Integer(-1), Symbol('s1')), Symbol('s0'))", 4},
    {"FloorDiv(Symbol('s0', integer=True), Integer(2))", 3},
    {"torch.utils._sympy.functions.FloorDiv(Symbol('s0'), Integer(2))", 3},
    {"CeilToInt(IntTrueDiv(Integer(14), Symbol('s0')))", 2},
    {"Pow(Symbol('s1'), Integer(2))", 9},
};

TEST(Symbols, EvaluatesBothSpellings) {
  for (const auto& [text, value] : kCases) {
    Symbols symbols({{"s0", 7}, {"s1", 3}});
    EXPECT_EQ(symbols.evaluate(text), value) << text;
  }
}

TEST(Symbols, RefusesWhatItDoesNotUnderstand) {
  for (const std::string& text :
       {std::string("s0 +"), std::string("(s0"), std::string("sin(s0)"), std::string(""),
        std::string("s0 s1"), std::string("9999999999999999999999"), std::string("9223372036854775807 * 2"),
        std::string("1//0"), std::string("Symbol(s0)"), std::string("Symbol('s0'"), std::string(5000, '('),
        std::string(5000, '-')}) {
    Symbols symbols({{"s0", 7}, {"s1", 3}});
    EXPECT_EQ(symbols.evaluate(text), std::nullopt) << text;
    EXPECT_THROW(symbols.check("file"), Error) << text;
  }
}

std::pair<std::string, std::string> problem(const Symbols& symbols) {
  try {
    symbols.check("file");
    return {};
  } catch (const Error& error) {
    return {error.what(), error.hint()};
  }
}

TEST(Symbols, AsksForAllThatIsMissingAtOnce) {
  Symbols symbols({});
  symbols.describe("batch", "dimension 0 of x");
  EXPECT_EQ(symbols.evaluate("batch * length"), std::nullopt);
  const auto [what, hint] = problem(symbols);
  EXPECT_EQ(what, "the size of batch (dimension 0 of x), length is not known");
  EXPECT_EQ(hint, "give --dim batch=N --dim length=N");
}

TEST(Symbols, NamesTheNearestForATypo) {
  Symbols symbols({{"batch", 1}, {"bacth", 2}});
  EXPECT_EQ(symbols.evaluate("batch"), 1);
  const auto [what, hint] = problem(symbols);
  EXPECT_EQ(what, "the model has no dimension of the name bacth");
  EXPECT_EQ(hint, "did you mean batch?");
}

}  // namespace
}  // namespace opscope
