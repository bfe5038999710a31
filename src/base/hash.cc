// FNV-1a with 128 bits of state (the parameters of the FNV specification).
#include "base/hash.h"

#include <fmt/format.h>

namespace opscope {

Hasher& Hasher::add_raw(std::string_view bytes) {
  using Wide = unsigned __int128;
  constexpr Wide kPrime = (Wide{1} << 88) | 0x13b;
  auto state = (Wide{high_} << 64) | low_;
  for (const char byte : bytes) state = (state ^ static_cast<unsigned char>(byte)) * kPrime;
  high_ = static_cast<std::uint64_t>(state >> 64);
  low_ = static_cast<std::uint64_t>(state);
  return *this;
}

Hasher& Hasher::add(std::uint64_t number) {
  char bytes[8];
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  return add_raw({bytes, sizeof bytes});
}

Hasher& Hasher::add(std::string_view part) { return add(std::uint64_t{part.size()}).add_raw(part); }

std::string Hasher::hex() const { return fmt::format("{:016x}{:016x}", high_, low_); }

}  // namespace opscope
