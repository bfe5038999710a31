// FNV-1a: a fixed, documented hash, the same on every machine and in every version, for cache keys and
// tables. Not for hostile input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace opscope {

constexpr std::uint64_t hash64(std::string_view bytes) {
  std::uint64_t state = 0xcbf29ce484222325u;
  for (const char byte : bytes) state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
  return state;
}

// 128 bits, so that two different keys never meet in practice.
class Hasher {
 public:
  // Each part with its length, so that ("ab", "c") and ("a", "bc") differ.
  Hasher& add(std::string_view part);
  Hasher& add(std::uint64_t number);
  // Bytes as they are: the plain FNV-1a of all of them in a row.
  Hasher& add_raw(std::string_view bytes);
  std::string hex() const;  // 32 digits

 private:
  // The 128-bit offset basis, high and low half.
  std::uint64_t high_ = 0x6c62272e07bb0142u;
  std::uint64_t low_ = 0x62b821756295c58du;
};

}  // namespace opscope
