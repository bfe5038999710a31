// The one exception for a user's wrong input, and the check for our own mistakes. Both are caught in
// `main` and in the Python bindings, nowhere else.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace opscope {

// what: one line, lower case, no full stop. where: file, module path or flag, may be empty.
// hint: what to do instead, may be empty.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, std::string where = {}, std::string hint = {})
      : std::runtime_error(what), where_(std::move(where)), hint_(std::move(hint)) {}
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

 private:
  std::string where_;
  std::string hint_;
};

// Thrown by OPSCOPE_CHECK: opscope itself is wrong, not its user.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
  throw InternalError(std::string("internal error: ") + condition + " does not hold at " + file + ":" +
                      std::to_string(line));
}

}  // namespace opscope

#define OPSCOPE_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::opscope::check_failed(#condition, __FILE_NAME__, __LINE__))
