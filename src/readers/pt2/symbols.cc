// The expressions: integers (saturating at the type's limits through overflow checks), the four operations,
// floor division, remainder, powers, Max and Min, in both of the spellings that PyTorch has used.
#include "readers/pt2/symbols.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

using Number = std::optional<std::int64_t>;

constexpr int kMostDepth = 200;

Number add(std::int64_t a, std::int64_t b) {
  std::int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? Number{} : sum;
}
Number subtract(std::int64_t a, std::int64_t b) {
  std::int64_t difference;
  return __builtin_sub_overflow(a, b, &difference) ? Number{} : difference;
}
Number multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? Number{} : product;
}
Number floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0 || (b == -1 && a == INT64_MIN)) return std::nullopt;
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}
Number ceil_divide(std::int64_t a, std::int64_t b) {
  const auto down = floor_divide(a, b);
  return down ? add(*down, a % b != 0 ? 1 : 0) : down;
}
Number exact_divide(std::int64_t a, std::int64_t b) {
  const auto down = floor_divide(a, b);
  return down && a % b == 0 ? down : Number{};
}
Number remainder(std::int64_t a, std::int64_t b) {
  const auto down = floor_divide(a, b);
  if (!down) return std::nullopt;
  return a - *down * b;  // between 0 and b: cannot overflow
}
Number power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 || exponent > 64) return std::nullopt;
  Number result = 1;
  for (; exponent > 0 && result; --exponent) result = multiply(*result, base);
  return result;
}
Number larger(std::int64_t a, std::int64_t b) { return a < b ? b : a; }
Number smaller(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// Functions of two arguments, and operators; those of more fold from the left.
struct Function {
  std::string_view name;
  Number (*apply)(std::int64_t, std::int64_t);
};
constexpr Function kFunctions[] = {
    {"Add", add},
    {"CeilDiv", ceil_divide},
    {"CleanDiv", exact_divide},
    {"FloorDiv", floor_divide},
    {"IntTrueDiv", exact_divide},
    {"Max", larger},
    {"Min", smaller},
    {"Mod", remainder},
    {"Mul", multiply},
    {"Pow", power},
    {"PowByNatural", power},
    {"PythonMod", remainder},
};
// Operators, the longer ones first.
constexpr Function kSums[] = {{"+", add}, {"-", subtract}};
constexpr Function kProducts[] = {
    {"//", floor_divide}, {"*", multiply}, {"/", exact_divide}, {"%", remainder}};
// Of one argument, which is whole already.
constexpr std::string_view kIdentities[] = {"CeilToInt",  "FloorToInt", "Identity",     "Integer",
                                            "RoundToInt", "ToFloat",    "TruncToFloat", "TruncToInt",
                                            "ceiling",    "floor"};

class Expression {
 public:
  Expression(std::string_view text, Symbols& symbols) : text_(text), symbols_(symbols) {}

  // nullopt with understood() == true: a symbol is missing.
  Number run() {
    auto result = sum();
    skip_space();
    if (!text_.empty()) understood_ = false;
    return understood_ ? result : std::nullopt;
  }
  bool understood() const { return understood_; }

 private:
  void skip_space() {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    skip_space();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  Number give_up() {
    understood_ = false;
    text_ = {};
    return std::nullopt;
  }
  Number both(Number a, Number b, Number (*apply)(std::int64_t, std::int64_t)) {
    if (!a || !b) return std::nullopt;
    const auto result = apply(*a, *b);
    return result ? result : give_up();
  }

  Number sum() {
    if (++depth_ > kMostDepth) return give_up();
    const auto result = chain(kSums, &Expression::product);
    --depth_;
    return result;
  }
  Number product() { return chain(kProducts, &Expression::factor); }

  // Operands with operators of one rank between them.
  Number chain(std::span<const Function> operators, Number (Expression::*operand)()) {
    auto left = (this->*operand)();
    for (;;) {
      const auto found = std::ranges::find_if(operators, [&](const Function& one) { return take(one.name); });
      if (found == operators.end()) return left;
      left = both(left, (this->*operand)(), found->apply);
    }
  }

  Number factor() {
    if (++depth_ > kMostDepth) return give_up();
    Number result;
    if (take("-")) {
      result = both(factor(), -1, multiply);
    } else {
      result = atom();
      if (take("**")) result = both(result, factor(), power);
    }
    --depth_;
    return result;
  }

  Number atom() {
    skip_space();
    if (take("(")) {
      const auto inner = sum();
      return take(")") ? inner : give_up();
    }
    if (text_.empty()) return give_up();
    if (text_.front() >= '0' && text_.front() <= '9') return number();
    auto name = word();
    if (name.empty()) return give_up();
    if (const auto dot = name.rfind('.'); dot != std::string_view::npos) name.remove_prefix(dot + 1);
    return take("(") ? call(name) : symbols_.value_of(name);
  }

  Number number() {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (code != std::errc{}) return give_up();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

  std::string_view word() {
    std::size_t size = 0;
    const auto letter = [](char c) {
      return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
             (c >= 'A' && c <= 'Z');
    };
    while (size < text_.size() && letter(text_[size])) ++size;
    const auto found = text_.substr(0, size);
    text_.remove_prefix(size);
    return found;
  }

  // Symbol('s77', positive=True, integer=True)
  Number symbol() {
    if (!take("'")) return give_up();
    const auto end = text_.find('\'');
    if (end == std::string_view::npos) return give_up();
    const auto name = text_.substr(0, end);
    const auto close = text_.find(')', end);
    if (close == std::string_view::npos) return give_up();
    text_.remove_prefix(close + 1);
    return symbols_.value_of(name);
  }

  Number call(std::string_view name) {
    if (name == "Symbol") return symbol();
    std::vector<Number> arguments;
    do {
      arguments.push_back(sum());
      if (!understood_) return std::nullopt;
    } while (take(","));
    if (!take(")")) return give_up();
    if (arguments.size() == 1 && std::ranges::find(kIdentities, name) != std::end(kIdentities))
      return arguments[0];
    const auto* const function = std::ranges::find(kFunctions, name, &Function::name);
    if (function == std::end(kFunctions) || arguments.size() < 2) return give_up();
    auto result = arguments[0];
    for (std::size_t i = 1; i < arguments.size(); ++i) result = both(result, arguments[i], function->apply);
    return result;
  }

  std::string_view text_;
  Symbols& symbols_;
  int depth_ = 0;
  bool understood_ = true;
};

constexpr std::size_t kMostShown = 8;

}  // namespace

void Symbols::describe(std::string_view symbol, std::string_view words) {
  auto& text = described_[std::string(symbol)];
  if (!text.empty()) text += ", ";
  text += words;
}

void Symbols::depends_on_data(std::string_view symbol) {
  if (from_data_.emplace(symbol).second) describe(symbol, "depends on the data");
}

std::optional<std::int64_t> Symbols::value_if_bound(std::string_view symbol) {
  const auto found = bound_.find(std::string(symbol));
  if (found == bound_.end()) return std::nullopt;
  used_.insert(found->first);
  return found->second;
}

std::optional<std::int64_t> Symbols::value_of(std::string_view symbol) {
  used_data = used_data || from_data_.contains(symbol);
  const auto found = value_if_bound(symbol);
  if (!found && missing_.size() < 1000) missing_.insert(std::string(symbol));
  return found;
}

std::optional<std::int64_t> Symbols::evaluate(std::string_view text) {
  Expression expression(text, *this);
  const auto result = expression.run();
  if (!expression.understood() && not_understood_.empty()) not_understood_ = truncate(text, 60);
  return result;
}

void Symbols::check(const std::string& where) const {
  if (!missing_.empty()) {
    std::string names, hint = "give";
    std::size_t shown = 0;
    for (const auto& name : missing_) {
      if (++shown > kMostShown) break;
      const auto found = described_.find(name);
      names += (names.empty() ? "" : ", ") + truncate(name, 40);
      if (found != described_.end()) names += " (" + found->second + ")";
      hint += " --dim " + truncate(name, 40) + "=N";
    }
    if (shown > kMostShown) names += fmt::format(" and {} more", missing_.size() - kMostShown);
    throw Error("the size of " + names + " is not known", where, hint);
  }
  if (!not_understood_.empty())
    throw Error("a dimension cannot be worked out: " + not_understood_, where,
                "export the model with fixed shapes, or with other values of its dimensions");
  for (const auto& [name, value] : bound_) {
    if (used_.contains(name)) continue;
    const std::vector<std::string> names(used_.begin(), used_.end());
    std::string hint = did_you_mean(name, names);
    if (hint.empty())
      hint = names.empty() ? "all its dimensions are fixed"
                           : fmt::format("its dimensions are {}", fmt::join(names, ", "));
    throw Error("the model has no dimension of the name " + truncate(name, 40), where, hint);
  }
}

}  // namespace opscope
