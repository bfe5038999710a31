// FNV-1a: a fixed, documented hash, the same on every machine and in every version, for cache keys and
// tables. Not for hostile input.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace opscope {

constexpr std::uint64_t hash64(std::string_view bytes) {
  std::uint64_t state = 0xcbf29ce484222325u;
  for (const char byte : bytes) state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return state;
}

// 128 bits, so that two different keys never meet in practice: the parameters of the FNV specification.
class Hasher {
 public:
  // Each part with its length, so that ("ab", "c") and ("a", "bc") differ.
  Hasher& add(std::string_view part) { return add(std::uint64_t{part.size()}).add_raw(part); }
  Hasher& add(std::uint64_t number) {
    char bytes[8];
    for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
    return add_raw({bytes, sizeof bytes});
  }
  // Bytes as they are: the plain FNV-1a of all of them in a row.
  Hasher& add_raw(std::string_view bytes) {
    constexpr auto kPrime = (Wide{1} << 88) | 0x13b;
    for (const char byte : bytes) state_ = (state_ ^ static_cast<unsigned char>(byte)) * kPrime;
    return *this;
  }
  std::string hex() const {  // 32 digits
    return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64),
                       static_cast<std::uint64_t>(state_));
  }

 private:
  using Wide = unsigned __int128;
  Wide state_ = (Wide{0x6c62272e07bb0142u} << 64) | 0x62b821756295c58du;  // the offset basis
};

}  // namespace opscope
