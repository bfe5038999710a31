// A value that is made when it is first asked for, once, by whichever thread asks first.
#pragma once

#include <mutex>

namespace opscope {

template <class T>
class Lazy {
 public:
  template <class Make>
  const T& get(Make&& make) {
    std::call_once(once_, [&] { value_ = make(); });
    return value_;
  }

 private:
  std::once_flag once_;
  T value_{};
};

}  // namespace opscope
