// What a decode step does with its KV cache, by the bytes of its own ops: what it reads of it, writes to it,
// and copies.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

// All ops of one type that touch the cache.
struct KvUse {
  std::string_view op{};  // "cat"
  std::uint32_t calls = 0;
  Count read{};     // of the cache
  Count written{};  // to the cache, in place or as its new memory
  Count made{};     // elsewhere, of what was read: repeated heads, converted numbers, results
};

struct KvStep {
  Count held{};               // by the cache before the step
  std::vector<KvUse> uses;    // by bytes, the most first
  std::vector<KvUse> copies;  // those that read the cache to write it to new memory
  Count copied{};             // what these read and write
  Count added{};              // what the step adds to the cache: the new tokens; 0 where that is not known
  // What writing the new tokens in place would save of `copied`.
  Count saved_in_place() const { return added ? copied - added * 2 : Count{}; }
};

// nullopt where the run has no cache among its inputs.
std::optional<KvStep> kv_step(const Profile& profile, std::span<const MemoryPiece> pieces);

}  // namespace opscope
