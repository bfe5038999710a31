// Lists of values as people write them on the command line: `1,2,4`, `1,2,4,..,256`, `128:4096:x2`,
// `16:512:+16`, `16:512`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace opscope {

inline constexpr std::size_t kMostValues = 1'000'000;  // of one list

// In the order written, each once. `..` goes on as the list began: by a factor where each of the three values
// before it is as many times the one before, else by a step. A range takes every value, or goes on by `xN` or
// `+N` as far as its end allows. Throws Error naming the flag.
std::vector<std::int64_t> parse_value_list(const char* flag, std::string_view text, std::int64_t least = 1);

}  // namespace opscope
