// Dimensions with names: what the user bound them to, the expressions files write over them, and the error
// that asks for those that are missing, all at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace opscope {

using Dims = std::map<std::string, std::int64_t>;

class Symbols {
 public:
  explicit Symbols(Dims bound) : bound_(std::move(bound)) {}

  // What a symbol is, for the error: "dimension 0 of x", "2 to 64", "4 when it was exported".
  void describe(std::string_view symbol, std::string_view words);
  // Its size depends on data: using it sets `used_data`, until someone sets that back.
  void depends_on_data(std::string_view symbol);
  bool used_data = false;
  // Sympy's srepr ("Mul(Integer(2), Symbol('s77', integer=True))") or plain arithmetic ("2*s77 + 1"). Where a
  // symbol is not bound it is noted as missing and the result is nullopt; so it is where the text is no
  // expression that is understood, which is noted too.
  std::optional<std::int64_t> evaluate(std::string_view expression);
  std::optional<std::int64_t> value_of(std::string_view symbol);
  // Only where it is bound: nothing is missing otherwise.
  std::optional<std::int64_t> value_if_bound(std::string_view symbol);

  // Throws Error if anything was missing, or if a bound name is not one of the file's.
  void check(const std::string& where) const;

 private:
  Dims bound_;
  std::set<std::string> used_;
  std::map<std::string, std::string, std::less<>> described_;
  std::set<std::string> missing_;
  std::set<std::string, std::less<>> from_data_;
  std::string not_understood_;
};

}  // namespace opscope
